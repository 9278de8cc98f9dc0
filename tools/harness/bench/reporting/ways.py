# SPDX-License-Identifier: GPL-2.0
"""The ways to get at events, and the kernels, by the names the results have for them."""

from __future__ import annotations

from .results import Cell

# What a way to read is called, and what it does.
WAYS = {
    "parse": (
        "parsing alone", "The parsing loop, over the same bytes in the program's memory. No way of "
        "reading can cost less: this is the floor."),
    "read": (
        "`read(2)`", "`read(2)` of `trace_pipe_raw`: the kernel copies a sub-buffer to the "
        "program's memory, where the program parses it."),
    "mapping": (
        "mapping", "The sub-buffers are mapped. `TRACE_MMAP_IOCTL_GET_READER` says which "
        "sub-buffer to parse and how far, and the program parses it in place."),
    "live": (
        "live view", "`trace_live`, the sub-buffers with their live index, is mapped. An observer "
        "parses them in place and checks afterwards that nothing was overwritten meanwhile. It "
        "makes no system call, and takes no event from a consumer."),
    "splice-file": (
        "`splice(2)` to a file", "`splice(2)` of `trace_pipe_raw` to a pipe, and from there to a "
        "file: the bytes are kept, and no program looks at them."),
    "splice-null": (
        "`splice(2)` to `/dev/null`", "The same, to `/dev/null`: pages are passed on and dropped, "
        "and no program looks at them."),
    "perf": (
        "perf", "`perf_event_open(2)` on the same tracepoint, its buffer mapped: what "
        "`perf record` does."),
    "bpf": (
        "BPF ring buffer", "A BPF program on the same tracepoint copies the event to a BPF ring "
        "buffer, which is mapped."),
}

# The series as far as it goes without the live view, and without the topic writer.
KERNELS = {"stock": "stock", "before": "before the live view",
           "before_writer": "before the topic writer", "ours": "this series",
           "mainline": "mainline", "newer": "this series on 6.12"}

# Those that are compared most, in the order of a table.
CORE = [("ours", "parse"), ("ours", "read"), ("mainline", "mapping"), ("ours", "mapping"),
        ("ours", "live")]


def way_label(way: Cell) -> str:
    """What a way is called."""
    return WAYS[str(way)][0]


def core_label(kernel: str, way: str) -> str:
    """The label of one of those that are compared most."""
    if way == "mapping":
        return f"mapping, {KERNELS[kernel]}"
    return "`read(2)` and parse" if way == "read" else way_label(way)
