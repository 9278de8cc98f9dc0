#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# test.sh [test|check|kunit|all|arch NAME...]: run suites, print their results in
# TAP as they come, then a summary and "N passed, N failed". A skipped test has
# failed, and so has one that was planned and never reported.

. "$(dirname "$0")/lib.sh"
. "$harness/arch.sh"

# run_suite NAME COMMAND...: results on standard output with the suite's name
# before each; one line "NAME PASSED FAILED SECONDS" to the tally.
run_suite()
{
	local name=$1 start=$SECONDS status
	shift
	echo "# suite $name"
	set +e
	{
		"$@" 2>&1 >&3 3>&- 9>&- | tee "$work/$name.err" >&2
		exit "${PIPESTATUS[0]}"
	} 3>&1 | gawk -v suite="$name" -v tally="$work/$name.tally" -v failures="$work/failed" '
		/^TAP version/	{ next }
		/^1\.\.[0-9]+/	{ planned += substr($1, 4); next }
		/^ok .*# *[Ss][Kk][Ii][Pp]/	{ sub(/^ok/, "not ok") }
		/^(not )?ok /	{ n++; if ($1 == "ok") passed++; else failed++ }
		/^ok /		{ sub(/^ok [0-9]* *-? */, "ok - " suite ": ") }
		/^not ok /	{ sub(/^not ok [0-9]* *-? */, "not ok - " suite ": ") }
		/^not ok /	{ print >>failures }
		{ print; fflush() }
		END {
			if (n < planned) {
				print "not ok - " suite ": " planned " tests planned, " n + 0 " ran" | "tee -a " failures
				failed += planned - n
			}
			print passed + 0, failed + 0 > tally
		}'
	status=${PIPESTATUS[0]}
	set -e
	read -r passed failed <"$work/$name.tally"
	if { [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; } || [ $((passed + failed)) -eq 0 ]; then
		echo "not ok - $name: ended with status $status" | tee -a "$work/failed"
		failed=$((failed + 1))
	fi
	[ "$status" -eq 0 ] || said_at_end "$work/$name.err"
	rm "$work/$name.tally" "$work/$name.err"
	echo "$name $passed $failed $((SECONDS - start))" >>"$work/tally"
}

# said_at_end FILE: what a guest or a step that failed said of it, once more
# where the results are: with several at once they are far apart.
said_at_end() { grep -E '^(   \| |guest: )' "$1" | tail -n 120 | sed 's/^/# /' || :; }

# arch_tests NAME: what make test ARCH= runs; a line of the table for it.
arch_tests()
{
	arch_file "$1" >/dev/null || die "ARCH=$1: not one of $(arch_names | xargs)"
	suite "build-$1" arch "$1" | tee "$work/said"
	load_arch "$1"
	if ((!only_built)); then
		suite "selftests-$1" selftests "$1" two
		suite "mainline-$1" mainline "$1"
		suite "library-$1" library "$1"
	fi
	arch_row "$1" >>"$work/table"
}

# What a part of the suites of NAME has come to: "N of M", or that it did not run.
figure_of()
{
	awk -v suite="$1" '$1 == suite { print $2 " of " $2 + $3 }' "$work/tally" | grep . || echo -
}

passed_in() { grep -q "^ok - build-$1: .* $2" "$work/said" && echo yes || echo NO; }

arch_row()
{
	local machine boots=-

	machine=$(sed -n 's/^# machine: //p' "$work/said")
	((only_built)) || boots=$(passed_in "$1" boots)
	printf '%s|%s|%s|%s|%s|%s|%s\n' "$1" "${machine:--}" "$(passed_in "$1" builds)" "$boots" \
		"$(figure_of "selftests-$1")" "$(figure_of "mainline-$1")" "$(figure_of "library-$1")"
}

table()
{
	[ -s "$work/table" ] || return 0
	(echo 'architecture|machine|builds|boots|selftests passed|mainline|library'; cat "$work/table") |
		column -t -s '|' | sed 's/^/# /'
}

suite() { run_suite "$1" "$harness/suites/${2:-$1}.sh" "${@:3}"; }

# aside COMMAND: it runs beside what follows; what it printed comes by joined.
aside() { "$@" >"$work/aside" 2>"$work/aside.err" & }

joined()
{
	wait $!
	cat "$work/aside.err" >&2
	cat "$work/aside"
}

# What can go on while guests run, and makes way for them.
without_guests()
{
	renice -n 10 $BASHPID >/dev/null
	FLAVOUR=debug "$harness/kernel.sh" >/dev/null || :
	FLAVOUR=kcsan "$harness/kernel.sh" >/dev/null || :
	suite check
	suite kunit
}

all_tests()
{
	"$harness/kernel.sh" >/dev/null
	aside without_guests
	suite harness
	suite selftests-default selftests default
	suite torture-default torture default
	suite mainline
	suite samples
	suite bpf
	suite lib
	suite man
	KERNELS=ours SANITIZE=yes suite command
	suite terminal
	joined
	suite selftests-debug selftests debug "${halved[@]}"
	# Its guest has one emulation thread, and leaves a processor to others.
	aside suite ftrace
	suite kunit-debug kunit debug
	suite torture-debug torture debug
	suite kcsan
	suite random random debug
	joined
	[ "$what" != all ] || rest_of_all
}

# What takes hours, or is about other kernels than ours as it is.
rest_of_all()
{
	local name

	suite command-kernels command
	suite bases
	suite patches-compile patches compile
	suite patches-boot patches boot
	suite patches-coccinelle patches coccinelle
	suite debian
	for name in $(arch_names); do arch_tests "$name"; done
}

summary()
{
	sed 's/^not ok/# FAILED/' "$work/failed"
	awk '	{ printf "# %-20s %5d passed %5d failed %6d s\n", $1, $2, $3, $4
		  passed += $2; failed += $3 }
		END { printf "%d passed, %d failed\n", passed, failed; exit failed != 0 }' "$work/tally"
}

what=${1:-test}
shift || :
scratch
# A debug kernel, emulated, takes three quarters of an hour for all of it.
halved=(two)
[ "$what" != all ] || halved=()
: >"$work/tally"
: >"$work/failed"
: >"$work/table"
case $what in
check)		suite check ;;
kunit)		suite kunit ;;
test|all)	all_tests ;;
arch)		for name; do arch_tests "$name"; done ;;
*)		die "test.sh $what: not one of test, check, kunit, all, arch" ;;
esac
table
summary
