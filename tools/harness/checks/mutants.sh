#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/mutants.sh: the code still contains the lines that each planted fault of mutants/
# replaces. suites/mutants.sh runs the tests with the faults, which takes most of an hour.

. "$(dirname "$0")/../shared/findings.sh"

program_faults() { "$harness/mutants/programs.py" check "$top"; }

echo 1..2
check "faults can be planted in the kernel" plant_faults
check "faults can be planted in library and command" program_faults
