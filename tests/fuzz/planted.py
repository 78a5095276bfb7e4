"""Bugs planted in `gedp examples`, to see that the fuzzer reports each: `python -m tests.fuzz.planted`."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import tests.fuzz.__main__ as fuzz
from gedp.ledger import Ledger
from gedp.policy import examples
from tests.fuzz import kinds
from tests.fuzz.tables import SECRET
from tests.helpers.canaries import CANARY
from tests.helpers.ledgers import spend
from tests.helpers.runs import LEDGER


def _abort() -> None:
    os.abort()


def _raise() -> None:
    raise ValueError("nobody foresaw this")


def _spend() -> None:
    spend(Ledger.open(LEDGER, create=False), "9", "0.1")


def _forget() -> None:
    Path(LEDGER).unlink()


def _leave() -> None:
    Path(".left.tmp").touch()


PLANTS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "traceback": _raise,
    "hang": lambda: time.sleep(600),
    "canary on standard output": lambda: print(f"{CANARY:,}"),
    "canary on the error stream": lambda: print(f"{float(CANARY):.11e}", file=sys.stderr),
    "canary in words": lambda: print(SECRET),
    "canary in a file": lambda: Path("notes.txt").write_text(str(CANARY), encoding="utf-8"),
    "budget spent": _spend,
    "ledger gone": _forget,
    "file left behind": _leave,
    "odd exit code": lambda: sys.exit(99),
    "death": _abort,
}


def main() -> None:
    """One case for each bug, reported as ever."""
    plants = list(PLANTS.values())

    def names() -> list[str]:
        plants[int(Path.cwd().parents[2].name)]()  # the folder of a case has its number
        return []

    examples.example_names = names
    kinds.KINDS = (kinds.Kind("planted", 1, lambda chance, folder: [["examples"]]),)
    results = fuzz.run(1, range(len(plants)), limit=10.0)
    fuzz.print_results(results, 1, 0.0)
    sys.exit(any(result.findings for result in results))


if __name__ == "__main__":
    main()
