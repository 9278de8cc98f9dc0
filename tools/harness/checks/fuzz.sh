#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/fuzz.sh: half a minute of any bytes as sub-buffers, for what reads them.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

scratch
echo 1..1
check "fuzz: tools/lib/tracemap" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=30 fuzz
