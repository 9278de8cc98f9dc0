# SPDX-License-Identifier: GPL-2.0
"""The ways to get at events, by the names the results have for them."""

from __future__ import annotations

from dataclasses import dataclass

from .results import Cell


@dataclass(frozen=True)
class Way:
    """A way to read: what it is called, what it does, and how it is drawn."""

    label: str
    does: str
    colour: str
    marker: str


# The colours are Okabe and Ito's, which the colour-blind tell apart.
WAYS = {
    "parse": Way(
        "parsing alone", "The parsing loop, over the same bytes in memory of the program. No way "
        "of reading can cost less: this is the floor.", "#8c8c8c", "square"),
    "read": Way(
        "`read(2)`", "`read(2)` of `trace_pipe_raw`: the kernel copies a sub-buffer to memory of "
        "the program, which parses it there.", "#e69f00", "diamond"),
    "mapping": Way(
        "mapping", "The sub-buffers are mapped. `TRACE_MMAP_IOCTL_GET_READER` tells which to "
        "parse and how far, and the program parses it in place.", "#0072b2", "circle"),
    "live": Way(
        "live view", "`trace_live` is mapped, the sub-buffers with their live index. An observer "
        "parses them in place and checks afterwards that nothing was overwritten meanwhile: no "
        "system call, and no event is taken from a consumer.", "#117733", "square"),
    "splice-file": Way(
        "`splice(2)` to a file", "`splice(2)` of `trace_pipe_raw` to a pipe, and from there to a "
        "file: the bytes are kept, and nothing looks at them.", "#009e73", "triangle"),
    "splice-null": Way(
        "`splice(2)` to `/dev/null`", "The same, to `/dev/null`: pages are passed on and dropped. "
        "Nothing looks at them.", "#56b4e9", "down"),
    "perf": Way(
        "perf", "`perf_event_open(2)` on the same tracepoint, its buffer mapped: what "
        "`perf record` does.", "#cc79a7", "cross"),
    "bpf": Way(
        "BPF ring buffer", "A BPF program on the same tracepoint copies the event to a BPF ring "
        "buffer, which is mapped.", "#7a4b00", "plus"),
}

MAINLINE_COLOUR = "#d55e00"
MAINLINE_MARKER = "triangle"

# "before" is the series as far as it goes without the live view.
KERNELS = {"ours": "this series", "mainline": "mainline", "stock": "stock 6.1",
           "before": "before the live view"}

# The figure's subject: the ways in the order of a table, each with its kernel.
CORE = [("ours", "parse"), ("ours", "read"), ("mainline", "mapping"), ("ours", "mapping"),
        ("ours", "live")]


def way_label(way: Cell) -> str:
    """What a way is called; one that is not known here goes by its own name."""
    return WAYS[str(way)].label if way in WAYS else str(way)


def core_label(kernel: str, way: str) -> str:
    """The label of one of those that are compared most."""
    if way == "mapping":
        return f"mapping, {KERNELS[kernel]}"
    return "`read(2)` and parse" if way == "read" else way_label(way)
