# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Debian's archive, asked for kernels other than the installed one. It has its
# own folder, $cache/archive: no list of the system's is changed, and nothing
# is installed. Source it after source.sh, whose base it asks for.

archive=$cache/archive
archive_keys=/usr/share/keyrings/debian-archive-keyring.gpg

in_archive() { (cd "$archive/files" && APT_CONFIG=$archive/apt.conf "$@"); }

# Those of the system's sources that are Debian's, and their source packages.
archive_sources()
{
	apt-get indextargets --format "[signed-by=$archive_keys] \$(SITE) \$(CODENAME) \$(COMPONENT)" \
		'Created-By: Packages' 'Origin: Debian' | sort -u | sed 's/.*/deb &\ndeb-src &/'
}

open_archive()
{
	mkdir -p "$archive"/{files,lists/partial,cache/archives/partial}
	archive_sources >"$archive/sources.list"
	[ -s "$archive/sources.list" ] || die "apt-get knows no archive of Debian's: run apt-get update"
	cat >"$archive/apt.conf" <<-EOC
		Dir::State "$archive";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "$archive/cache";
		Dir::Etc::SourceList "$archive/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		APT::Sandbox::User "";
	EOC
	step "asking Debian's archive" archive in_archive apt-get update
}

# archive_versions binary|source PACKAGE: the versions of the base it has, oldest first
archive_versions()
{
	local kind=Packages
	[ "$1" = binary ] || kind=Sources
	in_archive apt-cache madison "$2" |
		awk -v kind="$kind" -v base="$linux." 'index($3, base) == 1 && $NF == kind { print $3 }' | sort -uV
}

# What the source package is called from which $package is made
archive_source_package() { in_archive apt-cache show "$package" | awk '$1 == "Source:" && !n++ { print $2 }'; }

# archive_source VERSION: fetch that $package, print its tarball's path
archive_source()
{
	local deb=$archive/files/${package}_$1_all.deb
	local tar=$archive/files/${package}_$1.tar.xz

	if [ ! -e "$tar" ]; then
		step "fetching $package $1" archive-source in_archive apt-get -q download "$package=$1"
		dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$package.tar.xz" >"$tar.new"
		rm "$deb"
		mv "$tar.new" "$tar"
	fi
	printf '%s\n' "$tar"
}

# archive_orig SOURCE VERSION: fetch what VERSION of that source package is made from,
# stable's own tarball but for the files that are not free; print its path
archive_orig()
{
	local tar=$archive/files/$1_${2%-*}.orig.tar.xz

	[ -e "$tar" ] || in_archive apt-get -q source --only-source --download-only --tar-only "$1=$2" \
		>"$logs/archive-orig.log" 2>&1 || return
	printf '%s\n' "$tar"
}
