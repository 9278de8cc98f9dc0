#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# clean.sh: remove what was built and unpacked. The compiler's cache stays:
# delete $cache/ccache by hand to be rid of that too.

. "$(dirname "$0")/../shared/start.sh"

for lock in "$cache"/source*.lock; do
	[ ! -e "$lock" ] || flock -n "$lock" true || die "another run builds: ${lock%.lock}"
done
rm -rf "$top/build"
find "$cache" -mindepth 1 -maxdepth 1 ! -name ccache ! -name 'source*.lock' -exec rm -rf {} +
say "-- removed $top/build and all of $cache but ccache"
