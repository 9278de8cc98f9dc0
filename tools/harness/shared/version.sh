# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The version, and the time at which it was made. Packages and releases contain
# both, so that the same files make the same bytes. Source it after start.sh. The version is in tools/harness/version; set-version.sh
# writes it to the files that cannot read that.

project_version()
{
	local version
	read -r version <"$harness/version" || :
	[[ $version =~ ^[0-9]+(\.[0-9]+)+$ ]] ||
		die "tools/harness/version: '$version' is no version such as 0.1.0"
	echo "$version"
}

# changed PATH...: when the last commit changed one of these (a path of this
# repository); SOURCE_DATE_EPOCH, if it is set; now, where there is no git.
changed()
{
	[ -z "${SOURCE_DATE_EPOCH:-}" ] || { echo "$SOURCE_DATE_EPOCH"; return; }
	git -c safe.directory='*' -C "$top" log -1 --format=%ct -- "$@" 2>/dev/null | grep . || date +%s
}

# changelog SOURCE VERSION TIME LINE...: a Debian changelog of one entry
changelog()
{
	printf '%s (%s) unstable; urgency=medium\n\n' "$1" "$2"
	printf '  * %s\n' "${@:4}"
	printf '\n -- %s  %s\n' "$(maintainer)" "$(date -uR -d "@$3")"
}

maintainer() { sed -n 's/^Maintainer: //p' "$harness/debian/control"; }
