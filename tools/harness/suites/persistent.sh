#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/persistent.sh: the guest resets itself once, and its memory stays. Tests that what
# is written to a buffer in reserved memory comes behind the events of the previous boot. The
# guest has one CPU, as the clocks that order the events of two begin with each boot.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

events_of_both_boots()
{
	# shellcheck disable=SC2016 # the guest's shell expands it
	REBOOT=yes SMP=1 LIMIT=${LIMIT:-120} APPEND='reserve_mem=4M:4096:trace trace_instance=old@trace' \
		"$harness/verbs/guest.sh" '
		cd /sys/kernel/tracing/instances/old || exit
		number() { for i in $(seq 40); do echo "$1 $i" >trace_marker; done; }
		if ! grep -q first trace; then
			echo 1 >tracing_on
			number first
			echo b >/proc/sysrq-trigger
			sleep 60
		fi
		echo 1 >tracing_on
		number second
		sed -n "s/.*tracing_mark_write: //p" trace' >"$work/events"
	cat "$work/events"
	diff <(printf 'first %s\n' {1..40}; printf 'second %s\n' {1..40}) "$work/events"
}

scratch
echo 1..1
check "events come behind those of the previous boot" events_of_both_boots
