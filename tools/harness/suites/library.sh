#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/library.sh [host|ours|stock|6.12|special|formats|cost]...: libtracemap.
# First what needs no kernel, under the sanitizers; then the same test program in a
# guest of our kernel, of BASE without patches and of 6.12 without, and in guests with
# much memory and with a CPU that is not up yet; then the text of every event that
# our kernel and 6.12 have, beside libtraceevent's; then what merging costs, in a
# guest whose clock counts instructions. The default is all.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

library=$top/tools/lib/tracemap

# shellcheck disable=SC2317 # step calls it
build()
{
	make -C "$library" O="$work/lib"
	gcc -O2 -g -static -Wall -Wextra -Werror -I"$library" \
		-idirafter "$top/include/uapi" -o "$work/with/lib_guest" \
		"$library"/tests/*.c "$work/lib/libtracemap.a" -pthread
	gcc -O2 -static -Wall -Wextra -Werror -D_FILE_OFFSET_BITS=64 -I"$library" \
		-idirafter "$top/include/uapi" -o "$work/with/merge_cost" \
		"$library"/tests/cost/merge_cost.c "$work/lib/libtracemap.a"
	# shellcheck disable=SC2046 # several flags
	gcc -O2 -static -Wall -Wextra -Werror -D_FILE_OFFSET_BITS=64 -I"$library" \
		-idirafter "$top/include/uapi" $(pkg-config --cflags libtraceevent) \
		-o "$work/with/event_test" "$library"/event*.c "$work/lib/libtracemap.a" \
		$(pkg-config --static --libs libtraceevent)
}

declare -A abilities=([ours]='read,map,live' [6.1]=read [6.12]='read,map')
abilities[stock]=${abilities[$linux]}

# on KERNEL COMMAND: run it in a guest of that kernel, whose name is in the results
on()
{
	WITH=$work/with LIMIT=${LIMIT:-900} on_kernel "$1" "$harness/verbs/guest.sh" "$2" >"$work/said" || status=1
	results_on "$1" "$work/said"
}

# guest KERNEL [PART OF A TEST'S NAME]
guest() { on "$1" "./lib_guest '${abilities[$1]}' '${2:-}'"; }

# Each event's compiled print format, on the events of the guest's kernel.
formats() { on "$1" './event_test /sys/kernel/tracing'; }

# What huge buffers need is memory; that they are mapped by 4 KiB pages is slow.
special()
{
	local kernel
	MEM=5G guest ours 'more than 2 GiB'
	for kernel in ours stock 6.12; do
		APPEND=maxcpus=1 guest "$kernel" 'a CPU comes up'
	done
}

cost()
{
	ICOUNT=yes WITH=$work/with "$harness/verbs/guest.sh" "./merge_cost instructions" || status=1
}

scratch
mkdir "$work/with"
status=0
[ $# -gt 0 ] || set -- host ours stock 6.12 special formats cost
step "building libtracemap and its test" lib build
for what; do
	case $what in
	host)
		echo 1..1
		check "make check" make -C "$library" O="$work/lib" check
		;;
	ours|stock|6.12) guest "$what" ;;
	special)	special ;;
	formats)	formats ours; formats 6.12 ;;
	cost)		cost ;;
	*)		die "library.sh $what: not one of host, ours, stock, 6.12, special, formats, cost" ;;
	esac
done
exit $status
