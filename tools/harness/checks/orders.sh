#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/orders.sh: the code has the barriers of the models, between the same accesses; see
# model/orders.py.

. "$(dirname "$0")/../shared/findings.sh"

echo 1..1
check "the code has the barriers of the models, between what they order" \
	"$harness/model/orders.py" "$work/stage" "$top"
