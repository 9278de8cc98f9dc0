#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/bench.sh: the tables of the benchmark's document, the charts that are drawn
# from them, and the README's figures agree. Only "make bench" reads results, and fails
# if it cannot parse them.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

readme=$top/README.md
document=$harness/bench/costs

charts_are_drawn()
{
	"$harness/bench/charts.sh" "$document.rst" "$work/charts"
	diff -r "$work/charts" "$document"
}

charts_are_shown()
{
	sed -n 's,^.. figure:: costs/,,p' "$document.rst" | sort |
		diff - <(ls "$document")
}

readme_block() { sed -n '/bench: begin/,/bench: end/p' "$readme"; }

# The words and figures of a table, be it Markdown's or the document's.
cells() { sed -E '/==|--/d; s/[|`]//g; s/ +/ /g; s/^ //; s/ $//'; }

readme_table()
{
	sed -n '/^Reading an event, by its payload/,/figure::/{ /   /p }' "$document.rst" |
		cells >"$work/table"
	readme_block | grep '^|' | cells | diff - "$work/table"
	[ "$(wc -l <"$work/table")" -gt 1 ]
}

versions() { grep -oE '\<6\.[0-9]+\.[0-9]+' | sort -u; }

readme_versions() { diff <(readme_block | versions) <(versions <"$document.rst"); }

readme_targets()
{
	local met missed
	met=$(grep -cx '     - met' "$document.rst")
	missed=$(grep -cFx '     - **NOT met**' "$document.rst")
	grep "Of $((met + missed)) targets.* $met are met" "$readme"
}

scratch
echo 1..5
check "bench: the charts are drawn from the document's tables" charts_are_drawn
check "bench: the document shows each chart"		charts_are_shown
check "bench: the README's table is the document's"	readme_table
check "bench: the README names the document's kernels"	readme_versions
check "bench: the README counts the targets that are met" readme_targets
