#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/selftests.sh FLAVOUR: our kselftests, in a guest of that flavour.

. "$(dirname "$0")/../lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"
. "$harness/userland.sh"

export FLAVOUR=${1:-default}
scratch
find_base
user_tree "$work/tree"
mkdir "$work/with"
selftests=$work/tree/tools/testing/selftests
[ -d "$selftests/ring-buffer" ] || die "there are no tests in tools/testing/selftests/ring-buffer"

make_tests()
{
	make -C "$selftests/ring-buffer" OUTPUT="$work/with" \
	     KHDR_INCLUDES="-isystem $work/tree/usr/include" "$@"
}
step "building the selftests" "selftests-$FLAVOUR" make_tests
make_tests -s --no-print-directory COLLECTION=ring-buffer emit_tests | sed 's/.*://' >"$work/with/list"

# Each program says its plan first: one that dies is missed by its results.
# shellcheck disable=SC2016 # the guest's shell expands it
WITH=$work/with LIMIT=${LIMIT:-1200} "$harness/guest.sh" '
	status=0
	for t in $(cat list); do
		echo "# $t"
		./$t || status=1
	done
	exit $status'
