#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# test.sh [test|quick|check|kunit|all|rest|arch NAME...]: run suites, print their results
# in TAP as they come, then a summary, what failed and why, and "N passed, N failed".
# A skipped test has failed, and so has one that was planned and never reported.
# "test" takes twenty minutes; with MINUTES= it goes on with the other suites, and
# begins none after so many minutes. "all" takes days; "rest" is "all" without all of
# these.
#
# "all" and "rest" may be stopped, and go on when run again: they keep the results of a
# suite that has passed, and do not run it again while everything is the same that the
# results can depend on.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/machines.sh"
. "$harness/shared/userland.sh"

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
	} 3>&1 | gawk -v suite="$name" -v tally="$work/$name.tally" -v failures="$work/$name.failed" \
		-f "$harness/shared/count.awk"
	status=${PIPESTATUS[0]}
	set -e
	read -r passed failed <"$work/$name.tally"
	if { [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; } || [ $((passed + failed)) -eq 0 ]; then
		echo "not ok - $name: ended with status $status" | tee -a "$work/$name.failed"
		failed=$((failed + 1))
	fi
	[ "$status" -eq 0 ] || said_at_end "$work/$name.err" | tee -a "$work/$name.failed"
	[ ! -e "$work/$name.failed" ] || cat "$work/$name.failed" >>"$work/failed"
	rm -f "$work/$name".{tally,err,failed}
	echo "$name $passed $failed $((SECONDS - start))" >>"$work/tally"
}

# said_at_end FILE: what a guest or a step that failed said of it, once more
# where the results are, and at the end: with several at once they are far apart.
said_at_end() { grep -E '^(   \| |guest: )' "$1" | tail -n 120 | sed 's/^/# /' || :; }

# arch_tests NAME: what make test ARCH= runs; a line of the table for it.
arch_tests()
{
	arch_file "$1" >/dev/null || die "ARCH=$1: not one of $(arch_names | xargs)"
	suite "build-$1" arch "$1" | tee "$work/said-$1"
	load_arch "$1"
	if ((!only_built)); then
		suite "selftests-$1" selftests "$1" two
		suite "mainline-$1" mainline "$1"
		suite "library-$1" library-on "$1"
	fi
	arch_row "$1" >>"$work/table"
}

# What a part of the suites of NAME has come to: "N of M", or that it did not run.
figure_of()
{
	awk -v suite="$1" '$1 == suite { print $2 " of " $2 + $3 }' "$work/tally" | grep . || echo -
}

passed_in() { grep -q "^ok - build-$1: .* $2" "$work/said-$1" && echo yes || echo NO; }

arch_row()
{
	local machine boots=-

	machine=$(sed -n 's/^# machine: //p' "$work/said-$1")
	((only_built)) || boots=$(passed_in "$1" boots)
	printf '%s|%s|%s|%s|%s|%s|%s\n' "$1" "${machine:--}" "$(passed_in "$1" builds)" "$boots" \
		"$(figure_of "selftests-$1")" "$(figure_of "mainline-$1")" "$(figure_of "library-$1")"
}

table()
{
	[ -s "$work/table" ] || return 0
	(echo 'architecture|machine|builds|boots|selftests passed|mainline|library'; sort "$work/table") |
		column -t -s '|' | sed 's/^/# /'
}

# What results can depend on: every file but what is only read, the base, the
# compilers and what else looks at the code, and the emulators.
all_that_matters()
{
	find_base
	echo "$base_id ${ACCEL:-} ${SMP:-} ${MEM:-} ${LIMIT:-}"
	dpkg-query -W 'gcc*' 'clang*' 'qemu-system*' sparse coccinelle
	cd "$top"
	find . \( -path ./.git -o -path ./build \) -prune -o -type f ! -name '*.md' -print0 |
		sort -z | xargs -0 sha256sum
}

# suite NAME [SCRIPT [ARGUMENT]...]
suite()
{
	local name=$1 command=("$harness/suites/${2:-$1}.sh" "${@:3}")

	if ((until && SECONDS > until)) && [ "$what" = test ]; then
		echo "$name" >>"$work/left_out"
		return
	fi
	if [ -z "$keep" ]; then
		run_suite "$name" "${command[@]}"
	elif [ -e "$keep/$name.tally" ]; then
		cat "$keep/$name.tap"
		echo "# as it passed on $(date -ur "$keep/$name.tally" '+%F at %H:%M UTC')"
		cat "$keep/$name.tally" >>"$work/tally"
	else
		run_suite "$name" "${command[@]}" | tee "$keep/$name.tap"
		grep "^$name [0-9]* 0 " "$work/tally" >"$keep/$name.new" || return 0
		mv "$keep/$name.new" "$keep/$name.tally"
	fi
}

# aside COMMAND: run it in the background. "joined" waits for it and prints its output.
aside()
{
	"$@" >"$work/aside" 2>"$work/aside.err" &
	aside=$!
}

joined()
{
	wait $aside
	cat "$work/aside.err" >&2
	cat "$work/aside"
}

# The suites that run while guests run, with a lower priority.
without_guests()
{
	renice -n 10 $BASHPID >/dev/null
	suite kunit
	suite check
	((!until)) || FLAVOUR=debug "$harness/verbs/kernel.sh" >/dev/null || :
}

# all_but DIR SUFFIX NAME...: the files of a folder with that suffix, without it, but these
all_but()
{
	local dir=$1 suffix=$2
	(cd "$dir" && printf '%s\n' *"$suffix") | sed "s/$suffix\$//" |
		grep -vxF -f <(printf '%s\n' "${@:3}")
}

# What tests.mk of the selftests says of them
mapfile -t lifetimes < <(tests_run lifetimes)
mapfile -t on_both < <(tests_run on-6.12)
# Of the command: what can go wrong while a writer goes on.
verbs=(session stream)

# A newcomer waits for these: they take twenty minutes on two cores. Of the faults that
# make mutants plants, KUnit and the selftests on the default flavour find all but a few.
first_tests()
{
	"$harness/verbs/kernel.sh" >/dev/null
	aside without_guests
	suite selftests-default selftests default two
	suite mainline
	suite samples
	suite library library host ours
	KERNELS=ours SANITIZE=yes suite command command "${verbs[@]}"
	if [ "$linux" = 6.1 ]; then
		suite fixes-files fixes files
		TESTS=${on_both[*]} BASE=6.12 suite selftests-6.12 selftests default two
		BASE=6.12 suite persistent-6.12 persistent
	fi
	joined
}

# What they leave out, in the order of what finds most in a minute.
more_tests()
{
	local tests=$top/tools/testing/selftests/ring-buffer verbs_tests=$top/tools/tracing/tracemap/tests
	local programs others on_other_base
	mapfile -t programs < <(all_but "$tests" .c "${lifetimes[@]}" | grep '_test$')
	mapfile -t on_other_base < <(all_but "$tests" .c "${on_both[@]}" | grep '_test$')
	mapfile -t others < <(all_but "$verbs_tests" .guest "${verbs[@]}")

	TESTS=${lifetimes[*]} suite lifetimes-debug selftests debug two
	# Its guest has one emulation thread, and leaves a processor to others that do not go by time.
	aside suite ftrace
	suite torture-debug torture debug
	suite random random debug
	suite kcsan
	suite torture-default torture default
	suite kunit-debug kunit debug
	suite man
	suite bpf
	joined
	KERNELS=ours SANITIZE=yes suite command-others command "${others[@]}"
	if [ "$linux" = 6.1 ]; then
		TESTS=${on_other_base[*]} BASE=6.12 suite others-6.12 selftests default two
	fi
	suite terminal
	suite library-kernels library stock 6.12 special formats cost
	TESTS=${programs[*]} suite selftests-debug selftests debug "${halved[@]}"
	suite selftests-buffers selftests default
	suite harness
}

# What takes hours, or is about other kernels than ours as it is.
rest_of_all()
{
	local name

	# Compilers mostly, beside guests mostly.
	aside of_each_patch
	for name in $(arch_names); do builds_only "$name" || arch_tests "$name"; done
	suite faults selftests faults
	suite debian
	joined
	suite mutants-programs
	# This suite runs two guests at once.
	suite mutants
}

of_each_patch()
{
	local name

	for name in $(arch_names); do ! builds_only "$name" || arch_tests "$name"; done
	suite patches-compile patches compile
	suite patches-boot patches boot
	suite patches-coccinelle patches coccinelle
	suite bases
	suite fixes fixes 'stock ours'
	suite command-kernels command
}

builds_only() { (load_arch "$1"; ((only_built))); }

# This prints each test that failed with its reasons, and its name once more right above the
# total: a reader who has only the last lines needs it there.
summary()
{
	[ ! -s "$work/left_out" ] || echo "# not run, as its time was up: $(xargs <"$work/left_out")"
	sed 's/^not ok/# FAILED/' "$work/failed"
	awk '{ printf "# %-20s %5d passed %5d failed %6d s\n", $1, $2, $3, $4 }' "$work/tally"
	sed -n 's/^not ok/# FAILED/p' "$work/failed"
	awk '	{ passed += $2; failed += $3 }
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
keep=
case $what in
all|rest)
	keep=$cache/results-$(all_that_matters | hash_of)
	mkdir -p "$keep"
	;;
esac
until=$((${MINUTES:-0} * 60))
case $what in
check)		suite check ;;
quick)		suite quick ;;
kunit)		suite kunit ;;
test)		first_tests; ((!until)) || more_tests ;;
all)		first_tests; more_tests; rest_of_all ;;
rest)		rest_of_all ;;
arch)		for name; do arch_tests "$name"; done ;;
*)		die "test.sh $what: not one of test, quick, check, kunit, all, rest, arch" ;;
esac
table
summary
