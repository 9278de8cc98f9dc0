#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
compile_commands.py programs: write how each source of the library and the command, their tests
included, is compiled to compile_commands.json in the folder that is the current one; clangd and
other tools read that file. make says how, and builds nothing.

compile_commands.py kernel SOURCE BUILD TREE: write the same for a kernel tree and the programs in
it, from what kbuild has noted in BUILD of its objects, which were compiled from SOURCE; and
TREE/.clangd. A .c file that another one includes is compiled behind that one, so that clangd
knows what it uses.
"""

import json
import os
import re
import shlex
import subprocess
import sys

PROGRAMS = ('tools/lib/tracemap', 'tools/tracing/tracemap')

CLANGD = '''# SPDX-License-Identifier: GPL-2.0
# Written by "make tree". These options are gcc's, and not clang's.
CompileFlags:
  Add: ['-Wno-unknown-warning-option']
  Remove: ['-fconserve-stack', '-fno-allow-store-data-races', '-fno-code-hoisting',
           '-fmin-function-alignment=*', '-mpreferred-stack-boundary=*', '-mindirect-branch*',
           '-mfunction-return=*', '-mrecord-mcount', '-falign-*', '-fplugin*',
           '-ftrivial-auto-var-init=*', '-fzero-call-used-regs=*', '-fsanitize=*', '-Wa,*']
'''

INCLUDED = '''---
# Another .c file includes these, and clangd reads it first, without them. What they declare may
# have been used there by then.
If:
  PathMatch:
{paths}
Diagnostics:
  Suppress: ['conflicting_types', 'incompatible-pointer-types', 'redefinition']
'''


def of_line(line, folder):
    """Entries for the sources of a line that calls the compiler in FOLDER."""
    try:
        words = shlex.split(line)
    except ValueError:
        return []
    if not words or not re.fullmatch(r'(\S*-)?(cc|gcc|clang)', words[0]):
        return []
    sources = [word for word in words[1:] if word.endswith('.c')]
    outputs = [n + 1 for n, word in enumerate(words) if word == '-o']
    common = [word for n, word in enumerate(words) if n not in outputs and word not in sources and
              word not in ('-c', '-o') and not re.search(r'\.(a|so|o)$', word)]
    return [{'directory': folder, 'file': os.path.join(folder, source),
             'arguments': common + ['-c', source]} for source in sources]


def of_programs():
    """Entries for library and command. What is compiled twice is there as it is without -fsanitize."""
    entries = {}
    # A tree of Linux 6.12 has none.
    for folder in filter(os.path.isdir, map(os.path.abspath, PROGRAMS)):
        said = subprocess.run(['make', '--no-print-directory', '-nBk', 'O=build', 'all', 'check'],
                              cwd=folder, capture_output=True, text=True, check=False).stdout
        for line in said.replace('\\\n', ' ').splitlines():
            for entry in of_line(line, folder):
                if os.path.exists(entry['file']):
                    known = entries.get(entry['file'])
                    if not known or any(word.startswith('-fsanitize') for word in known['arguments']):
                        entries[entry['file']] = entry
    return list(entries.values())


def included_by(tree, file):
    """The .c files that FILE of TREE includes, and those that these include."""
    found, left = [], [file]
    while left:
        file = left.pop()
        with open(os.path.join(tree, file), encoding='utf-8') as lines:
            names = re.findall(r'(?m)^#include "([\w/]+\.c)"', lines.read())
        for path in (os.path.join(os.path.dirname(file), name) for name in names):
            if path not in found and os.path.exists(os.path.join(tree, path)):
                found.append(path)
                left.append(path)
    return found


def of_kernel(source, build, tree):
    """Entries for the objects in BUILD, and for what their sources include."""
    entries, included = [], {}
    for folder, _, names in os.walk(build):
        for name in names:
            if not re.fullmatch(r'\..*\.o\.cmd', name):
                continue
            with open(os.path.join(folder, name), encoding='utf-8') as lines:
                found = re.match(r'(?:saved)?cmd_\S+ := (.*?\S+) (\S+\.c)(?: *;|$)', lines.readline().rstrip())
            if not found or not found[2].startswith(source + '/'):
                continue
            file = found[2][len(source) + 1:]
            command = found[1].replace(source + '/', tree + '/')
            command = re.sub(r'^\S*/cc (?=\S*(gcc|clang)\b)', '', command)
            entries.append({'directory': build, 'file': os.path.join(tree, file),
                            'command': f'{command} {tree}/{file}'})
            for path in included_by(tree, file):
                included[path] = (command, file)
    for path, (command, file) in sorted(included.items()):
        entries.append({'directory': build, 'file': os.path.join(tree, path),
                        'command': f'{command} -include {tree}/{file} {tree}/{path}'})
    return entries, sorted(included)


def write(path, entries):
    """Write the entries to the file at PATH, and say so."""
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(sorted(entries, key=lambda entry: entry['file']), file, indent=1)
        file.write('\n')
    print(f'-- {path}: {len(entries)} files', file=sys.stderr)


def main():
    """Do what is asked for."""
    if sys.argv[1] == 'programs':
        write('compile_commands.json', of_programs())
        return
    source, build, tree = (os.path.abspath(path) for path in sys.argv[2:5])
    entries, included = of_kernel(source, build, tree)
    os.chdir(tree)
    write(os.path.join(tree, 'compile_commands.json'), entries + of_programs())
    with open(os.path.join(tree, '.clangd'), 'w', encoding='utf-8') as file:
        file.write(CLANGD)
        if included:
            file.write(INCLUDED.format(paths='\n'.join(f"    - '{re.escape(path)}'"
                                                       for path in included)))


main()
