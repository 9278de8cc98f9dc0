#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/terminal.sh: tracemap stat and top on a terminal. The terminal is the console of
# a guest, in tmux, which prints what is on the screen. The console does not know its
# size, so the guest's stty sets it. A writer runs meanwhile, so that top has events to
# show.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/command-build.sh"
. "$harness/shared/tap.sh"

patience=${LIMIT:-300}
columns=100 rows=30

T() { tmux -L "trace-ring-map.$$" -f /dev/null "$@"; }
keys() { T send-keys -t guest "$@"; }
run() { keys -l "$1"; keys Enter; }
screen() { T capture-pane -t guest -p; }
flag() { T display-message -t guest -p "#{$1}"; }

# until_so COMMAND...: wait until it succeeds, else show the screen.
until_so()
{
	local end=$((SECONDS + patience))
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			echo "never so: $*"
			screen
			return 1
		fi
		sleep 0.3
	done
}

shows() { screen | grep -E -- "$1" >/dev/null; }
shows_not() { ! shows "$1"; }
is_table() { [ "$(flag alternate_on)" = 1 ] && shows 'RATE/S +COUNT +SHARE'; }
is_shell() { [ "$(flag alternate_on)" = 0 ] && shows '^guest> *$'; }
lines_used() { screen | awk 'NF { n = NR } END { print n + 0 }'; }
has_lines() { is_table && [ "$(lines_used)" -le "$1" ]; }

# The title has the width of the screen.
has_columns() { is_table && [ "$(screen | awk 'NR == 1 { print length($0) }')" = "$1" ]; }

# What the writer does, with bars of its history.
shows_events() { shows '#.* ftrace:print$'; }

# begin COMMAND: a clean screen, the writer, the command, its table.
begin()
{
	run "clear; stty rows $rows cols $columns; echo what was there; sh ./marks & $1"
	until_so is_table
}

# The shell has its terminal back, with all that was on it.
restored()
{
	until_so is_shell
	[ "$(flag cursor_flag)" = 1 ] || { echo "no cursor"; return 1; }
	run 'stty -a; echo status $?'
	until_so shows 'status 0'
	screen
	shows '[^-]icanon' && shows ' echo ' && shows '^what was there'
}

# stat needs no more of the terminal than that it shows lines.
prints_tables()
{
	run 'clear; ./tracemap stat -i stat -n 2; echo status $?'
	until_so shows '^status 0'
	screen
	[ "$(flag alternate_on)" = 0 ] && shows '^[0-9:]+ cpu fill%' &&
		shows '^stat +0 .* 20000$' && shows '^stat +all ' && shows EBUSY
}

shows_table()
{
	begin './tracemap top -i stat -d 0.5'
	until_so has_columns $columns
	until_so shows_events
	screen
	shows 'tracemap top.*[0-9]:[0-9][0-9]:[0-9][0-9]$' && shows '^Instance stat, ' &&
		shows 'HISTORY' && shows ' \(all\)$'
}

quits_by() { keys "$1"; restored; }

follows_size()
{
	begin 'sh ./later stty -F /dev/hvc0 rows 4 cols 70 & ./tracemap top -i stat -d 0.5'
	until_so has_columns 70
	until_so has_lines 4
	screen
	keys q && restored
}

# Of the names, which are in order, the first ones, or the last ones.
shows_first() { shows ' sched:[a-z_]+$' && shows_not ' timer:[a-z_]+$'; }
shows_last() { shows ' timer:[a-z_]+$' && shows_not ' sched:[a-z_]+$'; }

scrolls()
{
	rows=6 begin './tracemap top -e sched -e timer -d 0.5'
	keys n
	until_so shows_first
	screen
	keys End
	until_so shows_last
	keys Home
	until_so shows_first
	keys Down Down Down Down Down Down Down Down Down Down Down Down Down Down Down Down
	until_so shows_last
	keys q && restored
}

ends_on_term()
{
	begin 'sh ./later killall tracemap & ./tracemap top -i stat'
	restored
}

counts()
{
	begin './tracemap top -i stat -d 0.5'
	until_so shows '[1-9][0-9]* +[0-9.k]+ 100.0% .* ftrace:print$'
	screen
	keys '?'
	until_so shows 'this help'
	keys x n
	until_so shows 'sorted by name'
	keys q && restored
}

dumb()
{
	run 'clear; sh ./marks & TERM=dumb ./tracemap top -i stat --duration 5; echo dumb $?'
	until_so shows '^dumb 0'
	screen
	[ "$(flag alternate_on)" = 0 ] && shows '^time +rate/s' && shows ' ftrace:print$'
}

# The emulator's own end: what the guest's kernel said of all this.
guest_is_well()
{
	run exit
	until_so test -s "$work/status"
	cat "$work/console.err"
	[ "$(cat "$work/status")" = 0 ]
}

guest_scripts()
{
	cat >"$work/with/prepare" <<-'EOG'
		mkdir /sys/kernel/tracing/instances/stat
		cd /sys/kernel/tracing/instances/stat
		echo 1024 >buffer_size_kb
		taskset 1 awk 'BEGIN { for (i = 0; i < 20000; i++) { print "mark" >"trace_marker"; fflush() } }'
	EOG
	cat >"$work/with/later" <<-'EOG'
		until pidof tracemap >/dev/null; do sleep 1; done
		sleep 8
		exec "$@"
	EOG
	cat >"$work/with/marks" <<-'EOG'
		exec >/sys/kernel/tracing/instances/stat/trace_marker
		until pidof tracemap >/dev/null; do usleep 100000; done
		while pidof tracemap >/dev/null; do echo mark; usleep 10000; done
	EOG
}

start_guest()
{
	"$harness/verbs/kernel.sh" >/dev/null
	T new-session -d -s guest -x $columns -y $rows \
		"WITH='$work/with' '$harness/verbs/guest.sh' 2>'$work/console.err'; echo \$? >'$work/status'"
	until_so shows 'root shell in the guest'
	run "PS1='guest> '; sh ./prepare; echo prepared"
	until_so shows '^prepared'
}

scratch
find_base
build_command
guest_scripts
trap 'T kill-server 2>/dev/null || :; rm -rf "$work"' EXIT
echo 1..11
check "the guest has a terminal" start_guest
check "stat prints tables, and nothing else" prints_tables
check "top has its table on the screen" shows_table
check "q ends it, and the terminal is as it was" quits_by q
check "a resized terminal is followed" follows_size
check "what does not fit is scrolled to" scrolls
begin './tracemap top -i stat' >/dev/null
check "Ctrl-C ends it, and the terminal is as it was" quits_by C-c
check "SIGTERM ends it, and the terminal is as it was" ends_on_term
check "it counts, sorts and helps" counts
check "a dumb terminal gets rows" dumb
check "the guest's kernel has nothing to complain of" guest_is_well
