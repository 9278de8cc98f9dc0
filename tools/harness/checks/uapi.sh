#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/uapi.sh: the uapi headers compile by themselves wherever programs
# include them, with the same layout everywhere.

. "$(dirname "$0")/../shared/findings.sh"

headers=("$top"/include/uapi/linux/trace_{mmap,live}.h)

# What META-1 and LIVE-1 promise, offset by offset.
layout()
{
	cat <<-EOC
	#include <stddef.h>
	#include <linux/ioctl.h>
	#include <linux/trace_mmap.h>
	#include <linux/trace_live.h>
	#define IN(struct_name, member, offset) \\
		_Static_assert(offsetof(struct struct_name, member) == offset, #member)
	#define AT(member, offset) IN(trace_buffer_meta, member, offset)
	AT(meta_page_size, 0); AT(meta_struct_len, 4); AT(subbuf_size, 8); AT(nr_subbufs, 12);
	AT(reader.lost_events, 16); AT(reader.id, 24); AT(reader.read, 28); AT(flags, 32);
	AT(entries, 40); AT(overrun, 48); AT(read, 56); AT(pages_lost, 64); AT(pages_touched, 72);
	_Static_assert(sizeof(struct trace_buffer_meta) == 80, "size");
	_Static_assert(TRACE_MMAP_IOCTL_GET_READER == _IO('R', 0x20), "ioctl");
	IN(trace_live_index, struct_len, 0); IN(trace_live_index, entry_size, 4);
	IN(trace_live_index, entries_offset, 8); IN(trace_live_index, subbufs_offset, 16);
	IN(trace_live_index, mapping_size, 24); IN(trace_live_index, nr_slots, 32);
	IN(trace_live_index, nr_subbufs, 36); IN(trace_live_index, subbuf_size, 40);
	IN(trace_live_index, data_offset, 44); IN(trace_live_index, commit_offset, 48);
	IN(trace_live_index, reserved, 52); IN(trace_live_index, first, 64);
	IN(trace_live_index, commit_generation, 72); IN(trace_live_index, overwritten, 80);
	IN(trace_live_index, dropped, 88); IN(trace_live_index, reserved2, 96);
	IN(trace_live_index, read, 128);
	IN(trace_live_index, reserved3, 136);
	IN(trace_live_subbuf, generation, 0); IN(trace_live_subbuf, before, 8);
	IN(trace_live_subbuf, id, 16); IN(trace_live_subbuf, size, 20);
	IN(trace_live_position, size, 0); IN(trace_live_position, read, 4);
	IN(trace_live_position, generation, 8); IN(trace_live_position, bytes, 16);
	_Static_assert(sizeof(struct trace_live_index) == 192, "size");
	_Static_assert(sizeof(struct trace_live_subbuf) == 24, "size");
	_Static_assert(sizeof(struct trace_live_position) == 24, "size");
	_Static_assert(TRACE_LIVE_IOCTL_SET_POSITION == 0x40185e00, "ioctl");
	EOC
}

compiles()
{
	"$@" -fsyntax-only -Wall -Wextra -Werror -I "$work/include" \
		-isystem "/usr/include/$(gcc -print-multiarch)" -
}

one()      { echo "#include <linux/trace_$1.h>" | compiles "${@:2}"; }
alone()    { one mmap "$@" && one live "$@"; }
laid_out() { layout | compiles "$@"; }

exported()
{
	local h

	for h in "${headers[@]}"; do
		grep -q 'WITH Linux-syscall-note' "$h" || return
		! grep -nE '__(user|KERNEL__)' "$h" || return
	done
}

mkdir -p "$work/include/linux"
cp "${headers[@]}" "$work/include/linux/"
echo 1..6
check "uapi: compiles as C90"			alone gcc -std=c90 -x c
check "uapi: compiles as C++"			alone g++ -x c++
check "uapi: names clash with nothing of POSIX"	alone gcc -std=c11 -D_GNU_SOURCE -include sys/ioctl.h -x c
check "uapi: the layout, 64 bit"		laid_out gcc -std=gnu11 -x c
check "uapi: the layout, 32 bit"		laid_out i686-linux-gnu-gcc -std=gnu11 -x c
check "uapi: exported by headers_install"	exported
