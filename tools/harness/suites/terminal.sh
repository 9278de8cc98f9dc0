#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/terminal.sh: tracemap stat and top on a terminal: the console of a guest, in
# tmux, which tells what is on it. The console does not know its size: the
# guest's stty is what resizes it.

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
is_table() { [ "$(flag alternate_on)" = 1 ] && shows '^ +0 \['; }
is_shell() { [ "$(flag alternate_on)" = 0 ] && shows '^guest> *$'; }
width_of_bar() { screen | sed -n 's/^ *0 \[\([^]]*\)\].*/\1/p' | awk '{ print length($0) }'; }
lines_used() { screen | awk 'NF { n = NR } END { print n + 0 }'; }
has_lines() { is_table && [ "$(lines_used)" -le "$1" ]; }
has_bar() { is_table && [ "$(width_of_bar)" = "$1" ]; }

# begin COMMAND: a clean screen, the command, its table.
begin()
{
	run "clear; stty rows $rows cols $columns; echo what was there; $1"
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

shows_table()
{
	begin './tracemap stat -i stat -d 0.5'
	until_so has_all
	screen
}

has_all()
{
	shows '^ +0 \[#+ *\] +[0-9]+%' && shows '^ +1 \[ *\] +0%' &&
		shows 'tracemap stat.*[0-9]:[0-9][0-9]:[0-9][0-9]$' && shows 'EVENTS/S' &&
		shows 'EBUSY' && shows '20.0k  -$' && has_bar 14
}

has_colours() { T capture-pane -t guest -p -e | grep $'\033\[3[123]m' >/dev/null; }

quits_by() { keys "$1"; restored; }

follows_size()
{
	begin 'sh ./later stty -F /dev/hvc0 rows 6 cols 80 & ./tracemap stat -i stat -d 0.5'
	until_so has_lines 6
	until_so has_bar 10
	screen
	keys q && restored
	begin 'sh ./later stty -F /dev/hvc0 rows 30 cols 96 & ./tracemap stat -i stat -d 0.5'
	until_so has_bar 10
	keys q && restored
}

scrolls()
{
	run 'clear; stty rows 6 cols 100; echo what was there; ./tracemap stat -i stat'
	until_so shows '^The|^Instance'
	screen
	shows_not '^ all' || return 1
	keys End
	until_so shows '^ all'
	keys Home
	until_so shows_not '^ all'
	shows '^read from the live index' || return 1
	keys Down
	until_so shows_not '^read from the live index'
	shows '^Instance' && keys q && restored
}

ends_on_term()
{
	begin 'sh ./later killall tracemap & ./tracemap stat -i stat'
	restored
}

stops_and_goes_on()
{
	begin './tracemap stat -i stat'
	keys C-z
	until_so shows 'Stopped'
	restored
	run 'stty rows 12 cols 90; fg'
	until_so has_lines 12
	keys q && restored
}

helps()
{
	begin './tracemap stat -i stat -d 0.5'
	keys '?'
	until_so shows 'this help'
	keys x
	until_so is_table
	keys e
	until_so shows 'sorted by events/s'
	keys q && restored
}

is_top() { [ "$(flag alternate_on)" = 1 ] && shows 'COUNT +SHARE'; }

# The writer goes on while it counts.
counts()
{
	run "clear; stty rows $rows cols $columns; echo what was there; sh ./marks & ./tracemap top -i stat -d 0.5"
	until_so is_top
	until_so shows '[1-9][0-9]* +[0-9.k]+ 100.0% .* ftrace:print$'
	screen
	keys /
	keys -l nothing
	until_so shows 'filter: nothing_'
	until_so shows_not 'ftrace:print'
	keys Escape
	until_so shows 'ftrace:print$'
	keys '?'
	until_so shows 'this help'
	keys x n
	until_so shows 'sorted by name'
	keys q && restored
}

dumb()
{
	run 'clear; TERM=dumb ./tracemap stat -i stat -n 1 2>/dev/null; echo dumb $?'
	until_so shows '^dumb 0'
	screen
	[ "$(flag alternate_on)" = 0 ] && shows '^time ' && shows ' stat +all '
}

no_colours()
{
	begin 'NO_COLOR=1 ./tracemap stat -i stat'
	! has_colours || return 1
	keys q && restored
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
echo 1..14
check "the guest has a terminal" start_guest
check "the table is on the screen" shows_table
check "it has colours" has_colours
check "q ends it, and the terminal is as it was" quits_by q
check "a resized terminal is followed" follows_size
check "what does not fit is scrolled to" scrolls
begin './tracemap stat -i stat' >/dev/null
check "Ctrl-C ends it, and the terminal is as it was" quits_by C-c
check "SIGTERM ends it, and the terminal is as it was" ends_on_term
check "Ctrl-Z gives the terminal back, fg takes it again" stops_and_goes_on
check "NO_COLOR is respected" no_colours
check "? helps, and keys sort" helps
check "top counts, filters, sorts and helps" counts
check "a dumb terminal gets rows" dumb
check "the guest's kernel has nothing to complain of" guest_is_well
