# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Which files were changed since a commit: SINCE=, or the one that this branch and its
# upstream have in common, or else the last one. Source it after start.sh.

in_top() { git -c safe.directory='*' -C "$top" "$@"; }

since=${SINCE:-$(in_top merge-base HEAD '@{upstream}' 2>/dev/null || echo HEAD)}

# Files that git does not know yet are new.
changed() { in_top diff --name-only "$since" -- && in_top ls-files -o --exclude-standard; }
