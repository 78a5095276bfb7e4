"""How much of each room the tests run, statements and branches together: `make coverage` measures and prints it.

    coverage json
    python -m tests.house.covered coverage.json accounting confidential ledger noise

fails if one of these rooms has too little. What needs an extra counts as a room of its own, which
`make spark` and `make sources` measure.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.house.rooms import LABORATORY, room_of

#: Modules that only the tests with an extra can run, by the extra.
OF_EXTRAS = {
    **dict.fromkeys(("session.py", "spark.py", "spark_rows.py", "spark_table.py"), "spark"),
    **dict.fromkeys(("adbc.py", "statistical.py", "workbooks.py"), "sources"),
}
ENOUGH = 95.0

Counts = tuple[int, int]  # how many statements and branches were run, of how many


def by_room(report: Mapping[str, Any]) -> dict[str, Counts]:
    """The counts of every room, from a report in JSON."""
    rooms: dict[str, Counts] = {}
    for name, file in report["files"].items():
        room = OF_EXTRAS.get(Path(name).name) or _room(Path(name).with_suffix("").parts)
        run, of = rooms.get(room, (0, 0))
        summary = file["summary"]
        run += summary["covered_lines"] + summary["covered_branches"]
        of += summary["num_statements"] + summary["num_branches"]
        rooms[room] = (run, of)
    return rooms


def _room(parts: Sequence[str]) -> str:
    return LABORATORY if LABORATORY in parts else room_of(".".join(parts[parts.index("gedp") :]))


def percent(counts: Counts) -> float:
    """The share that was run; all of a room without code."""
    run, of = counts
    return 100 * run / of if of else 100.0


def too_little(rooms: Mapping[str, Counts], needed: Sequence[str]) -> list[str]:
    """The needed rooms with less than enough; a room that is not there has none."""
    return [room for room in needed if percent(rooms.get(room, (0, 1))) < ENOUGH]


def main() -> None:
    path, *needed = sys.argv[1:]
    rooms = by_room(json.loads(Path(path).read_text(encoding="utf-8")))
    everything = (sum(run for run, _ in rooms.values()), sum(of for _, of in rooms.values()))
    for room, counts in [*sorted(rooms.items()), ("in total", everything)]:
        print(f"{room:<14}{percent(counts):>7.1f}%{f'  at least {ENOUGH:g}%' if room in needed else ''}")
    if missing := too_little(rooms, needed):
        sys.exit(f"the tests run too little of {', '.join(missing)}: coverage report -m shows what they leave out")


if __name__ == "__main__":
    main()
