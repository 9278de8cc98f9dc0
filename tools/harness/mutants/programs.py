#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
programs.py list [NAME...]: the faults of programs in the lists *.faults beside it, or these,
by their files, one a line: name, kind, file. They are those in files of
tools/; plant.py tells what a list says of a fault.

programs.py plant NAME TREE: put this one into its file in TREE, in the place of the old text.

programs.py check TREE: whether each could be.
"""

import os
import sys

sys.dont_write_bytecode = True
import plant  # pylint: disable=wrong-import-position


def faults_of_programs():
    """By their files, as the table has them."""
    faults = [fault for fault in plant.read_lists() if fault.file.startswith('tools/')]
    return sorted(faults, key=lambda fault: fault.file)


def tell(names):
    """Print those of these names, all if there are none."""
    faults = faults_of_programs()
    unknown = set(names) - {fault.name for fault in faults}
    if unknown:
        plant.fail(f'there is no fault called {" ".join(sorted(unknown))}')
    for fault in faults:
        if not names or fault.name in names:
            kind = 'survives' if 'survives' in fault.about else 'plain'
            print(fault.name, kind, fault.file, sep='\t')


def planted(fault, tree):
    """The path of its file, and what is in there with the fault."""
    path = os.path.join(tree, fault.file)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    begin, end = plant.find(text, fault)
    return path, text[:begin] + fault.text('new') + text[end:]


def put(name, tree):
    """Replace the old text of a fault."""
    path, text = planted(next(f for f in faults_of_programs() if f.name == name), tree)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


if sys.argv[1] == 'list':
    tell(sys.argv[2:])
elif sys.argv[1] == 'check':
    for each in faults_of_programs():
        planted(each, sys.argv[2])
else:
    put(*sys.argv[2:])
