#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh: stream the events of a small workload through the mapping of every
# CPU's buffer for five seconds, then a table of what came.

. "$(dirname "$0")/lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"
. "$harness/userland.sh"
. "$harness/sample.sh"

scratch
find_base
build_samples

# What the guest does: events on, something to trace, the stream. The stream
# does not trace itself: it would never run out of events.
cat >"$work/with/demo" <<'EOG'
cd /sys/kernel/tracing
for e in sched/sched_switch irq/irq_handler_entry raw_syscalls/sys_enter; do
	echo 1 >events/$e/enable
done
cd /host
( while :; do ls -l /proc/self >/dev/null; usleep 50000; done ) &
workload=$!
sh -c 'echo $$ >/sys/kernel/tracing/set_event_notrace_pid
	exec ./trace_mmap_stream --duration 5 --percent 0'
status=$?
kill $workload
exit $status
EOG
WITH=$work/with "$harness/guest.sh" 'sh ./demo'
