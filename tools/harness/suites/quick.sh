#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/quick.sh: the tests that find most in a minute, once everything is built: those of
# library and command that need no guest, one suite of KUnit (KUNIT_SUITES=), and those checks
# of the changed files that take seconds. The changed files are those that checks/format.sh
# looks at.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"
. "$harness/shared/changed.sh"

# Built here, and kept
builds=$cache/quick-$(hash_of <<<"$top")

# What has changed (for grep -E), and the check of it
checks='
\.(c|h|sh|py|rst|md)$|Makefile$	format
^(kernel|patches)/|\.faults$|^tools/(lib|tracing)/tracemap/	mutants
^(kernel|patches)/|/model/|/lib/tracemap/(live|subbuf)\.h$	orders
promises|/selftests/|_kunit|/(random|torture|model)/	promises
^include/uapi/	uapi
'

tests_in() { make -s -C "$top/tools/$1" -j2 O="$builds/${1%/*}" all check; }

one_check()
{
	"$harness/checks/$1.sh" </dev/null >"$work/said" || echo "not ok - $1.sh: ends with status $?"
	sed '/^1\.\./d' "$work/said"
}

shellcheck_changed()
{
	local file
	sed -n '/\.sh$/p' "$work/changed" | while read -r file; do
		[ ! -e "$top/$file" ] || (cd "$top" && check "shellcheck: $file" shellcheck "$file")
	done
}

scratch
mkdir -p "$builds"/{lib,tracing}
changed >"$work/changed"
check "library: the tests that need no kernel" tests_in lib/tracemap
check "command: the tests that need no kernel" tests_in tracing/tracemap
KUNIT_SUITES=${KUNIT_SUITES:-ring_buffer_mapping} "$harness/suites/kunit.sh"
while IFS=$'\t' read -r files name; do
	[ -z "$name" ] || ! grep -qE "$files" "$work/changed" || one_check "$name"
done <<<"$checks"
shellcheck_changed
