#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/mutants-programs.sh [NAME...]: do the tests that need no guest find faults that
# are planted in the library and the command? Of the lists mutants/*.faults these are those
# in files of tools/, or these. suites/mutants.sh is the same for the kernel.
#
# The sources are copied, and all tests built and run without a fault. For each fault
# that copy is copied, the fault is put in, and make builds each test that it is part of,
# and runs it: first the one that has found the fault in an earlier run, which is kept in
# mutant-hints-programs, in the cache; then the cheapest, until one fails.
#
# A fault that is found is "ok", with the test that found it, and one that is not is "not
# ok", unless its list says why none finds it; so is one whose list says that and that is
# found, and one that does not compile.
#
# A program with a fault may remove or kill anything. It sees the machine's files as ones
# that cannot be written, but for its own copy, and no processes but its own.

. "$(dirname "$0")/../shared/start.sh"

# make packages-test installs it.
command -v gawk >/dev/null || die "there is no gawk, which says which tests to run"

# Of each test, the cheapest first: its folder in tools/, make's name for it, its program.
all_tests='
lib/tracemap		losses_test	losses_test
tracing/tracemap	cleanup		cleanup_test
tracing/tracemap	snap		snap_test
lib/tracemap		trace_dat_zstd_test	trace_dat_zstd_test
tracing/tracemap	stat		stat_test
tracing/tracemap	top		top_test
tracing/tracemap	recording	recording_test
lib/tracemap		dat_test	dat_test
tracing/tracemap	selection	selection_test
lib/tracemap		dat_page_test	dat_page_test
lib/tracemap		core_test	core_test
lib/tracemap		bpf_test	bpf_test
lib/tracemap		merge_test	merge_test
lib/tracemap		subbuf_test	subbuf_test
lib/tracemap		live_test	live_test
tracing/tracemap	event		event_test
tracing/tracemap	output		output_test
tracing/tracemap	sink		sink_test
lib/tracemap		trace_dat_test	trace_dat_test
lib/tracemap		valgrind	merge_test_plain
lib/tracemap		live_tsan	live_test_tsan
lib/tracemap		bpf_tsan	bpf_test_tsan
'

programs() { "$harness/mutants/programs.py" "$@"; }

# in_folder TREE FOLDER TARGET...: a fault may be what the compiler would warn of. To be
# compiled takes longer than to be tried: nothing is optimized.
in_folder()
{
	TMPDIR=$1/tmp make -s -C "$1/tools/$2" O=build CFLAGS=-g WARN=-w ELSEWHERE="$1/shm" "${@:3}"
}

# Of the files only those below these folders, up to --, can be written by the command behind.
# shellcheck disable=SC2016 # for the shell in there
confined()
{
	local root=()
	[ "$EUID" -eq 0 ] || root=(--map-root-user)
	unshare "${root[@]}" --mount --pid --fork --kill-child --mount-proc bash -ec '
		while [ "$1" != -- ]; do
			mount --bind "$1" "$1"
			own+=" $1 "
			shift
		done
		while read -r _ _ _ _ at _; do
			[[ $own = *" $at "* ]] || mount -o remount,bind,ro "$at" 2>/dev/null || :
		done </proc/self/mountinfo
		! touch /usr/.written 2>/dev/null || exit 99
		"${@:2}"' - "$@"
}

# run_test TREE FOLDER TARGET
run_test()
{
	confined "$1" "$elsewhere" -- bash -c "$(declare -f in_folder); in_folder \"\$@\"" - \
		"$1" "$2" "check-$3"
}

hints=$cache/mutant-hints-programs

# tests_for NAME: all tests, first the one that has found this fault before
tests_for()
{
	local before
	before=$(sed -n "s/^$1 //p" "$hints" 2>/dev/null || :)
	gawk -v before="$before" 'NF { line[$2 != before, NR] = $0 }
		END { for (i = 0; i < 2; i++) for (n = 1; n <= NR; n++)
			if ((i, n) in line) print line[i, n] }' <<<"$all_tests"
}

# What has found each fault, now or in an earlier run
keep_hints()
{
	local name what by
	{
		while IFS=$'\t' read -r name _; do
			read -r what by <"$work/$name.result" || :
			[ "$what" != found ] || echo "$name ${by%%:*}"
		done <"$work/faults"
		cat "$hints" 2>/dev/null || :
	} | sort -u -k 1,1 -s >"$work/hints"
	mv "$work/hints" "$hints"
}

# What has failed, from what a test has said.
why()
{
	gawk '	!why && match($0, /^not ok ([0-9]+ )?(- )?(.*)/, m) { why = m[3] }
		!why && match($0, /^[a-z_]+\.c:[0-9]+: (.*)/, m) { why = gensub(/ \(errno.*/, "", 1, m[1]) }
		!sanitizer && match($0, /(AddressSanitizer|LeakSanitizer|ThreadSanitizer): ([-a-z ]+)/, m) \
			{ sanitizer = m[2] }
		!sanitizer && match($0, /runtime error: (.*)/, m) { sanitizer = m[1] }
		!got && /^(got|==[0-9]+== [A-Z])/ { got = $0 }
		END { print why ? why : sanitizer ? sanitizer : got ? got : "ends with an error" }' "$1"
}

# try_test TREE FOLDER TARGET PROGRAM: fails if the test does, and says why. That the test
# cannot be run finds nothing: a test that fails makes make end with 2.
try_test()
{
	local status=0 said=$1/$3.said limit
	limit=$(cat "$work/limit.$3")
	if ! in_folder "$1" "$2" "build/$4" >"$said" 2>&1; then
		echo "broken $(grep -m 1 error "$said")"
		return 1
	fi
	timeout -k 5 "$limit" bash -c "$(declare -f confined in_folder run_test); run_test \"\$@\"" - \
		"$1" "$2" "$3" >"$said" 2>&1 || status=$?
	case $status in
	0)		return 0 ;;
	2)		echo "found $3: $(why "$said")" ;;
	124|137)	echo "found $3: does not end" ;;
	*)		echo "broken $3: status $status: $(tail -n 1 "$said")" ;;
	esac
	return 1
}

is_built() { in_folder "$1" "$2" -q "build/$3" 2>/dev/null; }

# find_fault TREE NAME: found, survived or broken, and by what.
find_fault()
{
	local folder target program tests
	tests=$(tests_for "$2")
	while read -r folder target program; do
		# What make has nothing to do for has no part of the fault.
		is_built "$1" "$folder" "$program" ||
			try_test "$1" "$folder" "$target" "$program" || return 0
	done <<<"$tests"
	echo survived
}

try_fault()
{
	local tree=$work/with.$1
	copy_of "$work/base" "$tree"
	programs plant "$1" "$tree" || exit
	find_fault "$tree" "$1" >"$work/$1.result"
	rm -rf "$tree" "$elsewhere/with.$1"
}

# copy_of FROM TREE: with the same times, so that make builds nothing anew.
copy_of()
{
	cp -a "$1" "$2"
	rm -rf "$2/shm"
	mkdir -p "$2/tmp" "$elsewhere/${2##*/}"
	ln -s "$elsewhere/${2##*/}" "$2/shm"
}

# shellcheck disable=SC2317 # step calls it
make_base()
{
	local folder target program
	mkdir -p "$work/source/tools/"{lib,tracing} "$work/source/include"
	cp -a "$top/include/uapi" "$work/source/include"
	cp -a "$top/tools/lib/tracemap" "$work/source/tools/lib"
	cp -a "$top/tools/tracing/tracemap" "$work/source/tools/tracing"
	rm -rf "$work/source/tools/"{lib,tracing}/tracemap/build
	copy_of "$work/source" "$work/base"
	while read -r folder target program; do
		[ -n "$folder" ] || continue
		in_folder "$work/base" "$folder" -j2 "build/$program"
	done <<<"$all_tests"
}

# Without a fault all tests pass. The time limit of each with a fault comes from the time
# that it takes here.
# shellcheck disable=SC2317 # step calls it
try_base()
{
	local folder target program start
	while read -r folder target program; do
		[ -n "$folder" ] || continue
		start=$SECONDS
		run_test "$work/base" "$folder" "$target"
		echo $((20 + 4 * (SECONDS - start))) >"$work/limit.$target"
	done <<<"$all_tests"
}

# One result, and what it counts as in the table.
tell_fault()
{
	local name=$1 kind=$2 what=broken by='it is not planted'
	[ ! -e "$work/$name.result" ] || read -r what by <"$work/$name.result" || :
	case $kind-$what in
	plain-found)	   echo "ok - $name: caught by $by" ;;
	plain-survived)	   echo "not ok - $name: SURVIVED" ;;
	survives-survived) echo "ok - $name: survives, as its list says" ;;
	survives-found)	   echo "not ok - $name: its list says that nothing finds it: $by" ;;
	*)		   echo "not ok - $name: cannot be tried: $by" ;;
	esac
	printf '%s\t%s\n' "$3" "$what" >>"$work/tally"
}

table()
{
	gawk -F '\t' '
		{ n[$1]++; n["all"]++; caught[$1] += $2 == "found"; caught["all"] += $2 == "found" }
		function row(file) { printf "# %-40s %6d %6d\n", file, n[file], caught[file] }
		END {
			printf "# %-40s faults caught\n", "file"
			nr = asorti(n, files)
			for (i = 1; i <= nr; i++)
				if (files[i] != "all")
					row(files[i])
			row("all")
		}' "$work/tally"
}

scratch
export elsewhere
elsewhere=$(mktemp -d /dev/shm/mutants.XXXXXX)
trap 'rm -rf "$work" "$elsewhere"' EXIT
programs list "$@" >"$work/faults"
step "building the tests of library and command" mutants-programs-build make_base
step "running them without a fault" mutants-programs-base try_base

echo "1..$(wc -l <"$work/faults")"
started=$SECONDS
while IFS=$'\t' read -r name _; do
	at_once 2 try_fault "$name"
done <"$work/faults"
wait
say "-- all faults: $((SECONDS - started)) s"
while IFS=$'\t' read -r name kind file; do
	tell_fault "$name" "$kind" "$file"
done <"$work/faults"
keep_hints
table
