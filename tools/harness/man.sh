# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# The library's manual pages and the programs in them. Source it after lib.sh,
# with a scratch folder: the library is installed in $work/prefix.

library=$top/tools/lib/tracemap
pages=("$library"/man/*.3)

install_library()
{
	make -C "$library" O="$work/lib" PREFIX="$work/prefix" install
	[ -e "$work/prefix/lib/libtracemap-event.so" ]
	[ -e "$work/prefix/lib/libtracemap-bpf.so" ]
}

# header PAGE: tracemap.h, or whichever the page says it is about
header() { "$library/man/page.sh" synopsis "$1" | sed -n 's|^#include <tracemap/\(.*\)>|\1|p'; }

# modules PAGE: the names that its reader gives to pkg-config
modules() { sed -n 's/^\.RI "cc .*\\-\\-libs \(.*\))"$/\1/p' "$1" | sed 's/\\-/-/g'; }

pc() { PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config "$@"; }

# example PAGE LANGUAGE OUTPUT [-static]: compile the program of a page
example()
{
	local page=$1 language=$2 output=$3 flags name
	flags=$(modules "$page")
	# shellcheck disable=SC2086 # they are words
	flags=$(pc ${4:+--static} --cflags --libs ${flags:-libtracemap})

	name=$work/$(basename "$page" .3).c
	"$library/man/page.sh" example "$page" >"$name"
	# shellcheck disable=SC2086
	gcc -O2 -Wall -Wextra -Werror ${4:-} -x ${language/ / -std=} "$name" -x none \
		-o "$output" $flags
}
