#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# keep.sh: what the repository keeps of a benchmark, from the last complete run
# in build/bench: the results, the document with its plots, and the README's
# table.

. "$(dirname "$0")/../lib.sh"

runs()
{
	find "$top/build/bench" -name bench.json -printf '%T@ %p\n' 2>/dev/null | sort -rn | cut -d' ' -f2-
}

while read -r run; do
	if "$harness/bench/report.py" --keep "$run" "$top"; then
		say "-- kept: $run"
		exit
	fi
done < <(runs)
die "there is no complete run in $top/build/bench" "make bench first"
