#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/model.sh [deep]: spin explores the models of the live index, as they
# are, within each of these bounds, and finds what is wrong with each of them
# that is broken on purpose. "deep" takes some minutes more.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

# name | model | bounds
intact='
writer | live | -DEVENTS=6
interrupt | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DDISCARDS=1
interrupts | live | -DRING=2 -DEVENTS=1 -DIRQS=2
interrupt and NMI | live | -DRING=2 -DEVENTS=1 -DIRQS=1 -DNMIS=1
interrupt, the short ways | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DDISCARDS=1 -DSTRAIGHT=1
interrupts, the short ways | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSTRAIGHT=1
interrupt and NMI, the short ways | live | -DRING=2 -DEVENTS=1 -DIRQS=1 -DNMIS=1 -DSTRAIGHT=1
consumer | live | -DEVENTS=3 -DSWAPS=2
consumer and interrupt | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSWAPS=1
consumer, no overwriting | live | -DRING=2 -DEVENTS=4 -DSWAPS=3 -DOVERWRITE=0
reset | live | -DRING=2 -DEVENTS=2 -DRESETS=1
resets | live | -DRING=2 -DEVENTS=1 -DRESETS=2
reset and interrupt | live | -DRING=2 -DEVENTS=1 -DRESETS=1 -DIRQS=1
reset and consumer | live | -DRING=2 -DEVENTS=1 -DRESETS=1 -DSWAPS=1
two observers | live | -DRING=2 -DEVENTS=2 -DOBSERVERS=2
waiting | wait | -DCOMMITS=2 -DNMIS=1
waiting, more NMIs | wait | -DCOMMITS=1 -DNMIS=2
waiting, the nearest gives up | wait | -DCOMMITS=2 -DNMIS=0 -DGIVEUP=0
waiting, the other gives up | wait | -DCOMMITS=2 -DNMIS=0 -DGIVEUP=1
waiting, the nearest is held | wait | -DCOMMITS=2 -DNMIS=1 -DHOLD=0
waiting, the other is held | wait | -DCOMMITS=2 -DNMIS=1 -DHOLD=1
'
deep='
deep: interrupt | live | -DEVENTS=4 -DIRQS=1
deep: interrupts | live | -DRING=2 -DEVENTS=2 -DIRQS=2
deep: reset | live | -DRING=2 -DEVENTS=3 -DRESETS=1
deep: reset and consumer | live | -DRING=2 -DEVENTS=2 -DRESETS=1 -DSWAPS=2
deep: consumer | live | -DEVENTS=4 -DSWAPS=3
deep: consumer and interrupt | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSWAPS=2
deep: no overwriting | live | -DRING=2 -DEVENTS=3 -DIRQS=1 -DSWAPS=2 -DOVERWRITE=0
deep: reset and interrupt | live | -DRING=2 -DEVENTS=2 -DRESETS=1 -DIRQS=1
deep: NMI | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DNMIS=1
deep: waiting | wait | -DCOMMITS=3 -DNMIS=0
deep: waiting, one gives up | wait | -DCOMMITS=2 -DNMIS=1 -DGIVEUP=1
'
# what is broken | model | bounds that show it, no wider than some of those above
broken='
COMMIT | live | -DEVENTS=5
LEAVE | live | -DEVENTS=5
ACQ_CG | live | -DEVENTS=5
ACQ_CM | live | -DEVENTS=5
ACQ_JUMP | live | -DEVENTS=5
CHECK | live | -DEVENTS=5
CHECK_NEXT | live | -DEVENTS=5
CHECK_JUMP | live | -DEVENTS=5
PAST | live | -DEVENTS=5
ENTER | live | -DRING=2 -DEVENTS=2 -DIRQS=1
COMMIT_READ | live | -DRING=2 -DEVENTS=2 -DIRQS=1
SECOND_LOOK | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSTRAIGHT=1
EXCHANGE | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSTRAIGHT=1
SHORTENED | live | -DRING=2 -DEVENTS=1 -DIRQS=1 -DDISCARDS=1
LEFT | live | -DEVENTS=3 -DSWAPS=2
ACQ_CP | live | -DEVENTS=3 -DSWAPS=2
RECHECK | live | -DEVENTS=3 -DSWAPS=2
RECHECK | live | -DEVENTS=3 -DSWAPS=2 -DLOSS_ONLY
LEFT_RELEASE | live | -DEVENTS=3 -DSWAPS=2
LOSS_RELEASE | live | -DEVENTS=3 -DSWAPS=2
SIZE | live | -DEVENTS=3 -DSWAPS=2
RESET_BEGIN | live | -DRING=2 -DEVENTS=3 -DRESETS=1
RESET_END | live | -DRING=2 -DEVENTS=3 -DRESETS=1
RESET_BACK | live | -DRING=2 -DEVENTS=2 -DRESETS=1
NEXT_EPOCH | live | -DRING=2 -DEVENTS=3 -DRESETS=1
ODD | live | -DRING=2 -DEVENTS=3 -DRESETS=1
ACQ_EPOCH | live | -DRING=2 -DEVENTS=3 -DRESETS=1
ARM | wait | -DCOMMITS=2 -DNMIS=1
LOOK | wait | -DCOMMITS=2 -DNMIS=1
TIMER | wait | -DCOMMITS=2 -DNMIS=1
LEAVE | wait | -DCOMMITS=2 -DNMIS=1
AGAIN | wait | -DCOMMITS=2 -DNMIS=1
WORK_TIMER | wait | -DCOMMITS=2 -DNMIS=1
WORK_LOOK | wait | -DCOMMITS=2 -DNMIS=1
NEAR | wait | -DCOMMITS=2 -DNMIS=1
NEAR_LEAVE | wait | -DCOMMITS=2 -DNMIS=1
STALE | wait | -DCOMMITS=2 -DNMIS=0
NEXT | wait | -DCOMMITS=2 -DNMIS=1
OTHERS | wait | -DCOMMITS=2 -DNMIS=1
COMMITTED | wait | -DCOMMITS=2 -DNMIS=1
DISCARD | wait | -DCOMMITS=2 -DNMIS=1
DROP | wait | -DCOMMITS=2 -DNMIS=1
END | wait | -DCOMMITS=2 -DNMIS=1
'
[ "${1:-}" != deep ] || intact+=$deep

# explore MODEL DEFINE...: what spin says goes to $work/said
explore()
{
	local model=$1 opt=-O2
	shift
	# An optimizing compiler takes longer than it saves, with the many places
	# where an interrupt may come, and where something is found soon.
	case $* in *IRQS*|*BREAK*) opt=-O0 ;; esac
	rm -rf "$work/pan"
	mkdir "$work/pan"
	cd "$work/pan" || return
	spin -a "$@" "$harness/model/$model.pml"
	nice -n 10 gcc "$opt" -w -DSAFETY -DNOREDUCE -o pan pan.c
	(
		ulimit -v $((8 << 20))
		nice -n 10 ./pan -m100000
	) >"$work/said" 2>&1 || :
	cat "$work/said"
}

# All was explored, and nothing was found.
holds()
{
	explore "$@"
	grep -q 'errors: 0$' "$work/said" &&
	! grep -qE 'not completed|too small|truncated|out of memory' "$work/said"
}

# An assertion does not hold, or a process of the model waits forever.
fails()
{
	explore "$@"
	grep -qE '^pan:1: (assertion violated|invalid end state)' "$work/said"
}

# each FUNCTION LIST: FUNCTION NAME MODEL DEFINES for each line of the LIST
each()
{
	local name model defines
	while IFS='|' read -r name model defines; do
		[ -z "$name" ] || "$1" "${name% }" "${model// /}" "$defines" </dev/null
	done <<<"$2"
}

# The defines are words.
# shellcheck disable=SC2086
check_intact() { check "model: $1:$3" holds "$2" $3; }
# shellcheck disable=SC2086
check_broken() { check "model: without $1 spin finds a violation" fails "$2" $3 "-DBREAK_$1"; }
count() { lines=$((lines + 1)); }

scratch
lines=0
each count "$intact$broken"
echo "1..$lines"
each check_intact "$intact"
each check_broken "$broken"
