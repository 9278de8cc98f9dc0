#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/contract.sh: contract.md names every selftest, and nothing else.

. "$(dirname "$0")/../lib.sh"
. "$harness/tap.sh"

tests()
{
	cat "$top"/tools/testing/selftests/ring-buffer/*_test.c |
		grep -oP '^TEST\w*\((\w+,\s*)?\K\w+' | sort -u
}

# The second column's names, as patterns: what is left out may be anything.
named()
{
	sed -n 's/^|[^|]*|//p' "$harness/contract.md" |
		grep -oP '[\w…*]*_[\w…*]*' | sed 's/…\|\*/.*/g' | sort -u
}

all_tests_are_named()
{
	! grep -vxEf "$work/named" "$work/tests"
}

all_names_are_tests()
{
	local name status=0

	while read -r name; do
		grep -qxE "$name" "$work/tests" || { echo "$name"; status=1; }
	done <"$work/named"
	return $status
}

scratch
tests >"$work/tests"
named >"$work/named"
echo 1..2
check "contract: every selftest is named" all_tests_are_named
check "contract: every name is a selftest" all_names_are_tests
