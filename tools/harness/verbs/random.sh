#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# random.sh: random operations on the mapped ring buffer in a guest, see
# ../random/main.c. By hand, for an hour, with the choices of an earlier run:
#
#   RANDOM_SECONDS=3600 RANDOM_SEED=1234 FLAVOUR=debug tools/harness/verbs/random.sh
#
#   RANDOM_SECONDS=	how long (default: 60), and longer until each operation has run once
#   RANDOM_SEED=	the seed of its choices (default: another one each time)
#   RANDOM_OPTIONS=	further options of the program: 'round=N' begins with that round
#   SMP=		CPUs, 2
#
# Sourced, it only has the functions.

. "$(dirname "${BASH_SOURCE[0]}")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"

random_seconds=${RANDOM_SECONDS:-60}
random_seed=${RANDOM_SEED:-$RANDOM}
export SMP=${SMP:-2} FLAVOUR=${FLAVOUR:-debug}
[[ $random_seconds =~ ^[1-9][0-9]*$ ]] || die "SECONDS=$random_seconds: not a number of seconds"
[[ $random_seed =~ ^[0-9]+$ ]] || die "SEED=$random_seed: not a number, as a run has printed it"

make_random()
{
	make -C "$harness/random" O="$work/with" KHDR_INCLUDES="-isystem $work/tree/usr/include"
}

# The program, into $work/with.
build_random()
{
	user_tree "$work/tree"
	mkdir "$work/with"
	step "building the random driver" "random-$FLAVOUR" make_random
}

# random_guest SECONDS COMMAND: in a guest, with the program beside it. The debug
# kernel can halve its memory into two nodes, so that pages have where to move.
random_guest()
{
	local append=${APPEND:-}

	[ "$FLAVOUR" != debug ] || append+=" numa=fake=2"
	APPEND=$append WITH=$work/with LIMIT=${LIMIT:-$(($1 * 13 + 500))} "$harness/verbs/guest.sh" "$2"
}

# However it failed: the choices can be made again. In lockstep all of the round.
random_repeat()
{
	echo "# to repeat: make random FLAVOUR=$FLAVOUR SMP=$SMP SECONDS=$random_seconds" \
		"SEED=$random_seed"
	echo "# to begin with round N of it: add OPTIONS=round=N"
}

random_run()
{
	local status=0 nodes=1

	[ "$FLAVOUR" != debug ] || nodes=2
	random_guest "$random_seconds" \
		"./random $random_seconds $random_seed nodes=$nodes ${RANDOM_OPTIONS:-}" ||
		status=$?
	[ $status -eq 0 ] || random_repeat
	return $status
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
scratch
find_base
build_random
random_run
