# SPDX-License-Identifier: GPL-2.0
"""The plots of the report. Each is made from the results, or raises Absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Sequence

from .charts import Chart, Series, curves, lying_bars, standing_bars
from .results import Absent, Cell, Results
from .tables import GET_READER_NEEDS, PAYLOADS, PEERS
from .text import event_cost, number, plain
from .ways import CORE, MAINLINE_COLOUR, MAINLINE_MARKER, WAYS, Way, core_label, way_label

DASHES = "7 4"

# How the bars of one colour become three sizes of payload.
PAYLOAD_COLOURS = ("#0072b2", "#56b4e9", "#b9def5")

UNKNOWN_WAY = Way("", "", "#000000", "square")


@dataclass(frozen=True)
class Plot:
    """A plot's file, what it shows in words, and how it is made."""

    file: str
    caption: str
    draw: Callable[[Results], str]


def maybe(results: Results, table: str, **where: Cell) -> Optional[float]:
    """A measurement, if there is one."""
    try:
        return results.get(table, **where)
    except Absent:
        return None


def core_series(kernel: str, way: str, values: Sequence[Optional[float]]) -> Series:
    """One of those that are compared most."""
    label = plain(core_label(kernel, way))
    if (kernel, way) == ("mainline", "mapping"):
        return Series(label, values, MAINLINE_COLOUR, MAINLINE_MARKER)
    return Series(label, values, WAYS[way].colour, WAYS[way].marker)


def by_payload(results: Results) -> str:
    """Bars: the core ways by the payloads that matter."""
    series = [core_series(kernel, way, [
        results.get("drain", kernel=kernel, way=way, payload=payload, subbuf=4)
        for payload in PAYLOADS]) for kernel, way in CORE]
    return standing_bars(
        Chart("Reading a trace event, by its payload", f"guest {results.unit} an event, "
              "4 KiB sub-buffers; less is better", "payload of an event",
              f"{results.unit} an event"),
        [f"{payload} bytes" for payload in PAYLOADS], series, event_cost)


def by_every_payload(results: Results) -> str:
    """Curves: the core ways by all payloads."""
    payloads = results.axis("drain", "payload", *PAYLOADS, 1024, subbuf=4)
    series = [core_series(kernel, way, [
        results.get("drain", kernel=kernel, way=way, payload=payload, subbuf=4)
        for payload in payloads]) for kernel, way in CORE]
    return curves(
        Chart("Reading a trace event, from small payloads to large", f"guest {results.unit} an "
              "event, 4 KiB sub-buffers, log scales; less is better",
              "bytes of payload of an event", f"{results.unit} an event"),
        [float(payload) for payload in payloads], [str(payload) for payload in payloads], series,
        log_y=True, show=event_cost)


def by_subbuf(results: Results) -> str:
    """Curves: the core ways by size of sub-buffer."""
    sizes = results.axis("drain", "subbuf", 4, 64, payload=32)
    series = [core_series(kernel, way, [
        results.get("drain", kernel=kernel, way=way, payload=32, subbuf=size)
        for size in sizes]) for kernel, way in CORE]
    return curves(
        Chart("Reading a trace event, by the size of sub-buffers", f"guest {results.unit} an "
              "event of 32 bytes; less is better", "size of a sub-buffer",
              f"{results.unit} an event"),
        [float(size) for size in sizes], [f"{size} KiB" for size in sizes], series,
        show=event_cost)


def get_reader(results: Results) -> str:
    """Curves: the ioctl by events."""
    events = results.axis("get_reader", "events")
    series = []
    for (kernel, way), needs in GET_READER_NEEDS.items():
        for size, needed in needs.items():
            where: dict[str, Cell] = {"kernel": kernel, "way": way, "subbuf": size}
            results.axis("get_reader", "events", *needed, **where)
            one = core_series(kernel, way, [maybe(results, "get_reader", events=count, **where)
                                            for count in events])
            one.label += f", {size} KiB"
            one.dashes = "" if size == 4 else DASHES
            series.append(one)
    return curves(
        Chart("GET_READER, by the events in the sub-buffer it fetches", f"guest {results.unit} a "
              "call, or a look by the live view, log scale; less is better",
              "events in the sub-buffer", f"{results.unit} a sub-buffer"),
        [float(count) for count in events], [str(count) for count in events], series, log_y=True)


def by_buffer(results: Results) -> str:
    """Curves: mmap() by size of buffer."""
    sizes = results.axis("map", "mib", 1, 64, 256, kernel="ours")
    series = [core_series(kernel, "mapping", [
        results.get("map", "total", kernel=kernel, mib=size) for size in sizes])
        for kernel in ("mainline", "ours")]
    series.append(Series("the live index alone", [
        results.get("index", "total", kernel="ours", mib=size) for size in sizes],
        WAYS["live"].colour, WAYS["live"].marker))
    return curves(
        Chart("Mapping a buffer, by its size", f"guest {results.unit} a call of mmap(), log "
              "scales; less is better", "size of the buffer", f"{results.unit} a call"),
        [float(size) for size in sizes], [f"{size} MiB" for size in sizes], series, log_y=True)


def peers(results: Results) -> str:
    """Bars: all ways by payload."""
    payloads = results.axis("peers", "payload", *PAYLOADS, kernel="ours")[:len(PAYLOAD_COLOURS)]
    ways = results.axis("peers", "way", *PEERS, kernel="ours")
    series = []
    for payload, colour in zip(payloads, PAYLOAD_COLOURS):
        values = [results.get("peers", kernel="ours", way=way, payload=payload) for way in ways]
        series.append(Series(f"{payload} bytes", values, colour))
    return lying_bars(
        Chart("Reading a trace event, by every way there is", f"guest {results.unit} an event, by "
              "its payload, the same tracepoint for all; less is better",
              f"{results.unit} an event", ""),
        [plain(way_label(way)) for way in ways], series, event_cost)


def loss(results: Results) -> str:
    """Curves: events lost by rate."""
    rates = results.axis("loss", "rate", kernel="ours")
    series = []
    for way in results.axis("loss", "way", "read", "mapping", "live", kernel="ours"):
        look = WAYS.get(str(way), UNKNOWN_WAY)
        values = [results.get("loss", kernel="ours", way=way, rate=rate) for rate in rates]
        series.append(Series(plain(way_label(way)), values, look.colour, look.marker))
    return curves(
        Chart("Events lost, by the rate of writing", "% of the events written that were "
              "lost before they were read; less is better",
              "events written in a millisecond", "% lost"),
        [float(rate) for rate in rates], [number(float(rate)) for rate in rates], series,
        log_x=False, show=lambda value: f"{value:.1f} %")


PLOTS = {
    "payload": Plot("cost-by-payload", "Cost of reading an event by payload: parsing alone, "
                    "read(2), mainline's mapping, this series' mapping and its live view",
                    by_payload),
    "every_payload": Plot("cost-by-every-payload", "Cost of reading an event, from payloads of 8 "
                          "bytes to 1024", by_every_payload),
    "get_reader": Plot("get-reader", "Cost of GET_READER, and of a look by the live view, by the "
                       "events in the sub-buffer", get_reader),
    "subbuf": Plot("cost-by-subbuf", "Cost of reading an event by the size of sub-buffers",
                   by_subbuf),
    "map": Plot("mmap-by-size", "Cost of mmap() by the size of the buffer, and of its live index",
                by_buffer),
    "peers": Plot("cost-by-way", "Cost of reading an event by every way, and by payload", peers),
    "loss": Plot("loss-by-rate", "Events lost by the rate of writing, for every way", loss),
}
