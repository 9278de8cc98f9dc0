#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/uapi.sh: the uapi header compiles by itself wherever programs include
# it, with the same layout everywhere.

. "$(dirname "$0")/../check-lib.sh"

header=$top/include/uapi/linux/trace_mmap.h

# What the contract's table says, offset by offset.
layout()
{
	cat <<-EOC
	#include <stddef.h>
	#include <linux/ioctl.h>
	#include <linux/trace_mmap.h>
	#define AT(member, offset) \\
		_Static_assert(offsetof(struct trace_buffer_meta, member) == offset, #member)
	AT(meta_page_size, 0); AT(meta_struct_len, 4); AT(subbuf_size, 8); AT(nr_subbufs, 12);
	AT(reader.lost_events, 16); AT(reader.id, 24); AT(reader.read, 28); AT(flags, 32);
	AT(entries, 40); AT(overrun, 48); AT(read, 56); AT(pages_lost, 64); AT(pages_touched, 72);
	_Static_assert(sizeof(struct trace_buffer_meta) == 80, "size");
	_Static_assert(TRACE_MMAP_IOCTL_GET_READER == _IO('R', 0x20), "ioctl");
	EOC
}

compiles()
{
	"$@" -fsyntax-only -Wall -Wextra -Werror -I "$work/include" \
		-isystem "/usr/include/$(gcc -print-multiarch)" -
}

alone()    { echo '#include <linux/trace_mmap.h>' | compiles "$@"; }
laid_out() { layout | compiles "$@"; }

mkdir -p "$work/include/linux"
cp "$header" "$work/include/linux/"
echo 1..6
check "uapi: compiles as C90"			alone gcc -std=c90 -x c
check "uapi: compiles as C++"			alone g++ -x c++
check "uapi: names clash with nothing of POSIX"	alone gcc -std=c11 -D_GNU_SOURCE -include sys/ioctl.h -x c
check "uapi: the layout, 64 bit"		laid_out gcc -std=gnu11 -x c
check "uapi: the layout, 32 bit"		laid_out gcc -m32 -std=gnu11 -x c
check "uapi: exported by headers_install"	sh -c "grep -q 'WITH Linux-syscall-note' '$header' && ! grep -nE '__(user|KERNEL__)' '$header'"
