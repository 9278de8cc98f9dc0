#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/fixes.sh [files|stock|ours [PATTERN]]: faults of stock Linux 6.12. What
# patches/6.12/reproducers names for each patch fails on that kernel as it is, each in a
# guest of its own, because it may be the last that this one does; and it passes with
# the series. PATTERN picks lines of that file. "files": the checks of the patches.

# That kernel's test harness, too: it can run a test by its name.
export BASE=6.12 KERNEL_SRC=
. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/tap.sh"

which=${1:-files stock ours} pattern=${2:-.}
reproducers=$patches/reproducers

# lines: those of the file that are wanted and have a command, as NAME<tab>COMMAND
lines() { sed -n '/^#/!{/: by reading$/!s/: /\t/p}' "$reproducers" | grep -e "$pattern"; }

# shellcheck disable=SC2317 # step calls it
build()
{
	local programs
	mapfile -t programs < <(lines | grep -o '\./[a-z_]*_test' | sort -u)
	make -C "$work/tree/tools/testing/selftests/ring-buffer" OUTPUT="$work/with" \
		KHDR_INCLUDES="-isystem $work/tree/usr/include" "${programs[@]/#./$work/with}"
}

# run COMMAND: with the variables that it begins with, in a guest of the kernel that
# SERIES= says
run()
{
	local variables
	variables=$(grep -oE '^([A-Z]+=[^ ]+ )+' <<<"$1" || :)
	# shellcheck disable=SC2086 # several variables
	env WITH="$work/with" LIMIT="${LIMIT:-400}" THREAD=single \
		APPEND="slub_debug=P oops=panic" $variables "$harness/verbs/guest.sh" "${1#"$variables"}"
}

# The test has begun, and failed, or the kernel has complained, panicked or hung.
# shellcheck disable=SC2317 # called by check
fails()
{
	local status=0 test=${1##* -t }
	SERIES=none run "$1" >"$work/said" 2>&1 || status=$?
	tee -a "$logs/fixes.said" <"$work/said"
	grep -q "^#  RUN .*\.$test " "$work/said" || return 1
	[[ $status =~ ^12[012]$ ]] || grep -q "^not ok .*\.$test\$" "$work/said"
}

# shellcheck disable=SC2317 # called by check
passes()
{
	local status=0 test=${1##* -t }
	run "$1" >"$work/said" 2>&1 || status=$?
	tee -a "$logs/fixes.said" <"$work/said"
	[ $status -eq 0 ] && grep -q "^ok .*\.$test\$" "$work/said"
}

# Each patch that fixes a fault of stock Linux has a reproducer. The live view and what makes
# writing cheaper are new, the tests of kunit show what its patches fix, and headers, samples
# and selftests fix nothing.
# shellcheck disable=SC2317 # called by check
each_patch_has_one()
{
	diff <(sed -nE '\,^(../shared/)?(live|kunit|writer|selftests)/|[-/](tools|samples)-,d; /^[^#]/s,^(\.\./shared/)?(.*/)([0-9]{4}-)?(.*)\.patch,\2\4,p' "$patches/series" |
	       sort) \
	     <(sed -n '/^#/!s/: .*//p' "$reproducers" | sort -u)
}

if [[ $which = *files* ]]; then
	"$harness/checks/series.sh"
	"$harness/checks/checkpatch.sh"
	which=${which#files}
fi
[ -n "$which" ] || exit 0
scratch
: >"$logs/fixes.said"
find_base
user_tree "$work/tree"
mkdir "$work/with"
step "building the selftests that provoke faults" fixes build
echo "1..$((1 + $(lines | wc -l) * $(wc -w <<<"$which")))"
check "each patch for 6.12 has a test" each_patch_has_one
while IFS=$'\t' read -r name command <&3; do
	test=${command##* -t }
	[[ $which != *stock* ]] || check "stock 6.12 fails: $name: $test" fails "$command"
	[[ $which != *ours* ]] || check "passes: $name: $test" passes "$command"
done 3< <(lines)
