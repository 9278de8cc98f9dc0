#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# series.sh [FOLDER [TOPIC...]]: write the topics of the series as mails, each to a folder
# of its own with a cover letter, as git format-patch would from a tree that holds
# it. Without TOPIC it is all that are mailed. From and Signed-off-by are the caller's
# own. Prints the folder, and before it by how many lines each topic changes the kernel's files.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"

out=$(realpath -m "${1:-$top/build/series-$linux}")
[ $# -eq 0 ] || shift

name=$(git -C "$top" config user.name || :)
email=$(git -C "$top" config user.email || :)
if [ -z "$name" ] || [ -z "$email" ]; then
	die "each patch is signed off with your name: set git's user.name and user.email"
fi
export GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email
export GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

# A release has one time for everything that is in it.
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
	export GIT_AUTHOR_DATE="@$SOURCE_DATE_EPOCH +0000" GIT_COMMITTER_DATE="@$SOURCE_DATE_EPOCH +0000"
fi

in_repo() { git -C "$work/repo" "$@"; }

# A repository of nothing but the files the series edits is enough: the blobs
# and the hunks are the same as in the whole tree.
commit_base()
{
	local p f
	git init -q "$work/repo"
	for p in $(series_patches); do
		for f in $(patch_edited_files "$p"); do
			[ -e "$base/$f" ] || continue
			mkdir -p "$work/repo/$(dirname "$f")"
			cp "$base/$f" "$work/repo/$f"
		done
	done
	in_repo add -A
	in_repo commit -q --allow-empty -m base
	in_repo tag end-of-
}

# fill_cover TOPIC COVER BEFORE: the words of its cover.txt, subject first, and what
# it is to be put on.
fill_cover()
{
	local words=$patches/$1/cover.txt cover=$2
	{
		sed '/^Subject:/,$d' "$cover"
		sed -n "s/^\(Subject: .*\)\*\*\* SUBJECT HERE \*\*\*/\1$(head -n 1 "$words" | sed 's,[/&],\\&,g')/p" "$cover"
		echo
		sed 1,2d "$words"
		printf '\nBase: Linux %s' "$(kernel_version "$base")"
		[ "$base_pinned" = no ] || printf ', Debian %s %s\n      (sha256 %s)' "$package" "$pin_version" "$pin_sha256"
		[ -z "$3" ] || printf '\n      and on it, in this order:%s' "$3"
		echo; echo
		sed '1,/\*\*\* BLURB HERE/d' "$cover"
	} >"$work/cover"
	rm "$cover"
	mv "$work/cover" "${cover%.patch}.txt"	# no patch for git am
}

# mail_topic TOPIC BEFORE FOLDER: BEFORE are the topics it is put on.
mail_topic()
{
	local cover=
	[ ! -e "$patches/$1/cover.txt" ] || cover=--cover-letter
	in_repo format-patch -q $cover --no-base -o "$3" "end-of-${2##* }..end-of-$1"
	[ -z "$cover" ] || fill_cover "$1" "$3/0000-cover-letter.patch" "$2"
}

# How many lines of the kernel's own files the hunks of a topic add and take away.
changed_lines()
{
	local p
	for p in $(topic_patches "$1"); do
		sed '1,/^---$/d' "$p"
	done | grep '^[-+]' | grep -cv '^--- \|^+++ ' || :
}

scratch
find_base
mapfile -t topics < <(series_topics)
[ ${#topics[@]} -gt 0 ] || die "there is no patch in patches/$linux"
mapfile -t wanted < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else mailed_topics; fi)
for t in "${wanted[@]}"; do
	[[ " ${topics[*]} " = *" $t "* ]] || die "TOPIC=$t: not one of ${topics[*]}"
done
commit_base
rm -rf "$out"
before='' nr=0
for t in "${topics[@]}"; do
	nr=$((nr + 1))
	for p in $(topic_patches "$t"); do commit_patch "$p" "$work/repo" -s; done
	in_repo tag "end-of-$t"
	[[ " ${wanted[*]} " != *" $t "* ]] || mail_topic "$t" "$before" "$out/$(printf %02d "$nr")-$t"
	before+=" $t"
	say "$(printf '%-20s %5d lines of files that the kernel has' "$t" "$(changed_lines "$t")")"
done
say "-- ${#wanted[@]} topics, $(find "$out" -name '0*.patch' | wc -l) patches; on the unpacked source, once it is in git: git am $out/*/*.patch"
printf '%s\n' "$out"
