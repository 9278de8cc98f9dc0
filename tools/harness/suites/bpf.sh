#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/bpf.sh: libtracemap-bpf with a real BPF program, on a kernel as a tracing
# user has it: the sample, and a test of what the sample does not do. The second
# time, both have the sanitizers in them.

. "$(dirname "$0")/../shared/start.sh"

sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
sample=$top/samples/tracemap_bpf
library=$top/tools/lib/tracemap

# build DIR CFLAGS [STATIC]
build()
{
	mkdir -p "$1"
	make -C "$sample" STATIC="${3:-}" O="$1" CFLAGS="$2"
	# shellcheck disable=SC2046,SC2086 # several flags
	gcc $2 ${3:+-static} -Wall -Wextra -Werror -I"$sample" -I"$library" -o "$1/perf_guest" \
		"$library/tests/bpf/perf_guest.c" "$1"/tracemap/libtracemap{-bpf,}.a \
		$(pkg-config ${3:+--static} --libs libbpf)
}

build_both()
{
	build "$work/plain" '-O2 -g' yes
	build "$work/with/sanitized" "-O1 -g $sanitize"
}

scratch
mkdir "$work/with"
step "building the sample of perf buffers, and its test" bpf build_both
cp "$work"/plain/{tracemap_bpf,opens.bpf.o,perf_guest} "$work/with/"
cp "$harness/guest/bpf.guest" "$work/with/bpf"
rm -r "$work/with/sanitized/tracemap"
# BINS= brings the sanitizers' libraries.
SMP=4 BINS=$work/with/sanitized/tracemap_bpf WITH=$work/with LIMIT=${LIMIT:-300} \
	"$harness/verbs/guest.sh" 'sh ./bpf'
