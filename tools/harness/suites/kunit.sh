#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/kunit.sh [FLAVOUR]: the KUnit tests of the ring buffer, in a guest of
# that flavour, or, for uml (the default), as a program of this machine. KUNIT_SUITES=
# is a pattern of the suites to run (default: all).

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/uml.sh"

# What the kernel said, without its time stamps.
run_uml()
{
	local image status=0
	image=$(FLAVOUR=uml "$harness/verbs/kernel.sh")
	kunit_in_uml "$image" >"$work/said" || status=$?
	"$harness/shared/splats.sh" "$work/said" | sed 's/^/   | /' >&2 || status=1
	return $status
}

# run_guest FLAVOUR CPUS SUITES
run_guest()
{
	SMP=$2 APPEND="kunit.filter_glob=$3 kunit.enable=1 log_buf_len=4M possible_cpus=$(($2 * 2 - 1))" \
		FLAVOUR=$1 LIMIT=${LIMIT:-1800} "$harness/verbs/guest.sh" dmesg >"$work/said"
}

# One result for each kind of buffer a test was done with, and below it what it
# expected in vain. A test that is planned and does not come, comes as a failure.
results()
{
	sed 's/^\[ *[0-9.]*\] //' "$work/said" | gawk '
		match($0, /^( *)1\.\.([0-9]+)/, m)	{ if (m[1] == "    ") planned += m[2] }
		match($0, /^ +# Subtest: (.*)/, m)	{ test = m[1]; next }
		match($0, /^        (not )?ok [0-9]+ (.*)/, m) {
			printf "%sok - %s: %s\n%s", m[1], test, m[2], why
			why = ""
			next
		}
		/^    (not )?ok /	{ came++ }
		/EXPECTATION|ASSERTION/	{ told = 4 }
		told && told--		{ why = why "# " $0 "\n" }
		END {
			if (!came || came != planned)
				print "not ok - " planned + 0 " tests were planned, " came + 0 " came to an end"
			printf "%s", why
		}'
}

scratch
flavour=${1:-uml}
status=0
if [ "$flavour" = uml ]; then
	run_uml || status=$?
	results
else
	# Two CPUs, and a third that is not there.
	run_guest "$flavour" 2 "$kunit_suites" || status=$?
	results
	# Of a buffer for one CPU every allocation may fail; for more, 6.1 warns.
	run_guest "$flavour" 1 ring_buffer_faults || status=$?
	results
fi
exit $status
