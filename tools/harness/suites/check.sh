#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/check.sh: everything that is known of the files without a guest.

. "$(dirname "$0")/../shared/start.sh"

status=0
for c in "$harness"/checks/*.sh; do
	"$c" || status=1
done
exit $status
