#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/model.sh [deep | NAME...]: spin explores the models of the live index within
# each of the bounds below. It must find no fault in a model as it is, and the fault in each
# model that is broken on purpose. "deep" takes some minutes more. A NAME, such as "writer" or
# "COMMIT", chooses from those below. If herd7 is installed and LKMM= names
# tools/memory-model of a kernel tree, the litmus tests run, too.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

# Bounds that a line below does not name
defaults='-DRING=3 -DEVENTS=0 -DIRQS=0 -DNMIS=0 -DSWAPS=0 -DSPLICE=0 -DRESETS=0 -DOVERWRITE=1'
defaults+=' -DDISCARDS=0 -DSTRAIGHT=0 -DFULL=0 -DOBSERVERS=1'
defaults+=' -DCOMMITS=0 -DWORDS=1 -DLOOPS=1 -DCLOSE=2 -DAGAIN=0 -DAT0=2 -DAT1=4 -DBURST=2'

# name | model | bounds
intact='
writer | live | -DEVENTS=6
interrupt | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DDISCARDS=1
interrupt and NMI | live | -DRING=2 -DEVENTS=1 -DIRQS=1 -DNMIS=1
interrupt, the short ways | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DDISCARDS=1 -DSTRAIGHT=1
interrupts, the short ways | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSTRAIGHT=1
interrupt and NMI, the short ways | live | -DRING=2 -DEVENTS=1 -DIRQS=1 -DNMIS=1 -DSTRAIGHT=1
consumer | live | -DEVENTS=3 -DSWAPS=2
consumer and interrupt | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSWAPS=1
consumer, interrupts fill the ring | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSWAPS=1
interrupts write as far as they can | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSWAPS=1 -DFULL=1 -DOBSERVERS=0
consumer, no overwriting | live | -DRING=2 -DEVENTS=4 -DSWAPS=3 -DOVERWRITE=0
splice | live | -DRING=2 -DEVENTS=3 -DSWAPS=2 -DSPLICE=1
splice, the writer laps | live | -DRING=2 -DEVENTS=4 -DSWAPS=2 -DSPLICE=1 -DOBSERVERS=0
reset | live | -DRING=2 -DEVENTS=3 -DRESETS=1
resets | live | -DRING=2 -DEVENTS=1 -DRESETS=2
reset and interrupt | live | -DRING=2 -DEVENTS=1 -DRESETS=1 -DIRQS=1
reset and consumer | live | -DRING=2 -DEVENTS=1 -DRESETS=1 -DSWAPS=1
two observers | live | -DRING=2 -DEVENTS=2 -DOBSERVERS=2
waiting | wait | -DCOMMITS=1 -DNMIS=1
waiting, the work arms | wait | -DCOMMITS=1 -DNMIS=1 -DAT0=1 -DAT1=2
waiting, an early mark | wait | -DCOMMITS=1 -DNMIS=1 -DAT0=1
waiting, the next sub-buffer | wait | -DCOMMITS=3 -DLOOPS=0 -DAT0=4
waiting, the end of a sub-buffer | wait | -DCOMMITS=2 -DWORDS=2 -DLOOPS=0
waiting, what comes before it | wait | -DCOMMITS=2 -DWORDS=2 -DLOOPS=0 -DAT0=1
waiting, files are closed | wait | -DCOMMITS=2 -DCLOSE=3 -DAT0=1 -DAT1=2
waiting, an old position again and again | wait | -DCOMMITS=1 -DLOOPS=3 -DAT0=1 -DAT1=0
waiting, the same position again | wait | -DCOMMITS=3 -DLOOPS=2 -DAGAIN=1 -DAT0=0 -DAT1=4
waiting, rests | wait | -DCOMMITS=2 -DAT1=9 -DBURST=1
waiting, a reset | wait | -DCOMMITS=1 -DRESETS=1 -DAT1=8
'
deep='
deep: interrupt | live | -DEVENTS=4 -DIRQS=1
deep: interrupts | live | -DRING=2 -DEVENTS=2 -DIRQS=2
deep: interrupts fill the ring | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSWAPS=1 -DFULL=1
deep: splice | live | -DRING=2 -DEVENTS=4 -DSWAPS=2 -DSPLICE=1
deep: reset | live | -DRING=2 -DEVENTS=4 -DRESETS=1
deep: reset and consumer | live | -DRING=2 -DEVENTS=2 -DRESETS=1 -DSWAPS=2
deep: consumer | live | -DEVENTS=4 -DSWAPS=3
deep: consumer and interrupt | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSWAPS=2
deep: no overwriting | live | -DRING=2 -DEVENTS=3 -DIRQS=1 -DSWAPS=2 -DOVERWRITE=0
deep: reset and interrupt | live | -DRING=2 -DEVENTS=2 -DRESETS=1 -DIRQS=1
deep: NMI | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DNMIS=1
deep: waiting | wait | -DCOMMITS=3
deep: waiting, NMIs | wait | -DCOMMITS=1 -DNMIS=2
deep: waiting, longer events | wait | -DCOMMITS=2 -DWORDS=2 -DAT1=5
'
# what is broken | model | bounds that show it, no wider than some of those above
broken='
COMMIT | live | -DEVENTS=5
LEAVE | live | -DEVENTS=5
ACQ_CG | live | -DEVENTS=5
ACQ_CM | live | -DEVENTS=5
ACQ_ADVANCE | live | -DEVENTS=5
CHECK | live | -DEVENTS=5
CHECK_ADVANCE | live | -DEVENTS=5
ENTER | live | -DRING=2 -DEVENTS=2 -DIRQS=1
COMMIT_READ | live | -DRING=2 -DEVENTS=2 -DIRQS=1
SECOND_LOOK | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSTRAIGHT=1
EXCHANGE | live | -DRING=2 -DEVENTS=2 -DIRQS=1 -DSTRAIGHT=1
SHORTENED | live | -DRING=2 -DEVENTS=1 -DIRQS=1 -DDISCARDS=1
SLOT | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSWAPS=1 -DFULL=1 -DOBSERVERS=0
AHEAD | live | -DRING=2 -DEVENTS=1 -DIRQS=2 -DSWAPS=1
AHEAD | live | -DRING=2 -DEVENTS=3 -DRESETS=1
GONE | live | -DEVENTS=3 -DSWAPS=2
ACQ_CP | live | -DEVENTS=3 -DSWAPS=2
RECHECK | live | -DEVENTS=3 -DSWAPS=2
GONE_RELEASE | live | -DEVENTS=3 -DSWAPS=2
LOSS_RELEASE | live | -DEVENTS=3 -DSWAPS=2
SIZE | live | -DEVENTS=3 -DSWAPS=2
SPLICE_PAST | live | -DRING=2 -DEVENTS=4 -DSWAPS=2 -DSPLICE=1 -DOBSERVERS=0
SPLICE_ID | live | -DRING=2 -DEVENTS=4 -DSWAPS=2 -DSPLICE=1 -DOBSERVERS=0
ACQ_SPLICE | live | -DRING=2 -DEVENTS=4 -DSWAPS=2 -DSPLICE=1 -DOBSERVERS=0
RESET_BEGIN | live | -DRING=2 -DEVENTS=3 -DRESETS=1
RESET_END | live | -DRING=2 -DEVENTS=3 -DRESETS=1
RESET_BACK | live | -DRING=2 -DEVENTS=2 -DRESETS=1
FIRST | live | -DRING=2 -DEVENTS=3 -DRESETS=1
FIRST_ADVANCE | live | -DRING=2 -DEVENTS=3 -DRESETS=1
ARM | wait | -DCOMMITS=1 -DNMIS=1
TIMER | wait | -DCOMMITS=1 -DNMIS=1
LEAVE | wait | -DCOMMITS=3 -DLOOPS=0 -DAT0=4
KEPT | wait | -DCOMMITS=1 -DNMIS=1
WORK_LOOK | wait | -DCOMMITS=1 -DNMIS=1 -DAT0=1 -DAT1=2
REST | wait | -DCOMMITS=1 -DLOOPS=3 -DAT0=1 -DAT1=0
RESTING | wait | -DCOMMITS=2 -DAT1=9 -DBURST=1
LIMIT | wait | -DCOMMITS=1 -DLOOPS=3 -DAT0=1 -DAT1=0
VAIN | wait | -DCOMMITS=2 -DCLOSE=3 -DAT0=1 -DAT1=2
CLAMP | wait | -DCOMMITS=1 -DLOOPS=3 -DAT0=1 -DAT1=0
NEAR | wait | -DCOMMITS=1 -DNMIS=1
NEAR_LEAVE | wait | -DCOMMITS=3 -DLOOPS=0 -DAT0=4
DISMISS | wait | -DCOMMITS=3 -DLOOPS=2 -DAGAIN=1 -DAT0=0 -DAT1=4
NEXT | wait | -DCOMMITS=2 -DAT0=1 -DAT1=2
EARLY | wait | -DCOMMITS=2 -DWORDS=2 -DLOOPS=0
SIZE | wait | -DCOMMITS=2 -DWORDS=2 -DLOOPS=0 -DAT0=1
JUMP | wait | -DCOMMITS=1 -DRESETS=1 -DAT1=8
COMMITTED | wait | -DCOMMITS=1 -DNMIS=1
DISCARD | wait | -DCOMMITS=1 -DNMIS=1
DROP | wait | -DCOMMITS=1 -DNMIS=1 -DAT0=1
END | wait | -DCOMMITS=1 -DNMIS=1'

# named NAME...: of the lines that come in, those of these names
named()
{
	gawk -F ' [|] ' 'BEGIN { while (ARGC > 1) wanted[ARGV[--ARGC]] } $1 in wanted' "$@"
}

case ${1:-} in
'')	;;
deep)	intact+=$deep ;;
*)	intact=$(named "$@" <<<"$intact$deep")$'\n' broken=$(named "$@" <<<"$broken") ;;
esac

# explore MODEL DEFINE...: what spin says goes to $work/said
explore()
{
	local model=$1 opt=-O2
	shift
	# An optimizing compiler takes longer than it saves, with the many places
	# where an interrupt may come, and where something is found soon.
	case "$model $*" in wait*|*IRQS*|*BREAK*) opt=-O0 ;; esac
	rm -rf "$work/pan"
	mkdir "$work/pan"
	cd "$work/pan" || return
	# What is defined twice is what was said last. The defaults are words.
	# shellcheck disable=SC2086
	spin -a $defaults "$@" "$harness/model/$model.pml"
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

litmus()
{
	cd "$LKMM" || return
	herd7 -conf linux-kernel.cfg "$1" | grep '^Observation .* Never '
}

tests=()
[ -z "${LKMM:-}" ] || tests=("$harness"/model/*.litmus)

scratch
lines=0
each count "$intact$broken"
echo "1..$((lines + ${#tests[@]}))"
each check_intact "$intact"
each check_broken "$broken"
for test in "${tests[@]}"; do
	check "litmus: never: ${test##*/}" litmus "$test"
done
