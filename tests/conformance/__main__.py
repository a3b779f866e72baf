"""`make conformance`: per file of cases `total passed failed optional later`; exit code 1 when a case failed.

PARTITA_CASES=DIR names another folder of cases of the same form.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.conformance.judging import judge
from tests.conformance.registry import READERS, case_files, cases_of

_COLUMNS = ("passed", "failed", "optional", "later")


def main() -> int:
    """Judge every case; failed ones are told on stderr."""
    files = case_files()
    if not files:
        print("no case files: PARTITA_CASES names a folder of *.jsonl files", file=sys.stderr)
        return 1
    failed = 0
    print(f"{'file':<24}{'total':>7}" + "".join(f"{name:>10}" for name in _COLUMNS))
    for file in files:
        tally: Counter[str] = Counter()
        for case in cases_of(file):
            verdict = judge(case, READERS)
            tally[verdict.kind] += 1
            if verdict.kind == "failed":
                print(f"{file.name} {case['id']}: {verdict.why}", file=sys.stderr)
        failed += tally["failed"]
        print(f"{file.name:<24}{tally.total():>7}" + "".join(f"{tally[name]:>10}" for name in _COLUMNS), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
