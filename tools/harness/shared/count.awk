# SPDX-License-Identifier: GPL-2.0
#
# gawk -v suite=NAME -v tally=FILE -v failures=FILE -f count.awk: a suite's TAP comes
# in; it goes out with the suite's name in each result. The tally gets one line,
# "PASSED FAILED", the failures each test that failed and what was said of it. A
# skipped test has failed, and so has one that was planned and never reported.

/^TAP version/	{ next }
/^1\.\.[0-9]+/	{ planned += substr($1, 4); next }

# kselftest_harness prints the reason between these two lines. Other programs print it
# above or below a result: between two that failed, it may belong to either, and is printed
# with the first.
/^# +RUN /	{ inside = 1; below = 0; lines = 0 }
/^#/ && below	{ reason($0) }
/^#/ && !below && !/^# +(RUN|FAIL) /	{ why[lines++] = $0 }

/^ok .*# *[Ss][Kk][Ii][Pp]/	{ sub(/^ok/, "not ok") }
/^ok /		{ passed++; below = 0; sub(/^ok [0-9]* *-? */, "ok - " suite ": ") }
/^not ok /	{
	failed++
	below = !inside
	sub(/^not ok [0-9]* *-? */, "not ok - " suite ": ")
	print >>failures
	for (i = lines > 20 ? lines - 20 : 0; i < lines; i++)
		reason(why[i])
}
/^(not )?ok /	{ inside = 0; lines = 0 }
{ print; fflush() }

function reason(line)
{
	sub(/^# */, "#     ", line)
	print line >>failures
}

END {
	missing = planned - passed - failed
	if (missing > 0) {
		line = "not ok - " suite ": " planned " tests planned, " passed + failed " ran"
		print line
		print line >>failures
		failed += missing
	}
	print passed + 0, failed + 0 > tally
}
