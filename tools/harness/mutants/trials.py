#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
trials.py WHAT DIR...: what is tried next in a guest, and what came of it. DIR holds

	faults		what plant.py prints
	record		what "trial record" prints: the tests, and what each comes by
	kunit		lines "FAULT TEST": found by KUnit already
	results		lines "FAULT found|once|first|survived TEST", see digest()
	hints		lines "NAME PROGRAM TEST": what has found a fault in an earlier run
	alone		programs that need a boot of their own: they are not tried test by test
	patching	programs that make the kernel patch its code

trials.py tests DIR: each test of the record, in a line "PROGRAM NUMBER LIMIT" for
"trial try".
trials.py plan DIR KIND [PLAN...]: what "trial try" does next with faults that are of KIND
race, or plain, not, without what is in these plans.
trials.py digest DIR CONSOLE: what came of it, for results.
trials.py alone DIR: lines "FAULT PROGRAM": the faults that are for a program that needs a
boot of its own, and not found by KUnit.
trials.py left DIR: how many faults are left, in words.
trials.py tell DIR: a result for each fault, and a table.
trials.py hints DIR: the hints for a later run.
"""

import os
import re
import sys

# A fault is tried for so long, in milliseconds; one that need not be found for less: for
# as long as the torture program takes, and some quick tests.
MOST_MS = int(os.environ.get('MUTANT_SECONDS', 180)) * 1000
NOT_JUDGED_MS = 40000
# A guest is given this many faults at most.
CHUNK = 40


class Fault:
    """A line of the table that plant.py prints."""

    def __init__(self, line):
        number, self.name, tests, self.kind, self.file, self.model = line.rstrip('\n').split('\t')
        self.number = int(number)
        self.tests = tests.split(',')


class Test:
    """A line of the record."""

    def __init__(self, index, line):
        self.index = index
        self.program, self.number, spent, mask, self.name = line.rstrip('\n').split(' ', 4)
        self.spent = int(spent)
        self.mask = int(mask.replace(',', ''), 16)

    def limit(self):
        """How long it may take with a fault, in milliseconds."""
        return 3 * self.spent + 4000

    def comes_by(self, fault):
        """Whether it comes by the place of this fault."""
        return self.mask >> fault.number & 1

    def plain_name(self):
        """Its name, of whatever variant of its fixture."""
        return self.name.split('.')[-1]


class State:
    """All that is known by now."""

    def __init__(self, folder):
        self.folder = folder
        self.faults = [Fault(line) for line in self.lines('faults')]
        passed = [line for line in self.lines('record') if not line.startswith('failed')]
        self.tests = [Test(i, line) for i, line in enumerate(passed)]
        self.kunit = dict(self.pairs('kunit'))
        self.names = {fault.number: fault.name for fault in self.faults}
        self.hints = dict(line.rstrip('\n').split(' ', 1) for line in self.lines('hints'))
        self.alone = [line.strip() for line in self.lines('alone')]
        self.patching = [line.strip() for line in self.lines('patching')]
        self.found, self.once, self.first, self.survived = {}, {}, {}, set()
        for number, result in self.pairs('results'):
            what, _, test = result.partition(' ')
            if what == 'survived':
                self.survived.add(number)
            else:
                getattr(self, what)[number] = test

    def name_of(self, index):
        """What hints call a test of which the index is told."""
        return f'{self.tests[int(index)].program} {self.tests[int(index)].name}'

    def lines(self, name):
        """The lines of a file, none if it is not there."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding='utf-8') as file:
            return [line for line in file if line.strip()]

    def pairs(self, name):
        """The lines of a file: a number, and the rest."""
        return [(int(line.split()[0]), line.strip().split(' ', 1)[1]) for line in self.lines(name)]

    def left(self):
        """The faults of which nothing is known yet, and that are to be tried."""
        known = self.kunit.keys() | self.found.keys() | self.survived
        return [fault for fault in self.faults
                if fault.number not in known and fault.kind != 'model']

    def tests_for(self, fault):
        """The tests to try it with, in turn: what has found it before, those that its list
        names, then quick ones, and another variant of a test only when all others were tried."""
        again, seen = {}, set()
        by_time = [test for test in sorted(self.tests, key=lambda test: test.spent)
                   if test.comes_by(fault) and test.program not in self.alone]
        for test in by_time:
            again[test] = (test.program, test.plain_name()) in seen
            seen.add((test.program, test.plain_name()))
        first, hint = self.first.get(fault.number), self.hints.get(fault.name)
        by_time.sort(key=lambda test: (str(test.index) != first,
                                       f'{test.program} {test.name}' != hint,
                                       test.program not in fault.tests, again[test]))
        if fault.kind == 'race':
            # Several threads of emulation, which is no place to patch code
            by_time = [test for test in by_time if test.program not in self.patching]
            by_time.sort(key=lambda test: (f'{test.program} {test.name}' != hint,
                                           test.program != 'torture'))
        return within(by_time, MOST_MS if fault.kind == 'plain' else NOT_JUDGED_MS)


def within(tests, most):
    """As many of the tests as take no longer, but one."""
    spent = 0
    for n, test in enumerate(tests):
        spent += test.spent
        if spent > most:
            return tests[:max(n, 1)]
    return tests


def planned(state, fault, test):
    """A test of a plan, with a mark if it is known to find this fault."""
    known = state.hints.get(fault.name) == state.name_of(test.index)
    return f'{test.index}!' if known else f'{test.index}'


def plan(state, kind, plans):
    """What one guest tries next, what has to be the first in its guest before all else."""
    taken = set()
    for path in plans:
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                taken |= {int(line.split()[0]) for line in file}
    left = [fault for fault in state.left()
            if fault.number not in taken and (fault.kind == 'race') == (kind == 'race')]
    left.sort(key=lambda fault: fault.number not in state.first)
    for fault in left[:min(CHUNK, max(1, len(left) // 3))]:
        print(fault.number, *(planned(state, fault, test) for test in state.tests_for(fault)))


def digest(state, console):
    """
    What the log of a guest says: a fault is found, or survived; or to be tried FIRST in a
    guest, by a test that may have failed for what another fault has left behind. ONCE is a
    test that failed with the fault, and passed when it was tried again. Where the kernel has
    said nothing of the last fault it was not its fault's first, or it panicked.
    """
    at = None
    begun = 0
    panic = warned = False
    with open(console, encoding='utf-8', errors='replace') as lines:
        for line in lines:
            said = re.search(r'\bmutant (\d+) (by|found by|once by|survived|unknown) ?(\d*)', line)
            warned |= 'panic_on_warn set' in line
            panic |= 'Kernel panic' in line
            if not said:
                continue
            fault, what, test = int(said[1]), said[2], said[3]
            if what == 'by':
                begun += at is None or at[0] != fault
                at = (fault, test)
            elif what == 'once by':
                print(fault, 'once', test)
            elif what == 'unknown':
                print(fault, 'first', at[1])
                at = None
            else:
                print(fault, *what.replace(' by', '').split(), *test.split())
                at = None
    if at:
        hint = state.hints.get(state.names[at[0]])
        known = begun == 1 or state.first.get(at[0]) == at[1] or (
            warned and hint == state.name_of(at[1]))
        print(at[0], 'found' if known else 'first', at[1], 'panic' if panic else 'hang')


def alone(state):
    """The faults for programs that need a boot of their own."""
    for fault in state.left():
        for program in state.alone:
            if program in fault.tests:
                print(fault.number, program)


def found_by(state, fault):
    """What has found a fault, in words; None if nothing has."""
    if fault.number in state.kunit:
        return 'KUnit: ' + state.kunit[fault.number]
    found = state.found.get(fault.number)
    if not found and fault.kind == 'race':
        found = state.once.get(fault.number)
    if not found or not found.split()[0].isdigit():
        return found
    test = state.tests[int(found.split()[0])]
    how = {'panic': ', the kernel says', 'hang': ', the guest hung'}
    return f'{test.program}: {test.name}' + how.get(found.split()[-1], '')


def tell_fault(state, fault):
    """One result, and the column of the table it counts in."""
    by = found_by(state, fault)
    tests = sum(1 for test in state.tests if test.comes_by(fault))
    tried = len(state.tests_for(fault))
    where = (f'its place is come by in {tests} selftests, {tried} of which are tried' if tests else
             'its place is never reached by selftests')
    if fault.kind == 'survives' and by:
        print(f'not ok - {fault.name}: its list says that nothing finds it: {by}')
    elif by:
        print(f'ok - {fault.name}: {by}')
        return 'KUnit' if by.startswith('KUnit') else 'selftests'
    elif fault.kind == 'survives':
        print(f'ok - {fault.name}: survives, as its list says')
    elif fault.kind == 'model':
        model, broken = fault.model.split()
        print(f'ok - {fault.name}: spin finds it, in {model}.pml with -DBREAK_{broken}')
        return 'model'
    elif fault.kind == 'race':
        print(f'# {fault.name}: takes a race, {where}')
        return 'race'
    else:
        what = 'SURVIVED' if fault.number in state.survived or not tests else 'not tried'
        print(f'not ok - {fault.name}: {what}, {where}')
        return 'survive' if tests else 'never reached'
    return 'survive'


def tell(state):
    """The results and the table."""
    columns = ('KUnit', 'selftests', 'model', 'race', 'survive', 'never reached')
    count = {}
    for line in state.lines('record'):
        if line.startswith('failed'):
            _, program, number, *name = line.split(maxsplit=3)
            name = name[0].strip() if name else 'no name'
            print(f'not ok - {program}: test {number}, {name}, fails without a fault')
    for fault in state.faults:
        row = count.setdefault(fault.file, dict.fromkeys(columns, 0))
        row[tell_fault(state, fault)] += 1
    count['all'] = {column: sum(row[column] for row in count.values()) for column in columns}
    print(f'# {"file":40} faults', *(f'{column:>13}' for column in columns))
    for file, row in count.items():
        print(f'# {file:40} {sum(row.values()):6}', *(f'{row[column]:13}' for column in columns))


def tell_hints(state):
    """What has found each fault, now or in the run that the old hints are from."""
    hints = state.hints
    for fault in state.faults:
        test = state.found.get(fault.number, '').split(' ')[0]
        if test.isdigit():
            hints[fault.name] = state.name_of(test)
    for name, test in sorted(hints.items()):
        print(name, test)


def main():
    """Do what is asked for."""
    what, state = sys.argv[1], State(sys.argv[2])
    if what == 'tests':
        for test in state.tests:
            print(test.program, test.number, test.limit())
    elif what == 'plan':
        plan(state, sys.argv[3], sys.argv[4:])
    elif what == 'digest':
        digest(state, sys.argv[3])
    elif what == 'alone':
        alone(state)
    elif what == 'left':
        print(f'{len(state.left())} of {len(state.faults)} faults are left to try')
    elif what == 'hints':
        tell_hints(state)
    else:
        tell(state)


main()
