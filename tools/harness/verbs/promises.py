#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
promises.py TREE table: which tests prove which promise, as a table.
promises.py TREE not-on BASE: the selftests that cite a promise which does not hold on that
base, a line "PROGRAM TEST" each.
promises.py TREE numbers|bases|citations|proofs|tests|quotations: print what is wrong
with the promises of TREE or with their citations, and fail if anything is.

The promises are the terms of the definition lists in the document, "MAP-1 : 6.1". A
citation is a comment that begins with numbers: "MAP-1, META-3" or "MAP-1: some words".
In C it stands right above what proves them, in a model it is a property's, and in the
script of a suite it is a line that stands for the whole suite.
"""

import collections
import glob
import os
import re
import sys

DOCUMENT = 'Documentation/trace/ring-buffer-map-promises.rst'
SELFTESTS = 'tools/testing/selftests/ring-buffer/'

NUMBER = r'[A-Z]+-[0-9]+'
NUMBERS = rf'({NUMBER}(?:, {NUMBER})*)'
TERM = re.compile(rf'^({NUMBER}) : (.*)$', re.M)
REASON = '*No test:*'

C_COMMENT = re.compile(r'/\*.*?\*/', re.S)
C_CITATION = re.compile(rf'/\*[\s*]*{NUMBERS}(?:: |\s*\*/)')
TEST = re.compile(r'^TEST(?!_HARNESS)\w*\((?:\w+,\s*)?(\w+)', re.M)
KUNIT = re.compile(r'^static void (\w+)\(struct kunit \*test\)$', re.M)
FUNCTION = re.compile(r'^\w[\w *]*?(\w+)\(', re.M)

# Which files cite, and what a citation in them stands above, or what it looks like.
CITING_C = [
    (SELFTESTS + '*_test.c', TEST),
    ('kernel/trace/ring_buffer_kunit*.c', KUNIT),
    ('tools/harness/random/*.c', FUNCTION),
    ('tools/harness/torture/*.c', FUNCTION),
]
CITING_WHOLE = [
    ('tools/harness/model/*.pml', re.compile(rf'^ \*   - {NUMBERS}: ', re.M)),
    ('tools/harness/suites/*.sh', re.compile(rf'^# {NUMBERS}(?:: |$)', re.M)),
    ('tools/harness/torture/unload', re.compile(rf'^# {NUMBERS}(?:: |$)', re.M)),
]

Promise = collections.namedtuple('Promise', 'number bases text')
# proof: what proves the numbers, or None where the citation stands above nothing
Citation = collections.namedtuple('Citation', 'numbers proof start end')


def read(tree, name):
    """The text of a file of the tree."""
    with open(os.path.join(tree, name), encoding='utf-8') as f:
        return f.read()


def names(tree, pattern):
    """The files that match, as the tree calls them."""
    return sorted(glob.glob(pattern, root_dir=tree))


def promises_of(tree):
    """All promises, in the order of the document."""
    text = read(tree, DOCUMENT)
    terms = list(TERM.finditer(text))
    ends = [term.start() for term in terms[1:]] + [len(text)]
    return [Promise(term[1], term[2].split(), text[term.end():end])
            for term, end in zip(terms, ends)]


def label(name):
    """What the table calls a file: of the harness, with its folder."""
    parts = os.path.splitext(name)[0].split('/')
    return '/'.join(parts[-2:] if parts[:2] == ['tools', 'harness'] else parts[-1:])


def citations_above(text, name, definition):
    """The citations of a C file: each has to be followed by a definition."""
    for comment in C_COMMENT.finditer(text):
        cited = C_CITATION.match(comment[0])
        if not cited:
            continue
        below = definition.match(text, comment.end() + 1)
        yield Citation(cited[1].split(', '), below and f'{label(name)} {below[1]}',
                       comment.start(), comment.start() + cited.end(1))


def citing_files(tree):
    """Each file that may cite: its name, its text, its citations."""
    for pattern, definition in CITING_C:
        for name in names(tree, pattern):
            text = read(tree, name)
            yield name, text, list(citations_above(text, name, definition))
    for pattern, citation in CITING_WHOLE:
        for name in names(tree, pattern):
            text = read(tree, name)
            yield name, text, [
                Citation(cited[1].split(', '), label(name), *cited.span(1))
                for cited in citation.finditer(text)]


def proofs_of(tree):
    """What proves each number."""
    proofs = collections.defaultdict(list)
    for _, _, citations in citing_files(tree):
        for citation in citations:
            for number in citation.numbers:
                if citation.proof and citation.proof not in proofs[number]:
                    proofs[number].append(citation.proof)
    return proofs


def place(name, text, offset):
    """Where in a file something is."""
    return f'{name}:{text.count(chr(10), 0, offset) + 1}'


def check_numbers(tree):
    """No number is used twice, and none is left out."""
    used = collections.defaultdict(list)
    for promise in promises_of(tree):
        section, number = promise.number.split('-')
        if int(number) in used[section]:
            yield f'{promise.number} is used twice'
        used[section].append(int(number))
    for section, numbers in used.items():
        for number in sorted(set(range(1, max(numbers))) - set(numbers)):
            yield f'{section}-{number} is gone: leave it there as "withdrawn"'


def check_bases(tree):
    """A base is one that there are patches for."""
    known = [os.path.basename(os.path.dirname(path))
             for path in glob.glob(os.path.join(tree, 'patches/*/base'))]
    for promise in promises_of(tree):
        if promise.bases == ['withdrawn']:
            continue
        for base in promise.bases or ['']:
            if base not in known:
                yield f'{promise.number}: there is no patches/{base}'


def check_citations(tree):
    """What is cited is promised, and each citation stands above a proof."""
    promises = promises_of(tree)
    valid = {p.number for p in promises if p.bases != ['withdrawn']}
    sections = '|'.join(sorted({p.number.split('-')[0] for p in promises}))
    for name, text, citations in citing_files(tree):
        for citation in citations:
            where = place(name, text, citation.start)
            if not citation.proof:
                yield f'{where}: {", ".join(citation.numbers)}: above no test'
            for number in set(citation.numbers) - valid:
                yield f'{where}: {number} is no promise'
        for number in re.finditer(rf'\b(?:{sections})-[0-9]+\b', text):
            if not any(c.start <= number.start() < c.end for c in citations):
                yield f'{place(name, text, number.start())}: {number[0]} is no citation'


def check_proofs(tree):
    """Each promise is proved, or the document says why it is not."""
    proofs = proofs_of(tree)
    for promise in promises_of(tree):
        excused = REASON in promise.text or promise.bases == ['withdrawn']
        if not proofs[promise.number] and not excused:
            yield f'{promise.number}: nothing proves it'
        if proofs[promise.number] and excused:
            yield f'{promise.number}: {proofs[promise.number][0]} proves it, ' \
                  'though the document says otherwise'


def check_tests(tree):
    """Each selftest cites a promise."""
    for name, text, citations in citing_files(tree):
        if not name.startswith(SELFTESTS):
            continue
        proofs = {citation.proof for citation in citations}
        for test in TEST.finditer(text):
            if f'{label(name)} {test[1]}' not in proofs:
                yield f'{place(name, text, test.start())}: {test[1]} cites no promise'


def check_quotations(tree):
    """A comment of the tests begins with no sentence of another file."""
    for name in names(tree, SELFTESTS + '*.[ch]'):
        text = read(tree, name)
        for comment in C_COMMENT.finditer(text):
            if re.match(r'/\*[\s*]*"[^"]* ', comment[0]):
                yield f'{place(name, text, comment.start())}: a quotation'


def table(tree):
    """Print the promises with what proves them."""
    proofs = proofs_of(tree)
    print('| promise | bases | proved by |\n|---|---|---|')
    for promise in promises_of(tree):
        print(f'| {promise.number} | {" ".join(promise.bases)} | '
              f'{", ".join(proofs[promise.number]) or "-"} |')


def not_on(tree, base):
    """Print the selftests that prove what is not promised on this base."""
    missing = {p.number for p in promises_of(tree) if base not in p.bases}
    for name, _, citations in citing_files(tree):
        if name.startswith(SELFTESTS):
            for citation in citations:
                if missing & set(citation.numbers):
                    print(citation.proof)


def main():
    tree, what, *base = sys.argv[1:] if len(sys.argv) > 2 else ('', '')
    if what == 'table':
        table(tree)
        return
    if what == 'not-on' and base:
        not_on(tree, base[0])
        return
    check = globals().get(f'check_{what}')
    if not check:
        sys.exit(__doc__.strip())
    findings = list(check(tree))
    for finding in findings:
        print(finding)
    sys.exit(bool(findings))


if __name__ == '__main__':
    main()
