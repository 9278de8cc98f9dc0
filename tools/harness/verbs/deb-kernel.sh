#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# deb-kernel.sh [FOLDER]: make Debian packages of the kernel with the series in,
# its image and its headers, by the kernel's own "make bindeb-pkg"; print their
# paths.
#
# CONFIG=cloud is Debian's own configuration for virtual machines, as the
# package linux-config-$linux has it. CONFIG=trimmed is that with most drivers left
# out: it boots under QEMU, and is built in a fraction of the time.

. "$(dirname "${BASH_SOURCE[0]}")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/version.sh"
. "$harness/verbs/kernel.sh"

out=${1:-$top/build/deb}
config=${CONFIG:-cloud}
fragments=$harness/config/debian
debian_config=/usr/src/linux-config-$linux/config.amd64_none_cloud-amd64.xz

# The cloud configuration is the one a user wants, and so has the plain name.
case $config in
cloud)		suffix=-ringmap$(project_version) ;;
trimmed)	suffix=-ringmap$(project_version)-trimmed ;;
*)		die "CONFIG=$config: not one of cloud, trimmed" ;;
esac
[ -r "$debian_config" ] || die "$debian_config is not there: apt-get install linux-config-$linux"

# A source tree of its own: this may take hours, in which others build, too.
# shellcheck disable=SC2034 # kernel.sh reads it
tree=deb

our_fragments()
{
	echo "$fragments/package.config"
	[ "$config" != trimmed ] || echo "$fragments/trimmed.config"
}

# In the form of lsmod, which is what localmodconfig reads.
modules_kept()
{
	echo "Module Size Used by"
	sed 's/#.*//; s/$/ 0 0/' "$fragments/trimmed.modules" | awk 'NF == 3'
}

keep_modules()
{
	modules_kept >"$build/modules-kept"
	# make asks about each new option, and gets the answer that it proposes.
	(set +o pipefail; yes '' | kmake LSMOD="$build/modules-kept" localmodconfig)
}

settings() { grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$1" | sort; }

# Kconfig drops in silence what it lacks a tool for, BTF without pahole.
verify_all_of_debians()
{
	settings "$build/debian.config" | comm -23 - <(settings "$build/.config") |
		grep -vE '^CONFIG_(CC|GCC|LD|AS|PAHOLE|RUSTC)_' |
		grep -vwFf <(sed 's/=.*//' "$build/wanted.config") || return 0
	echo "of Debian's configuration, these lines got lost"
	return 1
}

configure_package()
{
	our_fragments | xargs grep -h ^CONFIG_ >"$build/wanted.config"
	xzcat "$debian_config" >"$build/debian.config"
	cp "$build/debian.config" "$build/.config"
	[ "$config" != trimmed ] || keep_modules
	cat "$build/wanted.config" >>"$build/.config"
	kmake olddefconfig && verify_config
	[ "$config" = trimmed ] || verify_all_of_debians
}

# The version in the package's name is the kernel's; its revision is ours, and
# the number of the build that "uname -v" shows.
package_environment()
{
	release=$(kernel_version "$src")$suffix
	SOURCE_DATE_EPOCH=$epoch
	KBUILD_BUILD_VERSION=$(project_version)
	KBUILD_BUILD_TIMESTAMP=$(date -u -d "@$epoch")
	KDEB_PKGVERSION=$(kernel_version "$src")-$KBUILD_BUILD_VERSION
	KDEB_CHANGELOG_DIST=unstable
	KDEB_COMPRESS=none
	KDEB_SOURCENAME="linux-ringmap"
	DEBEMAIL=$(maintainer)
	# Not in .config: another version compiles nothing anew.
	LOCALVERSION=$suffix
	export SOURCE_DATE_EPOCH KBUILD_BUILD_VERSION KBUILD_BUILD_TIMESTAMP KDEB_PKGVERSION \
		KDEB_CHANGELOG_DIST KDEB_COMPRESS KDEB_SOURCENAME DEBEMAIL LOCALVERSION
}

# What bindeb-pkg would write has the time of now in it.
package_changelog()
{
	changelog "$KDEB_SOURCENAME" "$KDEB_PKGVERSION" "$epoch" \
		"Linux $(kernel_version "$src") with the mapped ring buffer, $config configuration."
}

package()
{
	rm -f "$build"/../*.{deb,buildinfo,changes}
	# An earlier run made linux-libc-dev by it, after the headers.
	rm -f "$build/scripts/unifdef"
	package_changelog >"$build/changelog"
	kmake DPKG_FLAGS="--hook-init='cp changelog debian/changelog'" bindeb-pkg
}

# In KiB, as dpkg counts: 1 for what is no file.
installed_size()
{
	find "$1" -path "$1/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1\n' |
		awk '{ size += int(($1 + 1023) / 1024) } END { print size }'
}

# settle PACKAGE: write it anew into the image's folder, without what depends
# on where and when it was made: the order of a folder, paths, times. The .cmd
# files are kbuild's notes to itself; objtool has its sources' paths for debuggers.
settle()
{
	local dir=$work/package

	rm -rf "$dir"
	dpkg-deb -R "$1" "$dir"
	find "$dir" -name '*.cmd' -delete
	find "$dir" -path '*/tools/objtool/objtool' \
		-exec objcopy --strip-unneeded -R .note.gnu.build-id {} \;
	(cd "$dir" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z |
		xargs -0r md5sum >DEBIAN/md5sums)
	sed -i "s/^Installed-Size: .*/Installed-Size: $(installed_size "$dir")/" "$dir/DEBIAN/control"
	find "$dir" -exec touch -h -d "@$epoch" {} +
	dpkg-deb --root-owner-group -Zxz --build "$dir" "$packages.new"
}

# Not linux-libc-dev: Debian's is the one to build programs with. Not the
# debugging symbols: they are larger than all the rest.
keep_packages()
{
	local name
	rm -rf "$packages.new"
	mkdir "$packages.new"
	for name in "linux-image-$release" "linux-headers-$release"; do
		settle "$build/../${name}_${KDEB_PKGVERSION}_amd64.deb"
	done
	mv "$packages.new" "$packages"
}

# Sets packages: the folder of the packages wanted, whether it exists or not.
find_packages()
{
	scratch
	find_base
	stage_onto_base "$work/stage"
	epoch=$(changed "patches/$linux" patches/shared kernel include "$fragments")
	packages=$cache/deb-$( (echo "$kernel_key $config $suffix $epoch"; gcc --version
		cat "$debian_config" "$fragments"/* "${BASH_SOURCE[0]}" "$harness/shared/version.sh") | hash_of)
}

# Sets up $src, $build and the environment, under lock_source.
prepare_packages()
{
	build=$cache/build-$base_id-deb-$config/linux
	[ ! -e "$build/.unfinished" ] || rm -rf "$build"
	mkdir -p "$build"
	sync_source
	package_environment
	step "configuring the $release kernel" "config-deb-$config" configure_package
}

build_packages()
{
	[ "$config" = trimmed ] ||
		say "-- Debian's cloud configuration is built whole: that takes hours on two cores." \
		    $'\n   "make deb-tools" leaves the kernel out, CONFIG=trimmed has the drivers of QEMU only.'
	prepare_packages
	step "building the $release kernel" "build-deb-$config" compile
	step "packaging the $release kernel" "package-deb-$config" package
	step "writing its packages" "settle-deb-$config" keep_packages
}

# Packages nobody asked for in a while.
prune_packages()
{
	# shellcheck disable=SC2012 # the names are ours, and the time is wanted
	ls -dt "$cache"/deb-* 2>/dev/null | tail -n +5 | xargs -r rm -rf || :
}

make_packages()
{
	find_packages
	[ -d "$packages" ] || lock_source
	if [ ! -d "$packages" ]; then
		build_packages
		prune_packages
	fi
	touch "$packages"
	mkdir -p "$out"
	rm -f "$out"/linux-{image,headers}-*-ringmap*.deb
	cp "$packages"/*.deb "$out"
	ls "$out"/linux-*.deb
}

# Others source this file for its functions.
[ "${BASH_SOURCE[0]}" != "$0" ] || make_packages
