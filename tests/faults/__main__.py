"""The command `python -m tests.faults`."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: threads do not survive a fork

import argparse
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.faults import scenarios
from tests.faults.inject import STRACE
from tests.faults.scenarios import Case, Outcome, case_of, faults_of, try_case
from tests.fuzz import world
from tests.helpers.forking import in_a_child, preload

#: Two queries: a fit that never fails by itself.
SPEC = re.sub(r'(?s)\[\[queries\]\]\nname = "sectors".*?(?=\[microdata\])', "", world.SPEC)


@contextmanager
def prepared() -> Iterator[tuple[Path, Path]]:
    """A world to copy, and where to copy it to."""
    preload()
    with tempfile.TemporaryDirectory(prefix="gedp-faults-") as scratch:
        start = Path(scratch) / "world"
        in_a_child(lambda: world.make(start, SPEC))
        in_a_child(lambda: scenarios.leave_whole(start))
        yield start, Path(scratch) / "case"


def all_cases(start: Path, folder: Path) -> list[Case]:
    """Every fault of every scenario, shuffled, so that the first of them are a sample."""
    cases = [Case(scenario, fault) for scenario in scenarios.SCENARIOS for fault in faults_of(scenario, start, folder)]
    random.Random(0).shuffle(cases)
    return cases


def print_outcomes(outcomes: Sequence[Outcome], seconds: float) -> None:
    """Cases by scenario and outcome, then every violation with a command that repeats it."""
    codes = sorted({outcome.ended.code for outcome in outcomes})
    table = Table(title=f"{len(outcomes):,} faults, {seconds:,.0f} s", title_justify="left")
    for heading in ("scenario", "cases", *(f"exit {c}" if c >= 0 else f"signal {-c}" for c in codes), "violations"):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for name in (*(scenario.name for scenario in scenarios.SCENARIOS), "all"):
        of = [outcome for outcome in outcomes if name in (outcome.case.scenario.name, "all")]
        count = Counter(outcome.ended.code for outcome in of)
        bad = sum(bool(outcome.violations) for outcome in of)
        table.add_row(name, f"{len(of):,}", *(f"{count[code]:,}" for code in codes), f"{bad:,}")
    console = Console(width=140, highlight=False, markup=False)
    console.print(table)
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        for violation in outcome.violations:
            found.setdefault(violation, []).append(outcome)
    for violation, cases in sorted(found.items(), key=lambda pair: -len(pair[1])):
        console.print(f"\nVIOLATION, {len(cases)} cases: {violation}", soft_wrap=True)
        for outcome in cases[:5]:
            console.print(f"  python -m tests.faults --only '{outcome.case}'", soft_wrap=True)
    if not found:
        console.print("No violations.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Fails every write of gedp in turn.")
    parser.add_argument("--cases", type=int, help="only so many faults, chosen at random; default: all")
    parser.add_argument("--only", help="repeat the one case of this name, and show what it said")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no case after so long")
    asked = parser.parse_args()
    if not STRACE:
        sys.exit("python -m tests.faults needs strace (Debian: apt-get install strace)")
    began = time.monotonic()
    with prepared() as (start, folder):
        cases = [case_of(asked.only)] if asked.only else all_cases(start, folder)[: asked.cases]
        outcomes = []
        for case in cases:
            if time.monotonic() - began < asked.seconds:
                outcomes.append(try_case(case, start, folder))
                if outcomes[-1].violations:
                    print(case, outcomes[-1].violations, file=sys.stderr)
    if asked.only:
        for outcome in outcomes:
            print(outcome.ended)
    if len(outcomes) < len(cases):
        print(f"{len(cases) - len(outcomes):,} of {len(cases):,} faults were not tried for want of time.")
    print_outcomes(outcomes, time.monotonic() - began)
    sys.exit(any(outcome.violations for outcome in outcomes))


if __name__ == "__main__":
    main()
