#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# charts.sh DOCUMENT FOLDER: draw the charts of the benchmark's document from its tables.

. "$(dirname "$0")/../shared/start.sh"

# Write each table of the document to a file named as its section, for charts.gp. Where the heads
# of columns are numbers, each row is a curve over them, so the table is transposed: gnuplot takes
# a curve from a column.
split_tables()
{
	awk -F '  +' '
	function transpose(   row, column, text) {
		for (column = 1; column <= columns; column++) {
			if (column < first - 1)
				continue
			text = column < first ? "x" : cell[1, column] + 0
			for (row = 2; row <= rows; row++)
				text = text "\t" cell[row, column]
			print text >section
		}
	}
	function copy(   row, column, text) {
		for (row = 1; row <= rows; row++) {
			text = cell[row, 1]
			for (column = 2; column <= columns; column++)
				text = text "\t" cell[row, column]
			print text >section
		}
	}
	# The words at the left of a row are its label.
	function join_labels(   row, column) {
		for (column = 2; column < first; column++)
			for (row = 2; row <= rows; row++)
				cell[row, column] = cell[row, column - 1] ", " cell[row, column]
	}
	function end_table() {
		for (first = 1; first <= columns && cell[1, first] !~ /^[0-9]/; first++)
			;
		if (first <= columns) {
			join_labels()
			transpose()
		} else {
			copy()
		}
		rows = 0
	}
	function add_row(   column) {
		rows++
		columns = NF
		for (column = 1; column <= columns; column++) {
			cell[rows, column] = $column
			if ($column ~ /^[0-9]/)
				gsub(/,/, "", cell[rows, column])
		}
	}
	{ gsub(/``/, "") }
	/^---+$/ { section = before; sub(/ \([^()]*\)$/, "", section) }
	{ before = $0 }
	/^=+  =/ { if (++rules % 3 == 0) end_table(); next }
	rules % 3 { add_row() }
	' "$1"
}

document=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
unit=$(sed -n 's/^Reading an event, by its payload (\(.*\))$/\1/p' "$document")
scratch
cd "$work" || exit
split_tables "$document"
gnuplot -e "unit = '$unit'; out = '$out'" "$harness/bench/charts.gp"
# A version of gnuplot is no part of a chart, nor is white space at the end of a line.
sed -i -e '1a <!-- SPDX-License-Identifier: GPL-2.0 -->' \
	-e '/^<title>/d; /^<desc>/d; s/[[:space:]]*$//; /^$/d' "$out"/*.svg
