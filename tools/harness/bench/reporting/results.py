# SPDX-License-Identifier: GPL-2.0
"""The measurements of one run, as lines "result TABLE key=value ..." or as JSON."""

from __future__ import annotations

import json
import re
from typing import Mapping, Union

Cell = Union[int, float, str]
Row = dict[str, Cell]

# A value goes up to the next key: the name of a processor has spaces.
PAIR = re.compile(r"(\w+)=(.*?)(?=\s+\w+=|\s*$)")


class BadResults(Exception):
    """Something was not measured, or cannot be understood."""


def as_number(text: str) -> Cell:
    """The number that the text is, or the text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def parse_lines(text: str) -> dict[str, list[Row]]:
    """The tables of lines "result TABLE key=value ..."; the kernel is ours if a line says none."""
    tables: dict[str, list[Row]] = {}
    for line in text.splitlines():
        table, _, rest = line.removeprefix("result ").partition(" ")
        row = {key: value if table == "meta" else as_number(value)
               for key, value in PAIR.findall(rest)}
        tables.setdefault(table, []).append({"kernel": "ours", **row})
    return tables


class Results:
    """The rows of every table, and how to find one of them."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.tables: dict[str, list[Row]] = (json.loads(text)["results"] if text.startswith("{")
                                             else parse_lines(text))

    def find(self, table: str, where: Mapping[str, Cell]) -> list[Row]:
        """The rows of a table at that place; at least one."""
        found = [row for row in self.tables.get(table, [])
                 if all(row.get(key) == value for key, value in where.items())]
        if not found:
            raise BadResults(f"nothing was measured for {table}, {dict(where)}")
        return found

    def get(self, table: str, measure: str = "value", /, **where: Cell) -> float:
        """The one measurement at that place."""
        found = self.find(table, where)
        if len(found) > 1 or measure not in found[0]:
            raise BadResults(f"there is not one {measure} for {table}, {where}")
        return float(found[0][measure])

    def axis(self, table: str, key: str, **where: Cell) -> list[Cell]:
        """The values that a key takes, numbers ascending."""
        found = list(dict.fromkeys(row[key] for row in self.find(table, where) if key in row))
        if not found:
            raise BadResults(f"no {key} was measured for {table}, {where}")
        return found if isinstance(found[0], str) else sorted(found, key=float)

    def meta(self, kernel: str, key: str) -> str:
        """What is said of a kernel's guest."""
        return str(self.find("meta", {"kernel": kernel})[0][key])

    @property
    def unit(self) -> str:
        """instructions or nanoseconds, the same in every guest."""
        return self.meta("ours", "unit")
