#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
plant.py STAGE [partly]: put all faults of the kernel in the lists *.faults beside it into
the staged files of the series, each behind a switch, and print them, one a line: number, name,
tests to try first, kind, file, the model and the break that stand for it. The faults of
programs, in files of tools/, are planted one at a time, by programs.py.

The lists are of the code for 6.1. With "partly", for another base, a fault is left out if its
file is not there, or if it is a file of the stock kernel that does not have its old text once.

ring_buffer.mutant=NUMBER, at boot or in /sys/module/ring_buffer/parameters, switches one
of them on; with -1 none is on, and the kernel notes which places of faults it comes by.
mutants_reached beside it is a mask of these, in hexadecimal, which any write clears; the
kernel says it when it is shut down.

A list says of a fault in one line, where that is enough:

	NAME | FILE | OLD TEXT | NEW TEXT | what a program sees of it [| KEY: VALUE]...

	occurrence: N		the old text is there more than once: take the N-th
	race: why no test without a race can find it	(if that is so)
	model: MODEL BREAK	(the fault of the model that is this one; checks/model.sh tries it)
	survives: why nothing finds it			(if that is so)
	survives elsewhere: why on another base		(if that is so)
	tests: NAME...		(for a test that tests.mk calls first or alone: it is only tried if it
				is named here)

A text of several lines, or with a | between blanks, takes this form, with the keys as lines of
their own behind "breaks:":

	fault NAME FILE
	breaks: what a program sees of it
	old: TEXT
	new: TEXT

or, where one of the two has several lines,

	old:
	TEXT
	new:
	TEXT
	end

Which test finds which fault is not said: suites/mutants.sh keeps what it has learned in the cache.

TEXT is whole lines or a part of one line; it is once in the file as it is compiled
("old 2:" is its second occurrence). Without "new:", or with nothing between the bars, it is
removed. An old text that ends in ; or } is statements, of which no declaration is used behind
them; any other one is an expression. The new text of statements may be empty, and that of a
race may wait where the race is, by udelay() or msleep(). Faults may share a text, or one may
be inside another's.
"""

import glob
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..')

HEADER = '''
#include <linux/delay.h>

extern int rb_mutant_on;
extern unsigned long rb_mutants_reached[];

static __always_inline bool rb_mutant(int number)
{
	int on = READ_ONCE(rb_mutant_on);

	if (likely(!on))
		return false;
	if (on < 0 && !test_bit(number, rb_mutants_reached))
		set_bit(number, rb_mutants_reached);
	return on == number;
}

'''

SWITCH = '''
#include <linux/moduleparam.h>
#include <linux/reboot.h>

int rb_mutant_on;
DECLARE_BITMAP(rb_mutants_reached, RB_MUTANTS);
module_param_named(mutant, rb_mutant_on, int, 0644);

static int rb_mutants_clear(const char *val, const struct kernel_param *kp)
{
	bitmap_zero(rb_mutants_reached, RB_MUTANTS);
	return 0;
}

static int rb_mutants_show(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "%*pb\\n", RB_MUTANTS, rb_mutants_reached);
}

static const struct kernel_param_ops rb_mutants_ops = {
	.set = rb_mutants_clear,
	.get = rb_mutants_show,
};
module_param_cb(mutants_reached, &rb_mutants_ops, NULL, 0644);

static int rb_mutants_say(struct notifier_block *nb, unsigned long mode, void *cmd)
{
	pr_info("mutants reached: %*pb\\n", RB_MUTANTS, rb_mutants_reached);
	return NOTIFY_DONE;
}

static struct notifier_block rb_mutants_notifier = {
	.notifier_call = rb_mutants_say,
};

static int __init rb_mutants_init(void)
{
	return register_reboot_notifier(&rb_mutants_notifier);
}
core_initcall(rb_mutants_init);
'''


class Fault:
    """One entry of a list."""

    def __init__(self, name, file):
        self.number = 0  # of the switch
        self.name = name
        self.file = file
        self.about = {}
        self.which = 1
        self.old = []
        self.new = []

    def is_statement(self):
        """Or an expression."""
        return self.text('old').rstrip()[-1:] in (';', '}')

    def text(self, what):
        """The old or the new text."""
        return '\n'.join(getattr(self, what))

    def code(self, inside):
        """What replaces the old text, of which INSIDE is left after other faults."""
        test = f'rb_mutant({self.number})'
        if self.is_statement():
            return f'{{ if ({test}) {{\n{self.text("new")}\n}} else {{\n{inside}\n}} }}'
        return f'({test} ? ({self.text("new")}) : ({inside}))'


def fail(message):
    """End with an error."""
    sys.exit(f'plant.py: {message}')


KEYS = r'(breaks|tests|race|model|survives(?: elsewhere)?|occurrence): (.+)'


def read_line(line):
    """The fault of a line NAME | FILE | OLD | NEW | BREAKS [| KEY: VALUE]..., or None."""
    fields = [field.strip() for field in re.split(r'(?<= )\|(?= )', line)]
    keys = [re.fullmatch(KEYS, field) for field in fields[5:]]
    if len(fields) < 5 or not re.fullmatch(r'[^\s#]\S* \S+ .+', ' '.join(fields[:3])) or \
            not all(keys):
        return None
    fault = Fault(*fields[:2])
    fault.old, fault.new = fields[2:3], [new for new in fields[3:4] if new]
    fault.about = {'breaks': fields[4], **{key[1]: key[2] for key in keys}}
    fault.which = int(fault.about.pop('occurrence', 1))
    return fault


def read_list(path, faults):
    """Add what the list at PATH has."""
    fault = part = None
    with open(path, encoding='utf-8') as lines:
        for where, line in enumerate(lines, 1):
            line = line.rstrip('\n')
            if part:
                marks = re.match(r'(new:|end)$', line)
                if not marks:
                    getattr(fault, part).append(line)
                else:
                    part = 'new' if line == 'new:' else None
                continue
            found = re.match(r'(old|new)(?: (\d+))?:(?: (.+))?$', line)
            key = re.fullmatch(KEYS, line)
            if read_line(line):
                faults.append(read_line(line))
                fault = None
            elif found and fault:
                fault.which = int(found[2] or fault.which)
                if found[3]:
                    getattr(fault, found[1]).append(found[3])
                else:
                    part = found[1]
            elif line.startswith('fault ') and len(line.split()) == 3:
                fault = Fault(*line.split()[1:])
                faults.append(fault)
            elif fault and key:
                fault.about[key[1]] = key[2]
            elif line and not line.startswith('#'):
                fail(f'{path}:{where}: not understood: {line}')
    if part:
        fail(f'{path}: {fault.name} has no end')


def read_lists():
    """The faults of all lists."""
    faults = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                              '*.faults'))):
        read_list(path, faults)
    names = [fault.name for fault in faults]
    for name in {name for name in names if names.count(name) > 1}:
        fail(f'two faults are called {name}')
    return faults


def is_there(stage, fault):
    """Whether the base has what the fault changes, and once. A file of ours is the same on each
    base, so that the old text has to be there."""
    path = os.path.join(stage, fault.file)
    if not os.path.exists(path):
        return False
    if os.path.exists(os.path.join(TOP, fault.file)):
        return True
    with open(path, encoding='utf-8') as file:
        count = file.read().count(fault.text('old'))
    return count == 1 and fault.which == 1


def is_balanced(text):
    """Whether all that the text opens, it closes: it gets braces or brackets around it."""
    text = re.sub(r"""/\*.*?\*/|"(\\.|[^"])*"|'(\\.|[^'])'""", '', text, flags=re.S)
    while True:
        shorter = re.sub(r'\([^][(){}]*\)|\[[^][(){}]*\]|\{[^][(){}]*\}', '', text)
        if shorter == text:
            return not re.search(r'[][(){}]|/\*|\*/', text)
        text = shorter


def find(text, fault):
    """Where the old text of a fault is: its first character and the one behind it."""
    old, at = fault.text('old'), -1
    count = text.count(old)
    if not old.strip() or not count:
        fail(f'{fault.name}: its old text is not in {fault.file}')
    if count != 1 and fault.which == 1:
        fail(f'{fault.name}: its old text is {count} times in {fault.file}')
    for _ in range(fault.which):
        at = text.find(old, at + 1)
    if at < 0:
        fail(f'{fault.name}: its old text is only {count} times in {fault.file}')
    end = at + len(old)
    if fault.is_statement() and re.match(r'\s*if\b', old) and re.match(r'\s*else\b', text[end:]):
        fail(f'{fault.name}: its old text ends before an else that belongs to it')
    return at, end


def plant(text, spans, begin, end):
    """The text from BEGIN to END with these faults in it, outer ones first."""
    out, at = '', begin
    while spans:
        (first, last), fault = spans[0]
        for span, other in spans:
            if span[0] < last < span[1]:
                fail(f'{fault.name} and {other.name}: their old texts overlap')
        same = [f for span, f in spans if span == (first, last)]
        inner = [(span, f) for span, f in spans
                 if span != (first, last) and span[0] >= first and span[1] <= last]
        spans = [(span, f) for span, f in spans if span[0] >= last]
        inside = plant(text, inner, first, last)
        for fault in same:
            inside = fault.code(inside)
        out += text[at:first] + inside
        at = last
    return out + text[at:end]


def plant_file(path, faults):
    """Put the faults of one file into it."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    spans = sorted(((find(text, fault), fault) for fault in faults),
                   key=lambda s: (s[0][0], -s[0][1]))
    text = plant(text, spans, 0, len(text))
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def add_switch(stage, bits):
    """Declare the switch where every file sees it, and define it once."""
    header = os.path.join(stage, 'include/linux/ring_buffer.h')
    with open(header, encoding='utf-8') as file:
        text = file.read()
    with open(header, 'w', encoding='utf-8') as file:
        file.write(re.sub(r'(?m)^(struct trace_buffer;\n)', lambda m: HEADER + m[1], text, count=1))
    with open(os.path.join(stage, 'kernel/trace/ring_buffer.c'), 'a', encoding='utf-8') as file:
        file.write(f'\n#define RB_MUTANTS {bits}\n{SWITCH}')


def kind_of(fault, broken):
    """How it is judged. BROKEN is what spin has to find something wrong with."""
    model = fault.about.get('model')
    if model and model.split() not in broken:
        fail(f'{fault.name}: checks/model.sh does not break so: {model}')
    if model and 'race' not in fault.about:
        fail(f'{fault.name}: a model, and no race')
    return ('survives' if 'survives' in fault.about else 'model' if model else
            'race' if 'race' in fault.about else 'plain')


def broken_models():
    """What checks/model.sh breaks the models by: [MODEL, BREAK] of each."""
    checks = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../checks/model.sh')
    with open(checks, encoding='utf-8') as file:
        lines = file.read().split("broken='", 1)[1].split("'", 1)[0].strip().split('\n')
    return [[word.strip() for word in reversed(line.split('|')[:2])] for line in lines]


def main():
    """Read the lists and plant them."""
    stage = sys.argv[1]
    faults = [fault for fault in read_lists() if not fault.file.startswith('tools/')]
    if sys.argv[2:] == ['partly']:
        there = [fault for fault in faults if is_there(stage, fault)]
        print(f'-- {len(there)} of {len(faults)} faults: the code of the others is not on this base',
              file=sys.stderr)
        faults = there
        for fault in faults:
            if 'survives elsewhere' in fault.about:
                fault.about['survives'] = fault.about['survives elsewhere']
    elif sys.argv[2:]:
        fail(f'{sys.argv[2]}: only "partly" is known')
    for number, fault in enumerate(faults, 1):
        fault.number = number
        for part in ('old', 'new'):
            if not is_balanced(fault.text(part)):
                fail(f'{fault.name}: its {part} text has half a pair of brackets, or of comment marks')
    for file in sorted({fault.file for fault in faults}):
        path = os.path.join(stage, file)
        if not os.path.exists(path):
            fail(f'the series does not touch {file}')
        plant_file(path, [fault for fault in faults if fault.file == file])
    add_switch(stage, len(faults) + 1)
    broken = broken_models()
    for fault in faults:
        print(fault.number, fault.name, fault.about.get('tests', '-').replace(' ', ','),
              kind_of(fault, broken), fault.file, fault.about.get('model', '-'), sep='\t')


if __name__ == '__main__':
    main()
