#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/checkpatch.sh: the kernel's checkpatch --strict has nothing to say
# about any patch as it is mailed.

. "$(dirname "$0")/../check-lib.sh"

# FILE_PATH_CHANGES: MAINTAINERS is a file of this repository.
checkpatch()
{
	# It leaves a file where it runs.
	(cd "$work" && perl "$base/scripts/checkpatch.pl" --root="$base" --no-color --strict \
		--quiet --ignore FILE_PATH_CHANGES "$1") >"$work/findings" 2>&1 || :
	empty "$work/findings"
}

mails
echo "1..$(series_patches | wc -l)"
for m in "$work"/mails/*.patch; do
	check "checkpatch: ${m##*/}" checkpatch "$m"
done
