#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1
#
# page.sh names PAGE: what its NAME section names, a line each
# page.sh install FOLDER PAGE...: copy pages, and let the other names link to them
# page.sh uninstall FOLDER PAGE...: remove these from there
# page.sh example PAGE: the C of this section as its reader sees it; takes mandoc

names()
{
	awk '/^\.SH/ { inside = $2 == "NAME"; next }
		inside && !done { done = sub(/\\-.*/, ""); gsub(/[, ]+/, "\n"); print }' "$1" |
		grep .
}

install_pages()
{
	folder=$1
	shift
	mkdir -p "$folder" || return
	for page; do
		own=$(basename "$page" .3)
		install -m 644 "$page" "$folder/$own.3" || return
		for name in $(names "$page"); do
			[ "$name" = "$own" ] ||
				echo ".so man3/$own.3" >"$folder/$name.3" || return
		done
	done
}

uninstall_pages()
{
	folder=$1
	shift
	for page; do
		for name in $(basename "$page" .3) $(names "$page"); do
			rm -f "$folder/$name.3" || return
		done
	done
}

# Section titles begin lines. The program is below the words that say what it does.
example()
{
	mandoc -Tascii -Owidth=120 "$1" | sed 's/.\x08//g' |
		awk '/^[A-Z]/ { inside = $0 == "EXAMPLE"; next }
			inside { sub(/^ {7}/, ""); print }' | sed -n '/^#include/,$p'
}

case $1 in
names)		names "$2" ;;
install)	shift; install_pages "$@" ;;
uninstall)	shift; uninstall_pages "$@" ;;
example)	example "$2" ;;
*)		echo "page.sh $1: not one of names, install, uninstall, example" >&2; exit 2 ;;
esac
