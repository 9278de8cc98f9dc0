#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/selftests.sh FLAVOUR|ARCH [two]: our kselftests, in a guest of that
# flavour or machine. Each test is for four buffers; with "two" it runs for two of
# them. TESTS='...' names the programs to run (default: all).
#
# suites/selftests.sh faults: the tests in which each allocation fails once, on the
# debug flavour. They take hours.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/machines.sh"

name=${1:-default} but=(-v)
[ "$name" != faults ] || name=debug but=()
load_arch "$name"
export FLAVOUR=${kernel:-$name}
options="$lacks${2:+ -DTWO_BUFFERS}"
scratch
find_base
user_tree "$work/tree"
mkdir "$work/with"
selftests=$work/tree/tools/testing/selftests
[ -d "$selftests/ring-buffer" ] || die "there are no tests in tools/testing/selftests/ring-buffer"

make_tests()
{
	make -C "$selftests/ring-buffer" OUTPUT="$work/with" \
	     CROSS_COMPILE="$user_cross" ${compat_cross:+CC32="${compat_cross}gcc"} \
	     KHDR_INCLUDES="-isystem $work/tree/usr/include $options" "$@"
}
step "building the selftests" "selftests-$name" make_tests
make_tests -s --no-print-directory COLLECTION=ring-buffer emit_tests | sed 's/.*://' >"$work/with/list"

# wanted: of the programs that come in, those that TESTS= names
wanted() { if [ -n "${TESTS:-}" ]; then grep -xF -- "${TESTS// /$'\n'}"; else cat; fi; }

[ -z "$compat_cross" ] || grep -qx compat_test "$work/with/list" ||
	die "there is no compiler for 32-bit programs: see $logs/selftests-$name.log"

# Those where each allocation fails, or all but those
tests_run failing | grep "${but[@]}" -xF -f - "$work/with/list" >"$work/list"
mv "$work/list" "$work/with/list"
tests_run "alone-${1:-default}" >"$work/with/alone"

# Empty for 6.1, where the harness of the tests knows no option to leave one out.
not_promised >"$work/not_on"

# commands: of programs, one a line, without those whose tests are all left out
commands()
{
	local program tests
	while read -r program; do
		mapfile -t tests < <(sed -n "s/^$program //p" "$work/not_on")
		[ ${#tests[@]} -lt "$(grep -c '^TEST[A-Z_]*(' "$selftests/ring-buffer/$program.c")" ] || continue
		echo "./$program${tests[*]/#/ -T }"
	done
}

# by_program FILE: what comes in goes out once the program that said it has ended; FILE.last
# gets what the last one said, FILE.begun how many have begun.
by_program()
{
	gawk -v last="$1.last" -v begun="$1.begun" '
		/^# \.\/.* \(at [0-9]+ s\)$/	{ printf "%s", said; fflush(); said = ""; programs++ }
		{ said = said $0 "\n" }
		END { printf "%s", said >last; print programs + 0 >begun }'
}

# run_commands FILE: its programs in a guest. Where the emulator has failed, the one that
# ran and those after it go to another guest.
run_commands()
{
	local status

	set +e
	WITH=$work/with LIMIT=${LIMIT:-3600} "$harness/verbs/guest.sh" "$(in_turn <"$1")" | by_program "$1"
	status=${PIPESTATUS[0]}
	set -e
	if [ "$status" -eq 119 ] && [ -s "$1" ]; then
		tail -n "+$(cat "$1.begun")" "$1" >"$1.left"
		THREAD=single run_commands "$1.left"
		return
	fi
	cat "$1.last"
	return "$status"
}

# run_list FILE: the programs it names. Each says its plan first: one that dies
# is missed by its results.
run_list()
{
	[ -s "$work/with/$1" ] || return 0
	commands <"$work/with/$1" >"$work/$1.commands"
	run_commands "$work/$1.commands"
}

# tests.mk says how each is run. A test keeps one CPU busy at most, so most go to two
# guests at once. With two buffers, few programs are enough to look for leaks in: to
# know of all memory takes a kernel twice the time.
(
	cd "$work/with" || exit
	cat list alone | wanted >run ||
		die "TESTS=$TESTS: none of these is a program of the selftests"
	for way in failing patching leaking first; do
		tests_run $way | grep -xF -f - run >"$way" || :
	done
	comm -12 failing patching >failing_patching
	for way in failing patching; do
		grep -vxF -f failing_patching $way >rest || :
		mv rest $way
	done
	[ -n "${2:-}" ] || : >leaking
	grep -vxF -f alone -f failing -f failing_patching -f patching -f leaking -f first run >rest || :
	grep -xF -f alone run >apart || :
	cat first - <rest >all && mv all rest
	sed -n '1~2p' rest >odd
	sed -n '2~2p' rest >even
)
status=0
quick=${2:+kmemleak=off}
export SMP=3 APPEND="maxcpus=2 $quick"
run_list even >"$work/even.tap" &
even=$!
run_list odd || status=$?
wait $even || status=$?
cat "$work/even.tap"
export SMP=2 APPEND=
run_list leaking >"$work/leaking.tap" &
leaking=$!
# After a lockdown nobody can ask for leaks.
APPEND=kmemleak=off run_list apart || status=$?
APPEND=$quick THREAD=single run_list patching || status=$?
wait $leaking || status=$?
cat "$work/leaking.tap"
# These take longer than all others.
export LIMIT=${LIMIT:-10800}
run_list failing >"$work/failing.tap" &
failing=$!
THREAD=single run_list failing_patching || status=$?
wait $failing || status=$?
cat "$work/failing.tap"
exit $status
