#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/fuzz.sh: half a minute of any bytes as sub-buffers, for what reads them, and some
# seconds of any recording, for what writes it, and of any print format, for what prints.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

scratch
echo 1..3
check "fuzz: tools/lib/tracemap" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=30 fuzz
check "fuzz: the writer of trace.dat" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=8 fuzz-dat
check "fuzz: the printing of events" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=10 fuzz-event
