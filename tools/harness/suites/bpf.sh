#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/bpf.sh: libtracemap-bpf with a real BPF program: the sample's three
# uses of perf buffers, on a kernel as a tracing user has it.

. "$(dirname "$0")/../lib.sh"

sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'

build()
{
	mkdir -p "$work/with" "$work/sanitized"
	make -C "$top/samples/tracemap_bpf" STATIC=1 O="$work/with"
	make -C "$top/samples/tracemap_bpf" CFLAGS="-O1 -g $sanitize" O="$work/sanitized"
}

scratch
step "building the sample of perf buffers" bpf build
cp "$harness/suites/bpf.guest" "$work/with/bpf"
cp "$work/sanitized/tracemap_bpf" "$work/with/sanitized"
# BINS= brings the sanitizers' libraries.
SMP=4 BINS=$work/sanitized/tracemap_bpf WITH=$work/with LIMIT=${LIMIT:-300} \
	"$harness/guest.sh" 'sh ./bpf'
