# SPDX-License-Identifier: GPL-2.0
"""Numbers and tables as text, Markdown and reStructuredText.

Text has Markdown's way of marking code, `so`; rst() doubles the marks.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass


@dataclass
class Table:
    """A table for people to read, and how its figures were taken."""

    title: str
    how: str
    header: list[str]
    rows: list[list[str]]
    labels: int = 1		# so many columns at the left are words
    chart: str = ""		# the name of its chart's file, see charts.gp
    caption: str = ""

    def aligned(self, cells: list[list[str]], least: int = 0) -> list[list[str]]:
        """The cells in columns, words to the left and numbers to the right."""
        widths = [max(least, *map(len, column)) for column in zip(*cells)]
        return [[cell.ljust(width) if i < self.labels else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))] for row in cells]


def number(value: float) -> str:
    """A figure with the digits that matter."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def decimal(value: float) -> str:
    """One decimal, so that a column's points are in line."""
    return f"{value:,.1f}"


def change(ratio: float) -> str:
    """How much more than 1 the ratio is."""
    return f"{(ratio - 1) * 100:+.2f} %"


def rst(text: str) -> str:
    """Text of ours as reStructuredText."""
    return re.sub(r"`([^`]*)`", r"``\1``", text)


def wrapped(text: str, width: int = 80) -> str:
    """Paragraphs in lines that are not too long; an indented line is code."""
    return "\n\n".join(part if part.startswith("\t") else
                       textwrap.fill(part, width, break_on_hyphens=False, break_long_words=False)
                       for part in text.split("\n\n"))


def markdown_table(table: Table) -> str:
    """The table alone."""
    header, *rows = table.aligned([table.header, *table.rows], 3)
    rule = ["-" * len(cell) if i < table.labels else "-" * (len(cell) - 1) + ":"
            for i, cell in enumerate(header)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *rows]) + "\n"


def rst_list_table(cells: list[list[str]]) -> str:
    """The table alone, if it is all words: its lines are not long."""
    lines = [f"   {' ' if i else '*'} - {cell}" for row in cells for i, cell in enumerate(row)]
    return "\n".join([".. list-table::", "   :header-rows: 1", "", *lines]) + "\n"


def rst_table(table: Table) -> str:
    """The table alone, with columns one can read."""
    cells = [[rst(cell) for cell in row] for row in [table.header, *table.rows]]
    if table.labels == len(table.header):
        return rst_list_table(cells)
    header, *rows = table.aligned(cells)
    rule = "  ".join("=" * len(cell) for cell in header)
    lines = ["  ".join(row).rstrip() for row in [header, *rows]]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def rst_heading(text: str, mark: str) -> str:
    """A section's heading."""
    return f"{rst(text)}\n{mark * len(rst(text))}\n"
