# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The samples for a guest: statically linked, in the folder $work/with. Source
# it after userland.sh and find_base.

compile_samples()
{
	make -C "$work/tree/samples/trace_mmap" STATIC=1 O="$work/with"
}

build_samples()
{
	user_tree "$work/tree"
	mkdir -p "$work/with"
	step "building the samples" samples compile_samples
}
