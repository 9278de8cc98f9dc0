#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Read what json.guest printed; TAP of whether the JSON says what the text says."""

import json
import re
import sys
from itertools import groupby

LINE = re.compile(rb'(.{16})-(\d+) +\[(\d+)\] (.{5}) +(\d+)\.(\d{6}): (.*)')
MARKS = [
    'plain\n',
    'quote " backslash \\ slash / tab \t end\n',
    'bell \x07 escape \x1b delete \x7f\n',
    'umlaut \u00e4, euro \u20ac, clef \U0001d11e\n',
    'broken \ufffd( \ufffd \ufffd\ufffd \ufffd\ufffd\ufffd \ufffd\ufffd\ufffd\ufffd cut \ufffd\ufffd\n',
]


def no_twice(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError('a key twice: %s' % pairs)
    return found


def load(lines, kind):
    return [line[5:] for line in lines if line.startswith(kind)]


def objects(lines, kind):
    # Bytes that are no UTF-8 raise an exception.
    return [json.loads(text.decode(), object_pairs_hook=no_twice, strict=True)
            for text in load(lines, kind)]


def text_events(lines):
    return [m for m in map(LINE.match, load(lines, b'text:')) if m]


def same_event(text, event):
    comm, pid, cpu, flags, sec, usec, info = text.groups()
    us = (event['ts'] + 500) // 1000
    name = info.split(b':')[0].split(b'(')[0].decode('utf-8', 'replace')
    return (int(sec) * 1000000 + int(usec) == us and int(cpu) == event['cpu'] and
            int(pid) == event['pid'] and flags.decode() == event['flags'] and
            (event['system'] in ('ftrace', 'syscalls') or name == event['event']))


def fields_of(info):
    """name=number pairs of a line, as the text has them"""
    return re.findall(rb'\b([a-z_]+)=(-?\d+)(?= |$)', info)


def same_fields(text, event):
    if event['system'] not in ('sched', 'irq'):
        return True
    for name, value in fields_of(text.group(7)):
        have = event['fields'].get(name.decode())
        # "001" is a text's own idea; a name in an array is another matter.
        # Beyond 2^53 numbers are strings.
        if have is not None and int(value) != (int(have, 0) if isinstance(have, str) else have):
            return False
    return True


def settled(events, time, cpu):
    """Of events at the same time, which CPU's come first is not said."""
    return [event for _, same in groupby(events, key=time) for event in sorted(same, key=cpu)]


def check_events(lines):
    texts = settled(text_events(lines), lambda text: text.group(5, 6),
                    lambda text: int(text.group(3)))
    events = settled(objects(lines, b'json:'), lambda event: (event['ts'] + 500) // 1000,
                     lambda event: event['cpu'])
    yield bool(texts) and len(texts) == len(events), \
        'as many objects as lines of text', '%d, %d' % (len(texts), len(events))
    wrong = [(t.group(0), e) for t, e in zip(texts, events) if not same_event(t, e)]
    yield not wrong, 'time, CPU, process, flags and event are those of the text', wrong[:3]
    wrong = [(t.group(0), e) for t, e in zip(texts, events) if not same_fields(t, e)]
    yield not wrong, 'numbers of fields are those of the text', wrong[:3]


def check_types(lines):
    events = objects(lines, b'json:')
    switch = [e['fields'] for e in events if e['event'] == 'sched_switch']
    yield bool(switch) and all(
        isinstance(f['prev_comm'], str) and type(f['prev_pid']) is int for f in switch), \
        'names are strings, numbers are numbers', switch[:2]
    marks = [e['fields']['buf'] for e in events if e['event'] == 'print']
    yield marks == MARKS, 'text is escaped, and bytes that are no UTF-8 replaced', marks
    raw = [e['fields'] for e in events if e['event'] == 'raw_data']
    yield len(raw) == 1 and raw[0]['id'] == 1 and \
        [b & 255 for b in raw[0]['buf'][:8]] == list(b'abc\0\xffxyz'), 'raw data are bytes', raw
    calls = [e['fields'] for e in events if e['event'] == 'sys_enter']
    yield bool(calls) and all(len(f['args']) == 6 for f in calls), 'arrays are arrays', calls[:1]
    quoted = [e for e in events if e['event'] == 'sched_process_exec' and 'q"uo\\te' in
              e['fields']['filename']]
    yield bool(quoted), 'a file name with quotes', [e for e in events if 'exec' in e['event']][:3]


def check_loss(lines):
    lost = objects(lines, b'lost:')
    first = lost[1]['fields']['buf'] if len(lost) > 1 else ''
    yield len(lost) > 1 and first == 'mark %d\n' % (lost[0]['lost'] + 1), \
        'a loss is an object before what comes next', lost


def main():
    lines = sys.stdin.buffer.read().split(b'\n')
    status = 0
    print('1..9')
    for check in (check_events, check_types, check_loss):
        try:
            for good, name, why in check(lines):
                print(('ok - ' if good else 'not ok - ') + name)
                if not good:
                    print('# ' + str(why).replace('\n', ' ')[:2000])
                    status = 1
        except (ValueError, KeyError, IndexError) as error:
            print('not ok - %s: %r' % (check.__name__, error))
            status = 1
    return status


sys.exit(main())
