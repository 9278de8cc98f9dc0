#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/patches.sh compile: kernel/trace compiles after each patch.
# suites/patches.sh boot: each patch's whole kernel is built and boots.

. "$(dirname "$0")/../lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"
. "$harness/tap.sh"
. "$harness/kernel.sh"

# A tree of its own: the default one is not to be compiled anew after this.
# shellcheck disable=SC2034 # kernel.sh reads them
flavour=default tree=patches

compile_patch()
{
	SERIES=$1 stage_onto_base "$work/stage-$1"
	prepare_build
	kmake kernel/trace/ fs/tracefs/ >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log"; return 1; }
	! grep -A 5 'warning:' "$work/make.log"
}

# The stock list of tracers shows that the tracing of that kernel came up.
boot_patch() { SERIES=$1 "$harness/guest.sh" 'grep -w nop /sys/kernel/tracing/available_tracers'; }

what=$1
scratch
find_base
mapfile -t all < <(series_patches)
echo "1..${#all[@]}"
[ "$what" = boot ] || lock_source
for ((n = 1; n <= ${#all[@]}; n++)); do
	check "$what: ${all[n - 1]##*/}" "${what}_patch" $n
done
