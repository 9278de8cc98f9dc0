# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # the variables are for those who source this
#
# What every harness script starts with: where things are, how a step reports
# itself, how a run ends. Source it; it does nothing by itself.

# What feeds a pipe fails if the reader leaves early: no grep -q or head behind what
# writes more than once.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
harness=$top/tools/harness
# BASE= names the kernel that the series is for, a folder of patches/.
linux=${BASE:-6.1}
patches=$top/patches/$linux
cache=${CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or CACHE}/.cache}/trace-ring-map}
logs=$cache/logs
mkdir -p "$logs"
cache=$(cd "$cache" && pwd)

# In our own builds of the library and the command a warning is an error.
export WERROR=1

# Whoever runs this may have settings of their own for grep, sort and git.
export LC_ALL=C
# What make test ARCH= names is no business of the kernel's Makefile.
unset GREP_OPTIONS KBUILD_OUTPUT ARCH CROSS_COMPILE MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL

# Standard output belongs to results (a path, TAP lines, a guest's output);
# everything said to the person at the keyboard goes to standard error.
say() { printf '%s\n' "$*" >&2; }

die()
{
	printf 'error: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '       %s\n' "$@" >&2
	exit 1
}

[ -e "$patches/base" ] || die "BASE=$linux: not one of $(cd "$top/patches" && dirname -- */base | paste -sd' ')"

hash_of() { sha256sum | cut -c1-12; }

# on_kernel ours|stock|6.12 COMMAND...: with what kernel.sh and guest.sh know that kernel
# by. The latter two are without patches of ours.
on_kernel()
{
	case $1 in
	ours)	"${@:2}" ;;
	stock)	SERIES=none "${@:2}" ;;
	6.12)	BASE=6.12 SERIES=none KERNEL_SRC='' "${@:2}" ;;
	*)	die "kernel $1: not one of ours, stock, 6.12" ;;
	esac
}

# step WHAT LOGNAME COMMAND...: run it with its output in a log; say how long
# it took and where the log is, and show the log's end if it failed.
step()
{
	local what=$1 log=$logs/$2.log start=$SECONDS status
	shift 2

	say "-- $what (log: $log)"
	# A subshell of its own, outside any ||, so that set -e means it inside.
	set +e
	(set -e; "$@") >"$log" 2>&1 9>&-
	status=$?
	set -e
	if [ $status -ne 0 ]; then
		tail -n 25 "$log" | sed 's/^/   | /' >&2
		say "-- $what: FAILED with status $status after $((SECONDS - start)) s; the whole log: $log"
		return $status
	fi
	say "-- $what: $((SECONDS - start)) s"
}

# hold_lock NAME: from here to the end of this (sub)shell nobody else's run
# works on what the name stands for.
hold_lock()
{
	exec 9>"$cache/$1.lock"
	flock -n 9 && return
	say "-- waiting for another run that uses $cache/$1"
	flock 9
}

# at_once MOST COMMAND...: in the background, as soon as fewer than MOST are.
at_once()
{
	while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do
		wait -n || :
	done
	"${@:2}" &
}

# A scratch folder that goes when the script ends.
scratch()
{
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/trace-ring-map.XXXXXX")
	# shellcheck disable=SC2064 # the folder's name of now is meant
	trap "rm -rf '$dir'" EXIT
	work=$dir
}
