#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/command.sh [NAME...]: the tracemap command in the guest, by the scripts
# tools/tracing/tracemap/tests/NAME.guest; without a name all of them, and the
# same script on three kernels ("same"; "stat"; "flow"; "top"; "record", whose files, and
# those of "snap", are read here by trace-cmd report then). "no_view" is what "snap" says on
# the two that have no live view.
#
# KERNELS= picks some of the three for "record", "stat", "flow" and "top".
#
# SANITIZE=yes runs them with a command built with the address and undefined
# sanitizers; what these find is a failure of its own.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/command-build.sh"
. "$harness/shared/tap.sh"
. "$harness/shared/pages.sh"

tests=$top/tools/tracing/tracemap/tests

# The guest's part: what a sanitizer says goes to files.
# shellcheck disable=SC2016 # for the guest's shell
guest_command()
{
	echo "export ASAN_OPTIONS=log_path=/tmp/sanitizer:handle_segv=0 WAY=${WAY:-map} ${2:-}"
	echo "export UBSAN_OPTIONS=log_path=/tmp/sanitizer:print_stacktrace=1"
	echo "sh ./$1.guest; status=\$?"
	echo 'for f in /tmp/sanitizer.*; do [ ! -e $f ] || { echo "not ok - sanitizer"; sed "s/^/# /" $f; status=1; }; done'
	echo 'exit $status'
}

# run NAME [VARIABLES]: in a guest, with the variables that "# guest:" asks for in
# the script; VARIABLES are for the script itself
run()
{
	local wants
	wants=$(sed -n 's/^# guest: *//p' "$tests/$1.guest")
	# shellcheck disable=SC2086 # several variables
	env $wants WITH="$work/with" LIMIT="${LIMIT:-900}" \
		"$harness/verbs/guest.sh" "$(guest_command "$@")"
}

run_json()
{
	run json >"$work/json"
	grep -vE '^(text|json|lost):' "$work/json" || :
	python3 "$tests/json_check.py" <"$work/json"
}

# What the guests print behind "same:" is equal, whatever the kernel and --way.
same_on()
{
	on_kernel "$1" run same >"$work/same.$1" || :
	results_on "$1" <(sed '/^same:/d' "$work/same.$1")
	grep '^same:' "$work/same.$1" >"$work/only.$1" || :
}

# shellcheck disable=SC2317 # called by check
differ()
{
	[ -s "$work/only.ours" ] || { echo "ours printed nothing"; return 1; }
	diff -U 3 --label ours --label "$1" "$work/only.ours" "$work/only.$1"
}

run_same()
{
	echo 1..2
	WAY=map same_on ours
	WAY='read' same_on stock
	WAY='read' same_on 6.12
	check "stock prints the same" differ stock
	check "6.12 prints the same" differ 6.12
}

# and_files FOLDER COMMAND...: what it leaves in /out comes to the folder, and is read here
and_files()
{
	local status=0
	mkdir -p "$1"
	OUT=$1 "${@:2}" || status=1
	python3 "$tests/record.host" "$1" "$work/here/tracemap" || status=1
	return $status
}

# files_on KERNEL NAME [VARIABLES]: that script, and what has become of its files
files_on()
{
	local status=0
	and_files "$work/$2.$1" on_kernel "$1" run "${@:2}" >"$work/results" || status=1
	results_on "$1" "$work/results"
	return $status
}

# The command for this machine, which the verb report needs shared libraries of. The
# address sanitizer finds faults of libtracecmd and of libtraceevent's parser there.
# shellcheck disable=SC2317 # called by step
build_here()
{
	make -C "$work/tree/tools/tracing/tracemap" O="$work/here" SANITIZE=undefined
}

# The program of a manual page, which has nothing but what is public.
# shellcheck disable=SC2317 # called by step
build_recorder()
{
	install_library
	example "$library/man/tracemap_dat_open.3" 'c gnu99' "$work/with/recorder" -static
}

run_record()
{
	local kernel status=0
	step "building tracemap for this machine" tracemap-here build_here
	step "building the recorder of the manual" recorder build_recorder
	for kernel in ${KERNELS:-ours stock 6.12}; do
		case $kernel in
		ours)	files_on ours record ;;
		stock)	files_on stock record "WAYS=read SUBBUFS=4" ;;
		6.12)	files_on 6.12 record "WAYS='read map'" ;;
		*)	die "KERNELS=$kernel: not one of ours, stock, 6.12" ;;
		esac || status=1
	done
	return $status
}

run_snap()
{
	step "building tracemap for this machine" tracemap-here build_here
	and_files "$work/snap" run snap
}

# run_everywhere NAME: where the figures come from differs, and what they say does not.
run_everywhere()
{
	local kernel status=0
	local -A ways=([ours]='read map observe' [stock]=read [6.12]='read map')
	for kernel in ${KERNELS:-ours stock 6.12}; do
		on_kernel "$kernel" run "$1" "WAYS='${ways[$kernel]:-}'" >"$work/results" || status=1
		results_on "$kernel" "$work/results"
	done
	return $status
}

run_test()
{
	case $1 in
	json)	run_json ;;
	same)	run_same ;;
	stat|flow|top) run_everywhere "$1" ;;
	record)	run_record ;;
	snap)	run_snap ;;
	no_view) KERNELS='stock 6.12' run_everywhere no_view ;;
	*)	run "$1" ;;
	esac
}

scratch
find_base
if [ -n "${SANITIZE:-}" ]; then build_sanitized_command; else build_command; fi
cp "$tests"/* "$work/with/"
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(cd "$tests" && printf '%s\n' *.guest | sed 's/\.guest$//')
failed=0
for name in "${names[@]}"; do
	run_test "$name" || failed=1
done
exit $failed
