#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/harness.sh: the harness itself. It makes a guest end in each possible
# manner, which must have a status and a message of its own.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

export FLAVOUR=default

# ends STATUS MESSAGE COMMAND [VARIABLE=value...]
ends()
{
	local want=$1 message=$2 command=$3 got=0
	shift 3
	env "$@" "$harness/verbs/guest.sh" "$command" >"$work/out" 2>"$work/err" || got=$?
	cat "$work/out" "$work/err"
	if [ $got -ne "$want" ]; then
		echo "status $got, not $want"
		return 1
	fi
	grep -q "$message" "$work/out" "$work/err" || {
		echo "no line says: $message"
		return 1
	}
}

splat_line()
{
	printf '[    1.0] %s\n' "$1" >"$work/console"
	! "$harness/shared/splats.sh" "$work/console"
}

excepted_line()
{
	printf '[    1.0] %s\n' "$1" >"$work/console"
	EXCEPT=${1%% *} "$harness/shared/splats.sh" "$work/console"
}

# counts FAILURES "PASSED FAILED" RESULTS: what test.sh makes of a suite's output
counts()
{
	rm -f "$work/failures"
	printf %b "$3" | gawk -v suite=s -v tally="$work/tally" -v failures="$work/failures" \
		-f "$harness/shared/count.awk" >/dev/null
	diff <(printf %b "$1") "$work/failures" && diff <(echo "$2") "$work/tally"
}

# What piggy.S has: the same source, another kernel.
compiles_what_it_includes()
{
	export CCACHE_DEPEND=1 CCACHE_DIR=$work/ccache
	cd "$work" || return
	echo '.incbin "kernel"' >piggy.S
	for kernel in one two; do
		echo $kernel >kernel
		"$harness/shared/cc.sh" gcc -MD -MF piggy.d -c piggy.S -o piggy.o
		strings -n 3 piggy.o | grep -x $kernel || return 1
	done
}

# No fault is tried where the tests for it cannot be chosen: each would survive.
looks_for_gawk()
{
	mkdir "$work/bin"
	ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v mkdir)" "$work/bin"
	! PATH=$work/bin "$harness/suites/mutants-programs.sh" 2>"$work/err" || return
	grep 'there is no gawk' "$work/err"
}

scratch
mkdir "$work/with"
echo 'came along' >"$work/with/file"
echo 1..25
check "faults of programs are not tried without gawk" looks_for_gawk
check "what the assembler includes is not an old one" compiles_what_it_includes
check "a command's output and status come back"	\
	ends 7 '^came along$' 'cat file; exit 7' WITH="$work/with"
check "a program of the host runs with its libraries" \
	ends 0 'GNU bash' 'bash --version' BINS="$(command -v bash)"
check "a guest has the processors asked for" \
	ends 0 '^3$' 'grep -c ^processor /proc/cpuinfo' SMP=3
check "a panic is told"		ends 121 PANICKED 'echo c >/proc/sysrq-trigger'
int3='echo "Oops: int3: 0000 [#1]" >/dev/kmsg; echo "Code: 74 0c e8 <6d> b6" >/dev/kmsg'
check "a failure of the emulator is told"	ends 119 'RAN OLD CODE' "$int3; echo c >/proc/sysrq-trigger"
check "an int3 that is in memory is none"	ends 121 PANICKED "${int3/e8/cc}; echo c >/proc/sysrq-trigger"
check "a hang is told"		ends 122 HUNG 'sleep 1000' LIMIT=60
check "a death is told"		ends 123 DIED 'reboot -f'
check "silence is told"		ends 124 'SAID NOTHING' 'sleep 1000' LIMIT=20 APPEND=loglevel=0
check "a qemu that fails is told"	ends 125 'QEMU FAILED' true MEM=nonsense
check "a warning fails a command that succeeds" \
	ends 120 COMPLAINED 'echo "WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg'
for line in 'BUG: KASAN: use-after-free in f' 'UBSAN: shift-out-of-bounds in f' \
	    'WARNING: possible circular locking dependency detected' \
	    'WARNING: suspicious RCU usage' 'INFO: task cat:1 blocked for more than 120 seconds.' \
	    'rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:' \
	    'BUG: KCSAN: data-race in f / g' \
	    'kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)'; do
	check "a splat: $line" splat_line "$line"
done
check "what the caller judges himself is no splat" excepted_line 'BUG: KCSAN: data-race in f / g'
check "skipped, or planned and not run, is failed" \
	counts 'not ok - s: b # SKIP no c\nnot ok - s: 4 tests planned, 2 ran\n' '1 3' \
	'1..4\nok 1 a\nok 2 b # SKIP no c\n'
check "what is said below a failure comes with it, and what is said above" \
	counts 'not ok - s: a\n#     it is 1\n#     not 2\nnot ok - s: c\n#     it is 3\n' '2 2' \
	'# at a\nok - z\nnot ok - a\n# it is 1\n#   not 2\nok - b\n# it is 3\nnot ok - c\n'
check "what a kselftest says before it fails comes with it" \
	counts 'not ok - s: b\n#     t.c:9: it is 1\n' '1 1' \
	"$(printf '%s\n' 1..2 '#  RUN  a ...' '# mere talk' '#    OK  a' 'ok 1 a' '#  RUN  b ...' \
		'# t.c:9: it is 1' '#  FAIL  b' 'not ok 2 b' '# Totals: 1')\n"
