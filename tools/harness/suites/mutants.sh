#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/mutants.sh [NAME...]: are planted faults found? All those of the lists
# mutants/*.faults, or these, are compiled into one kernel, each behind a switch, see
# mutants/plant.py. Each is switched on by itself, first for the KUnit tests in UML, and
# if these pass for the selftests that its list names, in a guest, until one fails.
#
# A fault that is found is "ok", with the test that found it. One that is not is "not
# ok", unless its list says why none finds it; so is one whose list says that and that
# is found. Faults that take a race to be seen are told and not judged.

. "$(dirname "$0")/../lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"
. "$harness/userland.sh"
. "$harness/kunit.sh"

export MUTANTS=yes

make_tests()
{
	make -C "$work/tree/tools/testing/selftests/ring-buffer" OUTPUT="$work/with" \
	     KHDR_INCLUDES="-isystem $work/tree/usr/include -DTWO_BUFFERS"
}

# at_most_two COMMAND...: in the background, as soon as fewer than two are.
at_most_two()
{
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n || :
	done
	"$@" &
}

# The first test of what KUnit says on standard input that fails, or is missed.
first_of_kunit()
{
	gawk '/^    (not )?ok / { came++ }
		/^    not ok / && !failed { failed = $4 }
		match($0, /^    1\.\.([0-9]+)/, m) { planned += m[1] }
		END { if (failed) print failed; else if (!came || came != planned) print "its end" }'
}

# try_kunit NUMBER: what finds it goes to the file NUMBER.kunit, which else is empty.
try_kunit()
{
	local said=$work/$1.said status=0
	LIMIT=120 kunit_in_uml "$uml" "ring_buffer.mutant=$1" >"$said" || status=$?
	{
		sed 's/^\[ *[0-9.]*\] //' "$said" | first_of_kunit
		[ $status -ne 124 ] || echo "the time limit"
		"$harness/splats.sh" "$said" >/dev/null 2>&1 || echo "what the kernel says"
	} | sed -n '1s/^/KUnit: /p' >"$work/$1.kunit"
	sed -n 's/.*mutant [0-9]*: reached \([0-9]*\) times.*/\1/p' "$said" >"$work/$1.reached"
}

# The first test on standard input, of one program, that failed.
first_of_selftests()
{
	sed -n 's/^not ok [0-9]* \(.*\)/\1/p' | sed -n 1p
}

# try_selftests NUMBER PROGRAM...: the same, by the file NUMBER.selftests
try_selftests()
{
	local number=$1 status=0 found
	shift
	SMP=3 LIMIT=300 APPEND="maxcpus=2 ring_buffer.mutant=$number" WITH=$work/with THREAD=single \
		CONSOLE=$work/$number.console FLAVOUR=default "$harness/guest.sh" \
		"for t in $*; do ./\$t || exit 1; done; cat /sys/module/ring_buffer/parameters/mutant_reached" \
		>"$work/$number.out" 2>/dev/null || status=$?
	found=$(first_of_selftests <"$work/$number.out")
	case $status in
	0)	found= ;;
	1)	found=${found:-a program that died} ;;
	122)	found=${found:-the time limit} ;;
	*)	found=${found:-what the kernel says} ;;
	esac
	echo "$found" >"$work/$number.selftests"
	[ $status -ne 0 ] || tail -n 1 "$work/$number.out" >>"$work/$number.reached"
}

# tell NUMBER NAME KIND: one result
tell()
{
	local found reached
	found=$(cat "$work/$1.kunit" "$work/$1.selftests" 2>/dev/null | sed -n '/./{p;q}')
	reached=$(awk '{ n += $1 } END { print n + 0 }' "$work/$1.reached")
	case $3${found:+-found} in
	survives)	echo "ok - $2: survives, as its list says" ;;
	survives-found)	echo "not ok - $2: its list says that nothing finds it: $found" ;;
	*-found)	echo "ok - $2: $found" ;;
	race)		echo "# $2: takes a race, its place was come by $reached times" ;;
	*)		echo "not ok - $2: SURVIVED, its place was come by $reached times" ;;
	esac
}

scratch
find_base
stage_onto_base "$work/stage"
if [ $# -gt 0 ]; then
	gawk 'BEGIN { for (i = 1; i < ARGC; i++) wanted[ARGV[i]]; ARGC = 1 } $2 in wanted' "$@" \
		<"$work/stage.mutants" >"$work/faults"
else
	cp "$work/stage.mutants" "$work/faults"
fi
[ -s "$work/faults" ] || die "there is no fault called $*"
uml=$(FLAVOUR=uml "$harness/kernel.sh")
FLAVOUR=default "$harness/kernel.sh" >/dev/null
user_tree "$work/tree"
mkdir "$work/with"
step "building the selftests" selftests-mutants make_tests

echo "1..$(($(gawk -F '\t' '$4 != "race"' "$work/faults" | wc -l) + 1))"
try_kunit 0
if [ -s "$work/0.kunit" ]; then
	echo "not ok - without a fault: $(cat "$work/0.kunit")"
	exit 1
fi
echo "ok - without a fault no test fails"
started=$SECONDS
while read -r number _; do
	at_most_two try_kunit "$number"
done <"$work/faults"
wait
say "-- KUnit: $(wc -l <"$work/faults") faults in $((SECONDS - started)) s"
while IFS=$'\t' read -r number _ tests _; do
	[ ! -s "$work/$number.kunit" ] || continue
	mapfile -t programs < <(tr ',' '\n' <<<"$tests" | grep '_test$')
	[ ${#programs[@]} -eq 0 ] || at_most_two try_selftests "$number" "${programs[@]}"
done <"$work/faults"
wait
say "-- all: $((SECONDS - started)) s"
while IFS=$'\t' read -r number name _ kind _; do
	tell "$number" "$name" "$kind"
done <"$work/faults"
