#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
orders.py TREE TOP: the barriers that the models of TOP count on stand in the code of
TREE, between the accesses that they order, under their labels; and each is one that a
model breaks. Prints what is wrong, and fails if anything is.

What BREAK_NAME breaks in a model is in the code a line of ORDERS: in that function,
without comments, what matches "first" comes before the barrier, and what matches
"then" behind it and not between the two. That models find each break is for
checks/model.sh to show. Whether a compiler and a machine keep the order cannot be seen
here: that is what the barriers promise.
"""

import os
import re
import sys

RING = 'kernel/trace/ring_buffer.c'
MAP = 'kernel/trace/ring_buffer_map.c'
LIVE = 'kernel/trace/ring_buffer_live.c'
OBSERVER = 'kernel/trace/ring_buffer_observer.c'
HEADER = 'tools/lib/tracemap/live.h'
SUBBUF = 'tools/lib/tracemap/subbuf.h'

# label, model, what breaks it, file, function, first, barrier, then
ORDERS = [
    ('COMMIT', 'live', 'COMMIT', RING, 'rb_commit_page',
     r'\{', r'smp_wmb\(\)', r'->commit, write\)'),
    ('GONE', 'live', 'GONE', RING, 'rb_commit_leave_page',
     r'rb_live_leave\(', r'smp_store_release\((?=&cpu_buffer->commit_page)',
     r'->commit_page, next_page\)'),
    ('GONE', 'live', 'GONE_RELEASE', RING, 'rb_get_reader_page',
     r'(?:int|bool) ret;', r'smp_mb\(\)', r'->page->commit, 0\)'),
    ('GONE', 'live', 'LOSS_RELEASE', MAP, 'rb_mark_lost_events',
     r'marks =|missed_events =', r'smp_mb\(\)', r'memcpy\(|local_set\('),
    ('GONE', 'live', 'ACQ_CP', RING, 'rb_get_reader_page',
     r'reader = cpu_buffer->reader_page', r'smp_load_acquire\((?=&cpu_buffer->commit_page)',
     r'rb_page_size\('),
    ('GONE', 'live', 'ACQ_CP', MAP, 'rb_consume_reader_page',
     r'\{', r'smp_load_acquire\((?=&cpu_buffer->commit_page)',
     r'rb_page_commit\(reader\)|rb_page_size\(reader\)'),
    ('BACK', 'live', 'RESET_BACK', RING, 'reset_disabled_cpu_buffer',
     r'rb_reset_cpu\(', r'smp_mb\(\)', r'\}'),
    ('ENTER', 'live', 'ENTER', LIVE, 'rb_live_enter',
     r'entry->generation, generation', r'smp_wmb\(\)', r'entry->id, '),
    ('LEAVE', 'live', 'LEAVE', LIVE, 'rb_live_leave',
     r'->before, ', r'smp_store_release\((?=&live->index->commit_generation)',
     r'->commit_generation, '),
    ('LEAVE', 'live', 'ACQ_SPLICE', LIVE, 'rb_live_given_away',
     r'\{', r'smp_load_acquire\((?=&live->index->commit_generation)', r'entry->id\)'),
    ('RESET', 'live', 'RESET_BEGIN', LIVE, 'rb_live_reset_begin',
     r'index->first, ', r'smp_wmb\(\)', r'\}'),
    ('RESET', 'live', 'RESET_END', LIVE, 'rb_live_begin',
     r'->before, ', r'smp_store_release\((?=&index->commit_generation)',
     r'->commit_generation, '),
    ('ARM', 'wait', 'ARM', OBSERVER, 'rb_sleepers_ask',
     r'sleepers->mark, first->mark', r'smp_mb\(\)', r'index->commit_generation\)'),
    ('ARM', 'wait', 'ARM', OBSERVER, 'rb_sleepers_ask',
     r'\*pending, near', r'smp_mb\(\)', r'rb_observer_due\(first'),
    ('CHECK', 'live', 'CHECK', OBSERVER, 'rb_live_commit',
     r'rb_page_commit\(', r'smp_rmb\(\)', r'entry->generation\) != generation'),
    ('LEAVE', 'live', 'ACQ_CG', HEADER, 'live__load_newest',
     r'commit_generation', r'live__read_barrier\(\)', r'return'),
    ('CHECK', 'live', 'ACQ_ADVANCE', HEADER, 'live__advance',
     r'\{', r'live__load_newest\(', r'entry->before\)'),
    ('CHECK', 'live', 'CHECK_ADVANCE', HEADER, 'live__advance',
     r'entry->id\)', r'live__holds\(', r'live__stand_at\('),
    ('CHECK', 'live', 'CHECK', HEADER, 'live__holds',
     r'\{', r'live__read_barrier\(\)', r'entry->generation\) == generation'),
    ('COMMIT', 'live', 'ACQ_CM', SUBBUF, 'subbuf__commit',
     r'subbuf__load\(', r'__atomic_thread_fence\(__ATOMIC_ACQUIRE\)', r'return'),
]


def function(text, name):
    """The definition of the function, from its comment on, or ''."""
    found = re.search(rf'^(?:[a-z][^\n;{{}}]*\s\**)?{name}\([^;{{]*\)\n\{{.*?^\}}', text,
                      re.M | re.S)
    if not found:
        return ''
    before = re.search(r'/\*(?:(?!\*/).)*\*/\n(?:[a-z][^\n;]*\n)?$', text[:found.start()], re.S)
    return (before.group() if before else '') + found.group()


def without_comments(code):
    """The code alone."""
    return re.sub(r'/\*.*?\*/', ' ', code, flags=re.S)


def in_order(code, first, barrier, then):
    """Is the barrier between the two, with nothing of what is behind it before?"""
    for at in re.finditer(barrier, code):
        before = [m.end() for m in re.finditer(first, code[:at.start()])]
        if before and re.search(then, code[at.end():]) and \
           not re.search(then, code[before[-1]:at.start()]):
            return True
    return False


def wrong(order, read):
    """What is wrong with the order, or None. @read gives a file's text."""
    label, model, breaks, path, name, first, barrier, then = order
    code = function(read(path), name)
    if not code:
        return f'{path}: there is no {name}()'
    if f'[{label}]' not in code:
        return f'{path}: {name}() has no [{label}]'
    if not in_order(without_comments(code), first, barrier, then):
        return f'{path}: {name}(): no {barrier} between {first} and {then}'
    if f'BREAK_{breaks}' not in read(f'tools/harness/model/{model}.pml'):
        return f'{model}.pml has no BREAK_{breaks} for [{label}] in {name}()'
    if not re.search(rf'^{breaks} \| {model} \|', read('tools/harness/checks/model.sh'), re.M):
        return f'checks/model.sh does not break {breaks} of {model}.pml'
    return None


def orders_of(tree):
    """The orders, at their places in this tree: all is in RING where the base has a mapping."""
    if os.path.exists(f'{tree}/{MAP}'):
        return ORDERS
    return [(*order[:3], RING if order[3] == MAP else order[3], *order[4:]) for order in ORDERS]


def main(tree, top):
    """Each order as it is, and each with its barrier taken out of the code."""
    texts = {}

    def read(path):
        if path not in texts:
            root = top if path.startswith('tools/') else tree
            with open(f'{root}/{path}', encoding='utf-8') as file:
                texts[path] = file.read()
        return texts[path]

    failed = False
    orders = orders_of(tree)
    for order in orders:
        fault = wrong(order, read)
        if not fault:
            path, name, barrier = order[3], order[4], order[6]
            code = function(read(path), name)
            bare = re.sub(barrier, '(', without_comments(code))
            whole = read(path).replace(code, f'/* [{order[0]}] */\n' + bare)
            if not wrong(order, lambda p, path=path, whole=whole: whole if p == path else read(p)):
                fault = f'{path}: {name}() without its barrier is not told from {name}() with it'
        if fault:
            print(fault)
            failed = True
    print(f'{len(orders)} orders')
    return failed


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
