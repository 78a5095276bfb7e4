"""Public map files: a code and its group on every line. Messages name counts, never what a line holds."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from gedp.errors import Fault
from gedp.policy import Grouper

DELIMITERS = ",;\t|"
Line = Sequence[str]


def read_map(grouper: Grouper, path: Path, faults: list[Fault]) -> dict[str, str]:
    """The group of every code in a map file. What is wrong with the file is added to `faults`.

    With a first line that has the names of the public column and of the grouping, the columns under these names are
    taken, whatever others there are. Without one there must be just two columns, the codes first.
    """
    try:
        return _read(grouper, path)
    except _FaultyMapError as error:
        problem = f"its map file {grouper.map} {error.problem}"
        faults.append(Fault(f"grouping {grouper.name}", problem, error.suggestion))
    return {}


class _FaultyMapError(Exception):
    def __init__(self, problem: str, suggestion: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.suggestion = suggestion


def _read(grouper: Grouper, path: Path) -> dict[str, str]:
    groups: dict[str, str] = {}
    blank, contradicted = 0, set[str]()
    for code, group in _pairs(grouper, path):
        if not (code.strip() and group.strip()):
            blank += 1
        elif groups.setdefault(code, group) != group:
            contradicted.add(code)
    if blank:
        raise _FaultyMapError(f"has {_lines(blank)} without a code or a group", "Give code,group on every line")
    if contradicted:
        codes = "1 code" if len(contradicted) == 1 else f"{len(contradicted):,} codes"
        raise _FaultyMapError(f"gives {codes} more than one group", "Give every code one group")
    if not groups:
        raise _FaultyMapError("is empty", "Give code,group on every line")
    return groups


def _pairs(grouper: Grouper, path: Path) -> Iterator[tuple[str, str]]:
    """Code and group of every line but the names."""
    lines = _all_lines(path)
    first = next(lines, None)
    if first is None:
        return
    places = _places(grouper, first)
    code, group = places or (0, 1)
    irregular = 0
    for line in lines if places else _with(first, lines):
        if len(line) == len(first):
            yield line[code], line[group]
        else:
            irregular += 1
    if irregular:
        raise _FaultyMapError(f"has {_lines(irregular)} with more or fewer columns than the first", "Correct the lines")


def _places(grouper: Grouper, first: Line) -> tuple[int, int] | None:
    """Where the names say that codes and groups are; None where the first line has no names."""
    names = [name.strip() for name in first]
    counts = names.count(grouper.column), names.count(grouper.name)
    wanted = f"Name the column of codes {grouper.column!r} and that of groups {grouper.name!r} in the first line"
    if counts == (1, 1):
        return names.index(grouper.column), names.index(grouper.name)
    if any(counts):
        problem = "names one of two columns in its first line" if 0 in counts else "has a name twice in its first line"
        raise _FaultyMapError(problem, wanted)
    if len(first) != 2:
        columns = "1 column" if len(first) == 1 else f"{len(first):,} columns"
        raise _FaultyMapError(
            f"has {columns}, and its first line names neither codes nor groups",
            f"Give code,group on every line, or: {wanted}",
        )
    return None


def _with(first: Line, others: Iterator[Line]) -> Iterator[Line]:
    yield first
    yield from others


def _all_lines(path: Path) -> Iterator[Line]:
    """The lines that are not empty, one at a time."""
    try:
        if not path.is_file():  # a pipe would have us wait
            raise _FaultyMapError("cannot be read", "Check the path")
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = max(DELIMITERS, key=file.readline(1_000_000).count)
            file.seek(0)
            yield from filter(None, csv.reader(file, delimiter=delimiter, strict=True))
    except (OSError, ValueError, csv.Error):
        raise _FaultyMapError("cannot be read", "Check the path and that it is a CSV file in UTF-8") from None


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
