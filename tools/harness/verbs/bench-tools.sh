#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench-tools.sh: what it costs to trace this machine, as it runs, with tracemap
# and with the packaged trace-cmd, perf and bpftrace. A table, on standard output.
#
# Each tool, with its default options, traces a program that makes EVENTS system
# calls on one CPU as fast as it can, and nothing else: a filter for a call that
# no other program makes. So it is known how many events were written. ("perf trace -s"
# follows the program instead, and, as it is slow, a tenth of the calls.) Every round
# runs the program without a tool and then with each, ROUNDS of them; figures are
# compared within a round, and the median of all rounds is printed.
#
# All of it is in instances and files of its own, which are removed.

. "$(dirname "$0")/../shared/start.sh"

events=${EVENTS:-300000}
rounds=${ROUNDS:-3}
limit=20	# seconds for a tool
tracefs=/sys/kernel/tracing
instance=bench-tools.$$
event=raw_syscalls:sys_enter

# Each is compared with the first of its kind: what writes a file, what prints text, what counts.
kinds=('tracemap-record tracemap-record-compressed trace-cmd-record perf-record'
	'tracemap-stream trace-cmd-stream bpftrace'
	'tracemap-top perf-trace-s bpftrace-count')
tools=${kinds[*]}

# --- the tools ---

work_command=()

run_tracemap-record()
{
	measured "$tracemap" record -e "$event" -f "$filter" -o "$work/file" -- "${work_command[@]}"
}

run_tracemap-record-compressed()
{
	measured "$tracemap" record --compress -e "$event" -f "$filter" -o "$work/file" -- "${work_command[@]}"
}

kept_tracemap-record-compressed() { kept_tracemap-record; }

# What is in a file is counted by a reader of it, not by the tool that wrote it.
kept_tracemap-record() { count_file || sed -n 's/^tracemap: .*: \([0-9]*\) events.*/\1/p' "$work/err"; }

run_trace-cmd-record()
{
	measured trace-cmd record -B "$instance" -e "$event" -f "$filter" -o "$work/file" "${work_command[@]}"
}

kept_trace-cmd-record() { count_file; }

run_perf-record()
{
	measured perf record -a -e "$event" --filter "$filter" -o "$work/file" "${work_command[@]}"
}

kept_perf-record()
{
	perf report --stats -i "$work/file" 2>/dev/null | awk '/SAMPLE events:/ { print $3; exit }'
}

run_tracemap-stream()
{
	measured "$tracemap" stream -e "$event" -f "$filter" -- "${work_command[@]}"
}

kept_tracemap-stream() { count_lines; }

run_trace-cmd-stream()
{
	measured trace-cmd stream -B "$instance" -e "$event" -f "$filter" "${work_command[@]}"
}

kept_trace-cmd-stream() { count_lines; }

# It takes a command as one string.
run_bpftrace()
{
	measured bpftrace -c "${work_command[*]}" -e "tracepoint:$event /args->id == $number/ {
		printf(\"%16s-%-7d [%03d] %llu: sys_enter: NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)\\n\",
			comm, tid, cpu, nsecs, args->id, args->args[0], args->args[1], args->args[2],
			args->args[3], args->args[4], args->args[5]); }"
}

kept_bpftrace() { count_lines; }

run_tracemap-top()
{
	measured "$tracemap" top --json -e "$event" -f "$filter" -- "${work_command[@]}"
}

kept_tracemap-top() { sed -n '$s/.*"all":{[^}]*"count":\([0-9]*\).*/\1/p' "$work/out"; }

run_perf-trace-s() { measured perf trace -s -o "$work/file" "${work_command[@]}"; }

kept_perf-trace-s() { awk -v call="$call" '$1 == call { print $2 }' "$work/file"; }

run_bpftrace-count()
{
	measured bpftrace -c "${work_command[*]}" -e "tracepoint:$event /args->id == $number/ { @ = count(); }"
}

kept_bpftrace-count() { sed -n 's/^@: //p' "$work/out"; }

count_file()
{
	command -v trace-cmd >/dev/null || return
	trace-cmd report -i "$work/file" 2>/dev/null | grep -c 'sys_enter: ' || :
}

count_lines() { grep -c 'sys_enter: ' "$work/out" || :; }

# --- one of them, once ---

# It takes a second or two; "trace-cmd stream" 3.1 sometimes never ends.
measured() { timeout --kill-after=5 "$limit" "$work/bench-tools" run "$work/run" "$@"; }

not_measured() { echo "$1" >"$work/why.$tool"; }

# The last words of a tool that failed: control characters and tables of it are no reason.
last_words()
{
	tr -d '\000-\010\013-\037|' <"$work/err" | grep -v '^[[:space:]]*$' | tail -n 2 |
		tr -s '\n\t ' ' ' | cut -c1-140
}

remove_instance()
{
	# A tool that has ended may have left its buffers open for a moment longer.
	local try
	for try in {1..50}; do
		[ -d "$tracefs/instances/$instance" ] || return 0
		rmdir "$tracefs/instances/$instance" 2>/dev/null || sleep 0.1
	done
	say "-- $tracefs/instances/$instance is in use ($try tries): it stays"
}

measure()
{
	local status=0 kept started cpu memory began own count=$events
	[ "$tool" != perf-trace-s ] || count=$(((events + 9) / 10))
	work_command=("$work/bench-tools" work "$cpu_number" "$count" "$work/work")
	rm -f "$work"/{run,work,file*,out,err}
	"run_$tool" >"$work/out" 2>"$work/err" </dev/null || status=$?
	remove_instance
	[ "$status" -ne 124 ] || { not_measured "not at its end after $limit s"; return; }
	[ -s "$work/work" ] ||
		{ not_measured "status $status, the workload did not run: $(last_words)"; return; }
	[ "$status" -eq 0 ] || { not_measured "status $status: $(last_words)"; return; }
	kept=$("kept_$tool") || kept=0
	[ "${kept:-0}" -gt 0 ] || { not_measured "it kept no event: $(last_words)"; return; }
	read -r started cpu memory <"$work/run"
	read -r began own _ <"$work/work"
	echo "$tool $round $((cpu - own)) $kept $((began - started)) $memory $count" \
		$((own * 1000 / count - untraced * 1000 / events)) >>"$work/figures"
}

# What the program itself costs, which tracing adds to.
measure_untraced()
{
	rm -f "$work/work"
	"$work/bench-tools" work "$cpu_number" "$events" "$work/work"
	read -r _ untraced _ <"$work/work"
}

program_of()
{
	case $tool in
	tracemap-*)	echo "$tracemap" ;;
	trace-cmd-*)	echo trace-cmd ;;
	perf-*)		echo perf ;;
	bpftrace*)	echo bpftrace ;;
	*)		echo "$tool" ;;
	esac
}

one_round()
{
	local tool
	measure_untraced
	for tool in $tools; do
		# What has failed and never worked is not tried again.
		[ ! -e "$work/why.$tool" ] || grep -q "^$tool " "$work/figures" || continue
		if ! command -v "$(program_of)" >/dev/null; then
			not_measured "$(program_of) is not installed"
			continue
		fi
		measure
		[ "$tool" != tracemap-record ] ||
			way=$(sed -n 's/.*, way: //p' "$work/err")
	done
}

# --- the table ---

# Lines of a tool each: its name, then cells; a median is that of the rounds.
print_table()
{
	local kind why
	for kind in "${kinds[@]}"; do
		for tool in $kind; do
			why=
			[ ! -e "$work/why.$tool" ] || why=$(<"$work/why.$tool")
			echo "why $tool ${kind%% *} $why"
		done
	done | awk -v figures="$work/figures" '
	function median(list, n,	i, j, v) {
		for (i = 2; i <= n; i++) {
			v = list[i]
			for (j = i - 1; j > 0 && list[j] > v; j--)
				list[j + 1] = list[j]
			list[j + 1] = v
		}
		return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
	}
	# The median of the figure, and of its ratio to that of another tool, if one is named.
	function cell(tool, what, format, other,	r, n, m, list, ratio) {
		for (r = 1; r <= rounds; r++) {
			if (!((tool, what, r) in value))
				continue
			list[++n] = value[tool, what, r]
			if (other != "" && value[other, what, r] > 0)
				ratio[++m] = list[n] / value[other, what, r]
		}
		return sprintf(format, median(list, n)) (m ? sprintf(" (x %.1f)", median(ratio, m)) : "")
	}
	BEGIN {
		while ((getline line < figures) > 0) {
			split(line, f, " ")
			value[f[1], "cpu", f[2]] = f[3] / f[4] / 1000
			value[f[1], "kept", f[2]] = 100 * f[4] / f[7]
			value[f[1], "start", f[2]] = f[5] / 1000000000
			value[f[1], "memory", f[2]] = f[6] / 1024
			value[f[1], "traced", f[2]] = f[8] / 1000000
			rounds = f[2] > rounds ? f[2] : rounds
			measured[f[1]]++
		}
		spelt["tracemap-record-compressed"] = "tracemap record --compress"
		spelt["perf-trace-s"] = "perf trace -s"
		spelt["bpftrace-count"] = "bpftrace, count()"
		print "| tool | CPU, µs an event | the program, µs an event | to start, s | memory, MiB | events kept |"
		print "|---|--:|--:|--:|--:|--:|"
	}
	{
		tool = name = $2
		other = $3 == tool ? "" : $3
		if (name in spelt)
			name = spelt[name]
		else
			sub(/-(record|stream|top)$/, " &", name) && sub(/ -/, " ", name)
		sub(/^why [^ ]+ [^ ]+ */, "")
		if (measured[tool] && $0 != "")
			name = name ", " measured[tool] " rounds (else: " $0 ")"
		if (!measured[tool])
			printf "| %s | not measured: %s | | | | |\n", name, $0
		else
			printf "| %s | %s | %s | %s | %s | %s |\n", name, cell(tool, "cpu", "%.2f", other),
				cell(tool, "traced", "%.2f", other),
				cell(tool, "start", "%.2f", other), cell(tool, "memory", "%.1f", other),
				cell(tool, "kept", "%.0f %%")
	}'
}

version_of() { { "$@" 2>/dev/null || :; } | grep -oE '[0-9]+(\.[0-9]+)+' | sed -n 1p; }

describe()
{
	echo "Linux $(uname -r), $(nproc) CPUs, load $load; tracemap reads by ${way:-no way}; trace-cmd" \
		"$(version_of trace-cmd), perf $(version_of perf --version), bpftrace $(version_of bpftrace --version)."
	echo "$events sys_enter events on one CPU, as fast as they come: medians of $rounds rounds; in brackets" \
		"that of the ratio to tracemap in the same round. CPU is the tool's own; what the program has" \
		"beyond that is what its calls took longer, each of them. Memory is that of the largest process."
}

# --- whether it can be done here ---

[ "$(id -u)" -eq 0 ] || die "tracing takes root: sudo make bench-tools"
[ -e "$tracefs/README" ] ||
	die "no tracefs in $tracefs: mount -t tracefs nodev $tracefs" \
	    "A container has none of its own: run this on the machine itself."
[[ -w $tracefs/instances && -e $tracefs/events/raw_syscalls/sys_enter ]] ||
	die "no instances or no event $event in $tracefs: this kernel does not have them, or keeps them from you"
for n in "$events" "$rounds"; do
	[[ $n =~ ^[1-9][0-9]{0,8}$ ]] || die "EVENTS=$events ROUNDS=$rounds: not numbers from 1 on"
done

"$harness/verbs/packages.sh" only bench-tools
scratch
trap 'remove_instance; rm -rf "$work"' EXIT
build=$top/build/bench-tools
tracemap=$build/tracemap
step "building the command" bench-tools-build make -C "$top/tools/tracing/tracemap" O="$build"
cc -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/bench-tools" "$harness/bench/tools/writer.c"
number=$("$work/bench-tools" number)
call=sched_get_priority_max	# as writer.c makes it
filter="id == $number"
cpu_number=$(awk '/^Cpus_allowed_list:/ { n = split($2, list, /[-,]/); print list[n] }' /proc/self/status)
way=
: >"$work/figures"
load=$(cut -d' ' -f1-2 /proc/loadavg)
for ((round = 1; round <= rounds; round++)); do
	say "-- round $round of $rounds"
	one_round
done
print_table
echo
describe
[[ ! -e $work/why.tracemap-record && ! -e $work/why.tracemap-stream ]]
