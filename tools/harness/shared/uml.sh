# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The KUnit tests of the ring buffer as a program of this machine. Source it after
# start.sh.

kunit_suites=${KUNIT_SUITES:-ring_buffer*}

# kunit_in_uml IMAGE [PARAMETER]...: what the kernel says, for LIMIT= seconds at most.
kunit_in_uml()
{
	timeout "${LIMIT:-600}" "$1/linux" mem=256M con0=fd:0,fd:1 \
		"kunit.filter_glob=$kunit_suites" kunit_shutdown=halt "${@:2}" </dev/null 2>&1
}
