#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# tree.sh DIR: DIR becomes a git tree of the kernel: the base, with the tag "base", and a
# commit for each patch of the series on it, which "make import" takes back. It has
# compile_commands.json and .clangd, which git ignores there, for editors that know clangd.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"

tree=${1:-}
[ -n "$tree" ] || die "which folder? make tree TREE=dir"
[ ! -e "$tree" ] || die "$tree is there already: name a folder that is not, or remove it"

in_tree() { git -C "$tree" "$@"; }

# git's own ignore files name what is in Debian's tarball: -f.
commit_tree()
{
	cp -a "$base" "$tree"
	git init -q -b master "$tree"
	# import.sh looks what was changed here since.
	git -C "$top" rev-parse -q --verify HEAD >"$tree/.git/made-from" || rm "$tree/.git/made-from"
	# git would pack 80,000 files in the background, for minutes of both processors.
	in_tree config gc.auto 0
	in_tree config user.name >/dev/null || in_tree config user.name "$(git -C "$top" config user.name || echo me)"
	in_tree config user.email >/dev/null || in_tree config user.email "$(git -C "$top" config user.email || echo me@localhost)"
	in_tree add -A -f
	in_tree commit -q -m "Linux $(kernel_version "$base")"
	in_tree tag base
	for p in $(series_patches); do commit_patch "$p" "$tree"; done
}

# What kbuild has noted in the build of the default kernel, which is where the headers that it
# has generated are, too.
write_commands()
{
	printf '%s\n' compile_commands.json .clangd .cache >>"$tree/.git/info/exclude"
	hold_lock source
	"$harness/verbs/compile_commands.py" kernel "$cache/src-$base_id" "$cache/build-$base_id-default" "$tree"
}

scratch
find_base
step "making $tree" tree commit_tree
FLAVOUR=default "$harness/verbs/kernel.sh" >/dev/null
step "writing compile_commands.json and .clangd" tree-commands write_commands
say "-- $(in_tree rev-list --count base..) commits on Linux $(kernel_version "$base"): change them there, then make import TREE=$tree"
