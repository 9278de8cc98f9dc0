#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/shellcheck.sh: every shell script that can be run, with what it sources.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

scratch
mapfile -t scripts < <(git -c safe.directory='*' -C "$top" ls-files -co --exclude-standard |
	while read -r f; do
		! head -n 1 "$top/$f" 2>/dev/null | grep -qE '^#!.*\b(ba|da)?sh\b' || echo "$f"
	done)
echo "1..${#scripts[@]}"
cd "$top" || exit
for f in "${scripts[@]}"; do
	check "shellcheck: $f" shellcheck "$f"
done
