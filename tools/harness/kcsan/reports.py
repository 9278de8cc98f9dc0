#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
reports.py CONSOLE IMAGE: the data races that KCSAN reported on a console, one a
line: whether it is in the tracing, "trace" or "other", and the pair of functions
that raced, in alphabetical order. A third field is the line number in CONSOLE
where the report begins. IMAGE is the folder kernel.sh has made.

A function is told by the name it has in the source, where the compiler put it
into another one too. For that the image has vmlinux.debug. Report and lines of
addresses are told apart by what KCSAN prints, see kernel/kcsan/report.c.

A race is in the tracing if a function of kernel/trace did one of the two accesses,
or called who did, in the same context: whom an interrupt interrupted does not
count. Or if one of the module torture_event did it: its calls of timers do not count.
"""

import os
import re
import subprocess
import sys

BEGIN = re.compile(r'BUG: KCSAN: ')
END = re.compile(r'={20}')
ACCESS = re.compile(r'(read|write|assert|race at unknown).*(bytes by|origin)')
FRAME = re.compile(r'\s+([\w.]+)\+0x([0-9a-f]+)/0x[0-9a-f]+(?: \[(\w+)\])?$')
# What runs above these was interrupted, or is nobody's caller.
ENTRY = re.compile(r'(asm_\w+|end_repeat_nmi|ret_from_fork|entry_SYSCALL.*)$')


def stacks_of(report):
    """The stacks of a report, innermost frame first: (function, offset, module)."""
    stacks = []
    inside = False
    for line in report:
        if ACCESS.match(line):
            stacks.append([])
            inside = True
            continue
        frame = FRAME.match(line)
        if not frame:
            continue
        if inside and ENTRY.match(frame[1]):
            inside = False
        if inside:
            stacks[-1].append((frame[1], int(frame[2], 16), frame[3]))
    return stacks


def reports_of(console):
    """Each report: the line it begins at, and its lines without time stamps."""
    report = None
    for number, line in enumerate(console, 1):
        line = re.sub(r'^\[ *[\d.]+\](\[ *[CT]\d+\])? ?', '', line.rstrip())
        if BEGIN.match(line):
            report = (number, [])
        elif report and END.match(line):
            yield report
            report = None
        if report:
            report[1].append(line)
    if report:
        yield report


# Files the series brings: their functions are named, not helpers they call.
OURS = re.compile(r'kernel/trace/(ring_buffer|trace)_(live|map|mmap|subbuf|snapshot_users)\.c')

# What the series took out of a function of the stock kernel, or put beside it.
STOCK_NAMES = {
    'rb_commit_full_pages': 'rb_set_commit_to_write',
    'rb_commit_last_page': 'rb_set_commit_to_write',
    'rb_commit_leave_page': 'rb_set_commit_to_write',
    'rb_commit_left_page': 'rb_set_commit_to_write',
    'rb_commit_page': 'rb_set_commit_to_write',
    'rb_end_commit_slow': 'rb_end_commit',
    'rb_new_reader_page': 'rb_get_reader_page',
    'rb_reader_page_given_away': 'rb_get_reader_page',
    'rb_swap_reader_page': 'rb_get_reader_page',
    'rb_wake_somebody': 'rb_wakeups',
}


class Symbols:
    """What the addresses in an image stand for."""

    def __init__(self, image):
        self.debug = os.path.join(image, 'vmlinux.debug')
        with open(os.path.join(image, 'trace.symbols'), encoding='ascii') as file:
            self.tracing = set(file.read().split())
        names = subprocess.run(['nm', self.debug], check=True, capture_output=True, text=True)
        self.address = {}
        for line in names.stdout.splitlines():
            fields = line.split()
            if len(fields) == 3:
                self.address[fields[2]] = int(fields[0], 16)
        self.known = {}

    def is_tracing(self, frame, accesses):
        """Is the function one of kernel/trace, or of the writers, and then accesses itself?"""
        return (accesses and frame[2] == 'torture_event') or frame[0] in self.tracing

    def _inlined(self, frame):
        """Functions of the source at a place, innermost first: (name, file)."""
        # The address is that of the instruction behind a call.
        at = self.address[frame[0]] + frame[1] - 1
        out = subprocess.run(['addr2line', '-i', '-f', '-e', self.debug, hex(at)],
                             check=True, capture_output=True, text=True).stdout.splitlines()
        return list(zip(out[::2], out[1::2]))

    def name(self, frame):
        """The function of a frame, by the name in its source."""
        if frame not in self.known:
            name = re.sub(r'(\.(constprop|isra|part|cold)(\.\d+)?)+$', '', frame[0])
            if frame[0] in self.address and not frame[2] and frame[0] in self.tracing:
                # The helpers of the headers say little.
                chain = [(inlined, place) for inlined, place in self._inlined(frame)
                         if 'kernel/trace/' in place]
                ours = [inlined for inlined, place in chain if OURS.search(place)]
                name = (ours + [inlined for inlined, _ in chain] + [name])[0]
            self.known[frame] = STOCK_NAMES.get(name, name)
        return self.known[frame]


def main():
    """Print the reports."""
    symbols = Symbols(sys.argv[2])
    with open(sys.argv[1], encoding='utf-8', errors='replace') as console:
        for number, report in reports_of(console):
            stacks = [stack for stack in stacks_of(report) if stack]
            names = [symbols.name(stack[0]) for stack in stacks]
            names += ['?'] * (2 - len(names))
            tracing = any(symbols.is_tracing(frame, depth == 0)
                          for stack in stacks for depth, frame in enumerate(stack))
            print('trace' if tracing else 'other', ' / '.join(sorted(names)), number, sep='\t')


main()
