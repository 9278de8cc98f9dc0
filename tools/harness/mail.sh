#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# mail.sh [FOLDER]: write the series as mails, with a cover letter, as
# git format-patch would from a tree that holds it. From and Signed-off-by are
# the caller's own. Prints the folder.

. "$(dirname "$0")/lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"

out=${1:-$top/build/series-6.1}

name=$(git -C "$top" config user.name || :)
email=$(git -C "$top" config user.email || :)
if [ -z "$name" ] || [ -z "$email" ]; then
	die "a patch is signed off by somebody: set git's user.name and user.email"
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
	in_repo tag base
}

commit_patch()
{
	apply_patch "$1" "$work/repo" >"$work/apply.log" 2>&1 ||
		die "${1##*/} does not apply:" "$(cat "$work/apply.log")"
	in_repo add -A -f
	in_repo commit -q -s -F - <<-EOM
		$(patch_subject "$1")
		$(patch_body "$1")
	EOM
}

# The words of patches/6.1/cover.txt, subject first, and the base.
fill_cover()
{
	local cover=$out/0000-cover-letter.patch	# no patch for git am
	{
		sed '/^Subject:/,$d' "$cover"
		sed -n "s/^\(Subject: .*\)\*\*\* SUBJECT HERE \*\*\*/\1$(head -n 1 "$patches/cover.txt" | sed 's,[/&],\\&,g')/p" "$cover"
		echo
		sed 1,2d "$patches/cover.txt"
		printf '\nBase: Linux %s' "$(kernel_version "$base")"
		[ "$base_pinned" = no ] || printf ', Debian linux-source-6.1 %s\n      (sha256 %s)' "$pin_version" "$pin_sha256"
		echo; echo
		sed '1,/\*\*\* BLURB HERE/d' "$cover"
	} >"$work/cover"
	rm "$cover"
	mv "$work/cover" "$out/0000-cover-letter.txt"
}

scratch
find_base
[ -n "$(series_patches)" ] || die "there is no patch in patches/6.1"
commit_base
for p in $(series_patches); do commit_patch "$p"; done
rm -rf "$out"
in_repo format-patch -q --cover-letter --no-base -o "$out" base
fill_cover
say "-- $(series_patches | wc -l) patches and a cover letter; on the unpacked source, once it is in git: git am $out/*.patch"
printf '%s\n' "$out"
