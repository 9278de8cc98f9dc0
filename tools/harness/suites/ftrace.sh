#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/ftrace.sh: the kernel's own ftrace suite of 6.1. A case passes when
# its result is that of the stock kernel in ftrace-baseline.txt, or better. A case that
# fails on the stock kernel, too, is printed, and is neither passed nor failed. Some cases
# depend on times, which emulation changes: a case with a worse result is run up to three
# times more.
# suites/ftrace.sh baseline: make that list anew.
#
# SUBBUF-21

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"

baseline=$patches/ftrace-baseline.txt

# One emulation thread: a guest that patches its code under several may die.
export FLAVOUR=default THREAD=single LIMIT=${LIMIT:-2400}

# The suite traces the wake-ups of "ping", but the guest has no network: this one
# sleeps instead. Busybox would run its own, so FUNCTIONS of the suite call this one,
# but where the suite only wants to let others run, by one packet: that fails, as it
# does without a network.
make_ping()
{
	local program=$1 functions=$2

	gcc -O2 -static -x c -o "$program" - <<-EOC
		#include <unistd.h>
		int main(void) { for (int i = 0; i < 30; i++) usleep(20000); return 0; }
	EOC
	cat >>"$functions" <<-'EOF'

		ping() { [ "$*" != "$LOCALHOST -c 1" ] && /host/bin/ping; }
	EOF
}

# run_ftracetest [CASE...]: all of them, or some by their files
run_ftracetest()
{
	rm -rf "$work/with"
	cp -r "$base/tools/testing/selftests/ftrace" "$work/with"
	mkdir -p "$work/with/bin"
	make_ping "$work/with/bin/ping" "$work/with/test.d/functions"
	# Status 1 says that a case failed: what each may do, the list says.
	WITH=$work/with BINS="$(command -v chrt) $(command -v nice)" "$harness/verbs/guest.sh" \
		"PATH=/host/bin:\$PATH sh ./ftracetest $* || [ \$? -eq 1 ]"
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

# compare TRY: with the stock kernel's. Before the last try the names of those that are
# worse go to a file instead. After the first only those that were are looked at, and
# each has to come.
compare()
{
	gawk -F '\t' -v try="$1" -v tries=$tries -v wanted="$work/wanted" -v worse="$work/worse" '
		BEGIN {
			split("FAIL UNRESOLVED UNTESTED UNSUPPORTED XFAIL PASS", r, " ")
			for (i in r)
				rank[r[i]] = i
			while (try > 1 && (getline name <wanted) > 0)
				left[name]
		}
		/^#/	{ next }
		NR == FNR { stock[$2] = $1; if (try == 1 && $1 != "FAIL") print "1..1"; next }
		try > 1 && !($2 in left) { next }
		{
			delete left[$2]
			fine = $2 in stock && rank[$1] >= rank[stock[$2]]
			if (!fine && try < tries) {
				print "# try " try ", " $1 ": " $2
				print $2 > worse
				next
			}
			if (fine && $1 == "FAIL") {
				print "# fails on the stock kernel as well: " $2
				next
			}
			# Of what fails on the stock kernel a result was not planned.
			if (stock[$2] == "FAIL")
				print "1..1"
			print (fine ? "ok" : "not ok") " - " $2 " (" $1 (fine && $1 == stock[$2] ? "" : ", stock: " stock[$2]) ")"
			fflush()
		}
		END {
			for (name in left)
				print "not ok - " name " (no result at try " try ")"
		}' "$baseline" -
}

# Those that were worse, by the descriptions in their files.
run_again()
{
	local cases
	mapfile -t cases < <(cd "$base/tools/testing/selftests/ftrace" &&
		sed 's/^(instance) *//; s/%/%%/g; s/^/# description: /' "$work/wanted" | grep -rlxFf - test.d)
	[ ${#cases[@]} -gt 0 ] || die "no file of the ftrace suite has one of these descriptions:" \
		"$(cat "$work/wanted")"
	run_ftracetest "${cases[@]}" | tee "$logs/ftrace-suite-again.log"
}

scratch
find_base
tries=4
if [ "${1:-}" = baseline ]; then
	make_baseline
else
	status=0
	: >"$work/worse"
	run_ftracetest | tee "$logs/ftrace-suite.log" | results | compare 1 || status=$?
	for ((try = 2; try <= tries; try++)); do
		[ -s "$work/worse" ] || break
		mv "$work/worse" "$work/wanted"
		run_again | results | compare $try || status=$?
	done
	exit $status
fi
