"""Couples many worlds and prints the largest distances; then, if asked to, plants faults and prints where they show.

python -m tests.attacks.coupling --planted
"""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.attacks.coupling.couple import Outcome, outcome
from tests.attacks.coupling.planted import PLANTED, where_found
from tests.attacks.coupling.worlds import ACCOUNTINGS, KINDS, MATRIX


def print_distances(outcomes: Sequence[Outcome]) -> None:
    """The largest distance of every kind of query, with either accounting."""
    print(f"{'largest distance, as a part of the price':45}" + "".join(f"{each:>14}" for each in ACCOUNTINGS))
    for kind in KINDS:
        found = [[each.ratio for each in outcomes if f", {kind}, {a}," in each.name] for a in ACCOUNTINGS]
        print(f"{kind:45}" + "".join(f"{float(max(ratios, default=0)):14.9f}" for ratios in found))
    broken = sum(bool(each.error) for each in outcomes)
    print(
        f"{len(outcomes)} worlds, {broken} broken, {sum(each.draws for each in outcomes):,} calls for noise", flush=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=len(MATRIX), help="how many; by default every combination once")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the number of the first")
    parser.add_argument("--planted", action="store_true", help="then plant faults")
    chosen = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as processes:
        outcomes = list(processes.map(outcome, range(chosen.start, chosen.start + chosen.worlds), chunksize=5))
        for each in outcomes:
            if each.error:
                print(f"BROKEN: {each.name}: {each.error}")
        print_distances(outcomes)
        faults = list(PLANTED) if chosen.planted else []
        found = dict(zip(faults, processes.map(where_found, faults), strict=True))
    for fault, where in found.items():
        print(f"{fault:45} {where or 'NOT FOUND'}")
    return int(any(each.error for each in outcomes) or not all(found.values()))


if __name__ == "__main__":
    sys.exit(main())
