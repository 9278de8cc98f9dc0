#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# import.sh TREE [BRANCH [FIRST]]: the commits FIRST..BRANCH (base..HEAD) of a
# git tree of the kernel become the patches in patches/$BASE and the new files
# of the series.
#
# A commit stays in the topic where the patch of the same subject is. A new one comes
# into the topic of the commit before it, or the one that a line "Topic: NAME" of its
# message names.
#
# To move to a newer kernel: make the tree. Install the new linux-source-6.1, put its version and
# the sha256sum of its /usr/src/linux-source-6.1.tar.xz into patches/6.1/base, commit that here,
# and in the tree:
#
#	git tag old base && git checkout -q --detach base && git rm -rqf .
#	tar -xf /usr/src/linux-source-6.1.tar.xz --strip-components=1
#	git add -Af && git commit -qm 'new base' && git tag -f base && git rebase --onto base old master
#
# Resolve the conflicts, "git rebase --continue" until it is done, and import. checks/series.sh
# says in a minute or two whether all hunks are in their place. Where the base has a fix of ours
# by now, its patch is empty and gone: remove what "reproducers" and the topic's cover.txt say of
# it. Put the new version where the harness's README names the old one; make bench writes the
# others. The stock kernel's results have changed, too: make ftrace-baseline, and make
# kcsan-baseline after its list is removed, then make test. For 6.12 it is linux-source-6.12,
# patches/6.12/base and BASE=6.12 with each verb; its files/, which this leaves alone, have to fit
# the new interfaces. suites/bases.sh says to which other 6.1.y the series applies; "oldest" in
# patches/6.1/base is the oldest that it is for.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"

tree=${1:-}
[ -n "$tree" ] || die "which tree? make import TREE=dir [BRANCH=...]"
branch=${2:-HEAD}
first=${3:-base}

in_tree() { git -C "$tree" "$@"; }

# Before anything here is touched
in_tree rev-parse -q --verify "$first^{commit}" >/dev/null 2>&1 ||
	die "$tree is no git tree with the tag $first: CONTRIBUTING.md says how to make one"
in_tree rev-parse -q --verify "$branch^{commit}" >/dev/null ||
	die "$tree has no branch $branch: BRANCH= names another"
mapfile -t commits < <(in_tree rev-list --reverse --no-merges "$first..$branch")
[ ${#commits[@]} -gt 0 ] || die "there is no commit from $first to $branch in $tree"

# A message without what "make series" adds again.
message()
{
	in_tree log -1 --format=%B "$1" |
		sed -e '/^\(Signed-off-by\|New-file\|Topic\):/d' | git stripspace
}

import_commit()
{
	local commit=$1 file=$2 edited added

	in_tree diff-tree -r --no-renames --diff-filter=am --name-status "$commit^" "$commit" >"$work/odd"
	[ ! -s "$work/odd" ] ||
		die "$(in_tree log -1 --format='%h %s' "$commit"): a patch can add and edit files only" "$(cat "$work/odd")"
	mapfile -t added < <(in_tree diff-tree -r --no-renames --diff-filter=A --name-only "$commit^" "$commit")
	mapfile -t edited < <(in_tree diff-tree -r --no-renames --diff-filter=M --name-only "$commit^" "$commit")
	{
		message "$commit"
		echo
		[ ${#added[@]} -eq 0 ] || printf 'New-file: %s\n' "${added[@]}"
		echo ---
		[ ${#edited[@]} -eq 0 ] ||
			in_tree diff --no-color --no-ext-diff --abbrev=12 "$commit^" "$commit" -- "${edited[@]}"
	} >"$file"
	[ ${#added[@]} -eq 0 ] || printf '%s\n' "${added[@]}" >>"$work/new"
	for f in "${edited[@]}"; do
		! grep -qxF "$f" "$work/new" ||
			die "$(in_tree log -1 --format='%h %s' "$commit") edits $f," \
			    "which an earlier patch of the series brings: fold it in there"
	done
}

# topic_of_commit COMMIT BEFORE: BEFORE is the topic of the commit before it.
topic_of_commit()
{
	local named subject
	named=$(in_tree log -1 --format=%B "$1" | sed -n 's/^Topic: *//p')
	subject=$(in_tree log -1 --format=%s "$1")
	[ -n "$named" ] || named=$(awk -F '\t' -v s="$subject" '$2 == s { print $1; exit }' "$work/topics")
	printf '%s\n' "${named:-$2}"
}

# What a patch says: neither where its hunks are nor which files they are made from
said() { sed -E 's/^@@.*/@@/; /^index /d' "$1"; }

# shared_for PATCH TOPIC: the patch of all bases that says the same
shared_for()
{
	local shared
	shared=$top/patches/shared/$2/$(basename "$1" | cut -c6-)
	[ -e "$shared" ] && cmp -s <(said "$shared") <(said "$1") && echo "../shared/$2/${shared##*/}"
}

scratch
new_files | sort >"$work/old"
for p in $(series_patches); do
	printf '%s\t%s\n' "$(topic_of "$p")" "$(patch_subject "$p")"
done >"$work/topics"
mkdir "$work/patches"
: >"$work/new"
{
	sed -n '1,/^$/p' "$patches/series"
	topic='' number=0
	for commit in "${commits[@]}"; do
		now=$(topic_of_commit "$commit" "$topic")
		[ -n "$now" ] || die "$(in_tree log -1 --format='%h %s' "$commit"): a line \"Topic: NAME\" has to say where it belongs"
		if [ "$now" != "$topic" ]; then
			! grep -qx "# $now" "$work/headings" 2>/dev/null ||
				die "$(in_tree log -1 --format='%h %s' "$commit"): the patches of the topic $now do not follow each other: move this one to them"
			echo "# $now" >>"$work/headings"
			[ -z "$topic" ] || echo
			echo "# $now"
			number=0
		fi
		topic=$now
		number=$((number + 1))
		name=$topic/$(printf '%04d-%s.patch' $number "$(in_tree log -1 --format=%f "$commit" | cut -c1-52)")
		mkdir -p "$work/patches/$topic"
		import_commit "$commit" "$work/patches/$name"
		if shared_for "$work/patches/$name" "$topic"; then
			rm "$work/patches/$name"
		else
			echo "$name"
		fi
	done
} >"$work/series"

# path_of FILE: where a new file lies here, a path below $top
path_of() { local file; file=$(file_of "$1"); printf '%s\n' "${file#"$top"/}"; }

# What is not committed here, and is another file in the tree
overwritten()
{
	local f

	git -C "$top" rev-parse -q --verify HEAD >/dev/null 2>&1 || return 0
	git -C "$top" status --porcelain --no-renames -uall | cut -c4- >"$work/uncommitted"
	grep -F "${patches#"$top"/}/" "$work/uncommitted" || :
	while read -r f; do
		grep -qxF "$(path_of "$f")" "$work/uncommitted" || continue
		[ ! -e "$(file_of "$f")" ] || in_tree show "$branch:$f" | cmp -s - "$(file_of "$f")" || path_of "$f"
	done <"$work/new"
}

overwritten >"$work/overwritten"
[ ! -s "$work/overwritten" ] ||
	die "these would be overwritten, and are not committed: commit or stash them first" \
	    "$(cat "$work/overwritten")"

# What was changed here since "make tree" made the tree, and is another file there
taken_back()
{
	local made f

	made=$(cat "$tree/.git/made-from" 2>/dev/null) || return 0
	git -C "$top" cat-file -e "$made" 2>/dev/null || return 0
	git -C "$top" diff --name-only "$made" >"$work/changed"
	while read -r f; do
		grep -qxF "$(path_of "$f")" "$work/changed" || continue
		in_tree show "$branch:$f" | cmp -s - "$(file_of "$f")" || path_of "$f"
	done <"$work/new"
}

taken_back >"$work/taken_back"
[ ! -s "$work/taken_back" ] ||
	die "these were changed here after $tree was made, and would be taken back: make the tree anew, or change them there" \
	    "$(cat "$work/taken_back")"

rm -f "$patches"/*/[0-9]*.patch
cp -r "$work/patches"/. "$patches"
cp "$work/series" "$patches/series"
# take LIST DIR: the files of the list come below DIR
take() { [ ! -s "$1" ] || xargs -a "$1" git -C "$tree" archive "$branch" -- | tar -x -C "$2"; }

while read -r f; do
	if [ "$(file_of "$f")" = "$top/$f" ]; then echo "$f" >&3; else echo "$f" >&4; fi
done <"$work/new" 3>"$work/shared" 4>"$work/own"
take "$work/shared" "$top"
take "$work/own" "$patches/files"
say "-- ${#commits[@]} patches, $(wc -l <"$work/new") new files"
sort "$work/new" | comm -23 "$work/old" - | while read -r f; do
	[ ! -e "$top/$f" ] || say "-- no longer of the series, remove it or list it: $f"
done
