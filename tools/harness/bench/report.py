#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Make the report of a benchmark's results.

report.py RESULTS FOLDER writes the report of a complete run and bench.json to a folder.
report.py --keep RESULTS TOP writes the document and the README's table of the repository at TOP.

RESULTS are the lines "result TABLE key=value ..." of a run, or a bench.json. The exit status is 1
if they are not complete.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reporting.documents import keep, write_report
from reporting.results import BadResults, Results


def main() -> None:
    """Say what is wrong in a line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", dest="write", action="store_const", const=keep,
                        default=write_report, help="write what the repository keeps")
    parser.add_argument("results", metavar="RESULTS")
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    args = parser.parse_args()
    try:
        args.write(Results(args.results), args.folder)
    except (BadResults, OSError) as error:
        sys.exit(f"error: {args.results}: {error}")


if __name__ == "__main__":
    main()
