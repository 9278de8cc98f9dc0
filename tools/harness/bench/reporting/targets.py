# SPDX-License-Identifier: GPL-2.0
"""The targets, and whether a run that counts instructions meets them."""

from __future__ import annotations

from typing import Iterator

from .results import Cell, Results
from .tables import (LIBRARY, PAYLOADS, TRACEPOINT, index_memory, native_ratio, on_both,
                     written_and_read)
from .text import Table, change, decimal, number

# What is measured, the target, the figure, and whether it meets the target.
Target = tuple[str, str, str, bool]
# A ratio, and where it was found.
Found = tuple[float, str]

# What a wait for a grace period takes is more: it is at least a tick.
GRACE_PERIOD = 1_000_000
BENCHMARK = {"bench": "ring_buffer_benchmark"}


def drain(results: Results, kernel: str, way: str, payload: Cell, subbuf: Cell) -> float:
    """Cost of an event."""
    return results.get("drain", kernel=kernel, way=way, payload=payload, subbuf=subbuf)


def above_floor(results: Results, way: str, subbuf: int, most: list[float]) -> tuple[str, bool]:
    """How many times the cost of parsing alone a way takes, and whether that is little."""
    ratios = [drain(results, "ours", way, payload, subbuf)
              / drain(results, "ours", "parse", payload, subbuf) for payload in PAYLOADS]
    return (" / ".join(f"{ratio:.3f}" for ratio in ratios) + " times",
            all(ratio <= limit for ratio, limit in zip(ratios, most)))


def least_advantage(results: Results, kernel: str, way: str, sizes: list[tuple[Cell, Cell]],
                    ) -> tuple[float, str]:
    """How many times fewer than another way our mapping takes at least."""
    ratio, where = min((drain(results, kernel, way, payload, subbuf)
                        / drain(results, "ours", "mapping", payload, subbuf),
                        f"{payload} bytes, {subbuf} KiB") for payload, subbuf in sizes)
    return ratio, f"at least {ratio:.2f} times fewer ({where})"


def fetching(results: Results) -> Iterator[Target]:
    """The ioctl is cheap, and does not grow."""
    where: dict[str, Cell] = {"kernel": "ours", "way": "mapping"}
    events = results.axis("get_reader", "events", **where)
    costs = [float(row["value"]) for row in results.find("get_reader", where)]
    least, most = min(costs), max(costs)
    yield (f"`GET_READER` on a finished sub-buffer, {events[0]} to {events[-1]} events, "
           "4 and 64 KiB", "at most 500", f"{number(least)} to {number(most)}", most <= 500)
    yield ("the same, largest against smallest", "within 5 %", change(most / least),
           most <= 1.05 * least)


def reading(results: Results) -> Iterator[Target]:
    """Reading through the mapping is cheap."""
    costs = [drain(results, "ours", "mapping", payload, 4) for payload in PAYLOADS]
    yield ("reading an event through the mapping, 4 KiB sub-buffers, 8 / 32 / 128 bytes",
           "at most 18 / 20 / 32", " / ".join(map(decimal, costs)),
           all(cost <= most for cost, most in zip(costs, (18, 20, 32))))
    yield ("the same, 64 KiB sub-buffers", "at most 1.1 times the floor",
           *above_floor(results, "mapping", 64, [1.1] * 3))


def comparing(results: Results) -> Iterator[Target]:
    """Reading through the mapping is cheaper than by other ways."""
    small = [(payload, 4) for payload in PAYLOADS]
    every = [(row["payload"], row["subbuf"])
             for row in results.find("drain", {"kernel": "ours", "way": "mapping"})]
    ratio, least = least_advantage(results, "ours", "read", every)
    yield ("against `read(2)` in the same kernel, every payload and sub-buffer", "fewer", least,
           ratio > 1)
    for what, sizes in (("4 KiB sub-buffers, 8 / 32 / 128 bytes", small),
                        ("every payload and sub-buffer", every)):
        ratio, least = least_advantage(results, "mainline", "mapping", sizes)
        yield f"against mainline's mapping, {what}", "at least 4.5 times fewer", least, ratio >= 4.5


def irqs_off(results: Results) -> Iterator[Target]:
    """Interrupts are off for a constant time."""
    few, many = (results.get("irqs_off", kernel="ours", way="mapping", events=events)
                 for events in (10, 400))
    yield ("interrupts off in `GET_READER` on a finished sub-buffer, 10 / 400 events",
           "the same, within 1 %", f"{number(few)} / {number(many)}",
           max(few, many) <= 1.01 * min(few, many))


def writing(results: Results) -> Iterator[Target]:
    """The writer does not pay for mappings."""
    ratio = (results.get("writer", kernel="ours", **BENCHMARK)
             / results.get("writer", kernel="stock", **BENCHMARK))
    yield ("writing an event, not mapped (`ring_buffer_benchmark`)", "within 0.5 % of stock",
           change(ratio), ratio <= 1.005)
    found: list[Found] = [
        (float(row["value"]) / results.get("writer", bench="bench_event", kernel="stock",
                                           mappings=0, payload=row["payload"]),
         f"{row['payload']} bytes, {row['mappings']} mapped")
        for row in results.find("writer", {"bench": "bench_event", "kernel": "ours"})
        if row["mappings"]]
    ratio, where = max(found)
    yield ("writing an event, mapped", "within 1 % of stock", f"{change(ratio)} at most ({where})",
           ratio <= 1.01)


def written(results: Results) -> Iterator[Target]:
    """Writing costs less than in the stock kernel, and all in all no more than BPF's buffer."""
    for what, where, most in (("a tracepoint's event of 32 bytes", TRACEPOINT, 300),
                              ("an event of `ring_buffer_benchmark`", BENCHMARK, 170)):
        cost = results.get("writer", kernel="ours", **where)
        yield f"writing {what}", f"at most {most}", decimal(cost), cost <= most
    ratio = native_ratio(results)
    yield ("writing an event of `ring_buffer_benchmark` natively, by time",
           "at most 0.65 times stock", f"{ratio:.2f} times", ratio <= 0.65)
    ratio = sum(written_and_read(results, "live")) / sum(written_and_read(results, "bpf"))
    yield ("an event written and read by the live view, against BPF's ring buffer",
           "at most as much", f"{ratio:.2f} times", ratio <= 1)
    live, bpf = (results.get("loss", kernel="ours", way=way, rate=2400) for way in ("live", "bpf"))
    yield ("events missed at 2,400 a millisecond", "as few as BPF's ring buffer loses",
           f"{decimal(live)} % / {decimal(bpf)} %", live <= bpf)


def mapping(results: Results) -> Iterator[Target]:
    """A buffer is mapped cheaply, in a time linear in its pages, and without a wait."""
    cost = results.get("map", kernel="ours", mib=64)
    yield "`mmap()` of a 64 MiB buffer, for each page", "at most 400", number(cost), cost <= 400
    slopes = map_slopes(results, "ours")
    yield ("`mmap()`, each further page, from 1 to 256 MiB", "linear: the same within 10 %",
           f"{number(min(slopes))} to {number(max(slopes))}",
           0 < max(slopes) <= 1.1 * min(slopes))
    ours, mainline = (fixed_cost(results, kernel) for kernel in ("ours", "mainline"))
    yield ("`mmap()`, without its pages", f"no grace period: under {number(GRACE_PERIOD)}",
           f"{number(ours)} (mainline: {number(mainline)})", ours < GRACE_PERIOD)
    memory = max(float(row["memory"]) for row in results.find("map", {"kernel": "ours"}))
    yield ("memory of a mapping beyond the meta area", "at most 16 bytes a sub-buffer",
           f"{number(memory)} bytes", memory <= 16)


def map_slopes(results: Results, kernel: str) -> list[float]:
    """The cost of each further page, from one buffer size to the next."""
    sizes = results.axis("map", "mib", kernel=kernel)
    points = [(results.get("map", "pages", kernel=kernel, mib=size),
               results.get("map", "total", kernel=kernel, mib=size)) for size in sizes]
    return [(cost - cost_before) / (pages - pages_before)
            for (pages_before, cost_before), (pages, cost) in zip(points, points[1:])]


def fixed_cost(results: Results, kernel: str) -> float:
    """What mapping the smallest buffer costs beside its pages."""
    return (results.get("map", "total", kernel=kernel, mib=1)
            - results.get("map", "pages", kernel=kernel, mib=1) * map_slopes(results, kernel)[-1])


def observing(results: Results) -> Iterator[Target]:
    """Observing by the live view is cheap, and done without system calls."""
    yield ("observing by the live view, 4 KiB sub-buffers, 8 / 32 / 128 bytes",
           "at most 1.15 / 1.15 / 1.3 times the floor",
           *above_floor(results, "live", 4, [1.15, 1.15, 1.3]))
    calls = max(float(row["calls"]) for table in ("drain", "peers")
                for row in results.find(table, {"kernel": "ours", "way": "live"}))
    yield ("system calls of an observer while there is something to read, every payload "
           "and sub-buffer", "0", number(calls), calls == 0)


def writing_observed(results: Results) -> Iterator[Target]:
    """The writer pays little for the live view, and not for those who use it."""
    ratios = [results.get("writer", kernel="before_writer", **where)
              / results.get("writer", kernel="before", **where)
              for where in (BENCHMARK, TRACEPOINT)]
    yield ("writing an event, not observed (`ring_buffer_benchmark` / a tracepoint's), measured "
           "without the topic writer", "at most 0.3 % more than before the live view",
           " / ".join(map(change, ratios)), max(ratios) <= 1.003)
    none, many = (results.get("writer", kernel="ours", bench="observed", observers=count)
                  for count in (0, 16))
    ratios = [cost / results.get("writer", kernel="ours", **TRACEPOINT) for cost in (none, many)]
    yield ("writing an event, observed, 0 / 16 observers that look",
           "within 0.5 % of not observed", " / ".join(map(change, ratios)), max(ratios) <= 1.005)
    yield ("the same, 16 observers against none", "the same", change(many / none), many == none)
    awake, asleep = (results.get("writer", kernel="ours", bench="asleep", sleepers=count)
                     for count in (0, 1))
    yield ("the same, an observer asleep at a far mark against none", "within 0.3 %",
           change(asleep / awake), asleep <= 1.003 * awake)


def idle(results: Results) -> Iterator[Target]:
    """An observer of an idle CPU sleeps, and sends no interrupts."""
    found: list[Found] = [(float(row["value"]), f"`{row['events']}`, observer {row['observer']}")
                          for row in results.find("quiet", {}) if "events" in row]
    rate, where = max(found)
    yield ("wake-ups a second of an observer of an idle CPU whose idleness is traced, on "
           "another CPU or on that one", "at most 100", f"{rate:.1f} at most ({where})",
           rate <= 101)
    none, many = (results.get("quiet", sleepers=count) for count in (0, 1000))
    yield ("interrupts sent to the watched CPU in a second, with 1,000 observers asleep",
           "as many as with none, within 1", f"{many:.1f}, with none {none:.1f}", many <= none + 1)
    own, sent = (results.get("quiet", measure, waiters=1000) for measure in ("works", "by"))
    yield ("interrupts of a busy CPU in a second by which it wakes observers, and those it sends "
           "to them, with 1,000 that wait for a byte each", "at most 100 / 1,600",
           f"{own:.1f} / {sent:.1f}", own <= 101 and sent <= 1616)


def live_memory(results: Results) -> Iterator[Target]:
    """The live index takes little memory."""
    costs = [index_memory(results, size)
             / results.get("index", "subbufs", kernel="ours", mib=size) for size in (64, 256)]
    yield ("memory of the live index, all of it, 64 / 256 MiB buffer",
           "at most 32 bytes a sub-buffer", " / ".join(map(decimal, costs)) + " bytes",
           max(costs) <= 32)


def waking(results: Results) -> Iterator[Target]:
    """A sleeping observer is woken as soon as others are."""
    read, live = (results.get("wakeup", kernel="ours", way=way, state="asleep")
                  for way in ("read", "live"))
    yield ("from an event to the sleeping observer that has parsed it",
           "within 1.5 times a blocking `read(2)`", f"{number(live)}: {live / read:.2f} times",
           live <= 1.5 * read)
    yield ("the same, against the kernel whose sleepers interrupted the watched CPU",
           "within 1.5 times 4,131", f"{live / 4131:.2f} times", live <= 1.5 * 4131)


def library(results: Results) -> Iterator[Target]:
    """The library adds little."""
    found: list[Found] = []
    for way in ("consume", "observe"):
        bare, label = LIBRARY[way]
        found += [(results.get("library", way=way, payload=payload)
                   / results.get("library", way=bare, payload=payload),
                   f"{label}, {payload} bytes") for payload in PAYLOADS]
    ratio, where = max(found)
    yield ("going through events with libtracemap, batch by batch, 8 / 32 / 128 bytes",
           "at most 1.3 times the bare loop", f"{ratio:.2f} times at most ({where})", ratio <= 1.3)


def both_bases(results: Results) -> Iterator[Target]:
    """The series costs the same on 6.12."""
    ratio, where = max((newer / ours, what) for what, (newer, ours) in on_both(results).items())
    yield ("what the table of both bases has, on 6.12", "at most 5 % more than on 6.1",
           f"{change(ratio)} at most ({where})", ratio <= 1.05)


TARGETS = [fetching, reading, comparing, irqs_off, writing, written, mapping, observing,
           writing_observed, idle, live_memory, waking, library, both_bases]


def targets_table(results: Results) -> Table:
    """The targets as a table."""
    rows = [[what, target, measured, "met" if met else "**NOT met**"]
            for make in TARGETS for what, target, measured, met in make(results)]
    return Table("Targets", "Each target was set before it was measured. "
                 "Instructions are those of the guest.",
                 ["what", "target", "measured", "verdict"], rows, labels=4)
