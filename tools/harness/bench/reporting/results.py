# SPDX-License-Identifier: GPL-2.0
"""The measurements of one run, as lines "result TABLE key=value ..." or kept as JSON."""

from __future__ import annotations

import json
import math
import re
from typing import Iterable, Mapping, Union

Cell = Union[int, float, str]
Row = dict[str, Cell]

TABLES = ("meta", "drain", "library", "get_reader", "peers", "irqs_off", "writer", "map", "index", "wakeup",
          "quiet", "loss", "cpus", "growth", "merge")

# What was measured; every other key of a line says where.
MEASURES = {"value", "calls", "copied", "write", "pages", "total", "memory", "min", "max",
            "subbufs", "parse"}
COSTS = {"value", "pages", "total", "subbufs", "parse"}
MAY_BE_NOTHING = ("loss", "irqs_off", "quiet")

# A value goes up to the next key: the name of a processor has spaces.
PAIR = re.compile(r"(\w+)=(.*?)(?=\s+\w+=|\s*$)")


class BadResults(Exception):
    """The results cannot be understood."""


class Absent(Exception):
    """Something was not measured."""


def as_number(text: str) -> Cell:
    """The number that the text is, or the text."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def check_measures(table: str, row: Row, line: str) -> None:
    """What was measured must be numbers one can divide by, where no nothing is possible."""
    for key in MEASURES & row.keys():
        value = row[key]
        if isinstance(value, str) or not math.isfinite(value):
            raise BadResults(f"{key} is no number: {line.strip()}")
        if value <= 0 and key in COSTS and table not in MAY_BE_NOTHING:
            raise BadResults(f"{key} is not above 0: {line.strip()}")


def describe(table: str, where: Mapping[str, Cell]) -> str:
    """A place in the results, written as it would be in their file."""
    return " ".join([table, *(f"{key}={value}" for key, value in where.items())])


def place_of(table: str, row: Row) -> dict[str, Cell]:
    """What of a row says where it was measured."""
    if table == "meta":
        return {"kernel": row.get("kernel", "")}
    return {key: value for key, value in row.items() if key not in MEASURES}


def parse_line(line: str) -> tuple[str, Row]:
    """Table and row of a line "result TABLE key=value ..."; the kernel is ours if it says none."""
    table, _, rest = line.removeprefix("result ").strip().partition(" ")
    if table not in TABLES:
        raise BadResults(f"there is no table {table!r}: {line.strip()}")
    row: Row = {}
    for key, text in PAIR.findall(rest):
        text = text.strip("\"'")
        row[key] = text if table == "meta" else as_number(text)
    row.setdefault("kernel", "ours")
    check_measures(table, row, line)
    return table, row


class Results:
    """The rows of every table, and how to find one of them."""

    def __init__(self, rows: Iterable[tuple[str, Row]]) -> None:
        self.tables: dict[str, list[Row]] = {}
        seen: set[str] = set()
        for table, row in rows:
            place = describe(table, dict(sorted(place_of(table, row).items())))
            if place in seen:
                raise BadResults(f"there is more than one result for {place}")
            seen.add(place)
            self.tables.setdefault(table, []).append(row)

    def find(self, table: str, **where: Cell) -> list[Row]:
        """The rows of a table at that place; at least one."""
        found = [row for row in self.tables.get(table, [])
                 if all(row.get(key) == value for key, value in where.items())]
        if not found:
            raise Absent(f"no result {describe(table, where)}")
        return found

    def get(self, table: str, measure: str = "value", /, **where: Cell) -> float:
        """The one measurement at that place."""
        found = self.find(table, **where)
        if len(found) > 1:
            raise BadResults(f"{len(found)} results are for {describe(table, where)}")
        if measure not in found[0]:
            raise Absent(f"no {measure}= in result {describe(table, where)}")
        return float(found[0][measure])

    def has(self, table: str, **where: Cell) -> bool:
        """Whether anything was measured at that place."""
        try:
            return bool(self.find(table, **where))
        except Absent:
            return False

    def axis(self, table: str, key: str, *needed: Cell, **where: Cell) -> list[Cell]:
        """The values that a key takes, numbers ascending; the needed ones are among them."""
        found = list(dict.fromkeys(row[key] for row in self.find(table, **where) if key in row))
        for value in needed:
            if value not in found:
                raise Absent(f"no result {describe(table, {**where, key: value})}")
        if not found:
            raise Absent(f"no {key}= in result {describe(table, where)}")
        return found if isinstance(found[0], str) else sorted(found, key=float)

    def meta(self, kernel: str, key: str) -> str:
        """What is said of a kernel's guest."""
        row = self.find("meta", kernel=kernel)[0]
        if key not in row:
            raise Absent(f"no {key}= in result meta kernel={kernel}")
        return str(row[key])

    @property
    def unit(self) -> str:
        """instructions or nanoseconds, the same in every guest."""
        units = {self.meta(str(row["kernel"]), "unit") for row in self.find("meta")}
        if len(units) != 1 or not units <= {"instructions", "nanoseconds"}:
            raise BadResults(f"the unit is {' and '.join(sorted(units))}, "
                             "not instructions or nanoseconds")
        return units.pop()


def load(path: str) -> Results:
    """The results of a file, be it the lines of a run or a bench.json."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        kept = json.loads(text).get("results", {})
        return Results((table, row) for table, rows in kept.items() for row in rows)
    return Results(parse_line(line) for line in text.splitlines() if line.startswith("result "))
