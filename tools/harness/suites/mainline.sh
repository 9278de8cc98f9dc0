#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/mainline.sh [ARCH]: mainline's own selftests of what the series brings,
# unmodified, out of Debian's linux-source-6.12: the one of the mapping, built against
# our header, and those of ftrace that set the size of sub-buffers, take a snapshot and
# write markers. The suite reads these, what they include and what runs them from the
# tarball, and nothing else. The test of the mapping runs twice, the second time while
# another instance is observed. On an ARCH, only the test of the mapping runs, once.
#
# MAP-1, SUBBUF-18

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/sample-build.sh"
. "$harness/shared/machines.sh"

peer=/usr/src/linux-source-6.12.tar.xz
selftests=linux-source-6.12/tools/testing/selftests
files=(ring-buffer/map_test.c user_events/user_events_selftests.h
       kselftest.h kselftest_harness.h ftrace/ftracetest ftrace/test.d/functions
       ftrace/test.d/00basic/{ringbuffer_subbuf_size,snapshot1,trace_marker}.tc)
tree=$cache/mainline-6.12-$(cksum <<<"${files[*]}" | tr ' ' -)

unpack()
{
	rm -rf "$tree.new"
	mkdir "$tree.new"
	tar -C "$tree.new" --strip-components=4 -xf "$peer" \
		"${files[@]/#/$selftests/}"
	mv "$tree.new" "$tree"
}

build()
{
	mkdir -p "$work/include/linux" "$work/with"
	cp "$top/include/uapi/linux/trace_mmap.h" "$work/include/linux/"
	"${user_cross}gcc" -O2 -Wall -static -D_GNU_SOURCE -isystem "$work/include" \
		-o "$work/with/map_test" "$tree/ring-buffer/map_test.c"
}

load_arch "${1:-default}"
scratch
[ -r "$peer" ] || die "$peer is not there: apt-get install linux-source-6.12"
(
	hold_lock mainline
	[ "$tree" -nt "$peer" ] || step "unpacking mainline's selftests" mainline-unpack unpack
)
step "building mainline's map_test.c" mainline-build build
if [ $# -gt 0 ]; then
	FLAVOUR=${kernel:-$1} WITH=$work/with LIMIT=${LIMIT:-300} "$harness/verbs/guest.sh" ./map_test
	exit
fi
find_base
build_samples
cp "$harness/guest/mainline.guest" "$work/with/mainline"
cp -r "$tree/ftrace" "$work/with/ftrace"
WITH=$work/with LIMIT=${LIMIT:-300} "$harness/verbs/guest.sh" 'sh ./mainline'
