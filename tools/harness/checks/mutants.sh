#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/mutants.sh: each planted fault of mutants/ still has a place. suites/mutants.sh
# takes most of an hour to see whether tests find them.

. "$(dirname "$0")/../shared/findings.sh"

kernel_faults() { "$harness/mutants/plant.py" "$work/stage"; }
program_faults() { "$harness/mutants/programs.py" check "$top"; }

# Those of the kernel are faults of the code for 6.1.
if [ "$linux" = 6.1 ]; then
	echo 1..2
	check "faults can be planted in the kernel" kernel_faults
else
	echo 1..1
fi
check "faults can be planted in library and command" program_faults
