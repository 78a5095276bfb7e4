"""The command `python -m tests.fuzz`."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: threads do not survive a fork

import argparse
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.fuzz import world
from tests.fuzz.crew import Result, run_case, run_cases
from tests.fuzz.kinds import KINDS, chosen
from tests.helpers.forking import in_a_child, preload

SHOWN = 5  # cases of one finding


def run(
    seed: int, numbers: Sequence[int], *, workers: int = 2, limit: float = 30.0, seconds: float = math.inf
) -> list[Result]:
    """Every case of these numbers, as far as it begins within so many seconds."""
    end = time.monotonic() + seconds
    preload()
    with tempfile.TemporaryDirectory(prefix="gedp-fuzz-world-") as scratch:
        start = Path(scratch) / "world"
        in_a_child(lambda: world.make(start))
        results = []
        in_time = takewhile(lambda _: time.monotonic() < end, numbers)
        for result in run_cases(
            in_time, lambda number, folder: run_case(seed, number, start, folder), workers=workers, limit=limit
        ):
            result.kind = result.kind or chosen(random.Random(f"{seed}/{result.number}")).name
            results.append(result)
            if result.findings:
                print(f"case {result.number}: {result.findings}", file=sys.stderr)
        return results


def print_results(results: Sequence[Result], seed: int, seconds: float) -> None:
    """Cases by kind and outcome, then every finding with commands that repeat it."""
    codes = sorted({code for result in results for code in result.codes})
    table = Table(title=f"{len(results):,} cases, seed {seed}, {seconds:,.0f} s", title_justify="left")
    for heading in ("kind", "cases", "commands", *(f"exit {code}" for code in codes), "failures", "slowest, s"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    names = [kind.name for kind in KINDS]
    for name in (*names, *sorted({result.kind for result in results} - set(names)), "all"):
        of = [result for result in results if name in (result.kind, "all")]
        count = Counter(code for result in of for code in result.codes)
        failed = sum(bool(result.findings) for result in of)
        slowest = max((result.seconds for result in of), default=0.0)
        cells = [len(of), count.total(), *(count[code] for code in codes), failed]
        table.add_row(name, *(f"{cell:,}" for cell in cells), f"{slowest:.1f}")
    console = Console(width=140, highlight=False, markup=False)
    console.print(table)
    findings: dict[str, list[Result]] = {}
    for result in results:
        for finding in result.findings:
            findings.setdefault(finding, []).append(result)
    for finding, found in sorted(findings.items(), key=lambda pair: -len(pair[1])):
        console.print(f"\nFAILURE, {_cases(found)} ({', '.join(sorted({r.kind for r in found}))}): {finding}")
        for result in found[:SHOWN]:
            console.print(f"  python -m tests.fuzz --seed {seed} --only {result.number}", soft_wrap=True)
    if not findings:
        console.print("No failures: no tracebacks, hangs, canaries, or miscounted budgets.")


def _cases(found: Sequence[Result]) -> str:
    return "1 case" if len(found) == 1 else f"{len(found):,} cases"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Tries gedp on odd inputs.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--only", type=int, help="repeat this case alone, and show what it said")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds that a case may take")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no case after so long")
    asked = parser.parse_args()
    began = time.monotonic()
    numbers = range(asked.cases) if asked.only is None else [asked.only]
    results = run(asked.seed, numbers, workers=asked.workers, limit=asked.limit, seconds=asked.seconds)
    if asked.only is not None:
        for line, text in zip(results[0].lines, results[0].texts, strict=True):
            print(f"$ gedp {' '.join(map(repr, line))}\n{text}\n")
    if len(results) < len(numbers):
        print(f"{len(numbers) - len(results):,} of {len(numbers):,} cases were not tried for want of time.")
    print_results(results, asked.seed, time.monotonic() - began)
    sys.exit(any(result.findings for result in results))


if __name__ == "__main__":
    main()
