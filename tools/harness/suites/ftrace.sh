#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/ftrace.sh: the kernel's own ftrace suite of 6.1. A case passes when
# its result is that of the stock kernel in ftrace-baseline.txt, or better.
# suites/ftrace.sh baseline: make that list anew.

. "$(dirname "$0")/../lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"

baseline=$harness/ftrace-baseline.txt

# One emulation thread: a guest that patches its code under several may die.
export FLAVOUR=default THREAD=single LIMIT=${LIMIT:-2400}

# The suite traces the wake-ups of "ping", but the guest has no network: this
# one sleeps as long.
make_ping()
{
	gcc -O2 -static -x c -o "$1" - <<-EOC
		#include <unistd.h>
		int main(void) { for (int i = 0; i < 30; i++) usleep(20000); return 0; }
	EOC
}

run_ftracetest()
{
	cp -r "$base/tools/testing/selftests/ftrace" "$work/with"
	mkdir "$work/with/bin"
	make_ping "$work/with/bin/ping"
	# Status 1 says that a case failed: what each may do, the list says.
	# shellcheck disable=SC2016 # the guest's shell expands it
	WITH=$work/with BINS=$(command -v chrt) "$harness/guest.sh" \
		'PATH=/host/bin:$PATH sh ./ftracetest || [ $? -eq 1 ]'
}

# RESULT<tab>case, as they come (mawk would wait for a full buffer).
results()
{
	gawk 'match($0, /\t\[[A-Z]+\]/) {
		result = substr($0, RSTART + 2, RLENGTH - 3)
		name = substr($0, 1, RSTART - 1)
		sub(/^\[[0-9]+\] */, "", name)
		print result "\t" name
		fflush()
	}'
}

make_baseline()
{
	SERIES=none run_ftracetest | tee "$work/out" | results | tee "$work/results" >&2 || :
	grep -q '^# of passed' "$work/out" || die "the suite did not come to its end"
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		echo '#'
		echo "# The ftrace suite of the stock kernel, $(kernel_version "$base"), in the guest of this"
		echo '# harness: made by "make ftrace-baseline", which runs the suite on the default'
		echo '# flavour without the series, under single-threaded emulation. A case of'
		echo '# another result here than PASS fails there without the series too.'
		sort -t '	' -k 2 "$work/results"
	} >"$baseline"
	say "-- $(wc -l <"$work/results") results are in $baseline"
}

compare()
{
	gawk -F '\t' '
		BEGIN { split("FAIL UNRESOLVED UNTESTED UNSUPPORTED XFAIL PASS", r, " "); for (i in r) rank[r[i]] = i }
		/^#/	{ next }
		NR == FNR { stock[$2] = $1; print "1..1"; next }
		{
			fine = $2 in stock && rank[$1] >= rank[stock[$2]]
			print (fine ? "ok" : "not ok") " - " $2 " (" $1 (fine && $1 == stock[$2] ? "" : ", stock: " stock[$2]) ")"
			fflush()
		}' "$baseline" -
}

scratch
find_base
if [ "${1:-}" = baseline ]; then
	make_baseline
else
	run_ftracetest | tee "$logs/ftrace-suite.log" | results | compare
fi
