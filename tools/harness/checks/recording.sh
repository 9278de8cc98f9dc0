#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/recording.sh: the file that tracemap record writes, under the sanitizers.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

scratch
echo 1..1
check "recording: tools/tracing/tracemap" make -C "$top/tools/tracing/tracemap" O="$work" check
