#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/torture.sh [FLAVOUR]: all operations at once for half a minute, see
# ../torture/main.c; where the stacks of events begin; what is in an event; and, on the
# default flavour, an event that is interrupted at each of its instructions, see
# ../torture/module/nested_event.c. By hand, for an hour, with the choices of an earlier run:
#
#   TORTURE_SECONDS=3600 TORTURE_SEED=1234 SMP=4 tools/harness/suites/torture.sh debug

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/torture-run.sh"

export FLAVOUR=${1:-${FLAVOUR:-default}}
scratch
find_base
build_torture

# The module that writes is unloaded at the end, with users of the snapshot buffer.
cp "$harness/torture/"{unload,stacks,events,nested} "$work/with"
after='sh ./unload || status=1; sh ./stacks || status=1; sh ./events || status=1'
# Where the compiler adds checks to each load, there are ten times the instructions.
[ "$FLAVOUR" != default ] || after+='; sh ./nested || status=1'
torture_guest "$torture_seconds" '' "$after" || {
	status=$?
	torture_repeat "tools/harness/suites/torture.sh $FLAVOUR"
	exit $status
}
