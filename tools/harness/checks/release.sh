#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/release.sh: all files that contain the version have the same one. A release that
# is made twice is the same bytes, and its checksums are right.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

# release FOLDER: a draft, since whoever tests may be about to commit
release()
{
	GIT_CONFIG_COUNT=2 \
	GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0='The Harness' \
	GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=harness@localhost \
	DRAFT=yes "$harness/verbs/release.sh" "$1"
}

# As another user would, in another folder and later.
release_again()
{
	umask 077
	mkdir "$work/elsewhere"
	TMPDIR=$work/elsewhere release "$work/second"
}

same_bytes() { diff -r "$work/first" "$work/second"; }

sums_right() { cd "$work/first" && sha256sum -c SHA256SUMS && [ "$(find . -type f | wc -l)" -eq $(($(wc -l <SHA256SUMS) + 1)) ]; }

# What is in the tarball is what git am takes.
series_whole()
{
	tar -C "$work" -xzf "$work"/first/ringmap-*-series-*.tar.gz
	[ "$(find "$work"/ringmap-* -name "[0-9]*.patch" | wc -l)" = \
		"$(. "$harness/shared/patch-files.sh"; mailed_topics | while read -r t; do topic_patches "$t"; done | wc -l)" ]
}

source_package() { dpkg-source --no-check -x "$work"/first/tracemap_*.dsc "$work/source" && [ -e "$work/source/debian/rules" ]; }

# refuses WORDS: in the clone, before anything is made
refuses()
{
	! "$work/clone/tools/harness/verbs/release.sh" "$work/none" 2>"$work/why"
	cat "$work/why"
	grep -q "$1" "$work/why"
	[ ! -e "$work/none" ]
}

refuses_untagged()
{
	git -c safe.directory='*' clone -q --no-tags --no-hardlinks "$top" "$work/clone"
	refuses 'does not have the tag'
}

refuses_uncommitted()
{
	: >"$work/clone/uncommitted"
	refuses 'not committed'
}

scratch
echo 1..9
check "release: all that tells a version tells the same" "$harness/verbs/set-version.sh"
check "release: it is made" release "$work/first"
check "release: its checksums are right, and of all of it" sums_right
check "release: the tarball has every patch" series_whole
check "release: the source package unpacks" source_package
check "release: it is made again" release_again
check "release: both are the same, byte for byte" same_bytes
check "release: a commit without its tag is refused" refuses_untagged
check "release: changes that are not committed are refused" refuses_uncommitted
