#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# deb-kernel.sh [FOLDER]: make Debian packages of the kernel with the series in, its image and
# its headers, by the kernel's own "make bindeb-pkg"; print their paths.
#
# CONFIG=cloud is Debian's own configuration for virtual machines, as the package
# linux-config-$linux has it. CONFIG=trimmed is that with most drivers left out: it boots under
# QEMU, and is built in a fraction of the time.

. "$(dirname "${BASH_SOURCE[0]}")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/version.sh"
. "$harness/verbs/kernel.sh"

out=${1:-$top/build/deb}
config=${CONFIG:-cloud}
debian=$harness/config/debian
config_of_debian=/usr/src/linux-config-$linux/config.amd64_none_cloud-amd64.xz

# The cloud configuration is the one a user wants, and so has the plain name.
case $config in
cloud)		suffix=-ringmap$(project_version) ours=("$debian/package.config") ;;
trimmed)	suffix=-ringmap$(project_version)-trimmed ours=("$debian"/*.config) ;;
*)		die "CONFIG=$config: not one of cloud, trimmed" ;;
esac
[ -r "$config_of_debian" ] || die "$config_of_debian is not there: apt-get install linux-config-$linux"

# localmodconfig keeps the modules that a list in the form of lsmod has. It asks about each
# new option, and gets the answer that it proposes.
keep_modules()
{
	{
		echo "Module Size Used by"
		sed 's/#.*//; s/$/ 0 0/' "$debian/trimmed.modules" | awk 'NF == 3'
	} >"$build/modules-kept"
	(set +o pipefail; yes '' | kmake LSMOD="$build/modules-kept" localmodconfig)
}

configure_package()
{
	grep -h ^CONFIG_ "${ours[@]}" >"$build/wanted.config"
	xzcat "$config_of_debian" >"$build/.config"
	[ "$config" != trimmed ] || keep_modules
	cat "$build/wanted.config" >>"$build/.config"
	kmake olddefconfig && verify_config
}

# The name of the kernel is not in .config: another version compiles nothing anew.
package()
{
	rm -f "$build"/../*.deb
	kmake LOCALVERSION="$suffix" KDEB_SOURCENAME=linux-ringmap DEBEMAIL="$(maintainer)" \
		KDEB_PKGVERSION="$(kernel_version "$src")-$(project_version)" bindeb-pkg
}

scratch
find_base
stage_onto_base "$work/stage"
# A source tree of its own: this may take hours, in which others build, too.
# shellcheck disable=SC2034 # source.sh reads it
tree=deb
lock_source
sync_source
build=$cache/build-$base_id-deb-$config/linux
mkdir -p "$build"
[ "$config" = trimmed ] ||
	say "-- Debian's cloud configuration is built whole: that takes hours on two cores." \
	    $'\n   "make deb-tools" leaves the kernel out, CONFIG=trimmed has the drivers of QEMU only.'
step "configuring the $config kernel" "config-deb-$config" configure_package
step "making the packages of the $config kernel" "package-deb-$config" package
# Not linux-libc-dev: Debian's is the one to build programs with. Not the debugging symbols:
# they are larger than all the rest.
mkdir -p "$out"
rm -f "$out"/linux-{image,headers}-*-ringmap*.deb
for name in image headers; do cp "$build/../linux-$name-"*"${suffix}_"*.deb "$out"; done
ls "$out"/linux-*.deb
