# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For suites: print results in TAP. Source it after start.sh.

# result STATUS NAME [FILE]: FILE says why, if it failed.
result()
{
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		[ -z "${3:-}" ] || sed 's/^/# /' "$3" | tail -n 40
	fi
}

# check NAME COMMAND...: one result from a command's exit status.
check()
{
	local name=$1 status
	shift
	set +e
	(set -e; "$@") >"$work/check.log" 2>&1
	status=$?
	set -e
	result $status "$name" "$work/check.log"
}

# empty FILE: fails, and prints it, if it is not
empty()
{
	cat "$1"
	[ ! -s "$1" ]
}

# results_on KERNEL FILE: the results in FILE, with the kernel's name behind each.
results_on() { sed -E "s/^((not )?ok - .*)/\1, on $1/" "$2"; }
