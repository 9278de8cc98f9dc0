#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/kcsan.sh: run ../torture/main.c on a kernel that looks for data races. A race
# fails if a line of the series makes an unmarked access in it, see kcsan.py, and it is not
# on kcsan-baseline.txt, the list of the stock kernel's races. Two kinds of race are only
# printed: one whose two functions are both on the list with others, as the stock kernel may
# have it, too, unseen; and one whose unmarked accesses are lines of the stock kernel, as it
# has more of these races than any number of runs has shown.
#
# The module torture_event has a race, which must be found: a detector that finds
# nothing does not pass.
#
# suites/kcsan.sh baseline [RUNS]: add to that list the races of the stock kernel under
# the same load, as far as that kernel can run it. A rare race takes many RUNS to be seen
# (default: 10), so no race is removed from the list: delete it to begin anew.
#
# TORTURE_SECONDS= (here 60 if it is not set), TORTURE_SEED= and SMP= as for
# suites/torture.sh.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/tap.sh"

export FLAVOUR=kcsan TORTURE_SECONDS=${TORTURE_SECONDS:-60}
. "$harness/shared/torture-run.sh"

list=$patches/kcsan-baseline.txt
planted='race_with_others / race_with_others'
control=/sys/kernel/debug/kcsan

# load [stock]: reports go to $work/reports, the console's lines to $console.
load()
{
	local status=0
	export EXCEPT='BUG: KCSAN: ' CONSOLE=$console TORTURE_MODULE=race=1
	torture_guest "$torture_seconds" "echo on >$control" "echo off >$control" "$@" || status=$?
	"$harness/suites/kcsan.py" "$console" "$image" "$base" "$work/stage" >"$work/reports"
	return $status
}

# The pairs among the reports of those KINDS, but for the planted one.
pairs()
{
	gawk -F '\t' -v kinds="$*" -v planted="$planted" '
		BEGIN { split(kinds, list, " "); for (i in list) wanted[list[i]] }
		$1 in wanted && $2 != planted { print $2 }' "$work/reports" | sort -u
}

unknown() { grep -vxFf <(known) || :; }

# What KCSAN said of a pair, the first time.
show_report()
{
	local line
	line=$(gawk -F '\t' -v pair="$1" '$2 == pair { print $3; exit }' "$work/reports")
	gawk -v first="$line" 'NR < first { next } /={20}/ || NR >= first + 80 { exit } { print }' "$console"
}

known() { grep -v '^#' "$list"; }
known_functions() { known | sed 's, / ,\n,' | sort -u; }

# Of the pairs on standard input, those that have a function that races in no other.
strange()
{
	gawk -F ' / ' 'ARGIND == 1 { known[$1]; next } !($1 in known && $2 in known)' \
		<(known_functions) -
}

# Twice as many places are looked at: what is rare is to be on the list.
make_list()
{
	local run
	export SERIES=none APPEND="${APPEND:-} kcsan.skip_watch=100"
	image=$("$harness/verbs/kernel.sh")
	known >"$work/all" 2>/dev/null || :
	for ((run = 1; run <= $1; run++)); do
		torture_seed=$((torture_seed + 1))
		load stock || die "the stock kernel did not come to the end"
		pairs trace series >>"$work/all"
		say "-- run $run of $1: $(pairs trace series | wc -l) pairs, $(sort -u "$work/all" | wc -l) in all"
	done
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		echo '#'
		echo '# Pairs of functions of which KCSAN reports a data race in the tracing of the'
		echo "# stock kernel, $(kernel_version "$base"): made by \"make kcsan-baseline\", which runs the load of"
		echo '# suites/kcsan.sh on the kcsan flavour without the series, and adds what it finds.'
		sort -u "$work/all"
	} >"$list"
	say "-- $(known | wc -l) pairs are in $list"
}

planted_is_found()
{
	grep -qF "$planted" "$work/reports" || { echo "no report of $planted"; return 1; }
}

planted_is_strange()
{
	grep -qF "series	$planted" "$work/reports" && [ "$(strange <<<"$planted")" = "$planted" ]
}

judge()
{
	local pair
	pairs series | unknown | strange >"$work/strange"
	check "the race that was planted is found" planted_is_found
	check "it would fail if it were not planted" planted_is_strange
	check "every other race in the tracing is one of the stock kernel's" empty "$work/strange"
	while read -r pair; do
		show_report "$pair" | sed "s/^/# /"
	done <"$work/strange"
	echo "# the stock kernel's races in the tracing: $(pairs trace series | grep -cxFf <(known))"
	pairs trace series | unknown | grep -vxFf "$work/strange" |
		sed 's/^/# not on the list, but both functions are, or it is by lines of the stock kernel: /' || :
	pairs other | sed 's/^/# elsewhere, not judged: /'
}

run_load()
{
	local status=0
	echo 1..3
	load || status=$?
	judge
	[ $status -eq 0 ] || torture_repeat tools/harness/suites/kcsan.sh
	return $status
}

scratch
find_base
stage_onto_base "$work/stage"
build_torture
console=$logs/console-kcsan-$$.log
if [ "${1:-}" = baseline ]; then
	make_list "${2:-10}"
else
	image=$("$harness/verbs/kernel.sh")
	run_load
fi
