#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/fuzz.sh: give random input to the parsers, under a fuzzer: for half a minute bytes
# as sub-buffers to the code that reads these, and for some seconds recordings to the code
# that writes files, and print formats to the code that prints events.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

scratch
echo 1..3
check "fuzz: tools/lib/tracemap" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=30 fuzz
check "fuzz: the writer of trace.dat" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=8 fuzz-dat
check "fuzz: the printing of events" make -C "$top/tools/lib/tracemap" O="$work" SECONDS=10 fuzz-event
