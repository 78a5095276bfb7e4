"""A bug planted in how files are written, to see that the harness reports it: `python -m tests.faults.planted`."""

import sys
from pathlib import Path

import gedp.report.write
import tests.faults.__main__ as faults
from tests.faults import scenarios


def in_place(path: Path, text: str) -> None:
    """Writes over what is there, so that a killed process leaves half of it."""
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Every fault of `gedp report`, which writes over its file."""
    vars(gedp.report.write)["write_text"] = in_place
    scenarios.SCENARIOS = tuple(scenario for scenario in scenarios.SCENARIOS if scenario.name == "report")
    sys.argv = ["faults"]
    faults.main()


if __name__ == "__main__":
    main()
