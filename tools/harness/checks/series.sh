#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/series.sh: files, patches and mails of the series agree.

. "$(dirname "$0")/../shared/findings.sh"

# What is in the repository and not in the series.
ours='^(Makefile|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|MAINTAINERS|\.(gitignore|editorconfig)|(tools/)?\.clang-format|\.ci/|patches/|tools/harness/)'

brought_once()
{
	printf '%s\n' "${new[@]}" | sort | uniq -d >"$work/twice"
	empty "$work/twice"
}

all_there()
{
	local f missing=0
	for f in "${new[@]}"; do
		[ -f "$(file_of "$f")" ] || { echo "$f is not there"; missing=1; }
	done
	return $missing
}

bases() { dirname "$top"/patches/*/base; }

# Of every base: most files are brought by the series for another one.
new_files_of_all()
{
	local patches
	for patches in $(bases); do new_files; done
}

# The tests are the same on all bases.
tests_not_on_all()
{
	new_files_of_all | grep '^tools/testing/.*\.[ch]$' | sort | uniq -c |
		awk -v bases="$(bases | wc -l)" '$1 != bases { print $2 " is not on all bases" }'
}

nothing_left_over()
{
	tests_not_on_all >"$work/left"
	git -c safe.directory='*' -C "$top" ls-files -co --exclude-standard |
		grep -vE "$ours" | sort | comm -23 - <(new_files_of_all | sort -u) >>"$work/left"
	[ ! -d "$patches/files" ] ||
		(cd "$patches/files" && find . -type f | cut -c3- | sort) |
			comm -23 - <(new_files | sort) >>"$work/left"
	empty "$work/left"
}

# On the pinned base a hunk is where it says it is, unless it is for another base, too.
hunks_in_place()
{
	[ "$base_pinned" = yes ] || return 0
	awk '/\.patch$/ { shared = /^\.\.\/shared/ } /fuzz/ || (/offset/ && !shared)' "$work/stage.log" >"$work/moved"
	empty "$work/moved"
}

all_mails()
{
	# shellcheck disable=SC2046 # topics are words
	mails $(series_topics)
}

# git am of the mails gives, byte for byte, the files that are built.
mails_apply()
{
	am_series "$base" "$work/am"
	diff -r -x .git "$work/am" "$work/stage"
}

# What can be reviewed: at most 15 patches a topic, 100 KB a mail, 72 columns a subject.
# A topic that is mailed is on top of such only.
mails_reviewable()
{
	local t
	for t in $(mailed_topics); do
		[ "$(topic_patches "$t" | wc -l)" -le 15 ] || echo "$t has more than 15 patches"
		topic_patches "$t" | while read -r p; do patch_subject "$p"; done | grep -E '.{73}' || :
		find "$work/mails" -path "*-$t/*" -size +102400c
	done >"$work/large"
	diff <(mailed_topics) <(series_topics | head -n "$(mailed_topics | wc -l)") >>"$work/large" || :
	empty "$work/large"
}

# import TREE [BRANCH [BASE]]: into a copy of what is here
import()
{
	rm -rf "$work/copy"
	mkdir "$work/copy"
	git -c safe.directory='*' -C "$top" ls-files -co --exclude-standard -z |
		(cd "$top" && cpio --quiet -0 -pdm "$work/copy")
	"$work/copy/tools/harness/verbs/import.sh" "$@"
}

# The name of a function after "@@" depends on the tree's .gitattributes.
unchanged() { diff -r -I '^@@ ' "$top/patches" "$work/copy/patches"; }

import_gives_the_same()
{
	import "$work/am" HEAD "$(git -C "$work/am" rev-list --max-parents=0 HEAD)"
	unchanged
}

import_overwrites_nothing()
{
	local file head
	file=$(new_files | sed -n 1p)
	[ -n "$file" ] || file=patches/$linux/$(sed -n '/^[^#]/{p;q}' "$patches/series")
	head=$(git -C "$work/am" rev-list --max-parents=0 HEAD)
	import "$work/am" HEAD "$head" || return 1
	git -C "$work/copy" init -q
	git -C "$work/copy" add -A
	git -C "$work/copy" -c user.name=harness -c user.email=harness@localhost commit -qm copy
	echo >>"$work/copy/$file"
	! "$work/copy/tools/harness/verbs/import.sh" "$work/am" HEAD "$head" >"$work/refused" 2>&1 || return 1
	cat "$work/refused"
	grep -qF "$file" "$work/refused"
}

# Committed here, and not in the tree, which was made before. A base without new files has
# nothing of that kind.
import_takes_nothing_back()
{
	local file head
	file=$(new_files | sed -n 1p)
	[ -n "$file" ] || return 0
	head=$(git -C "$work/am" rev-list --max-parents=0 HEAD)
	git -C "$work/copy" rev-parse HEAD >"$work/am/.git/made-from"
	git -C "$work/copy" -c user.name=harness -c user.email=harness@localhost commit -qam changed
	! "$work/copy/tools/harness/verbs/import.sh" "$work/am" HEAD "$head" >"$work/refused" 2>&1 || return 1
	rm "$work/am/.git/made-from"
	cat "$work/refused"
	grep -qF "would be taken back" "$work/refused" && grep -qF "$file" "$work/refused"
}

import_takes_no_other_tree()
{
	mkdir "$work/empty"
	! import "$work/empty" || return 1
	unchanged
	! import "$work/am" HEAD HEAD || return 1
	unchanged
}

echo 1..11
check "every new file belongs to one patch"		brought_once
check "every new file is in the repository"		all_there
check "no file is left over"				nothing_left_over
check "no hunk is fuzzy or displaced"			hunks_in_place
check "the series is written as mails"			all_mails
check "each topic can be reviewed"			mails_reviewable
check "git am takes the mails, with the same result"	mails_apply
check "importing its commits gives the same patches"	import_gives_the_same
check "importing overwrites nothing uncommitted"	import_overwrites_nothing
check "importing takes nothing back"			import_takes_nothing_back
check "a tree without its commits is not imported"	import_takes_no_other_tree
