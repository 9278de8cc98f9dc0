# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The patches as files in this repository, those of patches/$BASE. Source it.
#
# Its file series lists them in order. Each is in the folder of its topic; a topic
# that has a cover.txt is mailed by itself, on top of those before it. One that is the
# same for all bases, but for the numbers of lines, lies once, in patches/shared/TOPIC.
#
# A patch is a message, "New-file:" lines, a line "---" and a diff against
# files the kernel has. A new file's content lies at its path in this
# repository and nowhere else, but for one that differs on a base: that has its own
# below files/ there.

# The patches that SERIES= names: all, none, or the first N.
series_patches()
{
	local all
	mapfile -t all < <(sed -n "s,^[^#],$patches/&,p" "$patches/series")
	case ${SERIES:-all} in
	all)		;;
	none)		all=() ;;
	*[!0-9]*)	die "SERIES=$SERIES: not one of all, none, or a number of patches" ;;
	*)		all=("${all[@]:0:SERIES}") ;;
	esac
	[ ${#all[@]} -eq 0 ] || printf '%s\n' "${all[@]}"
}

# topic_of PATCH
topic_of() { basename "${1%/*}"; }

# The topics in their order, and those of them that are mailed
series_topics() { series_patches | sed 's,/[^/]*$,,; s,.*/,,' | uniq; }
mailed_topics() { series_topics | while read -r t; do [ ! -e "$patches/$t/cover.txt" ] || echo "$t"; done; }

# topic_patches TOPIC
topic_patches() { series_patches | grep -F "/$1/"; }

patch_new_files()    { sed -n '/^---$/q; s/^New-file: *//p' "$1"; }
patch_edited_files() { sed -n '1,/^---$/d; s,^+++ b/,,p' "$1" | sort -u; }
patch_subject()      { head -n 1 "$1"; }
patch_body()         { sed -n '1d; /^---$/q; /^New-file:/d; p' "$1"; }

new_files()
{
	local p
	series_patches | while read -r p; do patch_new_files "$p"; done
}

edited_files()
{
	local p
	series_patches | while read -r p; do patch_edited_files "$p"; done | sort -u
}

# file_of PATH: where the content of a new file is
file_of() { if [ -e "$patches/files/$1" ]; then echo "$patches/files/$1"; else echo "$top/$1"; fi; }

# apply_patch PATCH DIR: DIR becomes the tree with the patch in. Not a line of
# fuzz is allowed: a hunk that only nearly fits is a hunk nobody has read.
apply_patch()
{
	local p=$1 dir=$2 f

	if [ -n "$(patch_edited_files "$p")" ]; then
		sed '1,/^---$/d' "$p" |
			patch -d "$dir" -p1 --fuzz=0 --force --no-backup-if-mismatch \
			      --reject-file=- || return 1
	fi
	for f in $(patch_new_files "$p"); do
		if [ -e "$dir/$f" ]; then
			echo "${p#"$patches"/}: $f is new but exists already"
			return 1
		fi
		mkdir -p "$dir/$(dirname "$f")"
		cp "$(file_of "$f")" "$dir/$f" || return 1
	done
}

# stage_series BASE DIR: DIR receives the files the series touches, and only
# those, as they are after the series. Prints what patch(1) says.
stage_series()
{
	local base=$1 dir=$2 p f

	mkdir -p "$dir"
	for p in $(series_patches); do
		for f in $(patch_edited_files "$p"); do
			[ -e "$dir/$f" ] && continue
			mkdir -p "$dir/$(dirname "$f")"
			cp "$base/$f" "$dir/$f" || return 1
		done
		echo "${p#"$patches"/}"
		apply_patch "$p" "$dir" || return 1
	done
}

# commit_patch PATCH TREE [OPTION]...: commit it to the git tree.
commit_patch()
{
	local p=$1 tree=$2
	shift 2
	apply_patch "$p" "$tree" >"$work/apply.log" 2>&1 ||
		die "${p#"$patches"/} does not apply:" "$(cat "$work/apply.log")"
	git -C "$tree" add -A -f
	git -C "$tree" commit -q "$@" -F - <<-EOM
		$(patch_subject "$p")
		$(patch_body "$p")
	EOM
}
