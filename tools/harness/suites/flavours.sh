#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/flavours.sh: the kernels that make test has no use for are built, and
# booted where the guest's programs run on them.

. "$(dirname "$0")/../lib.sh"
. "$harness/tap.sh"

builds() { FLAVOUR=$1 "$harness/kernel.sh"; }
boots() { FLAVOUR=$1 "$harness/guest.sh" 'grep -w nop /sys/kernel/tracing/available_tracers'; }

scratch
echo 1..3
check "the i386 flavour builds"		builds i386
check "the minimal flavour builds"	builds minimal
check "the minimal flavour boots"	boots minimal
