# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# The library's manual pages and the programs in them. Source it after start.sh,
# with a scratch folder: the library is installed in $work/prefix.

library=$top/tools/lib/tracemap
pages=("$library"/man/*.3)

install_library()
{
	# page.awk may use nothing that POSIX awk does not have: Debian's default is mawk.
	make -C "$library" O="$work/lib" prefix="$work/prefix" AWK='gawk --posix' install
	[ -e "$work/prefix/lib/libtracemap-event.so" ]
	[ -e "$work/prefix/lib/libtracemap-dat.so" ]
}

# made PAGE: the page that was installed, which is made of this one
made() { echo "$work/prefix/share/man/man3/${1##*/}"; }

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
	"$library/man/page.sh" example "$(made "$page")" >"$name"
	# shellcheck disable=SC2086
	gcc -O2 -Wall -Wextra -Werror ${4:-} -x ${language/ / -std=} "$name" -x none \
		-o "$output" $flags
}
