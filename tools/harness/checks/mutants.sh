#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/mutants.sh: each planted fault of mutants/ still has a place. suites/mutants.sh
# takes most of an hour to see whether tests find them.

. "$(dirname "$0")/../shared/findings.sh"

program_faults() { "$harness/mutants/programs.py" check "$top"; }

echo 1..2
check "faults can be planted in the kernel" plant_faults
check "faults can be planted in library and command" program_faults
