#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/bpf.sh: the library with a real BPF program, on a kernel as a tracing
# user has it. The second time, the sanitizers are in it.

. "$(dirname "$0")/../shared/start.sh"

# build DIR CFLAGS LDFLAGS
build()
{
	make -C "$top/tools/lib/tracemap" O="$work/$1" CFLAGS="$2" LDFLAGS="$3" \
		"$work/$1"/{opens.bpf.o,bpf_guest}
	mkdir -p "$work/with/$1"
	cp "$work/$1"/{opens.bpf.o,bpf_guest} "$work/with/$1"
}

build_both()
{
	build plain '-O2 -g' -static
	build sanitized '-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' ''
}

scratch
step "building the test of maps of BPF programs" bpf build_both
cp "$harness/guest/bpf.guest" "$work/with/bpf"
# BINS= brings the sanitizers' libraries.
SMP=4 BINS=$work/with/sanitized/bpf_guest WITH=$work/with LIMIT=${LIMIT:-300} \
	"$harness/verbs/guest.sh" 'sh ./bpf'
