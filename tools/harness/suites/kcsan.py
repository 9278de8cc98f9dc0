#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
kcsan.py CONSOLE IMAGE BASE STAGE: the data races that KCSAN reported on a console,
one a line: whose it is, "series", "trace" or "other", and the pair of functions that
raced, in alphabetical order. A third field is the line number in CONSOLE where the
report begins. IMAGE is the folder kernel.sh has made, BASE the stock kernel's source,
and STAGE has the files that the series changes or brings, as they were compiled.

A function has the name that it has in the source, also where the compiler inlined
it. For that the image has vmlinux.debug. What KCSAN prints distinguishes a report
from lines of addresses, see kernel/kcsan/report.c.

A race is in the tracing if a function of kernel/trace did one of the two accesses,
or called who did, in the same context: whom an interrupt interrupted does not
count. Or if one of the module torture_event did it: its calls of timers do not count.

It is the series' own if one of the two accesses is a plain one, by a line that the
series brings: one of a file of its own, or of which the stock file has no like,
wherever. A line that a patch only moved remains the stock kernel's. The races of the
module torture_event, which are there to be found, count as the series' own.
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
    """What made each access of a report: is it a plain one, and its stack, innermost
    frame first: (function, offset, module)."""
    stacks = []
    inside = False
    for line in report:
        if ACCESS.match(line):
            stacks.append(('(marked' not in line, []))
            inside = True
            continue
        frame = FRAME.match(line)
        if not frame:
            continue
        if inside and ENTRY.match(frame[1]):
            inside = False
        if inside:
            stacks[-1][1].append((frame[1], int(frame[2], 16), frame[3]))
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


PLACE = re.compile(r'(?:.*/)?(kernel/trace/[\w.]+):(\d+)')


class Series:
    """Which lines of the source are the series' own."""

    def __init__(self, base, stage):
        self.base = base
        self.stage = stage
        self.files = {}

    def _lines(self, folder, name):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            return None
        with open(path, encoding='utf-8') as file:
            return [line.strip() for line in file]

    def has_file(self, place):
        """Is the place in a file that the stock kernel has not?"""
        found = PLACE.match(place)
        return bool(found) and not os.path.exists(os.path.join(self.base, found[1]))

    def has_line(self, place):
        """Is the place on a line that the stock kernel has not?"""
        found = PLACE.match(place)
        if not found:
            return False
        name, number = found[1], int(found[2])
        if name not in self.files:
            self.files[name] = (self._lines(self.stage, name), set(self._lines(self.base, name) or []))
        staged, stock = self.files[name]
        return staged is not None and 0 < number <= len(staged) and staged[number - 1] not in stock


# What the series took out of a function of the stock kernel, or put beside it.
STOCK_NAMES = {
    'rb_commit_leave_page': 'rb_set_commit_to_write',
    'rb_commit_page': 'rb_set_commit_to_write',
    'rb_end_commit_slow': 'rb_end_commit',
    'rb_new_reader_page': 'rb_get_reader_page',
    'rb_reader_page_given_away': 'rb_get_reader_page',
    'rb_wake_somebody': 'rb_wakeups',
}


class Symbols:
    """What the addresses in an image stand for."""

    def __init__(self, image, series):
        self.series = series
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

    def access(self, frame):
        """The function of a frame, by the name in its source; is its line the series'?"""
        if frame not in self.known:
            name = re.sub(r'(\.(constprop|isra|part|cold)(\.\d+)?)+$', '', frame[0])
            ours = frame[2] == 'torture_event'
            if frame[0] in self.address and not frame[2] and frame[0] in self.tracing:
                # The helpers of the headers say little, nor those that our files call.
                chain = [(inlined, place) for inlined, place in self._inlined(frame)
                         if PLACE.match(place)]
                chain = [made for made in chain if self.series.has_file(made[1])] + chain
                if chain:
                    name = chain[0][0]
                    ours = self.series.has_line(chain[0][1])
            self.known[frame] = (STOCK_NAMES.get(name, name), ours)
        return self.known[frame]


def main():
    """Print the reports."""
    console, image, base, stage = sys.argv[1:]
    symbols = Symbols(image, Series(base, stage))
    with open(console, encoding='utf-8', errors='replace') as lines:
        for number, report in reports_of(lines):
            stacks = [(plain, stack) for plain, stack in stacks_of(report) if stack]
            names = [symbols.access(stack[0])[0] for _, stack in stacks]
            names += ['?'] * (2 - len(names))
            tracing = any(symbols.is_tracing(frame, depth == 0)
                          for _, stack in stacks for depth, frame in enumerate(stack))
            ours = tracing and any(plain and symbols.access(stack[0])[1] for plain, stack in stacks)
            print('series' if ours else 'trace' if tracing else 'other',
                  ' / '.join(sorted(names)), number, sep='\t')


main()
