#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# set-version.sh: name the files whose version is not that of tools/harness/version.
# set-version.sh X.Y.Z: make that the version of all of them.
#
# The library, the command and their pages can leave this repository without
# the harness, so each contains the number.

. "$(dirname "$0")/../shared/start.sh"

telling() { (cd "$top" && echo tools/lib/tracemap/{Makefile,version.h,man/*.3} tools/tracing/tracemap/man/*.1); }

# with_version FILE: as it has to be
with_version()
{
	sed -E "s/^(VERSION := ).*/\1$version/
		s/^(#define TRACEMAP_VERSION\t\").*\"/\1$version\"/
		s/^(\.TH .*\"(lib)?tracemap )[^\"]*\"/\1$version\"/" "$1"
}

# Without a version in it, a file would never differ from what it should be.
tells() { grep -qE '^(VERSION := |#define TRACEMAP_VERSION	"|\.TH .*"(lib)?tracemap )' "$1"; }

file=$harness/version
version=${1:-$(cat "$file")}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "a version has three numbers, 0.1.0, not \"$version\""
scratch
cd "$top" || exit
wrong=()
for f in $(telling); do
	with_version "$f" >"$work/new"
	if ! tells "$f"; then
		wrong+=("$f")
	elif ! cmp -s "$work/new" "$f"; then
		if [ $# -gt 0 ]; then cat "$work/new" >"$f"; else wrong+=("$f"); fi
	fi
done
[ $# -eq 0 ] || echo "$version" >"$file"
grep -qE "^## ${version//./\\.}( |$)" CHANGELOG.md || wrong+=("CHANGELOG.md: there is no \"## $version\"")
[ ${#wrong[@]} -eq 0 ] ||
	die "these do not tell version $version (tools/harness/verbs/set-version.sh $version sets it):" "${wrong[@]}"
