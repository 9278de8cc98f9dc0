#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/completion.sh: the completion of the tracemap command, in a bash in tmux, into
# which this script types, with a tracefs made of a few files.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

T() { tmux -L "trace-ring-map.$$" -f /dev/null "$@"; }

make_tracefs()
{
	mkdir -p "$work/tracefs/instances/"{mine,yours}
	cd "$work/tracefs" || exit
	printf '%s\n' sched:sched_switch sched:sched_waking irq:irq_handler_entry >available_events
	echo 'function_graph function nop' >available_tracers
	printf '%s\n' vfs_read vfs_write 'vfs_fsync [ext4]' schedule >available_filter_functions
	echo '[local] global mono' >trace_clock
	mkdir -p events/sched/sched_switch
	printf '\tfield:%s;\toffset:8;\n' 'char prev_comm[16]' 'pid_t next_pid' 'void * where' >events/sched/sched_switch/format
	: >trace
	mkdir "$work/here"
	: >"$work/here/some.dat"
}

start_bash()
{
	cat >"$work/rc" <<-EOR
		PS1='> '
		PATH=$work/build:$PATH
		bind 'set bell-style none'
		bind 'set enable-bracketed-paste off'
		source '$top/tools/tracing/tracemap/completion/tracemap.bash'
		_tracemap_tracefs() { echo '$work/tracefs'; }
		_tracemap_cpus() { printf '%s\n' 0 1 2; }
		some_command_there_is() { :; }
		cd '$work/here'
	EOR
	T new-session -d -s shell -x 100 -y 30 "bash --noprofile --rcfile '$work/rc' -i"
	until_shown '^>'
}

shown() { T capture-pane -t shell -p; }

until_shown()
{
	for _ in {1..600}; do
		if shown | grep -E -- "$1" >/dev/null; then return; fi
		sleep 0.1
	done
	echo "not on the screen: $1"
	shown | grep .
	return 1
}

# typed TEXT PATTERN: the text, TAB, and then the line is like the pattern.
typed()
{
	T send-keys -t shell C-u C-l
	T send-keys -t shell -l "$1"
	T send-keys -t shell Tab
	until_shown "^> $2\$"
}

# goes_on TEXT PATTERN: more text, TAB, and what stood there before is still there.
goes_on()
{
	T send-keys -t shell -l "$1"
	T send-keys -t shell Tab
	until_shown "^> $2\$"
}

# offered TEXT PATTERN...: some TABs list what there is.
offered()
{
	local pattern
	T send-keys -t shell C-u C-l
	T send-keys -t shell -l "$1"
	T send-keys -t shell Tab Tab Tab
	for pattern in "${@:2}"; do
		until_shown "(^|[ ])$pattern( |\$)" || return
	done
}

# shellcheck disable=SC2317 # called by step
build()
{
	make -C "$top/tools/tracing/tracemap" O="$work/build"
}

scratch
step "building tracemap" tracemap-completion build
make_tracefs
trap 'T kill-server 2>/dev/null || :; rm -rf "$work"' EXIT
echo 1..21
check "completion: bash takes it" start_bash
check "completion: verbs" offered 'tracemap ' stream record stat top info
check "completion: a verb" typed 'tracemap rec' 'tracemap record ?'
check "completion: options of a verb" offered 'tracemap stat --' --interval --from-files --json
check "completion: an option" typed 'tracemap stream --str' 'tracemap stream --strict ?'
check "completion: systems of events" offered 'tracemap stream -e ' 'irq:' 'sched:'
check "completion: a system, and no blank behind it" typed 'tracemap stream -e ir' 'tracemap stream -e irq:'
check "completion: so that it goes on" goes_on 'irq_h' 'tracemap stream -e irq:irq_handler_entry'
check "completion: an event" typed 'tracemap stream -e sched:sched_sw' 'tracemap stream -e sched:sched_switch ?'
check "completion: events of a system" offered 'tracemap record --event=sched:' sched_switch sched_waking
check "completion: a tracer" typed 'tracemap stream -p function_' 'tracemap stream -p function_graph ?'
check "completion: functions" offered 'tracemap stream -p function -l vfs_' vfs_read vfs_write vfs_fsync
check "completion: a way to record" typed 'tracemap record --way obs' 'tracemap record --way observe ?'
check "completion: an instance" typed 'tracemap stat -i mi' 'tracemap stat -i mine ?'
check "completion: a clock, behind =" typed 'tracemap record --clock=glo' 'tracemap record --clock=global ?'
check "completion: a file" typed 'tracemap record -o some' 'tracemap record -o some.dat ?'
check "completion: CPUs" offered 'tracemap stream -C ' 0 1 2
check "completion: a command behind --" typed 'tracemap stream -- some_comm' 'tracemap stream -- some_command_there_is ?'
check "completion: fields of an event" offered 'tracemap top -e sched:sched_switch --by ' event task prev_comm next_pid where
check "completion: the second of two events" typed 'tracemap top --between sched:sched_switch sched:sched_wa' 'tracemap top --between sched:sched_switch sched:sched_waking ?'
check "completion: fields of either" typed 'tracemap top --between irq:irq_handler_entry sched:sched_switch --key next' 'tracemap top --between irq:irq_handler_entry sched:sched_switch --key next_pid ?'
