#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/format.sh: print the changed lines, see shared/changed.sh, that are not as
# .clang-format and .editorconfig want them. It never fails, as a line may be better
# formatted by hand.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"
. "$harness/shared/changed.sh"

# The first line of each hunk of a diff that comes in, as FILE:LINE
places() { awk '/^\+\+\+ / { file = substr($2, 3) } /^@@/ { split($2, at, /[-,]/); print file ":" at[2] }'; }

by_clang_format()
{
	cd "$top" || return
	git -c safe.directory='*' clang-format --extensions c,h --diff "$since" -- \
		kernel include samples tools | places | sed 's/$/: clang-format would write it otherwise/' || :
}

# Trailing blanks, and blanks where a tab belongs. In Python there are no tabs.
by_editorconfig()
{
	in_top -c core.whitespace=trailing-space,space-before-tab,indent-with-non-tab,tabwidth=8 diff --check "$since" -- \
		'*.awk' '*.c' '*.h' '*.sh' Makefile '*/Makefile' '*.mk' | grep -v '^+' || :
	in_top -c core.whitespace=trailing-space diff --check "$since" -- '*.md' '*.py' '*.rst' | grep -v '^+' || :
}

scratch
echo 1..1
{ by_clang_format; by_editorconfig; } >"$work/notices" 2>&1
sed 's/^/# notice: /' "$work/notices"
echo "ok - format: $(wc -l <"$work/notices") of the places changed since $(in_top rev-parse --short "$since") could be otherwise"
