#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/harness.sh: the harness itself. Each way in which a guest can end is
# brought about and must be told apart by its status and its message.

. "$(dirname "$0")/../lib.sh"
. "$harness/tap.sh"

export FLAVOUR=default

# ends STATUS MESSAGE COMMAND [VARIABLE=value...]
ends()
{
	local want=$1 message=$2 command=$3 got=0
	shift 3
	env "$@" "$harness/guest.sh" "$command" >"$work/out" 2>"$work/err" || got=$?
	cat "$work/out" "$work/err"
	if [ $got -ne "$want" ]; then
		echo "status $got, not $want"
		return 1
	fi
	cat "$work/out" "$work/err" | grep -q "$message" || {
		echo "no line says: $message"
		return 1
	}
}

splat_line()
{
	printf '[    1.0] %s\n' "$1" >"$work/console"
	! "$harness/splats.sh" "$work/console"
}

excepted_line()
{
	printf '[    1.0] %s\n' "$1" >"$work/console"
	EXCEPT=${1%% *} "$harness/splats.sh" "$work/console"
}

scratch
mkdir "$work/with"
echo 'came along' >"$work/with/file"
echo 1..18
check "a command's output and status come back"	\
	ends 7 '^came along$' 'cat file; exit 7' WITH="$work/with"
check "a program of the host runs with its libraries" \
	ends 0 'GNU bash' 'bash --version' BINS="$(command -v bash)"
check "a guest has the processors asked for" \
	ends 0 '^3$' 'grep -c ^processor /proc/cpuinfo' SMP=3
check "a panic is told"		ends 121 PANICKED 'echo c >/proc/sysrq-trigger'
check "a hang is told"		ends 122 HUNG 'sleep 1000' LIMIT=25
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
