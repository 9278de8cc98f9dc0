#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Make the report of a benchmark's results.

report.py RESULTS OUTDIR prints the tables and writes bench.md, bench.json and the plots.
report.py --keep RESULTS TOP writes what the repository at TOP keeps of a complete run.

RESULTS are the lines "result TABLE key=value ..." of a run, or a bench.json. The exit status is 1
if they are not complete: what was left out is said on standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reporting.documents import kept_files, make_report, printed, write, write_report
from reporting.results import Absent, BadResults, load


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true",
                        help="write what the repository keeps, if the results are complete")
    parser.add_argument("results", metavar="RESULTS")
    parser.add_argument("folder", metavar="OUTDIR", type=Path)
    return parser.parse_args()


def run(results: str, folder: Path, keep: bool) -> int:
    """Make the report; the exit status."""
    report = make_report(load(results))
    if not keep:
        sys.stdout.write(printed(report))
        write_report(report, folder)
    for line in report.missing:
        print(f"left out: {line}", file=sys.stderr)
    if report.missing:
        print(f"error: {results} is not complete", file=sys.stderr)
        return 1
    if keep:
        write(kept_files(report, folder))
    return 0


def main() -> int:
    """Say what is wrong in a line."""
    args = arguments()
    try:
        return run(args.results, args.folder, args.keep)
    except (Absent, BadResults, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
