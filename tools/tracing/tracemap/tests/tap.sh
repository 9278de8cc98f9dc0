# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034 # sourced
#
# What the scripts share that run in a guest (tools/harness/suites/command.sh).
# They are in /host there, and so is tracemap.

T=/sys/kernel/tracing
I=$T/instances/t		# an instance that is not tracemap's own
failed=0

# result STATUS NAME: with what is in /tmp/why, if it failed.
result()
{
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		sed 's/^/# /' /tmp/why 2>/dev/null | tail -n 25
		failed=1
	fi
	rm -f /tmp/why
}

# said TEXT FILE: TEXT is in FILE, which tells why if not.
said()
{
	grep -q -e "$1" "$2" && return
	echo "not said: $1; but:" >>/tmp/why
	tail -n 10 "$2" >>/tmp/why
	return 1
}

# is WANTED FOUND WHAT
is()
{
	[ "$1" = "$2" ] && return
	echo "$3: $2, not $1" >>/tmp/why
	return 1
}

stream() { timeout -s KILL "${LIMIT:-60}" ./tracemap stream "$@"; }

instance() { mkdir $I && echo "${1:-1024}" >$I/buffer_size_kb; }

# Whoever mapped it may still be going away.
no_instance()
{
	for _ in $(seq 100); do
		rmdir $I 2>/dev/null && return
		usleep 50000
	done
	echo "# $I cannot be removed"
	return 1
}

# until_so COMMAND...: it comes true within a minute
until_so()
{
	for _ in $(seq 600); do
		"$@" && return
		usleep 100000
	done
	echo "never so: $*" >>/tmp/why
	return 1
}

# runs FILE: the stream or the recording whose standard error is FILE, empty or not there
# before, is set up and reads.
runs() { until_so grep -qs way: "$1"; }

# came PATTERN FILE: a line of it, or its end, is in FILE by now, or comes
came() { until_so grep -q "$1" "$2"; }

# begin ARGUMENT...: an endless stream of $I, as $pid, to /tmp/out
begin()
{
	: >/tmp/begun
	timeout -s KILL 300 ./tracemap stream -i t "$@" >/tmp/out 2>/tmp/begun & pid=$!
	runs /tmp/begun
}

# end MARK: it has printed this one, and ends
end()
{
	came "mark $1\$" /tmp/out
	kill -INT "$pid"
	wait "$pid"
	status=$?
}

# gone: no instance of tracemap's own is left; it may take a moment.
gone()
{
	for _ in $(seq "${1:-1}"); do
		# shellcheck disable=SC2010 # a name is one of ours, or it is not
		ls $T/instances | grep -q '^tracemap-' || return 0
		usleep 100000
	done
	echo "left: $(ls $T/instances)" >>/tmp/why
	return 1
}

# marks FROM TO [CPU-MASK]: "mark N" into $I
marks()
{
	taskset "${3:-1}" awk -v a="$1" -v b="$2" -v f="$I/trace_marker" \
		'BEGIN { for (i = a; i <= b; i++) { printf "mark %d\n", i >f; fflush(f) } }'
}

# Marks "mark N" of CPU 0 without end, until the file is gone.
writes()
{
	touch /tmp/writes
	taskset 1 awk -v f="$I/trace_marker" 'BEGIN {
		while (!(i++ % 500) ? (getline <"/tmp/writes") >= 0 : 1) {
			if (i % 500 == 1) close("/tmp/writes")
			printf "mark %d\n", i >f; fflush(f) } }' & writer=$!
}

no_writes() { rm -f /tmp/writes; wait "$writer"; }

# whole FILE: marks from any on, each once, but for the losses that are told
whole()
{
	awk 'match($0, /mark [0-9]+/) {
			n = substr($0, RSTART + 5, RLENGTH - 5) + 0
			if (seen++ && n != last + 1 + lost) {
				print last " to " n ", lost " lost
				bad = 1
			}
			last = n; lost = 0
		}
		/LOST [0-9]+ EVENTS/ { sub(/.*LOST /, ""); lost += $1 }
		END { print seen + 0 " marks"; exit bad || seen < 20 }' "$1" >>/tmp/why
}

# files PATTERN: how many
# shellcheck disable=SC2086,SC2012 # a pattern; names are ours
files() { ls -d $1 2>/dev/null | wc -l; }
so_many() { [ "$(files "$2")" -ge "$1" ]; }

# account FILE WRITTEN: each mark once, in order, and seen + lost = written,
# the loss told where it happened. To /tmp/why, and if it is so.
account()
{
	awk -v written="$2" '
		match($0, /mark [0-9]+/) {
			n = substr($0, RSTART + 5, RLENGTH - 5) + 0
			if (n != last + 1 + pending) {
				print "from mark " last + 0 " to " n ", " \
					pending + 0 " said to be lost"
				bad = 1
			}
			pending = 0; last = n; seen++
		}
		/^CPU:[0-9]+ \[LOST [0-9]+ EVENTS\]/ {
			sub(/.*LOST /, "")
			pending += $1
			lost += $1
		}
		END {
			print "seen " seen + 0 ", lost " lost + 0 ", written " written
			exit bad || seen + lost != written
		}' "$1" >>/tmp/why
}

# settings DIR [FILE-IN-events...]: what the files of an instance say, but for those whose reader
# takes events, or reads the time; of the events' files only these
settings()
{
	(cd "$1" && shift && {
		find . -type f -perm -400 ! -path './events/*' ! -name trace ! -name 'trace_pipe*' \
			! -name trace_live ! -name 'snapshot*' ! -name stats
		find events -type f \( -name enable -o -path 'events/sched/*/filter' "$@" \)
	} | xargs grep '' /dev/null 2>/dev/null)
}
