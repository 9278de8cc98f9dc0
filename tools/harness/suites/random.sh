#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/random.sh [FLAVOUR]: random operations for a minute, see ../random/main.c.
# Then the program makes wrong answers on purpose, and its oracle must notice each.

[ -z "${1:-}" ] || export FLAVOUR=$1
# The same choices in lockstep each time: other ones are what make random is for.
RANDOM_SEED=${RANDOM_SEED:-15958}
. "$(dirname "$0")/../verbs/random.sh"
. "$harness/shared/tap.sh"

lies=(
	"the oracle notices that a mapped buffer is not resized"
	"the oracle notices that no part of a mapping is unmapped"
	"the oracle notices that fork() does not inherit"
	"the oracle notices an event that was not written"
	"the oracle notices full sub-buffers that splice() does not give"
	"the oracle notices a wrong answer in a storm"
	"the oracle notices a mapping that is left when all is quiet"
	"the oracle notices memory that is not empty when it is new"
)
# The tests of the driver that fail of it: those of lockstep, storm or quiet.
fails=(1 1 1 1 1 2 3 3)

# What it prints must not look like results of ours.
lie_in_guest()
{
	# shellcheck disable=SC2016 # the guest's shell expands it
	FLAVOUR=default random_guest 60 '
		lie() {
			n=$1
			shift
			./random 60 1 rounds=20 wrong=$n "$@" >/tmp/out
			echo "lie $n status $? failed" $(sed -n "s/^not ok \([0-9]\).*/\1/p" /tmp/out)
		}
		for n in 1 2 3 4 5; do
			lie $n storm=0
		done
		lie 6 rounds=100 operations=10 storm=1000
		lie 7 operations=10 storm=0
		lie 8 operations=10 storm=0
		for try in 1 2; do
			./random 60 2 rounds=1 storm=0 | sed -n "s/.*digest /digest /p"
		done'
}

lied() { grep -qx "lie $1 status 1 failed ${fails[$1 - 1]}" "$work/lies"; }

repeats()
{
	grep ^digest "$work/lies"
	[ "$(grep -c ^digest "$work/lies")" = 2 ]
	[ "$(grep ^digest "$work/lies" | sort -u | wc -l)" = 1 ]
}

scratch
find_base
build_random
lie_in_guest >"$work/lies" || cat "$work/lies" >&2
for lie in $(seq ${#lies[@]}); do
	check "${lies[lie - 1]}" lied "$lie"
done
check "the same seed makes the same choices" repeats
random_run
