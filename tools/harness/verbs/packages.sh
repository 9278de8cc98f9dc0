#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# packages.sh [only] [MARK...]: install those packages of packages.txt that are missing:
# the packages with one of these marks there and, without "only", those with no mark or the
# mark "always". It needs root only if a package is missing.

. "$(dirname "$0")/../shared/start.sh"

wanted()
{
	local marks="always $*"

	[ "${1:-}" != only ] || marks=${*:2}
	sed 's/#.*//' "$harness/verbs/packages.txt" |
		awk -v marks="$marks" 'BEGIN { n = split(marks, list); for (i = 1; i <= n; i++) on[list[i]] }
			NF == 1 && "always" in on { print $1 }
			{ for (i = 2; i <= NF; i++) if ($i in on) { print $1; break } }'
}

missing()
{
	local p
	wanted "$@" | while read -r p; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
			echo "$p"
	done
}

install_packages()
{
	local try patient=(-o DPkg::Lock::Timeout=600 -o Acquire::Retries=5)

	# That waits for no other's update.
	for try in {1..5}; do
		! $sudo apt-get "${patient[@]}" update || break
		[ "$try" -lt 5 ] || return 1
		sleep 10
	done
	$sudo env DEBIAN_FRONTEND=noninteractive \
		apt-get "${patient[@]}" install -y --no-install-recommends "$@"
}

command -v dpkg-query >/dev/null || {
	say "-- no Debian here: not looking whether these are installed: $(wanted "$@" | xargs)"
	exit 0
}
mapfile -t need < <(missing "$@")
[ ${#need[@]} -gt 0 ] || exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null ||
		die "these packages are missing, and installing them takes root:" \
		    "  apt-get install --no-install-recommends ${need[*]}"
	sudo=sudo
	say "-- root is asked for, to install: ${need[*]}"
	sudo -v || die "not without these packages: ${need[*]}"
fi
step "installing ${need[*]}" packages install_packages "${need[@]}"
