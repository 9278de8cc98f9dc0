#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/bench.sh: what is kept of the benchmark is what its kept results give,
# and the report of made-up results says of them what is so.

. "$(dirname "$0")/../lib.sh"
. "$harness/tap.sh"

report=$harness/bench/report.py
kept=tools/harness/bench/kept.json
document=Documentation/trace/ring-buffer-map-bench

# Of set -e's concern, which a plain "!" is not.
not() { ! "$@"; }

# --- what is kept ---

keep_again()
{
	mkdir "$work/kept"
	cp "$top/README.md" "$work/kept/"
	"$report" --keep "$top/$kept" "$work/kept"
}

same() { diff -r "$work/kept/$1" "$top/$1"; }

# --- made-up results: every target is met, but not by much ---

each_kernel() { for kernel in stock before ours mainline; do "$@"; done; }

made_up_meta()
{
	echo "result meta unit=instructions accel=tcg cpu=Made Up CPU @ 1 GHz qemu=0 kernel=$kernel version=0"
}

made_up_drain()
{
	local subbuf payload
	for subbuf in 4 64; do
		for payload in 8 32 128 1024; do
			drain_line parse 13
			drain_line read 40
			case $kernel in
			ours)		drain_line mapping 14; drain_line live 14 0 ;;
			mainline)	drain_line mapping 64 ;;
			esac
		done
	done
}

drain_line()
{
	echo "result drain kernel=$kernel way=$1 payload=$payload subbuf=$subbuf value=$2 calls=${3:-0.25} copied=0"
}

made_up_get_reader()
{
	local at
	for at in 4:10 4:100 64:10 64:20 64:400; do
		echo "result get_reader kernel=$kernel way=mapping subbuf=${at%:*} events=${at#*:} value=490"
		echo "result get_reader kernel=$kernel way=live subbuf=${at%:*} events=${at#*:} value=150"
	done
	for at in 10 400; do
		echo "result irqs_off kernel=$kernel way=mapping events=$at value=200"
		echo "result irqs_off kernel=$kernel way=live events=$at value=0"
	done
}

made_up_writer()
{
	local mappings
	echo "result writer bench=ring_buffer_benchmark kernel=$kernel value=100.4"
	for mappings in 0 1 8; do
		echo "result writer bench=bench_event kernel=$kernel mappings=$mappings payload=32 value=200.8"
	done
	for mappings in 0 1; do
		echo "result writer bench=asleep kernel=$kernel sleepers=$mappings payload=32 value=200.8"
	done
	for mappings in 0 16; do
		echo "result writer bench=observed kernel=$kernel observers=$mappings payload=32 value=201.7"
	done
}

made_up_map()
{
	local mib pages
	for mib in 1 64 256; do
		pages=$((mib * 256))
		echo "result map kernel=$kernel mib=$mib pages=$pages total=$((20000 + 390 * pages)) value=391 memory=16"
		echo "result index kernel=$kernel mib=$mib subbufs=$pages pages=$mib total=3000 value=30 memory=$((32 * pages))"
	done
}

made_up_wakeup()
{
	local way
	for way in read mapping live; do
		echo "result wakeup kernel=$kernel way=$way state=asleep value=5000"
		echo "result wakeup kernel=$kernel way=$way state=awake value=500"
	done
}

made_up_quiet()
{
	local events n
	for events in power function; do
		echo "result quiet events=$events observer=elsewhere value=9.5"
		echo "result quiet events=$events observer=there value=9.9"
	done
	for n in 0 1000; do echo "result quiet sleepers=$n value=0.5"; done
}

made_up_library()
{
	local way payload
	for payload in 8 32 128; do
		for way in mapping live copy; do
			echo "result library way=$way payload=$payload subbuf=4 value=20"
		done
		for way in consume in-place observe records; do
			echo "result library way=$way payload=$payload subbuf=4 value=25"
		done
	done
}

made_up_merge()
{
	local by sources order
	for by in instructions nanoseconds; do
		for sources in 2 8 64 256; do
			for order in alternating random bursts-4 bursts-16 bursts-64; do
				echo "result merge by=$by sources=$sources order=$order parse=2 value=5"
			done
		done
	done
}

made_up_ways()
{
	local way payload n calls
	for way in parse read mapping live splice-file splice-null perf bpf; do
		calls=0.25
		[ "$way" != live ] || calls=0
		for payload in 8 32 128; do
			echo "result peers way=$way payload=$payload value=50 calls=$calls copied=0 write=300"
		done
		for n in 1 2 4 8; do echo "result cpus n=$n way=$way value=1000000"; done
		for n in 1 256; do echo "result growth buffer_mib=$n way=$way value=20"; done
		for n in 500 1000; do echo "result loss way=$way rate=$n value=0"; done
	done
}

made_up()
{
	local kernel
	echo 'what the guest says besides'
	each_kernel made_up_meta
	each_kernel made_up_drain
	each_kernel made_up_get_reader
	each_kernel made_up_writer
	each_kernel made_up_map
	each_kernel made_up_wakeup
	made_up_quiet
	made_up_library
	made_up_merge
	made_up_ways
}

# reports STATUS MESSAGE RESULTS: the report ends so, and says so.
reports()
{
	local got=0
	"$report" "$3" "$work/out" >"$work/printed" 2>"$work/said" || got=$?
	cat "$work/said"
	[ $got -eq "$1" ] || { echo "status $got, not $1"; return 1; }
	grep -qF -- "$2" "$work/printed" "$work/said" || { echo "nobody says: $2"; return 1; }
}

verdicts() { grep -cE "\| $1 +\|\$" "$work/printed" || :; }

all_met()
{
	reports 0 'What was to be reached' "$work/good"
	not grep 'NOT met' "$work/printed" "$work/out/bench.md"
	not grep '"met": false' "$work/out/bench.json"
	[ "$(verdicts met)" -eq 26 ]
}

drawings()
{
	local f
	[ "$(find "$work/out" -name '*.svg' | wc -l)" -eq 7 ]
	for f in "$work"/out/*.svg; do
		python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$f"
	done
}

# missed SED ROW [ROWS]: with the results edited so, that row alone is
# not met, or that of so many.
missed()
{
	local edit=$1 row=$2
	sed -E "$edit" "$work/good" >"$work/edited"
	not cmp -s "$work/good" "$work/edited" || { echo "nothing edited: $edit"; return 1; }
	reports 0 'NOT met' "$work/edited"
	grep 'NOT met' "$work/printed" | tee "$work/missed"
	[ "$(wc -l <"$work/missed")" -eq "${3:-1}" ] && grep -qF -- "$row" "$work/missed"
}

# keeps_nothing WHY: the edited results are not kept, for that reason.
keeps_nothing()
{
	not "$report" --keep "$work/edited" "$work/none" 2>"$work/said"
	grep -F "$1" "$work/said"
	[ ! -e "$work/none" ]
}

left_out()
{
	grep -vE "$1" "$work/good" >"$work/edited"
	rm -rf "$work/out"
	reports 1 "$2" "$work/edited"
	[ -s "$work/out/bench.md" ]
	keeps_nothing 'is not complete'
}

refused()
{
	{ cat "$work/good"; echo "$1"; } >"$work/edited"
	reports 2 "$2" "$work/edited"
}

# Lines or JSON, printed or kept: the figures are the same.
json_is_as_good()
{
	reports 0 '' "$work/good"
	mv "$work/out" "$work/lines"
	mv "$work/printed" "$work/lines.printed"
	reports 0 '' "$work/lines/bench.json"
	diff -r "$work/lines" "$work/out"
	diff "$work/lines.printed" "$work/printed"
}

keeps()
{
	mkdir "$work/top"
	printf 'before\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n' >"$work/top/README.md"
	"$report" --keep "$work/good" "$work/top"
	not grep old "$work/top/README.md"
	grep -q 'mapping, this series' "$work/top/README.md"
	sed -n '1p;$p' "$work/top/README.md" | diff - <(printf 'before\nafter\n')
	grep '^|' "$work/top/README.md" >"$work/rows"
	[ "$(grep -cxFf "$work/rows" "$work/lines.printed")" -ge 6 ]
	cp -r "$work/top" "$work/top.once"
	"$report" --keep "$work/top/$kept" "$work/top"
	diff -r "$work/top.once" "$work/top"
}

time_is_not_judged()
{
	sed 's/unit=instructions/unit=nanoseconds/' "$work/good" >"$work/edited"
	reports 0 'not judged' "$work/edited"
	not grep -E '\| (met|\*\*NOT met\*\*) +\|' "$work/printed"
	keeps_nothing 'not nanoseconds'
}

scratch
made_up >"$work/good"
echo 1..42
check "bench: results are kept, complete"		keep_again
check "bench: the kept results are as report.py writes them" same "$kept"
check "bench: the README's table is of the kept results" same README.md
check "bench: the document is of the kept results"	same "$document.rst"
check "bench: the plots are of the kept results"	same "$document"
check "bench: targets that are met are reported so"	all_met
check "bench: the plots are XML"			drawings
check "bench: lines and JSON give the same report"	json_is_as_good
check "bench: what is kept is what was printed"		keeps
check "bench: time is not judged, nor kept"		time_is_not_judged
check "bench: an expensive GET_READER is told"		\
	missed "s/(get_reader kernel=ours way=mapping .*value=)490/\1501/" 'at most 500'
check "bench: a growing GET_READER is told"		\
	missed "s/(get_reader kernel=ours way=mapping .*events=400 value=)490/\1460/" 'within 5 %'
check "bench: an expensive event is told"		\
	missed "s/(drain kernel=ours way=mapping payload=8 subbuf=4 value=)14/\118.1/" '4 KiB sub-buffers, 8 / 32 / 128' 3
check "bench: more than the floor is told"		\
	missed "s/(drain kernel=ours way=parse .*subbuf=64 value=)13/\112.7/" 'times the floor'
check "bench: more than read(2) is told"		\
	missed "s/(drain kernel=ours way=read payload=1024 .*value=)40/\114/" 'fewer'
check "bench: too small an advantage is told"		\
	missed "s/(drain kernel=mainline way=mapping payload=1024 .*value=)64/\162/" 'every payload and sub-buffer'
check "bench: interrupts that stay off are told"	\
	missed "s/(irqs_off kernel=ours way=mapping events=400 value=)200/\1203/" 'interrupts off'
check "bench: a slower writer is told"			\
	missed "s/(ring_buffer_benchmark kernel=(before|ours) value=)100.4/\1101/" 'event, not mapped'
check "bench: a writer that mappings slow is told"	\
	missed "s/(kernel=ours mappings=8 .*value=)200.8/\1203/" 'within 1 %'
check "bench: a live view that is not used and costs is told" \
	missed "s/(ring_buffer_benchmark kernel=before value=)100.4/\1100.2/" 'event, not observed'
check "bench: a writer that the live view slows is told"	\
	missed "s/(kernel=ours observers=.*value=)201.7/\1201.9/" 'observed, 0 / 16 observers'
check "bench: a writer that observers slow is told"	\
	missed "s/(kernel=ours observers=16 .*value=)201.7/\1201.6/" '16 observers against none'
check "bench: system calls of an observer are told"	\
	missed "s/(drain kernel=ours way=live payload=1024 subbuf=64 .*calls=)0 /\10.001 /" 'system calls'
check "bench: a large live index is told"		\
	missed "s/(index kernel=ours mib=256 .*memory=).*/\12110000/" 'memory of the live index'
check "bench: a sleepy observer is told"		\
	missed "s/(wakeup kernel=ours way=read state=asleep value=)5000/\13300/" 'sleeping observer'
check "bench: an observer sleepier than before is told"	\
	missed "s/(wakeup kernel=ours way=live state=asleep value=)5000/\16200/" 'interrupted the watched CPU'
check "bench: a writer that a sleeper slows is told"	\
	missed "s/(kernel=ours sleepers=1 .*value=)200.8/\1201.5/" 'far mark'
check "bench: an observer that does not sleep is told"	\
	missed "s/(quiet events=function observer=elsewhere value=)9.5/\110.1/" 'whose idleness is traced'
check "bench: interrupts by sleepers are told"		\
	missed "s/(quiet sleepers=1000 value=)0.5/\11.6/" '1,000 observers asleep'
check "bench: a library that adds much is told"		\
	missed "s/(library way=observe payload=32 .*value=)25/\126.1/" 'libtracemap'
check "bench: an expensive page is told"		\
	missed "s/(map kernel=ours mib=64 .*value=)391/\1401/" 'a page'
check "bench: mapping that is not linear is told"	\
	missed "s/(map kernel=ours mib=256 .*total=)[0-9]+/\130000000/" 'linear'
check "bench: a wait in mmap() is told"			\
	missed '/map kernel=ours/{s/=119840/=12119840/; s/=6409760/=18409760/; s/=25579040/=37579040/}' 'no grace period'
check "bench: memory beyond the meta area is told"	\
	missed "s/(map kernel=ours mib=1 .*memory=)16/\117/" 'memory'
check "bench: a table that is not there is told"	left_out 'result loss' 'no result loss'
check "bench: a line that is not there is told"		\
	left_out 'kernel=mainline way=mapping payload=8 subbuf=64' 'kernel=mainline way=mapping payload=8 subbuf=64'
check "bench: an order that was not merged is told"	\
	left_out 'by=instructions sources=64 order=random' 'sources=64'
check "bench: merging without parsing is refused"	\
	refused 'result merge by=instructions sources=4 order=random parse=0 value=1' 'parse is not above 0'
check "bench: a table nobody knows is refused"		refused 'result weather value=1' "no table 'weather'"
check "bench: a second result is refused"		\
	refused 'result loss way=read rate=500 value=1' 'more than one result for loss'
check "bench: a figure that is no number is refused"	\
	refused 'result loss way=read rate=1 value=much' 'value is no number'
check "bench: a cost of nothing is refused"		\
	refused 'result growth way=read buffer_mib=2 value=0' 'value is not above 0'
