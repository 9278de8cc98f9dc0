#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/arch.sh NAME: the kernel of a machine of arch/ is built, without a
# warning, and booted, if that is not one that is only built.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/machines.sh"
. "$harness/shared/tap.sh"

name=$1
load_arch "$name"
export FLAVOUR=${kernel:-$name}

builds()
{
	"$harness/verbs/kernel.sh" >"$work/image"
	# Of other files the compiler says the same on the stock kernel.
	! grep -F -f "$work/ours" "$(cat "$work/image")/warnings"
}

boots()
{
	"${user_cross}gcc" -O2 -Wall -Wextra -Werror -static -o "$work/with/machine" "$harness/guest/machine.c"
	WITH=$work/with "$harness/verbs/guest.sh" ./machine >"$work/machine"
}

scratch
mkdir "$work/with"
{ edited_files; new_files; } | sed 's,.*,/&:,' >"$work/ours"
echo "1..$((only_built ? 1 : 2))"
check "the $name kernel builds without a warning" builds
((only_built)) || check "the $name kernel boots" boots
cat "$work/machine" 2>/dev/null || :
