#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1
#
# exports.sh PATH/libNAME MAP HEADER...: what the headers declare is what the map
# lists, what the shared library exports under the map's version, and what the
# archive lets be seen; no more and no less.

lib=$1 map=$2
shift 2
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

# Prototypes begin at the start of a line.
sed -n '/^static\|^typedef/d; s/^[a-z][^(]*[ *]\(tracemap_[a-z0-9_]*\)(.*/\1/p' "$@" |
	sort >"$out/header"
sed -n 's/^[[:blank:]]*\(tracemap_[a-z0-9_]*\);.*/\1/p' "$map" | sort >"$out/map"
version=$(sed -n 's/^\([A-Z0-9_]*\) {$/\1/p' "$map" | tail -n 1)
nm -D --defined-only "$lib.so" | sed -n "s/.* T \(.*\)@@$version\$/\1/p" | sort >"$out/shared"
nm -D --defined-only "$lib.so" | grep -vc " A $version" >"$out/shared.all"
nm -g --defined-only "$lib.a" | sed -n 's/^[0-9a-f]* . //p' | sort >"$out/archive"

ret=0
for i in map shared archive; do
	diff -U0 "$out/header" "$out/$i" || { echo "$lib: $* and its $i differ"; ret=1; }
done
[ "$(wc -l <"$out/header")" -gt 0 ] || { echo "$* declare nothing"; ret=1; }
[ "$(cat "$out/shared.all")" -eq "$(wc -l <"$out/shared")" ] ||
	{ echo "$lib.so exports what is not of $version"; ret=1; }
exit $ret
