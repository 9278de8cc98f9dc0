# SPDX-License-Identifier: GPL-2.0
"""What was to be reached, and whether it was. Every target is in guest instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterable, Optional

from .results import Absent, Cell, Results
from .tables import GET_READER_NEEDS, LIBRARY, PAYLOADS, UNMAPPED
from .text import Table, change, event_cost, number

# A ratio, and where it was found.
Found = tuple[float, str]

# What a wait for a grace period takes is more: it is at least a tick.
GRACE_PERIOD = 1_000_000


@dataclass
class Target:
    """One row: what, how much was to be reached, and what was measured."""

    what: str
    target: str
    measured: str
    met: Optional[bool]		# None: the guests did not count instructions

    @property
    def verdict(self) -> str:
        """The last column."""
        if self.met is None:
            return "not judged"
        return "met" if self.met else "**NOT met**"


def at(payload: Cell, subbuf: Cell) -> str:
    """A place of the drain table in words."""
    return f"{payload} bytes, {subbuf} KiB"


def drain(results: Results, kernel: str, way: str, payload: Cell, subbuf: Cell) -> float:
    """Cost of an event."""
    return results.get("drain", kernel=kernel, way=way, payload=payload, subbuf=subbuf)


def slashed(values: Iterable[float]) -> str:
    """Figures beside each other."""
    return " / ".join(map(event_cost, values))


def get_reader_costs(results: Results) -> list[float]:
    """The cost of the ioctl everywhere it was measured; at least at the corners."""
    where: dict[str, Cell] = {"kernel": "ours", "way": "mapping"}
    for size, needed in GET_READER_NEEDS["ours", "mapping"].items():
        results.axis("get_reader", "events", *needed, subbuf=size, **where)
    return [float(row["value"]) for row in results.find("get_reader", **where)]


def get_reader_cost(results: Results) -> Target:
    """The ioctl is cheap."""
    costs = get_reader_costs(results)
    events = results.axis("get_reader", "events", kernel="ours")
    return Target(f"`GET_READER` on a finished sub-buffer, {events[0]} to {events[-1]} events, "
                  "4 and 64 KiB",
                  "at most 500", f"{number(min(costs))} to {number(max(costs))}",
                  max(costs) <= 500)


def get_reader_flat(results: Results) -> Target:
    """The ioctl does not grow."""
    costs = get_reader_costs(results)
    return Target("the same, its largest against its smallest", "within 5 %",
                  change(max(costs) / min(costs)), max(costs) <= 1.05 * min(costs))


def drain_small(results: Results) -> Target:
    """Draining 4 KiB sub-buffers."""
    costs = [drain(results, "ours", "mapping", payload, 4) for payload in PAYLOADS]
    return Target("reading an event through the mapping, 4 KiB sub-buffers, 8 / 32 / 128 bytes",
                  "at most 18 / 20 / 32", slashed(costs),
                  all(cost <= most for cost, most in zip(costs, (18, 20, 32))))


def observing(results: Results) -> Target:
    """Observing by the live view."""
    ratios = [drain(results, "ours", "live", payload, 4)
              / drain(results, "ours", "parse", payload, 4) for payload in PAYLOADS]
    return Target("observing by the live view, 4 KiB sub-buffers, 8 / 32 / 128 bytes",
                  "at most 1.15 / 1.15 / 1.3 times the floor",
                  " / ".join(f"{ratio:.3f}" for ratio in ratios) + " times",
                  all(ratio <= most for ratio, most in zip(ratios, (1.15, 1.15, 1.3))))


def observing_calls(results: Results) -> Target:
    """Observing is done without system calls."""
    rows = [row for table in ("drain", "peers")
            for row in results.find(table, kernel="ours", way="live")]
    calls = [float(row["calls"]) for row in rows if "calls" in row]
    if len(calls) < len(rows):
        raise Absent("no calls= in a result of way=live")
    return Target("system calls of an observer while there is something to read, every payload "
                  "and sub-buffer", "0", number(max(calls)), max(calls) == 0)


def library(results: Results) -> Target:
    """The library adds little."""
    found: list[Found] = []
    for way in ("consume", "in-place", "observe"):
        bare, label = LIBRARY[way]
        found += [(results.get("library", way=way, payload=payload)
                   / results.get("library", way=bare, payload=payload),
                   f"{label}, {payload} bytes") for payload in PAYLOADS]
    ratio, where = max(found)
    return Target("going through events with libtracemap, batch by batch, 8 / 32 / 128 bytes",
                  "at most 1.3 times the bare loop", f"{ratio:.2f} times at most ({where})",
                  ratio <= 1.3)


def drain_large(results: Results) -> Target:
    """Draining 64 KiB sub-buffers."""
    ratios = [drain(results, "ours", "mapping", payload, 64)
              / drain(results, "ours", "parse", payload, 64) for payload in PAYLOADS]
    return Target("the same, 64 KiB sub-buffers", "at most 1.1 times the floor",
                  " / ".join(f"{ratio:.3f}" for ratio in ratios) + " times",
                  max(ratios) <= 1.1)


def advantages(results: Results, kernel: str, way: str) -> list[Found]:
    """How many times fewer ours takes than the other way, at every size."""
    found: list[Found] = []
    for row in results.find("drain", kernel="ours", way="mapping"):
        payload, subbuf = row["payload"], row["subbuf"]
        other = drain(results, kernel, way, payload, subbuf)
        found.append((other / drain(results, "ours", "mapping", payload, subbuf),
                      at(payload, subbuf)))
    return found


def against_read(results: Results) -> Target:
    """Cheaper than read(2)."""
    ratio, where = min(advantages(results, "ours", "read"))
    return Target("against `read(2)` in the same kernel, every payload and sub-buffer", "fewer",
                  f"at least {ratio:.2f} times fewer ({where})", ratio > 1)


def against_mainline(results: Results) -> Target:
    """Cheaper than mainline's mapping, at the sizes of the table above."""
    ratio, where = min((drain(results, "mainline", "mapping", payload, 4)
                        / drain(results, "ours", "mapping", payload, 4), at(payload, 4))
                       for payload in PAYLOADS)
    return Target("against mainline's mapping, 4 KiB sub-buffers, 8 / 32 / 128 bytes",
                  "at least 4.5 times fewer", f"at least {ratio:.2f} times fewer ({where})",
                  ratio >= 4.5)


def against_mainline_all(results: Results) -> Target:
    """Cheaper than mainline's mapping, at every size."""
    ratio, where = min(advantages(results, "mainline", "mapping"))
    return Target("against mainline's mapping, every payload and sub-buffer",
                  "at least 4.5 times fewer", f"at least {ratio:.2f} times fewer ({where})",
                  ratio >= 4.5)


def irqs_off(results: Results) -> Target:
    """Interrupts are off for a constant time."""
    few, many = (results.get("irqs_off", kernel="ours", way="mapping", events=events)
                 for events in (10, 400))
    return Target("interrupts off in `GET_READER` on a finished sub-buffer, 10 / 400 events",
                  "the same, within 1 %", f"{number(few)} / {number(many)}",
                  max(few, many) <= 1.01 * min(few, many))


def writer_unmapped(results: Results) -> Target:
    """The writer does not pay for what it does not use."""
    stock, ours = (results.get("writer", bench="ring_buffer_benchmark", kernel=kernel)
                   for kernel in ("stock", "ours"))
    return Target("writing an event, not mapped (`ring_buffer_benchmark`)",
                  "within 0.5 % of stock", change(ours / stock), ours <= 1.005 * stock)


def writer_mapped(results: Results) -> Target:
    """The writer does not pay for mappings."""
    results.axis("writer", "mappings", 1, 8, bench="bench_event", kernel="ours")
    found: list[Found] = []
    for row in results.find("writer", bench="bench_event", kernel="ours"):
        if row["mappings"] != 0:
            stock = results.get("writer", bench="bench_event", kernel="stock", mappings=0,
                                payload=row["payload"])
            found.append((float(row["value"]) / stock,
                          f"{row['payload']} bytes, {row['mappings']} mapped"))
    ratio, where = max(found)
    return Target("writing an event, mapped", "within 1 % of stock",
                  f"{change(ratio)} at most ({where})", ratio <= 1.01)


def live_unmapped(results: Results) -> Target:
    """The live view costs nothing where it is not used."""
    ratios = [results.get("writer", kernel="ours", **where)
              / results.get("writer", kernel="before", **where) for where in UNMAPPED.values()]
    return Target("writing an event, not observed (`ring_buffer_benchmark` / a "
                  "tracepoint's)", "within 0.1 % of the kernel before the live view",
                  " / ".join(map(change, ratios)),
                  all(0.999 <= ratio <= 1.001 for ratio in ratios))


def observed(results: Results, observers: int) -> float:
    """What an event costs the writer while others look."""
    return results.get("writer", kernel="ours", bench="observed", observers=observers)


def live_mapped(results: Results) -> Target:
    """The live view costs little where it is used."""
    unmapped = results.get("writer", kernel="ours", **UNMAPPED["a tracepoint's event"])
    ratios = [observed(results, count) / unmapped for count in (0, 16)]
    return Target("writing an event, observed, 0 / 16 observers that look",
                  "within 0.5 % of not observed", " / ".join(map(change, ratios)),
                  max(ratios) <= 1.005)


def live_observers(results: Results) -> Target:
    """Who only looks costs nothing."""
    ratio = observed(results, 16) / observed(results, 0)
    return Target("the same, 16 observers against none", "the same", change(ratio), ratio == 1)


def live_asleep(results: Results) -> Target:
    """A sleeping observer costs the writer next to nothing."""
    awake, asleep = (results.get("writer", kernel="ours", bench="asleep", sleepers=count)
                     for count in (0, 1))
    return Target("the same, an observer asleep at a far mark against none",
                  "within 0.3 %", change(asleep / awake), asleep <= 1.003 * awake)


def live_quiet(results: Results) -> Target:
    """An observer of an idle CPU sleeps."""
    found: list[Found] = [(float(row["value"]), f"`{row['events']}`, observer {row['observer']}")
                          for row in results.find("quiet") if "events" in row]
    rate, where = max(found)
    return Target("wake-ups a second of an observer of an idle CPU whose idleness is traced, on "
                  "another CPU or on that one",
                  "at most 10", f"{rate:.1f} at most ({where})", rate <= 10)


def live_interrupts(results: Results) -> Target:
    """Sleeping observers send no interrupts."""
    none, many = (results.get("quiet", sleepers=count) for count in (0, 1000))
    return Target("interrupts sent to the watched CPU in a second, 1,000 observers asleep",
                  "as many as with none, within 1", f"{many:.1f}, with none {none:.1f}",
                  many <= none + 1)


def live_memory(results: Results) -> Target:
    """The live index takes little memory."""
    costs = [results.get("index", "memory", kernel="ours", mib=size)
             / results.get("index", "subbufs", kernel="ours", mib=size) for size in (64, 256)]
    return Target("memory of the live index, all of it, 64 / 256 MiB buffer",
                  "at most 32 bytes a sub-buffer",
                  " / ".join(f"{cost:.1f}" for cost in costs) + " bytes", max(costs) <= 32)


def live_wakeup(results: Results) -> Target:
    """A sleeping observer is woken as soon as others are."""
    read, live = (results.get("wakeup", kernel="ours", way=way, state="asleep")
                  for way in ("read", "live"))
    return Target("from an event to the sleeping observer that has parsed it",
                  "within 1.5 times a blocking `read(2)`",
                  f"{number(live)}: {live / read:.2f} times", live <= 1.5 * read)


def live_wakeup_before(results: Results) -> Target:
    """... and as soon as when the watched CPU was interrupted for it."""
    live = results.get("wakeup", kernel="ours", way="live", state="asleep")
    return Target("the same, against when each sleep interrupted the watched CPU",
                  "within 1.5 times 4,131", f"{live / 4131:.2f} times", live <= 1.5 * 4131)


def map_slopes(results: Results, kernel: str) -> list[float]:
    """The cost of each further page, from one buffer size to the next."""
    sizes = results.axis("map", "mib", 1, 64, 256, kernel=kernel)
    points = [(results.get("map", "pages", kernel=kernel, mib=size),
               results.get("map", "total", kernel=kernel, mib=size)) for size in sizes]
    return [(cost - cost_before) / (pages - pages_before)
            for (pages_before, cost_before), (pages, cost) in zip(points, points[1:])]


def map_page(results: Results) -> Target:
    """A page is mapped cheaply."""
    cost = results.get("map", kernel="ours", mib=64)
    return Target("`mmap()` of a 64 MiB buffer, a page", "at most 400", number(cost), cost <= 400)


def map_linear(results: Results) -> Target:
    """Mapping is linear in the pages."""
    slopes = map_slopes(results, "ours")
    return Target("`mmap()`, a further page, from 1 to 256 MiB",
                  "linear: the same within 10 %",
                  f"{number(min(slopes))} to {number(max(slopes))}",
                  0 < max(slopes) <= 1.1 * min(slopes))


def fixed_cost(results: Results, kernel: str) -> float:
    """What mapping the smallest buffer costs beside its pages."""
    return (results.get("map", "total", kernel=kernel, mib=1)
            - results.get("map", "pages", kernel=kernel, mib=1) * map_slopes(results, kernel)[-1])


def map_no_wait(results: Results) -> Target:
    """Mapping does not wait for a grace period."""
    ours, mainline = (fixed_cost(results, kernel) for kernel in ("ours", "mainline"))
    return Target("`mmap()`, beside its pages", f"no grace period: under {number(GRACE_PERIOD)}",
                  f"{number(ours)} (mainline: {number(mainline)})", ours < GRACE_PERIOD)


def map_memory(results: Results) -> Target:
    """A mapping takes little memory."""
    memory = max(results.get("map", "memory", kernel="ours", mib=size)
                 for size in results.axis("map", "mib", 1, 64, 256, kernel="ours"))
    return Target("memory of a mapping beyond the meta area", "at most 16 bytes a sub-buffer",
                  f"{number(memory)} bytes", memory <= 16)


TARGETS: list[Callable[[Results], Target]] = [
    get_reader_cost, get_reader_flat, drain_small, drain_large, against_read, against_mainline,
    against_mainline_all, irqs_off, writer_unmapped, writer_mapped, map_page, map_linear,
    map_no_wait, map_memory, observing, observing_calls, live_unmapped, live_mapped,
    live_observers, live_asleep, live_quiet, live_interrupts, live_memory, live_wakeup,
    live_wakeup_before, library,
]


def judge(results: Results, missing: list[str]) -> list[Target]:
    """Every target that can be told; what cannot is added to missing."""
    targets = []
    for make in TARGETS:
        try:
            target = make(results)
            if results.unit != "instructions":
                target.met = None
            targets.append(target)
        except Absent as absent:
            missing.append(f"target {make.__name__}: {absent}")
    return targets


def targets_table(targets: list[Target]) -> Table:
    """The targets as a table."""
    how = "What was to be reached was laid down, in guest instructions, before it was measured."
    if any(row.met is None for row in targets):
        how += " Guests that measure time cannot tell."
    return Table("What was to be reached", how, ["what", "target", "measured", "verdict"],
                 [[row.what, row.target, row.measured, row.verdict] for row in targets],
                 labels=4)
