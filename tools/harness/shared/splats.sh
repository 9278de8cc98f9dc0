#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# splats.sh CONSOLE-LOG: print what the kernel complained about, with some
# lines around the first ones. Exit status 1 if there is any. EXCEPT= is a regular
# expression: lines that match it are not looked at.

set -eu

splat='WARNING: |BUG: |BUG at |Oops|KASAN: |UBSAN: |Kernel panic|general protection fault'
splat+='|possible (circular|recursive|irq lock) |inconsistent lock state|bad unlock balance|suspicious RCU'
splat+='|INFO: task .* blocked for more|INFO: rcu|detected stalls?|self-detected stall|soft lockup|hard LOCKUP'
splat+='|scheduling while atomic|(list_add|list_del) corruption|refcount_t: |unreferenced object'
splat+='|new suspected memory leaks|Bad page state|Bad rss-counter|stack-protector|DEBUG_LOCKS_WARN'

console() { grep -vE -- "${EXCEPT:-^nothing at all$}" "$1" || :; }

console "$1" | grep -E "$splat" >/dev/null || exit 0
console "$1" | grep -m 5 -A 25 -E "$splat" | head -n 80
exit 1
