# SPDX-License-Identifier: GPL-2.0
"""A report as documents: Markdown, JSON, and what the repository keeps of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Mapping, Sequence

from .plots import PLOTS
from .results import Absent, BadResults, Results
from .tables import TABLES
from .targets import Target, judge, targets_table
from .text import Table, markdown_table, plain, rst, rst_heading, rst_table, wrapped
from .ways import WAYS

NAME = "ring-buffer-map-bench"
FOLDER = f"Documentation/trace/{NAME}"
KEPT_JSON = "tools/harness/bench/kept.json"
BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"

INTRODUCTION = """\
A program that traces has to get the events out of the ring buffers of the kernel. It can have them
copied, by `read(2)`; it can have them passed on unseen, by `splice(2)`; or it can map the buffers
and read the events where they are. This page says what each of these costs, beside the cost of
parsing alone, which is the floor. It says the same of the mapping that mainline has had since
Linux 6.10, and of perf and BPF, which a program might use instead. The mapping of this series is
described in Documentation/trace/ring-buffer-map.rst."""

UNITS = {
    "instructions": """\
The figures are *guest instructions*, unless a table says otherwise. Each kernel runs in a guest
with one CPU, emulated by QEMU with `-icount`: the clock of the guest is the number of instructions
it has executed. So a figure is the length of a path through kernel and program, system calls
included, and the next run on the same machine gives the same figure.

An instruction counts as one whatever it does. There are no caches in such a guest, no branches
predicted wrongly, no TLB, no memory that is slow, and no clock on the wall. A load that would miss
every cache counts no more than an addition, and an atomic operation no more than a move. The
figures compare ways of doing the same thing, and tell how a cost grows; they are not durations.
For these, where the machine can run guests under KVM, `make bench ACCEL=kvm` measures time.""",
    "nanoseconds": """\
The figures are nanoseconds by the clock of a guest that runs under KVM, unless a table says
otherwise. They are of this machine, and no two runs give the same.""",
}

AGAIN = """\
In a clone of the project, on Debian 12::

	make bench

builds the four kernels with one configuration, runs everything, prints the tables of this page,
and leaves them with the plots in `build/bench`. `make bench-keep` writes this page from the last
run."""


@dataclass
class Report:
    """Everything that is told of a run."""

    results: Results
    targets: list[Target]
    tables: dict[str, Table]
    plots: dict[str, str]
    missing: list[str]


def make_report(results: Results) -> Report:
    """Make what can be made; the rest is named in missing."""
    report = Report(results, [], {}, {}, [])
    report.targets = judge(results, report.missing)
    for name, make in TABLES.items():
        try:
            report.tables[name] = make(results)
        except Absent as absent:
            report.missing.append(f"table {name}: {absent}")
    for name, plot in PLOTS.items():
        try:
            report.plots[name] = plot.draw(results)
        except Absent as absent:
            report.missing.append(f"plot {name}: {absent}")
    return report


def paragraphs(text: str, width: int = 80) -> str:
    """Paragraphs in lines that are not too long; an indented line is code."""
    return "\n\n".join(part if part.startswith("\t") else wrapped(part, width)
                       for part in text.split("\n\n"))


def rst_paragraphs(text: str) -> str:
    """Paragraphs of ours for the kernel's documents."""
    return paragraphs(rst(text)) + "\n"


def all_tables(report: Report) -> list[Table]:
    """The tables in the order of the report, the targets first."""
    return [targets_table(report.targets), *report.tables.values()]


def printed(report: Report) -> str:
    """What is printed on standard output."""
    return "\n".join(f"{plain(table.title)}\n\n{markdown_table(table)}"
                     for table in all_tables(report))


def table_plots(report: Report, table: Table) -> list[str]:
    """The names of a table's plots that could be drawn."""
    return [name for name in table.plots if name in report.plots]


def image(name: str, folder: str) -> str:
    """A plot, in Markdown."""
    return f"![{PLOTS[name].caption}]({folder}{PLOTS[name].file}.svg)\n"


def markdown(report: Report) -> str:
    """bench.md: every table with how it was taken, and its plots."""
    parts = ["# Benchmark\n", f"{paragraphs(UNITS[report.results.unit], 120)}\n"]
    for table in all_tables(report):
        parts += [f"## {table.title}\n", f"{wrapped(table.how, 120)}\n", markdown_table(table)]
        parts += [image(name, "") for name in table_plots(report, table)]
    return "\n".join(parts)


def json_rows(rows: Sequence[Mapping[str, object]], indent: str) -> str:
    """A list of objects, each in one line."""
    lines = (f"{indent} {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return "[\n" + ",\n".join(lines) + f"\n{indent}]"


def as_json(report: Report) -> str:
    """bench.json: the results, and the targets with whether they are met."""
    tables = ",\n".join(f'  "{name}": {json_rows(rows, "  ")}'
                        for name, rows in report.results.tables.items())
    targets = json_rows([asdict(target) for target in report.targets], " ")
    return (f'{{\n "results": {{\n{tables}\n }},\n "targets": {targets},\n'
            f' "missing": {json.dumps(report.missing)}\n}}\n')


def plot_files(report: Report) -> dict[str, str]:
    """The plots by the names of their files."""
    return {f"{PLOTS[name].file}.svg": drawing for name, drawing in report.plots.items()}


def rst_figure(name: str) -> str:
    """A plot, in the kernel's documents."""
    plot = PLOTS[name]
    return (f".. kernel-figure:: {NAME}/{plot.file}.svg\n   :alt: {plot.caption}\n\n"
            f"   {plot.caption}\n")


def rst_ways() -> str:
    """What each way does, as a list of definitions."""
    return "\n".join(f"{rst(way.label)}\n"
                     + "\n".join("\t" + line for line in wrapped(rst(way.does), 72).split("\n"))
                     + "\n" for way in WAYS.values())


def rst_document(report: Report) -> str:
    """The page for Documentation/."""
    title = "What reading a trace ring buffer costs"
    machine = report.tables["machine"]
    parts = [".. SPDX-License-Identifier: GPL-2.0\n",
             f".. Written by \"make bench-keep\" from {KEPT_JSON}. Do not edit.\n",
             f"{'=' * len(title)}\n{title}\n{'=' * len(title)}\n", ".. contents:: :local:\n",
             rst_paragraphs(INTRODUCTION),
             rst_heading("What is measured", "="), rst_paragraphs(UNITS["instructions"]),
             wrapped(rst(machine.how)) + "\n", rst_table(machine),
             rst_heading("The ways to read", "="), rst_ways(),
             rst_heading("How to run it again", "="), rst_paragraphs(AGAIN),
             rst_heading("Results", "=")]
    for table in all_tables(report):
        if table is not machine:
            parts += [rst_heading(table.title, "-"), wrapped(rst(table.how)) + "\n",
                      rst_table(table), *map(rst_figure, table_plots(report, table))]
    return "\n".join(parts)


def readme_section(report: Report) -> str:
    """The one table and the one plot."""
    table = report.tables["headline"]
    how = (f"{table.how} Mainline is Linux {report.results.meta('mainline', 'version')}, this "
           f"series is on {report.results.meta('ours', 'version')}.")
    return "\n".join([f"{table.title}:\n", markdown_table(table), f"{wrapped(how, 120)}\n",
                      image("payload", FOLDER + "/")])


def with_section(text: str, section: str) -> str:
    """The README's text with the section between the markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise BadResults(f"README.md needs one {BEGIN} and, after it, one {END}")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{section}{END}{rest.partition(END)[2]}"


def write(files: dict[Path, str]) -> None:
    """Write files, and the folders they are in."""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_report(report: Report, folder: Path) -> None:
    """The documents of a run."""
    files = {"bench.md": markdown(report), "bench.json": as_json(report), **plot_files(report)}
    write({folder / name: text for name, text in files.items()})


def kept_files(report: Report, top: Path) -> dict[Path, str]:
    """What the repository at top keeps of a report that is complete."""
    if report.results.unit != "instructions":
        raise BadResults(f"what is kept counts instructions, not {report.results.unit}")
    readme = top / "README.md"
    return {top / KEPT_JSON: as_json(report),
            top / f"{FOLDER}.rst": rst_document(report),
            readme: with_section(readme.read_text(encoding="utf-8"), readme_section(report)),
            **{top / FOLDER / name: text for name, text in plot_files(report).items()}}
