#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/man.sh: the examples of the library's manual pages do in the guest
# what the pages say. Those that need no kernel are in checks/man.sh.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/pages.sh"

build()
{
	local page
	install_library
	for page in "${pages[@]}"; do
		example "$page" 'c gnu99' "$work/with/$(basename "$page" .3)" -static
	done
	make -C "$library" O="$work/lib" "$work/lib/opens.bpf.o"
	cp "$work/lib/opens.bpf.o" "$work/with"
}

scratch
mkdir "$work/with"
step "building the examples of the manual" man-guest build
cp "$harness/guest/man.guest" "$work/with/man"
WITH=$work/with LIMIT=${LIMIT:-300} "$harness/verbs/guest.sh" 'sh ./man'
