# SPDX-License-Identifier: GPL-2.0
"""A run as documents: JSON, the page costs.rst, and the README's table."""

from __future__ import annotations

import json
from pathlib import Path

from .results import BadResults, Results
from .tables import TABLES, headline, irqs_off, machine, peers_sum
from .targets import targets_table
from .text import Table, markdown_table, rst, rst_heading, rst_table, wrapped
from .ways import WAYS

FOLDER = "tools/harness/bench"
NAME = "costs"
BEGIN = "<!-- bench: begin -->\n"
END = "<!-- bench: end -->\n"

INTRODUCTION = """\
A program that traces has to get the events out of the kernel's ring buffers. The kernel can copy
them, by `read(2)`; it can pass them on unseen, by `splice(2)`; or the program can map the buffers
and read the events where they are. This page says what each of these costs, beside the cost of
parsing alone, which is the floor, and what the traced program pays for writing the events. It says
the same of the mapping that mainline has had since Linux 6.10, and of perf and BPF, which a program
might use instead. `Documentation/trace/ring-buffer-map.rst` describes the mapping of this series."""

UNITS = {
    "instructions": """\
The figures are *guest instructions*, unless a table says otherwise. Each kernel runs in a guest
with one CPU, emulated by QEMU with `-icount`: the guest's clock counts the instructions that the
guest has executed. So a figure is the length of a path through kernel and program, system calls
included, and the next run on the same machine gives the same figure.

An instruction counts as one whatever it does. Such a guest has no caches, no mispredicted branches,
no TLB, no slow memory, and no wall-clock time. A load that would miss every cache counts no more
than an addition, and an atomic operation no more than a move. The figures compare ways of doing the
same thing, and show how a cost grows; they are not durations. Where the machine can run guests
under KVM, `make bench ACCEL=kvm` measures time instead.""",
    "nanoseconds": """\
The figures are nanoseconds by the clock of a guest that runs under KVM, unless a table says
otherwise. They hold for this machine, and no two runs give the same figures.""",
}

AGAIN = """\
In a clone of the project, on Debian 12::

	make bench

builds the kernels, runs everything, and leaves this page with its
charts in `build/bench`. `make bench-keep` takes them from there to `tools/harness/bench`."""


def rst_ways() -> str:
    """What each way does, as a list of definitions."""
    return "\n".join(f"{rst(label)}\n"
                     + "\n".join("\t" + line for line in wrapped(rst(does), 72).split("\n"))
                     + "\n" for label, does in WAYS.values())


def rst_section(table: Table) -> str:
    """A table with its heading, and its chart."""
    parts = [rst_heading(table.title, "-"), wrapped(rst(table.how)) + "\n", rst_table(table)]
    if table.chart:
        parts.append(f".. figure:: {NAME}/{table.chart}.svg\n   :alt: {table.caption}\n\n"
                     f"   {table.caption}\n")
    return "\n".join(parts)


def all_tables(results: Results) -> list[Table]:
    """The tables in the order of the report; the targets are for instructions."""
    if results.unit == "instructions":
        return [targets_table(results), *(make(results) for make in TABLES)]
    return [make(results) for make in TABLES if make is not irqs_off]


def rst_document(results: Results) -> str:
    """The page costs.rst."""
    title = "What a trace ring buffer costs"
    guests = machine(results)
    parts = [".. SPDX-License-Identifier: GPL-2.0\n",
             ".. Written by \"make bench-keep\". Do not edit.\n",
             f"{'=' * len(title)}\n{title}\n{'=' * len(title)}\n", ".. contents:: :local:\n",
             wrapped(rst(INTRODUCTION)) + "\n",
             rst_heading("What is measured", "="), wrapped(rst(UNITS[results.unit])) + "\n",
             wrapped(rst(guests.how)) + "\n", rst_table(guests),
             rst_heading("The ways to read", "="), rst_ways(),
             rst_heading("How to run it again", "="), wrapped(rst(AGAIN)) + "\n",
             rst_heading("Results", "="),
             *map(rst_section, all_tables(results))]
    return "\n".join(parts)


def readme_section(results: Results) -> str:
    """One table, of reading, and one chart, of writing and reading."""
    table, chart = headline(results), peers_sum(results)
    how = (f"{table.how} Mainline is Linux {results.meta('mainline', 'version')}, this "
           f"series is on {results.meta('ours', 'version')}.")
    return "\n".join([f"{table.title}:\n", markdown_table(table), f"{wrapped(how, 120)}\n",
                      f"![{chart.caption}]({FOLDER}/{NAME}/{chart.chart}.svg)\n"])


def write_report(results: Results, folder: Path) -> None:
    """What a run leaves; the document first, which fails if the run is not complete."""
    (folder / f"{NAME}.rst").write_text(rst_document(results), encoding="utf-8")
    rows = (f' "{table}": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n ]"
            for table, rows in results.tables.items())
    (folder / "bench.json").write_text('{"results": {\n' + ",\n".join(rows) + "\n}}\n",
                                       encoding="utf-8")


def keep(results: Results, top: Path) -> None:
    """What the repository at top keeps of a run."""
    if results.unit != "instructions":
        raise BadResults(f"what is kept counts instructions, not {results.unit}")
    document = rst_document(results)
    readme = top / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(before + BEGIN + readme_section(results) + END + after, encoding="utf-8")
    (top / f"{FOLDER}/{NAME}.rst").write_text(document, encoding="utf-8")
