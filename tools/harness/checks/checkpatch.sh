#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/checkpatch.sh: the kernel's checkpatch --strict has nothing to say
# about any patch as it is mailed.

. "$(dirname "$0")/../shared/findings.sh"

# FILE_PATH_CHANGES: MAINTAINERS is a file of this repository. UNKNOWN_COMMIT_ID: the
# source has no history, in which Fixes: could be looked up. The others name
# macros and habits that programs outside the kernel do not have: they are for
# patches that bring such programs, and nothing else.
ignore=FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID
outside=ARRAY_SIZE,NR_CPUS,BIT_MACRO,PREFER_DEFINED_ATTRIBUTE_MACRO,PREFER_KERNEL_TYPES
outside+=,LONG_LINE_STRING,SPLIT_STRING,EMBEDDED_FUNCTION_NAME,VOLATILE,CAMELCASE

# Does a mail touch the programs, and no file of the kernel proper?
is_outside()
{
	local files
	files=$(sed -n 's,^+++ b/,,p' "$1")
	[ -n "$files" ] && ! grep -qvE '^tools/(lib|tracing)/tracemap/' <<<"$files"
}

checkpatch()
{
	local ignored=$ignore
	! is_outside "$1" || ignored+=,$outside
	# It leaves a file where it runs.
	(cd "$work" && perl "$base/scripts/checkpatch.pl" --root="$base" --no-color --strict \
		--quiet --ignore "$ignored" "$1") >"$work/findings" 2>&1 || :
	empty "$work/findings"
}

# shellcheck disable=SC2046 # topics are words
mails $(series_topics)
echo "1..$(series_patches | wc -l)"
for m in "$work"/mails/*/*.patch; do
	check "checkpatch: ${m#"$work"/mails/}" checkpatch "$m"
done
