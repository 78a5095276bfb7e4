"""Code lists: the names of a column's codes, and where they lie on a map. Public files, carried in every release.

The first line names the columns: `code` (or the column's own name) and `title`; perhaps `lat` and `lon` in degrees or
`shape`, a polygon in well-known text; and other public columns or groupings without which a code says nothing, as a
county needs its state. Columns of other names are passed over. Messages have the numbers of lines, never what is there.
"""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gedp.errors import Fault, FaultsError
from gedp.policy.model import Spec
from gedp.policy.shapes import Ring, read_shape, shape_text

CODE, TITLE, LAT, LON, SHAPE = "code", "title", "lat", "lon", "shape"
DELIMITERS = ",;\t|"
LINES_NAMED = 3  # of those with the same fault

Codes = tuple[str, ...]


@dataclass(frozen=True)
class CodeName:
    """What people call a code, and where it lies."""

    title: str
    point: tuple[float, float] | None = None  # longitude and latitude, in degrees
    shape: tuple[Ring, ...] = ()


@dataclass(frozen=True, repr=False)
class CodeList:
    """The names of the codes of one column; `within` are the columns that come before its own in every key."""

    column: str
    within: tuple[str, ...]
    names: Mapping[Codes, CodeName]

    def rows(self) -> Iterator[list[str]]:
        """Headings and lines, as a file has them."""
        has_points = any(each.point for each in self.names.values())
        has_shapes = any(each.shape for each in self.names.values())
        yield [*self.within, CODE, TITLE, *([LAT, LON] if has_points else []), *([SHAPE] if has_shapes else [])]
        for key, each in self.names.items():
            lon, lat = each.point or ("", "")
            places = [str(lat), str(lon)] if has_points else []
            yield [*key, each.title, *places, *([shape_text(each.shape)] if has_shapes else [])]


@dataclass
class _Reading:
    """Faults of one file, by what is wrong, with the lines where it is."""

    lines: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def fault(self, line: int, problem: str, suggestion: str) -> None:
        self.lines.setdefault((problem, suggestion), []).append(line)

    def faults(self, place: str) -> list[Fault]:
        return [Fault(f"{place}, {_named(lines)}", *said) for said, lines in self.lines.items()]


class CodeListError(Exception):
    """A file that is no code list."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = list(faults)


def read_code_lists(spec: Spec) -> dict[str, CodeList]:
    """The code lists that a spec names, by column; every fault of all of them in one error."""
    found, faults = {}, list[Fault]()
    known = {*spec.data.public, *spec.groupers}
    for column, label in spec.labels.items():
        if label.codes is not None:
            try:
                found[column] = read_code_list(spec.folder / label.codes, column, known, label.codes)
            except CodeListError as error:
                faults += error.faults
    if faults:
        raise FaultsError("the labels", faults)
    return found


def read_code_list(path: Path, column: str, known: Collection[str] = (), place: str | None = None) -> CodeList:
    """The code list of a column in a file; `known` are the columns that a code may need besides its own."""
    place = place or path.name
    try:
        if not path.is_file():  # a pipe would have us wait
            raise OSError
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = max(DELIMITERS, key=file.readline(1_000_000).count)
            file.seek(0)
            lines = csv.reader(file, delimiter=delimiter, strict=True)
            rows = [(lines.line_num, row) for row in lines if row]
    except (OSError, ValueError, csv.Error):
        hint = "Check the path and that it is a CSV file in UTF-8"
        raise CodeListError([Fault(place, "it cannot be read", hint)]) from None
    return make_code_list(rows, column, known, place)


def make_code_list(
    rows: Sequence[tuple[int, Sequence[str]]], column: str, known: Collection[str], place: str
) -> CodeList:
    """The code list in numbered lines of texts, of which the first has the headings."""
    headings = [heading.strip() for heading in rows[0][1]] if rows else []
    code = column if column in headings else CODE
    lacking = [name for name in (code, TITLE) if headings.count(name) != 1]
    if lacking:
        hint = f"Name the column of codes {CODE!r} or {column!r} and that of names {TITLE!r}, once each"
        raise CodeListError([Fault(f"{place}, line 1", f"it does not name {' and '.join(lacking)} once", hint)])
    within = tuple(name for name in dict.fromkeys(headings) if name in known and name != code)
    found, names = _Reading(), dict[Codes, CodeName]()
    for number, row in rows[1:]:
        if len(row) != len(headings):
            found.fault(number, "more or fewer columns than the first line", "Correct the lines")
            continue
        cells = dict(zip(headings, row, strict=True))
        key, title = tuple(cells[name] for name in (*within, code)), cells[TITLE].strip()
        if not all(part.strip() for part in key) or not title or not title.isprintable():
            found.fault(number, "no code or no printable name", "Give both on every line")
        elif key in names:
            found.fault(number, "a code that was there before", "Give every code once")
        else:
            names[key] = CodeName(title, _point(number, cells, found), _shape(number, cells, found))
    if faults := found.faults(place):
        raise CodeListError(faults)
    if not names:
        raise CodeListError([Fault(place, "it has no codes", "Give one line for every code")])
    return CodeList(column, within, names)


def _point(number: int, cells: Mapping[str, str], found: _Reading) -> tuple[float, float] | None:
    lat, lon = cells.get(LAT, "").strip(), cells.get(LON, "").strip()
    if not lat and not lon:
        return None
    try:
        point = float(lon), float(lat)
    except ValueError:
        point = (999.0, 999.0)
    if not (abs(point[0]) <= 180 and abs(point[1]) <= 90):
        found.fault(
            number, f"{LAT} and {LON} are not degrees", "Give decimal degrees, like 40.06 and -74.41, or neither"
        )
        return None
    return point


def _shape(number: int, cells: Mapping[str, str], found: _Reading) -> tuple[Ring, ...]:
    try:
        return read_shape(cells.get(SHAPE, ""))
    except ValueError:
        found.fault(number, f"the {SHAPE} is no polygon", "Give well-known text: POLYGON ((…)) or MULTIPOLYGON (((…)))")
        return ()


def _named(lines: Sequence[int]) -> str:
    listed = ", ".join(map(str, lines[:LINES_NAMED]))
    more = f" and {len(lines) - LINES_NAMED:,} more" if len(lines) > LINES_NAMED else ""
    return f"line {listed}" if len(lines) == 1 else f"lines {listed}{more}"
