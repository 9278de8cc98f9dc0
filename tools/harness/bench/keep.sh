#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# keep.sh: what the repository keeps of a benchmark, from the last complete run
# in build/bench: the document with its charts, and the README's table.

. "$(dirname "$0")/../shared/start.sh"

run=$top/build/bench/bench.json
document=$harness/bench/costs

[ -e "$run" ] || die "there is no complete run in ${run%/*}" "make bench first"
"$harness/bench/report.py" --keep "$run" "$top"
"$harness/bench/charts.sh" "$document.rst" "$document"
say "-- kept: $run"
