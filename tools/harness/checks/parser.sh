#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/parser.sh: the record parser's own test, under the sanitizers.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

scratch
echo 1..1
check "parser: tools/lib/tracemap" make -C "$top/tools/lib/tracemap" O="$work" check
