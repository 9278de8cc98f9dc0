#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/torture.sh [FLAVOUR]: everything at once for half a minute, see
# ../torture/main.c. By hand, for an hour, with choices made before:
#
#   TORTURE_SECONDS=3600 TORTURE_SEED=1234 SMP=4 tools/harness/suites/torture.sh debug

. "$(dirname "$0")/../lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"
. "$harness/userland.sh"
. "$harness/torture.sh"

export FLAVOUR=${1:-${FLAVOUR:-default}}
scratch
find_base
build_torture

# SNAP-9: While an instance has a snapshot user, no observer may open its buffers. A
# module that is unloaded takes along the snapshot trigger of its event. (A histogram
# of it is leaked, and the kernel warns of that: none is tried here.)
# shellcheck disable=SC2016 # the guest's shell expands it
unload='
	echo 1..1
	tracing=/sys/kernel/tracing
	may_observe() { (exec <$tracing/per_cpu/cpu0/trace_live) 2>/dev/null; }
	may_observe && echo snapshot >$tracing/events/torture/torture_event/trigger &&
		! may_observe && rmmod torture_event && may_observe &&
		echo 0 >$tracing/snapshot && insmod $module ||
		{ status=1; printf "not "; }
	echo "ok - an unloaded module takes along its snapshot trigger"
'
torture_guest "$torture_seconds" "" "$unload" || {
	status=$?
	torture_repeat "tools/harness/suites/torture.sh $FLAVOUR"
	exit $status
}
