#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/promises.sh: a test cites each promise of ring-buffer-map-promises.rst, or the
# promise says why none does; each citation is of a promise; each selftest cites one. Then the
# script breaks each of these rules in a copy, and must find that.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

document=Documentation/trace/ring-buffer-map-promises.rst
selftests=tools/testing/selftests/ring-buffer

# finds WHAT MESSAGE FILE SED-SCRIPT: with this done to FILE, promises.py says MESSAGE
finds()
{
	local what=$1 message=$2 file=$work/tree/$3 said

	sed -i "$4" "$file"
	! cmp "$file" "$top/$3" || return 1
	said=$("$harness/verbs/promises.py" "$work/tree" "$what") && return 1
	cp "$top/$3" "$file"
	grep -F "$message" <<<"$said"
}

copy()
{
	mkdir -p "$work"/tree/patches/{6.1,6.12}
	cd "$top" || return
	cp -r --parents "$document" "$selftests" kernel/trace/ring_buffer_kunit*.c \
		tools/harness/{model,random,suites,torture} "$work/tree"
}

check_of() { check "promises: $2" "$harness/verbs/promises.py" "$top" "$1"; }
found() { check "promises: found: $1" finds "${@:2}"; }

scratch
echo 1..18
check_of numbers "no number is used twice, and none is gone"
check_of bases "each base has patches"
check_of citations "each citation is of a promise, and above what proves it"
check_of proofs "each promise is proved, or it says why not"
check_of tests "each selftest cites a promise"
check_of quotations "no comment of a test begins with a quotation"
(copy)
found "a number that is used twice" numbers 'MAP-1 is used twice' \
	$document 's/^MAP-2 :/MAP-1 :/'
found "a promise that is gone" numbers 'MAP-2 is gone' $document '/^MAP-2 :/d'
found "a base without patches" bases 'no patches/5.15' $document 's/^\(READ-1 : 6.1\)/\1 5.15/'
found "a promise without a base" bases 'POLL-1: there' $document 's/^POLL-1 : .*/POLL-1 : /'
found "a citation of no promise" citations 'MPA-7 is no promise' \
	$selftests/mmap_test.c 's/MAP-7 /MPA-7 /'
found "a citation of what is withdrawn" citations 'SNAP-9 is no promise' \
	$document 's/^SNAP-9 : .*/SNAP-9 : withdrawn/'
found "a citation above no test" citations 'LOSS-7: above no test' \
	$selftests/reader_test.c 's,/\* LOSS-7 \*/,&\n,'
found "a number in the middle of a comment" citations 'READ-4 is no citation' \
	tools/harness/random/op_file.c 's,/\* READ-8,/* See READ-4\, READ-8,'
found "a promise without a proof" proofs 'WAIT-7: nothing proves it' \
	$selftests/slow_reader_test.c 's/WAIT-7: //'
found "a proof of what has none" proofs 'COST-3: mmap_test' \
	$selftests/mmap_test.c 's,/\* MAP-2 \*/,/* MAP-2\, COST-3 */,'
found "a test that cites nothing" tests 'it_is_not_duplicated cites no promise' \
	$selftests/mmap_test.c 's,/\* MAP-16: an,/* an,'
found "a quotation" quotations 'mmap_test.c:' \
	$selftests/mmap_test.c 's,/\* MAP-2 \*/,/* "Sub-buffers are where they belong" */,'
