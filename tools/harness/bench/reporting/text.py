# SPDX-License-Identifier: GPL-2.0
"""Numbers and tables as text: Markdown, which is also what is printed, and reStructuredText.

Text has Markdown's way of marking code, `so`; rst() doubles the marks.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field


@dataclass
class Table:
    """A table for people to read, and how its figures were taken."""

    title: str
    how: str
    header: list[str]
    rows: list[list[str]]
    labels: int = 1		# so many columns at the left are words
    plots: list[str] = field(default_factory=list)

    def widths(self, cells: list[list[str]]) -> list[int]:
        """The width of each column."""
        return [max(len(row[i]) for row in cells) for i in range(len(self.header))]


def number(value: float) -> str:
    """A figure with the digits that matter."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def event_cost(value: float) -> str:
    """A cost of an event: one decimal, so that a column's points are in line."""
    return f"{value:.1f}" if abs(value) < 1000 else number(value)


def change(ratio: float) -> str:
    """How much more than 1 the ratio is."""
    return f"{(ratio - 1) * 100:+.2f} %"


def rst(text: str) -> str:
    """Text of ours as reStructuredText."""
    return re.sub(r"`([^`]*)`", r"``\1``", text)


def plain(text: str) -> str:
    """Text of ours without marks."""
    return text.replace("`", "").replace("*", "")


def wrapped(text: str, width: int = 80) -> str:
    """A paragraph in lines that are not too long."""
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def aligned(table: Table, row: list[str], widths: list[int]) -> list[str]:
    """The cells of a row, words to the left and numbers to the right."""
    return [cell.ljust(width) if i < table.labels else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))]


def markdown_table(table: Table) -> str:
    """The table alone."""
    widths = [max(width, 3) for width in table.widths([table.header, *table.rows])]
    rule = ["-" * width if i < table.labels else "-" * (width - 1) + ":"
            for i, width in enumerate(widths)]
    lines = [aligned(table, table.header, widths), rule,
             *(aligned(table, row, widths) for row in table.rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def rst_list_table(table: Table) -> str:
    """The table alone, if it is all words: its lines are not long."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [table.header, *table.rows]:
        lines += [f"   {' ' if i else '*'} - {rst(cell)}" for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def rst_table(table: Table) -> str:
    """The table alone, with columns one can read."""
    if table.labels == len(table.header):
        return rst_list_table(table)
    cells = [[rst(cell) for cell in row] for row in [table.header, *table.rows]]
    widths = table.widths(cells)
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(aligned(table, row, widths)).rstrip() for row in cells]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def rst_heading(text: str, mark: str) -> str:
    """A section's heading."""
    return f"{rst(text)}\n{mark * len(rst(text))}\n"
