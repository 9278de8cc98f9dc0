#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# deb.sh [FOLDER]: make Debian packages of libtracemap and the tracemap command
# from a copy of what they are made of; print their paths. SOURCE=yes makes the
# source package, too.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/version.sh"

out=${1:-$top/build/deb}
parts=(tools/lib/tracemap tools/tracing/tracemap include/uapi/linux/trace_{mmap,live}.h)

copy_sources()
{
	mkdir "$1"
	tar -C "$top" --exclude=build --exclude='*.o' -c "${parts[@]}" | tar -C "$1" -x
	cp -R "$harness/debian" "$1/debian"
	mkdir "$1/debian/source"
	echo '3.0 (native)' >"$1/debian/source/format"
	changelog tracemap "$(project_version)" "$(changed "${parts[@]}" tools/harness/debian)" \
		"As built from the sources of this version." >"$1/debian/changelog"
	# As if every umask were the same.
	chmod -R u=rwX,go=rX "$1"
}

# Nobody keeps the symbols of a package that was made here.
build()
{
	cd "$work/tracemap" || return
	DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS:-}" \
		dpkg-buildpackage --build="${SOURCE:+source,}binary" -us -uc
}

scratch
copy_sources "$work/tracemap"
step "building the Debian packages" deb build
mkdir -p "$out"
rm -f "$out"/{tracemap,libtracemap{1,-event1,-dev}}_*.deb
cp "$work"/*.deb "$out"
[ -z "${SOURCE:-}" ] || cp "$work"/*.{dsc,tar.xz} "$out"
printf '%s\n' "$work"/*.deb | sed "s,^.*/,$out/,"
