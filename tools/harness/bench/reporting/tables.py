# SPDX-License-Identifier: GPL-2.0
"""The tables of the report. Each is made from the results, or raises Absent."""

from __future__ import annotations

from typing import Callable

from .results import Absent, Cell, Results
from .text import Table, change, event_cost, number
from .ways import CORE, KERNELS, core_label, way_label

NOTHING = "–"
PAYLOADS = (8, 32, 128)
DRAIN_ROWS = [("ours", "parse"), ("stock", "read"), ("mainline", "read"), ("ours", "read"),
              ("mainline", "mapping"), ("ours", "mapping"), ("ours", "live")]
# Who gets a finished sub-buffer, with so many events in it at least, by its size in KiB. 4 KiB have
# no room for 400. Mainline drops what is larger than 4 KiB, so fewer than some sixteen events do
# not fill 64 KiB there.
GET_READER_NEEDS = {
    ("mainline", "mapping"): {4: (10, 100), 64: (20, 400)},
    ("ours", "mapping"): {4: (10, 100), 64: (10, 400)},
    ("ours", "live"): {4: (10, 100), 64: (10, 400)},
}
WAITERS = [("stock", "read"), ("mainline", "read"), ("ours", "read"), ("mainline", "mapping"),
           ("ours", "mapping"), ("ours", "live")]
# What writes while nothing is mapped.
UNMAPPED: dict[str, dict[str, Cell]] = {
    "`ring_buffer_benchmark`": {"bench": "ring_buffer_benchmark"},
    "a tracepoint's event": {"bench": "bench_event", "mappings": 0, "payload": 32},
}
PEERS = ("parse", "read", "mapping", "live", "splice-file", "splice-null", "perf", "bpf")


def drained(results: Results, writer: str = "`trace_marker_raw`") -> str:
    """How the cost of an event was taken."""
    return (f"Events are written through {writer}, then all are read and parsed: the "
            f"{results.unit} of that, divided by the number of events. Of several runs the "
            "cheapest.")


def optional(results: Results, table: str, measure: str = "value", /,
             show: Callable[[float], str] = number, **where: Cell) -> str:
    """A cell that may be empty."""
    try:
        return show(results.get(table, measure, **where))
    except Absent:
        return NOTHING


def payload_header(payloads: list[Cell]) -> list[str]:
    """Column heads of payload sizes."""
    return [f"{payload} bytes" for payload in payloads]


def machine(results: Results) -> Table:
    """What the figures were taken on."""
    kernels = ("stock", "before", "ours", "mainline")
    results.axis("meta", "kernel", *kernels)
    rows = [[KERNELS[kernel], results.meta(kernel, "version"), results.unit,
             results.meta(kernel, "accel"), results.meta(kernel, "qemu"),
             results.meta(kernel, "cpu")] for kernel in kernels]
    return Table("The guests", "One guest for each kernel, all built with the same configuration "
                 "and run in one go on the same machine.",
                 ["kernel", "version", "unit", "run by", "QEMU", "processor"], rows, labels=6)


def headline(results: Results) -> Table:
    """The one table that matters."""
    rows = [[core_label(kernel, way),
             *(event_cost(results.get("drain", kernel=kernel, way=way, payload=payload, subbuf=4))
               for payload in PAYLOADS)] for kernel, way in CORE]
    return Table(f"Reading an event, by its payload ({results.unit})",
                 drained(results) + " 4 KiB sub-buffers.",
                 ["way to read", *payload_header(list(PAYLOADS))], rows, plots=["payload"])


def drain_payload(results: Results) -> Table:
    """Cost of an event by every payload."""
    payloads = results.axis("drain", "payload", *PAYLOADS, 1024, subbuf=4)
    for kernel, way in CORE:
        results.axis("drain", "payload", *payloads, kernel=kernel, way=way, subbuf=4)
    rows = [[way_label(way), KERNELS[kernel],
             *(optional(results, "drain", show=event_cost, kernel=kernel, way=way,
                        payload=payload, subbuf=4) for payload in payloads)]
            for kernel, way in DRAIN_ROWS]
    return Table(f"Reading an event, all payloads and kernels ({results.unit})",
                 drained(results) + " 4 KiB sub-buffers.",
                 ["way to read", "kernel", *payload_header(payloads)], rows, labels=2,
                 plots=["every_payload"])


def drain_subbuf(results: Results) -> Table:
    """Cost of an event by size of sub-buffer."""
    sizes = results.axis("drain", "subbuf", 4, 64, payload=32)
    for kernel, way in CORE:
        results.axis("drain", "subbuf", *sizes, kernel=kernel, way=way, payload=32)
    rows = [[core_label(kernel, way), str(payload),
             *(optional(results, "drain", show=event_cost, kernel=kernel, way=way,
                        payload=payload, subbuf=size) for size in sizes)]
            for payload in PAYLOADS for kernel, way in CORE]
    return Table(f"Reading an event, by the size of sub-buffers ({results.unit})",
                 drained(results),
                 ["way to read", "payload", *(f"{size} KiB" for size in sizes)], rows,
                 plots=["subbuf"])


def drain_calls(results: Results) -> Table:
    """System calls and copies by way and size of sub-buffer."""
    rows = []
    for kernel, way in (row for row in CORE if row[1] != "parse"):
        where: dict[str, Cell] = {"kernel": kernel, "way": way, "payload": 32}
        rows.append([core_label(kernel, way),
                     *(number(results.get("drain", measure, subbuf=size, **where))
                       for measure in ("calls", "copied") for size in (4, 64))])
    return Table("System calls and copied bytes for each KiB that is read",
                 "Calls from the first look to the last that found nothing more, as the kernel "
                 "counts them at its entry; and bytes that were copied to the program. Both are "
                 "divided by the KiB of sub-buffers that were read; 32 bytes of payload.",
                 ["way to read", "calls, 4 KiB", "calls, 64 KiB", "copied, 4 KiB",
                  "copied, 64 KiB"], rows)


# What the library does, and the loop that does the same without it.
LIBRARY = {"consume": ("mapping", "consuming"), "in-place": ("live", "observing in place"),
           "observe": ("copy", "observing, each sub-buffer copied"),
           "records": ("mapping", "consuming, a call for each record")}


def library(results: Results) -> Table:
    """What the library adds."""
    rows = [[label, *(text for payload in PAYLOADS
                      for text in (optional(results, "library", show=event_cost, way=bare,
                                            payload=payload),
                                   event_cost(results.get("library", way=way, payload=payload))))]
            for way, (bare, label) in LIBRARY.items()]
    return Table(f"Going through events with libtracemap ({results.unit})",
                 drained(results) + " 4 KiB sub-buffers. Beside each way of the library is a bare "
                 "loop that reads in that way, with nothing but `subbuf.h` and `live.h`.",
                 ["way to read", *(f"{payload} bytes, {whose}" for payload in PAYLOADS
                                   for whose in ("bare", "library"))], rows)


# How the cost of merging is counted, and the orders of events.
COUNTED = {"nanoseconds": "CPU time", "instructions": "instructions"}
ORDERS = {"alternating": "in turn", "random": "random", "bursts-4": "bursts of 4",
          "bursts-16": "bursts of 16", "bursts-64": "bursts of 64"}


def merge_floor(results: Results, by: str) -> str:
    """What parsing alone costs."""
    costs = [float(row["parse"]) for row in results.find("merge", by=by)]
    unit = {"nanoseconds": "ns of CPU time"}.get(by, by)
    return f"{min(costs):.1f} to {max(costs):.1f} {unit}"


def merging(results: Results) -> Table:
    """What merging costs, by CPUs and by the order of events."""
    rows = []
    counted = [by for by in COUNTED if by in results.axis("merge", "by", "nanoseconds")]
    for by in counted:
        for sources in results.axis("merge", "sources", 2, 8, 64, 256, by=by):
            where: dict[str, Cell] = {"by": by, "sources": sources}
            rows.append([COUNTED[by], str(sources),
                         *(f"{results.get('merge', order=order, **where) / parse:.1f}"
                           for order in ORDERS
                           for parse in [results.get("merge", "parse", order=order, **where)])])
    return Table("Merging CPUs with libtracemap, in times the cost of parsing alone",
                 "Events of 8 bytes, in sub-buffers of 4 KiB in memory. The sub-buffers of each "
                 "CPU are parsed, and those of all CPUs are merged in the order of time by "
                 "`tracemap_merge_next()`. In turn: each event is the next CPU's. Random: each "
                 "is any CPU's. Bursts: so many events of one CPU follow each other, on average. "
                 "CPU time is that of a thread, measured without a guest: the least of several "
                 "runs, and so another figure each time. To parse an event took "
                 + " and ".join(merge_floor(results, by) for by in counted) + ".",
                 ["counted", "CPUs", *ORDERS.values()], rows, labels=2)


def get_reader(results: Results) -> Table:
    """Cost of the ioctl."""
    rows = []
    events = results.axis("get_reader", "events")
    for (kernel, way), needs in GET_READER_NEEDS.items():
        for size, needed in needs.items():
            results.axis("get_reader", "events", *needed, kernel=kernel, way=way, subbuf=size)
            rows.append([core_label(kernel, way), f"{size} KiB",
                         *(optional(results, "get_reader", kernel=kernel, way=way, events=count,
                                    subbuf=size) for count in events)])
    return Table(f"`GET_READER`, by the events in the sub-buffer ({results.unit})",
                 "One call of the ioctl that fetches a finished sub-buffer, from user space to "
                 "user space; for the live view, the look that finds one and the check "
                 "afterwards. A smaller sub-buffer has room for fewer events.",
                 ["way to read", "sub-buffers", *(f"{count} events" for count in events)], rows,
                 labels=2, plots=["get_reader"])


def irqs_off(results: Results) -> Table:
    """Longest stretch with interrupts off."""
    ways = results.axis("irqs_off", "way", "mapping", "live", kernel="ours")
    events = results.axis("irqs_off", "events", 10, 400, kernel="ours")
    rows = [[core_label("ours", str(way)),
             *(number(results.get("irqs_off", kernel="ours", way=way, events=count))
               for count in events)] for way in ways]
    return Table(f"Interrupts off in `GET_READER`, at most ({results.unit})",
                 "The longest stretch with interrupts disabled in a call that fetches a finished "
                 "sub-buffer, as the events `irq_disable` and `irq_enable` tell. The live view "
                 "makes no call.",
                 ["way to read", *(f"{count} events" for count in events)], rows)


def peers(results: Results) -> Table:
    """Every way, ours and what a user would take instead."""
    payloads = results.axis("peers", "payload", *PAYLOADS, kernel="ours")
    rows = [[way_label(way),
             *(event_cost(results.get("peers", kernel="ours", way=way, payload=payload))
               for payload in payloads)]
            for way in results.axis("peers", "way", *PEERS, kernel="ours")]
    return Table(f"Reading an event, by every way there is ({results.unit})",
                 "The same tracepoint for all. What reads and parses is counted, for "
                 "`splice(2)` what passes the bytes on, divided by the number of events.",
                 ["way to read", *payload_header(payloads)], rows, plots=["peers"])


def peers_beside(results: Results) -> Table:
    """What the ways cost beside."""
    rows = []
    for way in results.axis("peers", "way", *PEERS, kernel="ours"):
        if way == "parse":
            continue
        where = {"kernel": "ours", "way": way, "payload": 32}
        rows.append([way_label(way), *(number(results.get("peers", measure, **where))
                                       for measure in ("write", "calls", "copied"))])
    return Table("What every way costs beside reading",
                 f"Writing is the {results.unit} that the traced program spends on an event while "
                 "events are collected for that way. Calls and copied bytes are for each KiB "
                 "consumed. 32 bytes of payload.",
                 ["way to read", "writing an event", "calls", "bytes copied"], rows)


def writer_unmapped(results: Results) -> Table:
    """The kernel's own benchmark of writing."""
    rows = []
    for label, where in UNMAPPED.items():
        stock, before, ours = (results.get("writer", kernel=kernel, **where)
                               for kernel in ("stock", "before", "ours"))
        rows.append([label, event_cost(stock), event_cost(before), event_cost(ours),
                     change(ours / stock), change(ours / before)])
    return Table(f"Writing an event, nothing mapped ({results.unit})",
                 "The kernel's own `ring_buffer_benchmark`, and a tracepoint's event of 32 bytes. "
                 "Before the live view is the kernel with those patches of the series that come "
                 "before it.",
                 ["what writes", "stock 6.1", "before the live view", "this series",
                  "from stock", "from before"], rows)


def writer_observed(results: Results) -> Table:
    """Writing while others look."""
    counts = results.axis("writer", "observers", 0, 16, bench="observed", kernel="ours")
    unmapped = results.get("writer", kernel="ours", **UNMAPPED["a tracepoint's event"])
    costs = [results.get("writer", bench="observed", kernel="ours", observers=count)
             for count in counts]
    return Table(f"Writing an event beside the live view ({results.unit})",
                 "A tracepoint's event of 32 bytes is written while the buffer is observed, and "
                 "so many more processes follow the buffer by it. They look whenever 5,000 events "
                 "were written, and all they have seen and missed must be as many as were "
                 "written; in between they sleep: there is one CPU. The change is the largest, "
                 "from a buffer that is not observed.",
                 ["what is written", "not observed",
                  *(f"{count} observer" + "s" * (count != 1) for count in counts), "change"],
                 [["a tracepoint's event", event_cost(unmapped), *map(event_cost, costs),
                   change(max(costs) / unmapped)]])


def writer_asleep(results: Results) -> Table:
    """Writing while an observer sleeps."""
    awake, asleep = (results.get("writer", bench="asleep", kernel="ours", sleepers=count)
                     for count in (0, 1))
    return Table(f"Writing an event while an observer sleeps ({results.unit})",
                 "A tracepoint's event of 32 bytes is written while the live view is mapped, and "
                 "then while an observer sleeps until a whole buffer has been written, too.",
                 ["what is written", "no observer sleeps", "an observer sleeps", "change"],
                 [["a tracepoint's event", event_cost(awake), event_cost(asleep),
                   change(asleep / awake)]])


def writer_mapped(results: Results) -> Table:
    """Writing beside mappings."""
    mappings = results.axis("writer", "mappings", 0, 1, 8, bench="bench_event", kernel="ours")
    rows = []
    for payload in results.axis("writer", "payload", bench="bench_event", kernel="ours"):
        where = {"bench": "bench_event", "payload": payload}
        stock = results.get("writer", kernel="stock", mappings=0, **where)
        ours = [results.get("writer", kernel="ours", mappings=count, **where)
                for count in mappings]
        rows.append([str(payload), event_cost(stock), *map(event_cost, ours),
                     change(max(ours) / stock)])
    return Table(f"Writing an event beside mappings ({results.unit})",
                 "A tracepoint's event is written while so many mappings of the buffer exist. "
                 "The change is the largest, from stock.",
                 ["payload", "stock 6.1", *(f"{count} mapped" for count in mappings), "change"],
                 rows)


def mapping(results: Results) -> Table:
    """Cost of mmap()."""
    sizes = results.axis("map", "mib", 1, 64, 256, kernel="ours")
    rows = []
    for size in sizes:
        rows.append([f"{size} MiB", number(results.get("map", "pages", kernel="ours", mib=size)),
                     *(number(results.get("map", measure, kernel=kernel, mib=size))
                       for measure in ("total", "value") for kernel in ("mainline", "ours")),
                     optional(results, "map", "memory", kernel="mainline", mib=size),
                     number(results.get("map", "memory", kernel="ours", mib=size))])
    return Table(f"`mmap()` of a buffer ({results.unit})",
                 "One call of `mmap()`, with all page table entries that it makes. Memory is what "
                 "the kernel allocates for the mapping beyond the meta area, in bytes for each "
                 "sub-buffer.",
                 ["buffer", "pages", "mainline", "this series", "a page, mainline",
                  "a page, this series", "memory, mainline", "memory, this series"], rows,
                 plots=["map"])


def index(results: Results) -> Table:
    """Cost of the live index."""
    rows = []
    for size in results.axis("index", "mib", 1, 64, 256, kernel="ours"):
        pages, subbufs, total, memory = (results.get("index", measure, kernel="ours", mib=size)
                                         for measure in ("pages", "subbufs", "total", "memory"))
        rows.append([f"{size} MiB", number(subbufs), number(pages), number(total),
                     number(memory), number(memory / subbufs)])
    return Table(f"The first observer: `open()` and `mmap()` of the live index ({results.unit})",
                 "One call of each, of the `trace_live` of a buffer with sub-buffers of 4 KiB that "
                 "was not observed before; of the mapping those pages that come before the "
                 "sub-buffers. Memory is what the kernel allocates for it, in bytes: 32 "
                 "for each sub-buffer, a pointer to each, by which the kernel finds it, and what "
                 "a mapping takes besides, with what allocations are rounded up by.",
                 ["buffer", "sub-buffers", "pages", "the calls", "memory", "memory a sub-buffer"],
                 rows)


def wakeup(results: Results) -> Table:
    """How soon an event is seen."""
    rows = [[way_label(way), KERNELS[kernel],
             *(number(results.get("wakeup", kernel=kernel, way=way, state=state))
               for state in ("asleep", "awake"))] for kernel, way in WAITERS]
    return Table(f"From an event to a reader that has parsed it ({results.unit})",
                 "Asleep: from the event's time stamp until the only reader has parsed it, who "
                 "slept in `read(2)`, in `GET_READER`, or in `poll(2)` after "
                 "`TRACE_LIVE_IOCTL_WAIT` with one byte as the mark. Awake: the event is "
                 "there, and the reader looks. Of several events the cheapest.",
                 ["way to read", "kernel", "asleep", "awake"], rows, labels=2)


def quiet(results: Results) -> Table:
    """What watching an idle CPU does."""
    rows = [[f"wake-ups of an observer, `{events}` traced",
             *(f"{results.get('quiet', events=events, observer=where):.1f}"
               for where in ("elsewhere", "there"))]
            for events in results.axis("quiet", "events", "power", "function")]
    rows += [[f"interrupts sent to that CPU, {number(float(count))} observers asleep",
              f"{results.get('quiet', sleepers=count):.1f}", NOTHING]
             for count in results.axis("quiet", "sleepers", 0, 1000)]
    return Table("An idle CPU that is watched, in a second",
                 "An observer with one byte as the mark runs on another CPU, or on the idle one "
                 "itself, where each of its wake-ups writes events; where functions are traced, so does "
                 "each of its calls. By the clock on the wall, in four seconds, and so another "
                 "figure each time.",
                 ["what is counted", "observer elsewhere", "observer there"], rows)


def crossed(results: Results, table: str, key: str, *needed: Cell,
            show: Callable[[float], str] = number) -> tuple[list[Cell], list[list[str]]]:
    """The values of a key, and a row for each way with a figure for each of them."""
    values = results.axis(table, key, *needed, kernel="ours")
    rows = [[way_label(way), *(show(results.get(table, kernel="ours", way=way, **{key: value}))
                               for value in values)]
            for way in results.axis(table, "way", "read", "mapping", "live", kernel="ours")]
    return values, rows


def loss(results: Results) -> Table:
    """Events lost by rate."""
    rates, rows = crossed(results, "loss", "rate", show=lambda value: f"{value:.1f}")
    return Table("Events lost, by the rate of writing (%)",
                 "A timer interrupt writes so many events of 128 bytes each millisecond, while a "
                 "program on the same CPU reads. The part of them that was lost, or, by the live "
                 "view, missed. The buffers are of the same size for all; for the live view they "
                 "are in overwrite mode, as it makes no room.",
                 ["way to read", *(f"{number(float(rate))}/ms" for rate in rates)], rows,
                 plots=["loss"])


def cpus(results: Results) -> Table:
    """Throughput by CPUs."""
    counts, rows = crossed(results, "cpus", "n", 1, 2, 4, 8)
    return Table("Events read in a second, by the number of CPUs",
                 "A reader on each CPU drains that CPU's buffer, all at once. By the clock on the "
                 "wall, without counting instructions, and so another figure each time.",
                 ["way to read", *(f"{count} CPU" + "s" * (count != 1) for count in counts)],
                 rows)


def growth(results: Results) -> Table:
    """Cost by size of buffer."""
    sizes, rows = crossed(results, "growth", "buffer_mib", 1, 256, show=event_cost)
    return Table(f"Reading an event, by the size of the buffer ({results.unit})",
                 drained(results, "a tracepoint") + " 32 bytes of "
                 "payload, 4 KiB sub-buffers.",
                 ["way to read", *(f"{size} MiB" for size in sizes)], rows)


# In the order of the report.
TABLES: dict[str, Callable[[Results], Table]] = {
    "headline": headline,
    "drain_payload": drain_payload,
    "drain_subbuf": drain_subbuf,
    "drain_calls": drain_calls,
    "library": library,
    "merging": merging,
    "get_reader": get_reader,
    "irqs_off": irqs_off,
    "peers": peers,
    "peers_beside": peers_beside,
    "writer_unmapped": writer_unmapped,
    "writer_mapped": writer_mapped,
    "writer_observed": writer_observed,
    "writer_asleep": writer_asleep,
    "mapping": mapping,
    "index": index,
    "wakeup": wakeup,
    "quiet": quiet,
    "loss": loss,
    "cpus": cpus,
    "growth": growth,
    "machine": machine,
}
