# SPDX-License-Identifier: GPL-2.0
"""The tables of the report, each made from the results."""

from __future__ import annotations

from typing import Callable, Iterable

from .results import BadResults, Cell, Results
from .text import Table, change, decimal, number
from .ways import CORE, KERNELS, WAYS, core_label, way_label

NOTHING = "–"
PAYLOADS = (8, 32, 128)
SUBBUFS = (4, 64)
DRAIN_ROWS = [("ours", "parse"), ("stock", "read"), ("mainline", "read"), ("ours", "read"),
              ("mainline", "mapping"), ("ours", "mapping"), ("ours", "live")]
WAITERS = DRAIN_ROWS[1:]
# What writes a tracepoint's event while nothing is mapped.
TRACEPOINT: dict[str, Cell] = {"bench": "bench_event", "mappings": 0, "payload": 32}


def drained(results: Results, writer: str = "`trace_marker_raw`") -> str:
    """How the cost of an event was taken."""
    return (f"Events are written through {writer}, then all are read and parsed. The figures are "
            f"the {results.unit} for reading and parsing, divided by the number of events, in the "
            "cheapest of several runs.")


def cells(results: Results, show: Callable[[float], str], table: str, key: str,
          values: Iterable[Cell], **where: Cell) -> list[str]:
    """The figures of a row, one for each value of a key."""
    return [show(results.get(table, **{**where, key: value})) for value in values]


def measures(results: Results, table: str, names: Iterable[str], **where: Cell) -> list[str]:
    """The figures of a row, one for each thing that was measured."""
    return [number(results.get(table, name, **where)) for name in names]


def heads(values: Iterable[Cell], unit: str) -> list[str]:
    """The heads of columns."""
    return [f"{value} {unit}" for value in values]


def several(counts: Iterable[Cell], unit: str) -> list[str]:
    """The heads of columns, of one and of several."""
    return [f"{count} {unit}" + "s" * (count != 1) for count in counts]


def machine(results: Results) -> Table:
    """What the figures were taken on."""
    rows = [[label, *(results.meta(kernel, key)
                      for key in ("version", "unit", "accel", "qemu", "cpu"))]
            for kernel, label in KERNELS.items()]
    return Table("The guests", "There is one guest for each kernel. All kernels are built with the "
                 "same configuration and run in one go on the same machine.",
                 ["kernel", "version", "unit", "run by", "QEMU", "processor"], rows, labels=6)


def headline(results: Results) -> Table:
    """The one table that matters."""
    rows = [[core_label(kernel, way), *cells(results, decimal, "drain", "payload", PAYLOADS,
                                             kernel=kernel, way=way, subbuf=4)]
            for kernel, way in CORE]
    return Table(f"Reading an event, by its payload ({results.unit})",
                 drained(results) + " 4 KiB sub-buffers.",
                 ["way to read", *heads(PAYLOADS, "bytes")], rows, chart="cost-by-payload",
                 caption="Cost of reading an event by payload: parsing alone, read(2), mainline's "
                 "mapping, this series' mapping and its live view")


def drain_payload(results: Results) -> Table:
    """Cost of an event by every payload."""
    payloads = results.axis("drain", "payload", subbuf=4)
    rows = [[way_label(way), KERNELS[kernel], *cells(results, decimal, "drain", "payload", payloads,
                                                     kernel=kernel, way=way, subbuf=4)]
            for kernel, way in DRAIN_ROWS]
    return Table(f"Reading an event, all payloads and kernels ({results.unit})",
                 drained(results) + " 4 KiB sub-buffers.",
                 ["way to read", "kernel", *heads(payloads, "bytes")], rows, labels=2)


def drain_subbuf(results: Results) -> Table:
    """Cost of an event by size of sub-buffer."""
    sizes = results.axis("drain", "subbuf", payload=32)
    rows = [[core_label(kernel, way), str(payload),
             *cells(results, decimal, "drain", "subbuf", sizes, kernel=kernel, way=way,
                    payload=payload)]
            for payload in PAYLOADS for kernel, way in CORE]
    return Table(f"Reading an event, by the size of sub-buffers ({results.unit})",
                 drained(results), ["way to read", "payload", *heads(sizes, "KiB")], rows)


def drain_calls(results: Results) -> Table:
    """System calls and copies by way and size of sub-buffer."""
    rows = [[core_label(kernel, way),
             *(number(results.get("drain", measure, kernel=kernel, way=way, payload=32,
                                  subbuf=size))
               for measure in ("calls", "copied") for size in SUBBUFS)]
            for kernel, way in CORE[1:]]
    return Table("System calls and copied bytes for each KiB that is read",
                 "System calls, counted at the kernel's entry, from the first look for events to "
                 "the last, which finds no more; and bytes that the kernel copies to the program. "
                 "Both are divided by the KiB of sub-buffers that were read. The payload is 32 "
                 "bytes.",
                 ["way to read", "calls, 4 KiB", "calls, 64 KiB", "copied, 4 KiB",
                  "copied, 64 KiB"], rows)


# What the library does, and the loop that does the same without it.
LIBRARY = {"consume": ("mapping", "consuming"),
           "observe": ("copy", "observing, each sub-buffer copied"),
           "records": ("mapping", "consuming, a call for each record")}


def library(results: Results) -> Table:
    """What the library adds."""
    rows = [[label, *(text for payload in PAYLOADS
                      for text in cells(results, decimal, "library", "way", (bare, way),
                                        payload=payload))]
            for way, (bare, label) in LIBRARY.items()]
    return Table(f"Going through events with libtracemap ({results.unit})",
                 drained(results) + " 4 KiB sub-buffers. Each way of the library is compared with "
                 "a bare loop that reads in the same way, with nothing but `subbuf.h` and "
                 "`live.h`.",
                 ["way to read", *(f"{payload} bytes, {whose}" for payload in PAYLOADS
                                   for whose in ("bare", "library"))], rows)


# How the cost of merging is counted, and the orders of events.
COUNTED = {"nanoseconds": ("CPU time", "ns of CPU time"),
           "instructions": ("instructions", "instructions")}
ORDERS = {"alternating": "in turn", "random": "random", "bursts-4": "bursts of 4",
          "bursts-16": "bursts of 16", "bursts-64": "bursts of 64"}


def merge_floor(results: Results, by: str) -> str:
    """What parsing alone costs."""
    costs = [float(row["parse"]) for row in results.find("merge", {"by": by})]
    return f"{min(costs):.1f} to {max(costs):.1f} {COUNTED[by][1]}"


def merge_ratio(results: Results, **where: Cell) -> str:
    """How many times as much as parsing alone it costs to merge as well."""
    return decimal(results.get("merge", **where) / results.get("merge", "parse", **where))


def merging(results: Results) -> Table:
    """What merging costs, by CPUs and by the order of events."""
    counted = [by for by in COUNTED if by in results.axis("merge", "by")]
    rows = [[COUNTED[by][0], str(sources),
             *(merge_ratio(results, by=by, sources=sources, order=order) for order in ORDERS)]
            for by in counted for sources in results.axis("merge", "sources", by=by)]
    return Table("Merging CPUs with libtracemap, in times the cost of parsing alone",
                 "Events of 8 bytes lie in sub-buffers of 4 KiB in memory. `tracemap_merge_next()` "
                 "parses the sub-buffers of each CPU and merges the events of all CPUs in the "
                 "order of time. In turn: each event is the next CPU's. Random: each event is any "
                 "CPU's. Bursts: on average, so many events of one CPU follow each other. CPU time "
                 "is that of a thread, measured without a guest: it is the least of several runs, "
                 "and differs from run to run. Parsing an event took "
                 + " and ".join(merge_floor(results, by) for by in counted) + ".",
                 ["counted", "CPUs", *ORDERS.values()], rows, labels=2)


def maybe(results: Results, table: str, show: Callable[[float], str] = number, /,
          **where: Cell) -> str:
    """A figure, where there is one."""
    try:
        return show(results.get(table, **where))
    except BadResults:
        return NOTHING


def get_reader(results: Results) -> Table:
    """Cost of the ioctl."""
    events = results.axis("get_reader", "events")
    rows = [[core_label(kernel, way), f"{size} KiB",
             *(maybe(results, "get_reader", kernel=kernel, way=way, events=count, subbuf=size)
               for count in events)]
            for kernel, way in CORE[2:] for size in SUBBUFS]
    return Table(f"`GET_READER`, by the events in the sub-buffer ({results.unit})",
                 "One call of the ioctl that fetches a finished sub-buffer, from user space to "
                 "user space; for the live view, the look that finds one and the check afterwards. "
                 "Small sub-buffers have no room for the larger numbers of events.",
                 ["way to read", "sub-buffers", *heads(events, "events")], rows, labels=2)


def irqs_off(results: Results) -> Table:
    """Longest stretch with interrupts off."""
    events = results.axis("irqs_off", "events")
    rows = [[core_label("ours", way),
             *cells(results, number, "irqs_off", "events", events, way=way)]
            for way in ("mapping", "live")]
    return Table(f"Interrupts off in `GET_READER`, at most ({results.unit})",
                 "The longest stretch with interrupts disabled in a call that fetches a finished "
                 "sub-buffer, measured by the events `irq_disable` and `irq_enable`. The live view "
                 "makes no call.", ["way to read", *heads(events, "events")], rows)


def peers(results: Results) -> Table:
    """Every way, ours and what a user would take instead."""
    rows = [[way_label(way), *cells(results, decimal, "peers", "payload", PAYLOADS, kernel="ours",
                                    way=way)] for way in WAYS]
    return Table(f"Reading an event, by every way there is ({results.unit})",
                 "All ways read events of the same tracepoint. The figures are the cost of reading "
                 "and parsing, for `splice(2)` that of passing the bytes on, divided by the number "
                 "of events.",
                 ["way to read", *heads(PAYLOADS, "bytes")], rows)


def peers_beside(results: Results) -> Table:
    """What the ways cost beside."""
    rows = [[way_label(way), *measures(results, "peers", ("calls", "copied"),
                                       kernel="ours", way=way, payload=32)]
            for way in WAYS if way != "parse"]
    return Table("What every way costs beside reading",
                 "Calls and copied bytes are for each KiB consumed. The payload is 32 bytes.",
                 ["way to read", "calls", "bytes copied"], rows)


def written_and_read(results: Results, way: str) -> tuple[float, float]:
    """What an event costs the traced program, and the one that reads it."""
    where: dict[str, Cell] = {"kernel": "ours", "way": way, "payload": 32}
    return results.get("peers", "write", **where), results.get("peers", **where)


def peers_sum(results: Results) -> Table:
    """Writing and reading."""
    costs = [(way, *written_and_read(results, way)) for way in WAYS if way != "parse"]
    return Table(f"Writing and reading an event, by every way there is ({results.unit})",
                 "What the traced program spends, what the program that reads spends, and the sum. "
                 "The payload is 32 bytes.", ["way to read", "written", "read", "sum"],
                 [[way_label(way), *map(decimal, (write, read, write + read))]
                  for way, write, read in costs],
                 chart="sum-by-way", caption="Cost of an event, written and read, by every way")


def native_ratio(results: Results) -> float:
    """How an event of the series compares with one of the stock kernel by time."""
    return results.get("native", kernel="ours") / results.get("native", kernel="stock")


def writer_unmapped(results: Results) -> Table:
    """The kernel's own benchmark of writing."""
    rows = []
    for label, where in (("`ring_buffer_benchmark`", {"bench": "ring_buffer_benchmark"}),
                         ("a tracepoint's event", TRACEPOINT)):
        costs = [results.get("writer", kernel=kernel, **where)
                 for kernel in ("stock", "before", "before_writer", "ours")]
        rows.append([label, *map(decimal, costs), change(costs[-1] / costs[0])])
    return Table(f"Writing an event, nothing mapped ({results.unit})",
                 "The kernel's own `ring_buffer_benchmark`, and a tracepoint's event of 32 bytes. "
                 "The kernels before the live view and before the topic writer have only those "
                 "patches of the series that come before that topic. The tables below use a buffer "
                 "of another size, and their figures differ by one or two.",
                 ["what writes", "stock", "before the live view", "before the topic writer",
                  "this series", "from stock"], rows)


def writer_native(results: Results) -> Table:
    """The same by time."""
    stock, ours = (results.get("native", kernel=kernel) for kernel in ("stock", "ours"))
    return Table("Writing an event natively (ns)",
                 "`ring_buffer_benchmark` in user-mode Linux, where the kernel is a program of "
                 "this machine, by the user time of that program: the least of five runs, in which "
                 "the kernels take turns. The figures differ from day to day. This kernel has one "
                 "CPU and no preemption, and its clock costs next to nothing; on other kernels, "
                 "each event takes longer on both sides, by the time to read the clock.",
                 ["what writes", "stock", "this series", "change"],
                 [["`ring_buffer_benchmark`", decimal(stock), decimal(ours),
                   change(native_ratio(results))]])


def against(base: float, costs: list[float]) -> list[str]:
    """The figures of a row, beside what they are to be as little as."""
    return [*map(decimal, (base, *costs)), change(max(costs) / base)]


def writer_observed(results: Results) -> Table:
    """Writing while others look."""
    counts = results.axis("writer", "observers", kernel="ours")
    row = against(results.get("writer", kernel="ours", **TRACEPOINT),
                  [results.get("writer", bench="observed", kernel="ours", observers=count)
                   for count in counts])
    return Table(f"Writing an event beside the live view ({results.unit})",
                 "A tracepoint's event of 32 bytes is written while the live view is open, and "
                 "while the given number of processes follow the buffer by it. They look whenever "
                 "5,000 events were written, and the events that they have seen and missed must "
                 "add up to those written; in between they sleep, as there is one CPU. The change "
                 "is the largest, relative to a buffer that is not observed.",
                 ["what is written", "not observed", *several(counts, "observer"), "change"],
                 [["a tracepoint's event", *row]])


def writer_asleep(results: Results) -> Table:
    """Writing while an observer sleeps."""
    awake, asleep = (results.get("writer", bench="asleep", kernel="ours", sleepers=count)
                     for count in (0, 1))
    return Table(f"Writing an event while an observer sleeps ({results.unit})",
                 "A tracepoint's event of 32 bytes is written while the live view is mapped, and "
                 "then also while an observer sleeps until a whole buffer has been written.",
                 ["what is written", "no observer sleeps", "an observer sleeps", "change"],
                 [["a tracepoint's event", *against(awake, [asleep])]])


def writer_mapped(results: Results) -> Table:
    """Writing beside mappings."""
    mappings = results.axis("writer", "mappings", bench="bench_event", kernel="ours")
    rows = [[str(payload), *against(
        results.get("writer", bench="bench_event", kernel="stock", mappings=0, payload=payload),
        [results.get("writer", bench="bench_event", kernel="ours", mappings=count,
                     payload=payload) for count in mappings])]
            for payload in results.axis("writer", "payload", bench="bench_event", kernel="ours")]
    return Table(f"Writing an event beside mappings ({results.unit})",
                 "A tracepoint's event is written while the given number of mappings of the buffer "
                 "exist. The change is the largest, relative to stock.",
                 ["payload", "stock", *heads(mappings, "mapped"), "change"], rows)


def mapping(results: Results) -> Table:
    """Cost of mmap()."""
    both = ("mainline", "ours")
    rows = [[f"{size} MiB", number(results.get("map", "pages", kernel="ours", mib=size)),
             *(number(results.get("map", measure, kernel=kernel, mib=size))
               for measure in ("total", "value", "memory") for kernel in both)]
            for size in results.axis("map", "mib", kernel="ours")]
    return Table(f"`mmap()` of a buffer ({results.unit})",
                 "One call of `mmap()`, including all page table entries that it makes. Memory is "
                 "what the kernel allocates for the mapping beyond the meta area, in bytes for "
                 "each sub-buffer.",
                 ["buffer", "pages", "mainline", "this series", "a page, mainline",
                  "a page, this series", "memory, mainline", "memory, this series"], rows)


def index_memory(results: Results, size: Cell) -> float:
    """The bytes of the live index of a buffer of so many MiB."""
    ours, before = (results.get("index", "memory", kernel=kernel, mib=size)
                    for kernel in ("ours", "before"))
    return ours - before


def index(results: Results) -> Table:
    """Cost of the live index."""
    rows = [[f"{size} MiB", *measures(results, "index", ("subbufs", "pages", "total"),
                                      kernel="ours", mib=size),
             number(index_memory(results, size)),
             decimal(index_memory(results, size)
                     / results.get("index", "subbufs", kernel="ours", mib=size))]
            for size in results.axis("index", "mib", kernel="ours")]
    return Table(f"An observer: `open()` and `mmap()` of the live index ({results.unit})",
                 "One call of each, on the `trace_live` of a buffer with sub-buffers of 4 KiB. "
                 "`mmap()` maps only the pages before the sub-buffers. Memory is the live index, "
                 "in bytes, which is there with the buffer: what a buffer takes more than one of "
                 "the same size without it.",
                 ["buffer", "sub-buffers", "pages", "the calls", "memory", "memory a sub-buffer"],
                 rows)


def wakeup(results: Results) -> Table:
    """How soon an event is seen."""
    rows = [[way_label(way), KERNELS[kernel],
             *cells(results, number, "wakeup", "state", ("asleep", "awake"), kernel=kernel,
                    way=way)] for kernel, way in WAITERS]
    return Table(f"From an event to a reader that has parsed it ({results.unit})",
                 "Asleep: from the event's time stamp until the only reader has parsed it; the "
                 "reader slept in `read(2)`, in `GET_READER`, or in `poll(2)` after "
                 "`TRACE_LIVE_IOCTL_SET_POSITION` with one byte as the mark. Awake: the event is "
                 "there, and the reader looks. The figures are those of the cheapest of several "
                 "events.",
                 ["way to read", "kernel", "asleep", "awake"], rows, labels=2)


def quiet(results: Results) -> Table:
    """What watching an idle CPU does."""
    rows = [[f"wake-ups of an observer, `{events}` traced",
             *cells(results, decimal, "quiet", "observer", ("elsewhere", "there"), events=events)]
            for events in results.axis("quiet", "events")]
    return Table("An idle CPU that is watched, in a second",
                 "An observer with one byte as the mark runs on another CPU, or on the idle one "
                 "itself, where each of its wake-ups writes events; where functions are traced, so "
                 "does each of its calls. Measured over four seconds of wall-clock time, so the "
                 "figures differ from run to run.",
                 ["what is counted", "observer elsewhere", "observer there"], rows)


def crowds(results: Results) -> Table:
    """What many observers do to a CPU."""
    rows = [[f"{number(float(count))}, {what}",
             *(decimal(results.get("quiet", measure, **{key: count}))
               for measure in ("value", "works", "by", "wakeups")),
             number(results.get("quiet", "rate", **{key: count}))]
            for key, what in (("sleepers", "the CPU is idle"), ("waiters", "the CPU writes"))
            for count in results.axis("quiet", key)]
    return Table("A CPU that is watched by many observers, in a second",
                 "Open files of one process on another CPU: those of an idle CPU wait for more than "
                 "the buffer holds, those of one that writes events of 32 bytes by "
                 "`trace_marker_raw` for one byte each. Interrupts are those that this CPU gets "
                 "from others, those by which it wakes observers, and those that the other CPU "
                 "gets. Measured over four seconds of wall-clock time.",
                 ["observers", "interrupts received", "its own", "sent", "wake-ups",
                  "events written"], rows)


def crossed(results: Results, show: Callable[[float], str], table: str, key: str,
            ) -> tuple[list[Cell], list[list[str]]]:
    """The values of a key, and a row for each way with a figure for each of them."""
    values = results.axis(table, key, kernel="ours")
    rows = [[way_label(way), *cells(results, show, table, key, values, kernel="ours", way=way)]
            for way in results.axis(table, "way", kernel="ours")]
    return values, rows


def loss(results: Results) -> Table:
    """Events lost by rate."""
    rates, rows = crossed(results, decimal, "loss", "rate")
    return Table("Events lost, by the rate of writing (%)",
                 "A timer interrupt writes the given number of events of 128 bytes each "
                 "millisecond, while a program on the same CPU reads. The figures are the share of "
                 "the events that were lost or, by the live view, missed. All buffers have the "
                 "same size. For the live view they are in overwrite mode, as an observer makes no "
                 "room.",
                 ["way to read", *(f"{number(float(rate))}/ms" for rate in rates)], rows)


def cpus(results: Results) -> Table:
    """Throughput by CPUs."""
    counts, rows = crossed(results, number, "cpus", "n")
    return Table("Events read in a second, by the number of CPUs",
                 "A reader on each CPU drains that CPU's buffer, all at the same time. Measured by "
                 "wall-clock time, not in instructions, so the figures differ from run to run.",
                 ["way to read", *several(counts, "CPU")], rows)


def growth(results: Results) -> Table:
    """Cost by size of buffer."""
    sizes, rows = crossed(results, decimal, "growth", "buffer_mib")
    return Table(f"Reading an event, by the size of the buffer ({results.unit})",
                 drained(results, "a tracepoint") + " 32 bytes of payload, 4 KiB sub-buffers.",
                 ["way to read", *heads(sizes, "MiB")], rows)


# What is to cost the same on both bases, and where it is among the results.
ON_BOTH: dict[str, tuple[str, dict[str, Cell]]] = {
    **{f"reading an event of {payload} bytes, {way_label(way)}":
       ("drain", {"way": way, "payload": payload, "subbuf": 4})
       for way in ("mapping", "live") for payload in PAYLOADS},
    **{f"`GET_READER`, {events} events, {size} KiB":
       ("get_reader", {"way": "mapping", "events": events, "subbuf": size})
       for events, size in ((10, 4), (4000, 64))},
    "writing an event, `ring_buffer_benchmark`": ("writer", {"bench": "ring_buffer_benchmark"}),
    "writing a tracepoint's event": ("writer", TRACEPOINT),
    "writing it, mapped": ("writer", {**TRACEPOINT, "mappings": 1}),
    "writing it, observed": ("writer", {"bench": "observed", "observers": 0}),
    "`mmap()` of 64 MiB, a page": ("map", {"mib": 64}),
    "from an event to the sleeping observer": ("wakeup", {"way": "live", "state": "asleep"}),
}


def on_both(results: Results) -> dict[str, tuple[float, float]]:
    """What it costs on 6.12 and on 6.1."""
    return {what: (results.get(table, kernel="newer", **where),
                   results.get(table, kernel="ours", **where))
            for what, (table, where) in ON_BOTH.items()}


def bases(results: Results) -> Table:
    """The series on 6.12, beside mainline's mapping and the series on 6.1."""
    rows = []
    for what, (newer, ours) in on_both(results).items():
        table, where = ON_BOTH[what]
        mainline = maybe(results, table, decimal, kernel="mainline", **where)
        rows.append([what, mainline, decimal(newer), decimal(ours), change(newer / ours)])
    return Table(f"The series on both bases ({results.unit})",
                 "What the tables above measure on Linux 6.1, on Linux 6.12 as it is and with the "
                 "series. The change is from the series on 6.1. Of what writing a tracepoint's "
                 "event costs more, 21 instructions are in `memcpy()`, by which the tracepoint "
                 "copies its payload: Linux 6.12 copies word by word on a processor without FSRM. "
                 "Of what `mmap()` costs more, `vm_insert_pages()` takes all: it is the kernel's, "
                 "and needs 63 instructions a page more on 6.12.",
                 ["what", "mainline", "this series on 6.12", "on 6.1", "change"], rows)


# In the order of the report.
TABLES = [headline, drain_payload, drain_subbuf, drain_calls, library, merging, get_reader,
          irqs_off, peers, peers_sum, peers_beside, writer_unmapped, writer_native,
          writer_mapped, writer_observed, writer_asleep, mapping, index, wakeup, quiet, crowds, loss, cpus,
          growth, bases]
