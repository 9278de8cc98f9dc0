#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/mutants.sh [NAME...]: do the tests find the planted faults? The faults of the
# kernel in the lists mutants/*.faults, or those named, are compiled into one kernel, each
# behind a switch, see mutants/plant.py; suites/mutants-programs.sh is the same for library
# and command. A run without a fault notes which tests run the code of each fault. Only
# those tests are run with the fault: first all KUnit tests, in UML, then the programs that
# need a boot of their own, if the list names them, then the selftests, one after the other,
# in a guest that tries many faults. See mutants/trial.c for what happens in the guest,
# mutants/trials.py for what is tried. The torture program is one of the tests.
#
# A fault that a test finds is "ok", with that test. One that none finds is "not ok",
# unless its list says why no test can find it; if one finds it all the same, it is "not
# ok", too. Faults that only a race shows are printed and not judged, except for those
# in a model: checks/model.sh sees that spin finds them.
#
# BASE=6.12 has about two in five of the faults: its code does not have the text of the others.
#
# What has found a fault in an earlier run is tried first: that is kept in mutant-hints, in the
# cache. The folder that KEEP= names keeps what trials.py reads.
#
# GUESTS= is how many guests there are at once, 2 if nothing is said. TESTS= are the
# programs to try, all if nothing is said. MUTANT_SECONDS= is for how long one fault that
# takes no race is tried, 180 if nothing is said.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/uml.sh"
. "$harness/shared/torture-run.sh"

guests=${GUESTS:-2}

# With a number as its argument a program runs this test only, with 0 none.
one_by_number()
{
	sed -i 's/^\(\t*\)count++;$/&\n\1if (argc > 1 \&\& count != (unsigned int)atoi(argv[1]))\n\1\tcontinue;/' "$1"
	grep -q 'atoi(argv\[1\])' "$1"
}

make_tests()
{
	local selftests=$work/tree/tools/testing/selftests
	one_by_number "$selftests/kselftest_harness.h"
	make -C "$selftests/ring-buffer" OUTPUT="$work/with" \
	     KHDR_INCLUDES="-isystem $work/tree/usr/include -DTWO_BUFFERS"
	make -C "$selftests/ring-buffer" -s --no-print-directory COLLECTION=ring-buffer emit_tests |
		sed 's/.*://' >"$work/list"
	gcc -O2 -Wall -Wextra -Werror -static -o "$work/with/trial" "$harness/mutants/trial.c"
	make_torture
	mv "$work/with/torture" "$work/with/torture_program"
	cp "$harness/mutants/torture" "$harness/torture/"{unload,nested,stacks,events} "$work/with"
	# Its last test has two CPUs run at once, which one emulation thread does not do.
	# shellcheck disable=SC2016 # the guest's shell expands it
	sed -i 's/^tests=.*/&-1/; s/1\.\.$tests/1..$((tests))/' "$work/with/nested"
	grep -q '^tests=[0-9]*-1$' "$work/with/nested"
}

trials() { "$harness/mutants/trials.py" "$1" "$known" "${@:2}"; }

# The first test of what KUnit says on standard input that fails, or is missed.
first_of_kunit()
{
	gawk '/^    (not )?ok / { came++ }
		/^    not ok / && !failed { failed = $4 }
		match($0, /^    1\.\.([0-9]+)/, m) { planned += m[1] }
		END { if (failed) print failed; else if (!came || came != planned) print "its end" }'
}

# try_kunit FAULT: what finds it, or nothing, goes to kunit; what was said to FAULT.said.
try_kunit()
{
	local said=$work/$1.said status=0 first
	LIMIT=120 kunit_in_uml "$uml" "ring_buffer.mutant=$1" >"$said" 2>/dev/null || status=$?
	first=$(sed 's/^\[ *[0-9.]*\] //' "$said" | first_of_kunit)
	{
		[ "$first" = "its end" ] || echo "$first"
		"$harness/shared/splats.sh" "$said" >/dev/null 2>&1 || echo "what the kernel says"
		[ $status -ne 124 ] || echo "the time limit"
		echo "$first"
	} | sed -n "/./{s/^/$1 /p;q}" >>"$known/kunit"
}

# The faults that take no race of which KUnit comes by the place, by the mask that a run
# said at its end.
reached_by_kunit()
{
	gawk -F '\t' -v mask="$(sed -n 's/.*mutants reached: //p' "$work/-1.said" | tr -d ,)" '
		{
			digit = strtonum("0x" substr(mask, length(mask) - int($1 / 4), 1))
			if (and(digit, lshift(1, $1 % 4)) && $4 != "race" && $4 != "model")
				print $1
		}' "$known/faults"
}

# Many at once: the tests sleep more than they run.
all_by_kunit()
{
	: >"$known/kunit"
	try_kunit -1
	[ ! -s "$known/kunit" ] || die "KUnit fails without a fault: $(cat "$known/kunit")"
	reached_by_kunit >"$work/reached"
	while read -r fault; do
		at_once 8 try_kunit "$fault"
	done <"$work/reached"
	wait
}

# guest WITH CONSOLE LIMIT COMMAND [PARAMETER]
guest()
{
	IMAGE=$image SMP=3 THREAD=${THREAD:-single} WITH=$1 CONSOLE=$2 LIMIT=$3 \
		APPEND="maxcpus=2 panic_on_warn=1 printk.devkmsg=on ${5:-}" \
		"$harness/verbs/guest.sh" "$4" 2>>"$work/guests.err"
}

# record PART PROGRAM...: in a guest of its own
record()
{
	: >"$work/record.$1"
	[ $# -gt 1 ] || return 0
	guest "$work/with" "$work/record.$1.console" 1800 "./trial record ${*:2}" >"$work/record.$1"
}

# wanted PROGRAM...: those that TESTS= names, one a line
wanted()
{
	local program
	for program; do
		case " ${TESTS:-$program} " in *" $program "*) echo "$program" ;; esac
	done
}

# The record on standard input, without tests that fail as what they cite does not hold on
# this base.
promised()
{
	not_promised >"$work/not_on"
	gawk 'ARGIND == 1 { not_on[$1, $2]; next }
		$1 == "failed" { name = $NF; sub(/.*\./, "", name) }
		$1 != "failed" || !(($2, name) in not_on)' "$work/not_on" -
}

# Two guests have half of the programs each. What is first in its guest sees a buffer that
# nothing has used yet. pressure_test leaves little of a guest; on another base the kernel warns
# in a test of it that is not promised there, and panics.
record_all()
{
	local first apart all odd even complete=yes
	mapfile -t first < <(tests_run first)
	mapfile -t apart < <(tests_run alone-default)
	mapfile -t all < <(printf '%s\n' "${first[@]}" | grep -vxF -f - "$work/list")
	mapfile -t all < <(wanted "${first[@]}" "${all[@]}")
	mapfile -t odd < <(printf '%s\n' "${all[@]}" | sed '1~2!d;/^$/d')
	mapfile -t even < <(printf '%s\n' "${all[@]}" | sed '1~2d;/^$/d'
		wanted torture unload nested stacks events
		[ "$linux" != 6.1 ] || wanted "${apart[@]}")
	record odd "${odd[@]}" &
	record even "${even[@]}" || complete=no
	wait $! || complete=no
	cat "$work/record.odd" "$work/record.even" | promised >"$known/record"
	[ $complete = yes ] ||
		die "the selftests do not come to their end without a fault" "$(tail -n 20 "$work/guests.err")"
}

# next_plan GUEST KIND: what this guest tries next, of the faults that no other one tries; fails
# if nothing is left. What the last one said is known then.
next_plan()
{
	local plan=$work/with.$1/plan console=$work/try.$1.console
	flock 8
	if [ -s "$plan" ]; then
		trials digest "$console" >"$plan.said"
		[ -s "$plan.said" ] || die "a guest has tried nothing: $console"
		cat "$plan.said" >>"$known/results"
		say "-- $(trials left): $((SECONDS - started)) s"
	fi
	rm -f "$plan" "$console"
	trials plan "$2" "$work"/with.*/plan >"$plan.new"
	mv "$plan.new" "$plan"
	[ -s "$plan" ]
}

# try_selftests GUEST KIND
try_selftests()
{
	local with=$work/with.$1
	rm -rf "$with"
	cp -a "$work/with" "$with"
	trials tests >"$with/tests"
	while (next_plan "$1" "$2") 8>"$work/queue"; do
		guest "$with" "$work/try.$1.console" 1500 "./trial try tests plan" >"$work/try.$1.out" || :
	done
}

# try_alone FAULT PROGRAM: in a boot with the fault
try_alone()
{
	local status=0 out=$work/$1.out failed
	guest "$work/with" "$work/$1.console" 300 "./$2" "ring_buffer.mutant=$1" >"$out" || status=$?
	[ $status -ne 0 ] || return 0
	failed=$(sed -n 's/^not ok [0-9]* \(.*\)/: \1/p' "$out" | sed -n 1p)
	# From 122 on it is the guest that did not start, or came to no end.
	[ $status -lt 122 ] || [ -n "$failed" ] || return 0
	[ $status -lt 120 ] || failed+=', the guest ended'
	echo "$1 found $2$failed" >>"$known/results"
}

# in_guests KIND: the faults of that kind, in several guests at once
in_guests()
{
	local n
	for ((n = 1; n <= guests; n++)); do
		try_selftests "$1$n" "$1" &
	done
	wait
}

by_selftests()
{
	: >"$known/results"
	while read -r fault program; do
		at_once "$guests" try_alone "$fault" "$program"
	done < <(trials alone)
	wait
	in_guests plain
	# CPUs that really run at the same time
	THREAD=multi in_guests race
}

# Called on the last line: a shell reads on in a file that changes while it runs.
main()
{
	local name way
	scratch
	known=${KEEP:-$work/known}
	export MUTANTS=yes
	mkdir -p "$known" "$work/with"
	find_base
	stage_onto_base "$work/stage"
	if [ $# -gt 0 ]; then
		gawk 'BEGIN { for (i = 1; i < ARGC; i++) wanted[ARGV[i]]; ARGC = 1 } $2 in wanted' "$@" \
			<"$work/stage.mutants" >"$known/faults"
	else
		cp "$work/stage.mutants" "$known/faults"
	fi
	for name; do
		cut -f 2 "$known/faults" | grep -qxF -e "$name" || die "$name is no fault of Linux $linux"
	done
	cat "$cache/mutant-hints" >"$known/hints" 2>/dev/null || :
	for way in first alone-default alone-debug; do tests_run $way; done >"$known/alone"
	tests_run patching >"$known/patching"
	uml=$(FLAVOUR=uml "$harness/verbs/kernel.sh")
	image=$(FLAVOUR=default "$harness/verbs/kernel.sh")
	user_tree "$work/tree"
	step "building the selftests" selftests-mutants make_tests

	echo "1..$(gawk -F '\t' '$4 != "race"' "$known/faults" | wc -l)"
	started=$SECONDS
	all_by_kunit
	say "-- KUnit comes by $(wc -l <"$work/reached") faults, finds $(wc -l <"$known/kunit"):" \
		"$((SECONDS - started)) s"
	record_all
	say "-- $(wc -l <"$known/record") selftests pass without a fault: $((SECONDS - started)) s"
	by_selftests
	say "-- all: $((SECONDS - started)) s"
	trials tell
	trials hints >"$known/hints.new"
	mv "$known/hints.new" "$cache/mutant-hints"
}

main "$@"
