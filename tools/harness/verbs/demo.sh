#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh: stream the events of a small workload for five seconds with the
# tracemap command, which reads by mmap, all CPUs in the order of time.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/command-build.sh"

scratch
find_base
build_command
cat >"$work/with/workload" <<'EOG'
while :; do ls -l /proc/self >/dev/null; usleep 50000; done
EOG
WITH=$work/with "$harness/verbs/guest.sh" './tracemap stream --duration 5 \
	-e sched:sched_switch -e irq:irq_handler_entry -e raw_syscalls:sys_enter -- sh ./workload'
