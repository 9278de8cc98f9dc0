#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/deb.sh: the Debian packages are made, say what they need, have each
# file once, and what is in them can be used, from a scratch folder.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

names=(libtracemap1 libtracemap-event1 libtracemap-dat1 libtracemap-dev tracemap)
libdir=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)

# deb NAME: where this package is
deb() { echo "$work/deb/$1_${version}_$(dpkg --print-architecture).deb"; }

make_packages()
{
	local name
	"$harness/verbs/deb.sh" "$work/deb" >"$work/made"
	for name in "${names[@]}"; do
		deb "$name"
	done | sort | diff - "$work/made"
}

# contents: of all packages, each file and link
contents()
{
	local package
	for package in "$work"/deb/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -t | grep -v '/$'
	done
}

each_file_once()
{
	contents >"$work/contents"
	[ -s "$work/contents" ]
	sort "$work/contents" | uniq -d >"$work/twice"
	cat "$work/twice"
	[ ! -s "$work/twice" ]
}

# needs PACKAGE NAME...: these packages and no others
needs()
{
	dpkg-deb -f "$(deb "$1")" Pre-Depends Depends | sed 's/^[^:]*: *//' |
		tr ',' '\n' | awk 'NF { print $1 }' | sort | diff <(printf '%s\n' "${@:2}" | sort) -
}

unpack()
{
	local package
	for package in "$work"/deb/*.deb; do
		dpkg-deb -x "$package" "$work/root"
	done
}

run_command()
{
	LD_LIBRARY_PATH=$work/root/$libdir "$work/root/usr/bin/tracemap" --version >"$work/said"
	cat "$work/said"
	[ "$(cat "$work/said")" = "tracemap $version" ]
}

# Where they would be, if the scratch folder were the root.
pc()
{
	PKG_CONFIG_PATH=$work/root/$libdir/pkgconfig pkg-config \
		--define-variable=libdir="$work/root/$libdir" \
		--define-variable=includedir="$work/root/usr/include" "$@"
}

# builds LIBRARY PROGRAM [-static]: compile it as its users do, run it, expect "read"
builds()
{
	# shellcheck disable=SC2046,SC2086 # they are words
	gcc -Wall -Wextra -Werror ${3:-} -x c - -x none -o "$work/program" \
		$(pc ${3:+--static} --cflags --libs "$1") <<<"$2"
	LD_LIBRARY_PATH=$work/root/$libdir "$work/program" >"$work/said"
	cat "$work/said"
	[ "$(cat "$work/said")" = read ]
}

core='#include <stdio.h>
#include <tracemap/tracemap.h>
int main(void)
{
	return puts(tracemap_way_name(TRACEMAP_READ)) < 0;
}'

event='#include <stdio.h>
#include <tracemap/tracemap-event.h>
int main(void)
{
	struct tracemap_line line = { 0 };
	tracemap_line_put(&line, "read", 4);
	puts(line.text);
	tracemap_line_free(&line);
	return 0;
}'

dat='#include <stdio.h>
#include <tracemap/tracemap-dat.h>
int main(void)
{
	tracemap_dat_close(NULL);
	puts("read");
	return 0;
}'

# found NAME...: its man page, by this name, through links that lead somewhere
found()
{
	local name
	for name; do
		zgrep -q '^\.TH' "$work/root/usr/share/man/man${name##*.}/$name.gz" ||
			{ echo "no page $name"; return 1; }
	done
	[ -z "$(find "$work/root" -xtype l)" ]
}

# By another user, in another place, as it were
the_same_again()
{
	(umask 077; mkdir "$work/elsewhere"; TMPDIR=$work/elsewhere "$harness/verbs/deb.sh" "$work/again")
	(cd "$work/deb" && sha256sum ./*.deb) >"$work/sums"
	cat "$work/sums"
	cd "$work/again" && sha256sum -c "$work/sums"
}

lint() { lintian --fail-on error,warning "$work"/deb/*.deb; }

scratch
version=$(sed -n 's/^VERSION := //p' "$top/tools/lib/tracemap/Makefile")
echo 1..16
check "deb: the packages are made" make_packages
check "deb: made again, they are the same to the byte" the_same_again
check "deb: no file is in two packages" each_file_once
check "deb: libtracemap1 needs the C library only" needs libtracemap1 libc6
check "deb: libtracemap-event1 needs what decodes" \
	needs libtracemap-event1 libc6 libtraceevent1
check "deb: libtracemap-dat1 needs what compresses" \
	needs libtracemap-dat1 libc6 libtracemap1 libzstd1
check "deb: libtracemap-dev needs the libraries, and what their .pc files name" \
	needs libtracemap-dev libtracemap1 libtracemap-event1 libtracemap-dat1 \
	libtraceevent-dev libzstd-dev
check "deb: the command needs the shared libraries" \
	needs tracemap libc6 libtracecmd1 libtraceevent1 libtracemap1 libtracemap-event1 libzstd1
check "deb: lintian finds no error and warns of nothing" lint
check "deb: they are unpacked" unpack
check "deb: the command runs and has the version of the package" run_command
check "deb: a program builds with libtracemap.pc and runs" builds libtracemap "$core"
check "deb: a program links the static libtracemap" builds libtracemap "$core" -static
check "deb: a program builds with libtracemap-event.pc and runs" builds libtracemap-event "$event"
check "deb: a program builds with libtracemap-dat.pc and runs" builds libtracemap-dat "$dat"
check "deb: manual pages are found by each name" \
	found tracemap.1 tracemap-stat.1 libtracemap.3 subbuf_next.3 tracemap_bpf_close.3 \
	tracemap_dat_take.3
