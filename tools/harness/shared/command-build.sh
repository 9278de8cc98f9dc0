# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The tracemap command for a guest, in the folder $work/with. Source it after
# userland.sh and find_base.

compile_command()
{
	make -C "$work/tree/tools/tracing/tracemap" STATIC=1 O="$work/command"
	cp "$work/command/tracemap" "$work/with/"
}

build_command()
{
	[ -d "$work/tree" ] || user_tree "$work/tree"
	mkdir -p "$work/with"
	step "building tracemap" tracemap compile_command
}

# With the address and the undefined-behaviour sanitizer; these do not work in
# a static program: its libraries go to the guest by $BINS.
compile_sanitized()
{
	make -C "$work/tree/tools/tracing/tracemap" SANITIZE=address,undefined O="$work/sanitized"
	cp "$work/sanitized/tracemap" "$work/with/"
}

build_sanitized_command()
{
	[ -d "$work/tree" ] || user_tree "$work/tree"
	mkdir -p "$work/with"
	step "building tracemap with sanitizers" tracemap-sanitized compile_sanitized
	export BINS="$work/with/tracemap"
}
