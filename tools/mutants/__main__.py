"""Do the tests notice when the code is changed? `make mutants`, or

    python -m tools.mutants --rooms noise accounting --sample 40 --seconds 20

takes a sample of all small changes to a room, always the same one, and runs for each the tests that run what is
changed, until one of them fails. Changes that no test can notice are listed in equivalent.toml, with reasons.
"""

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # before numpy: a forked child keeps no threads

from tools.mutants.changes import Mutant, of_room
from tools.mutants.covering import BUILD, ROOT, Covering, measured
from tools.mutants.equivalent import Equivalent, read
from tools.mutants.trial import noticed, prepared

ROOMS = ("noise", "accounting", "individual", "ledger", "confidential")
FOLDERS = (*ROOMS, "policy", "attacks")  # policy: what `confidential` refuses about a spec


def main() -> None:
    """Prints a score by room and what was not noticed; ends with 1 where a reason no longer has its change."""
    arguments = _arguments()
    os.chdir(ROOT)
    known, covering = read(), measured(FOLDERS, ROOMS)
    prepared([f"tests/{folder}" for folder in FOLDERS])
    BUILD.mkdir(parents=True, exist_ok=True)
    scores, survivors, stale = [], [], []
    for room in arguments.rooms:
        mutants = of_room(room)
        stale += known.unmatched(room, mutants)
        sample = sampled(mutants, arguments.sample, arguments.seed)
        outcomes, missed = tried(room, sample, known, covering, arguments.seconds)
        scores.append(score(room, len(mutants), outcomes))
        survivors += missed
    report = "\n".join([*scores, "", *survivors])
    (BUILD / "survivors.txt").write_text(report + "\n", encoding="utf-8")
    print(f"\n{report}\n\nThe same is in {(BUILD / 'survivors.txt').relative_to(ROOT)}.")
    if stale:
        sys.exit("\n".join(["", "equivalent.toml names changes that are not there any more:", *stale]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS)
    parser.add_argument("--sample", type=int, default=40, help="changes per room; 0 for all")
    parser.add_argument("--seconds", type=int, default=20, help="of tests for each change")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def sampled(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """So many of them by chance; whatever is done to the code, a change that is in the sample stays in it."""
    ranked = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())
    return ranked[: size or None]


def tried(
    room: str, sample: Sequence[Mutant], known: Equivalent, covering: Covering, seconds: int
) -> tuple[Counter[str], list[str]]:
    """How the changes were noticed, and those that were not."""
    outcomes: Counter[str] = Counter()
    missed = []
    start = time.monotonic()
    for number, mutant in enumerate(sample, start=1):
        tests = covering.tests(mutant, seconds)
        outcome = "equivalent" if mutant.key in known else noticed(mutant, tests, seconds, BUILD / "trial.log")
        outcomes[outcome] += 1
        if outcome == "no":
            missed.append(f"src/gedp/{mutant.file}:{mutant.lines[0]}  ({len(tests)} tests)\n  {mutant.key}")
            print(missed[-1], flush=True)
        if number % 20 == 0:
            print(f"{room}: {number} of {len(sample)} after {time.monotonic() - start:.0f} s", flush=True)
    return outcomes, missed


def score(room: str, total: int, outcomes: Counter[str]) -> str:
    """One line about a room."""
    found = outcomes["test"] + outcomes["time"]
    judged = found + outcomes["no"]
    return (
        f"{room:<14}{100 * found / judged if judged else 100:5.1f}%  {found} of {judged} noticed"
        f" ({outcomes['time']} by the time they take); {outcomes['equivalent']} equivalent; {total} changes in all"
    )


if __name__ == "__main__":
    main()
