# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What programs of the series build against: a slice of a kernel tree with
# the kselftest headers of the base, the series' uapi headers installed, and
# the series' own programs. Source it after source.sh and find_base.

# The tests of what is not promised on this base, as PROGRAM TEST. The series for 6.1
# keeps all there is.
not_promised() { [ "$linux" = 6.1 ] || "$harness/verbs/promises.py" "$top" not-on "$linux"; }

# tests_run WAY: the selftests of which tests.mk says that they are run so
tests_run()
{
	sed -nE "s/^RUN_([a-z0-9_]+) :=( .*)? $1( .*)?\$/\1/p" \
		"$top/tools/testing/selftests/ring-buffer/tests.mk" | sort
}

user_tree()
{
	local tree=$1 f

	mkdir -p "$tree/tools/testing/selftests" "$tree/usr/include"
	cp -r "$base"/tools/testing/selftests/{lib.mk,kselftest,kselftest.h,kselftest_harness.h} \
		"$tree/tools/testing/selftests/"
	for f in tools/testing/selftests/ring-buffer tools/lib/tracemap tools/tracing/tracemap \
			samples/trace_mmap; do
		[ ! -d "$top/$f" ] || { mkdir -p "$tree/$(dirname "$f")"; cp -r "$top/$f" "$tree/$f"; }
	done
	mkdir -p "$tree/include"
	cp -r "$top/include/uapi" "$tree/include/uapi"
	cp -r "$top/include/uapi/." "$tree/usr/include/"
}
