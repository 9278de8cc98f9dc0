# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel source: an unpacked base that is never touched, and a tree with
# the series in. Source it after start.sh and patch-files.sh.
#
#   $cache/base-ID		the base; ID is a hash of its tarball or content
#   $cache/src-ID		the base with the series of the last build in, for
#				the default flavour; src-ID-NAME for another tree=
#   $cache/src-ID.overlay	files of src-ID that may differ from the base
#   $cache/src-ID.key		what src-ID holds; absent while it is changed

base_says() { sed -n "s/^$1 //p" "$patches/base"; }

package=$(base_says package)
pin_version=$(base_says version)
pin_sha256=$(base_says sha256)
oldest_base=$(base_says oldest)
tarball=/usr/src/$package.tar.xz

kernel_version()
{
	sed -n 's/^VERSION = //p; s/^PATCHLEVEL = //p; s/^SUBLEVEL = //p' \
		"$1/Makefile" | paste -sd.
}

refuse_base()
{
	die "$1" \
	    "The series is for $linux.y since $oldest_base and was tested on Debian's $package $pin_version. Either" \
	    "  install that version (the archive of Debian's snapshots keeps them all), or" \
	    "  name a $linux.y tree: make ... KERNEL_SRC=dir"
}

unpack_tarball()
{
	local new=$base.new
	rm -rf "$new"
	mkdir "$new"
	tar -C "$new" -xf "$tarball" --strip-components=1
	mv "$new" "$base"
}

# Debian's tarball. The pin is what was tested.
base_from_tarball()
{
	local sha

	[ -r "$tarball" ] || refuse_base "$tarball is not there"
	sha=$(sha256sum <"$tarball")
	sha=${sha%% *}
	[ "$sha" = "$pin_sha256" ] && base_pinned=yes
	base_id=${sha:0:12}
	base=$cache/base-$base_id
	(
		[ -d "$base" ] && exit
		hold_lock base
		[ -d "$base" ] ||
			step "unpacking ${tarball##*/}" "unpack-$base_id" unpack_tarball
	)
}

# The user's tree: copied with whatever was built in it left out. The copy is
# compared by content every time, so that no edit goes unseen.
base_from_user()
{
	local copy

	[ -d "$KERNEL_SRC" ] || die "KERNEL_SRC=$KERNEL_SRC: there is no such folder" \
		"Leave KERNEL_SRC out to build Debian's $package."
	[ -f "$KERNEL_SRC/Makefile" ] || refuse_base "KERNEL_SRC=$KERNEL_SRC is no kernel tree"
	copy=$cache/user-$(cd "$KERNEL_SRC" && pwd | hash_of)
	hold_lock base
	step "copying $KERNEL_SRC" "copy-${copy##*/}" copy_user_tree "$copy"
	base_id=$(cd "$copy" && find . -type f -print0 | sort -z | xargs -0 sha256sum | hash_of)
	base=$cache/base-$base_id
	if [ ! -d "$base" ]; then
		rm -rf "$base.new"
		cp -al "$copy" "$base.new"
		mv "$base.new" "$base"
	fi
	exec 9>&-
}

copy_user_tree()
{
	rsync -a --delete --checksum --exclude=/.git "$KERNEL_SRC/" "$1/"
	make -C "$1" ARCH=x86_64 mrproper
}

# Sets base, base_id, base_pinned.
find_base()
{
	base_pinned=no
	if [ -n "${KERNEL_SRC:-}" ]; then base_from_user; else base_from_tarball; fi
	case $(kernel_version "$base") in
	"$linux".*) ;;
	*)	refuse_base "the source is Linux $(kernel_version "$base")" ;;
	esac
}

# key_of_stage [TEST]...: a hash of the base and the staged files that find's
# TESTs are true of.
key_of_stage()
{
	(echo "$base_id"; cd "$stage" || exit
	 find . -type f "$@" -print0 | sort -z | xargs -0 -r sha256sum) | hash_of
}

# The faults of mutants/ are of the code for 6.1; another base gets those that it has.
plant_faults()
{
	[ "$linux" = 6.1 ] || set -- partly
	"$harness/mutants/plant.py" "$stage" "$@"
}

# Sets stage (a folder with the files the series changes), series_key, and
# kernel_key, which leaves out what no kernel is built from.
# An unpinned base is accepted here or not at all. With MUTANTS=yes the staged files
# have the faults of mutants/ in them, and $stage.mutants is their table.
stage_onto_base()
{
	stage=$1
	if ! stage_series "$base" "$stage" >"$stage.log" 2>&1; then
		tail -n 15 "$stage.log" | sed 's/^/   | /' >&2
		[ "$base_pinned" = yes ] && die "the series does not apply to its own base"
		refuse_base "the series does not apply to this $(kernel_version "$base")"
	fi
	[ "$base_pinned" = yes ] || say "-- the base is not the tested $pin_version but $(kernel_version "$base"): every hunk applies without fuzz, accepted"
	[ "${MUTANTS:-}" != yes ] || plant_faults >"$stage.mutants" ||
		die "the faults of mutants/ cannot be put into the series"
	series_key=$(key_of_stage)
	kernel_key=$(key_of_stage ! -path './tools/*' ! -path './Documentation/*' ! -path './samples/*/*' \
		! -name MAINTAINERS ! -name .kunitconfig)
}

# Whoever looks at src-ID-NAME or builds from it holds this lock.
lock_source() { hold_lock "source${tree:+-$tree}"; }

# sync_source: make src-ID the base with the staged files over it. Only what
# differs is written, with the time of now, so that kbuild rebuilds that.
sync_source()
{
	src=$cache/src-$base_id${tree:+-$tree}
	if [ ! -d "$src" ]; then
		rm -rf "$src.new"
		cp -al "$base" "$src.new"
		mv "$src.new" "$src"
		: >"$src.overlay"
	fi
	[ "$(cat "$src.key" 2>/dev/null)" = "$series_key" ] && return

	local f
	rm -f "$src.key"
	(cd "$stage" && find . -type f) | sort -u - "$src.overlay" >"$src.overlay.new"
	mv "$src.overlay.new" "$src.overlay"
	while read -r f; do
		[ -e "$stage/$f" ] && continue
		rm -f "$src/$f"
		[ ! -e "$base/$f" ] || cp "$base/$f" "$src/$f"
	done <"$src.overlay"
	# Never write through a hard link into the base: rsync renames.
	rsync -r --perms --checksum "$stage/" "$src/"
	(cd "$stage" && find . -type f) >"$src.overlay"
	echo "$series_key" >"$src.key"
}
