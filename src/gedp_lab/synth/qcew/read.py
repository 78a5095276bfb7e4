"""The published QCEW of one quarter: county and state rows of the wanted states and ownerships."""

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from gedp.errors import Fault, FaultsError
from gedp.progress import Advance
from gedp_lab.synth.qcew.sources import TEXT, WHOLE, Source, find_sources, read_chunks
from gedp_lab.synth.states import POSTAL_OF_FIPS

STATE_LEVELS = (51, 58)
COUNTY_LEVELS = (71, 78)
_QUARTER_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d{2})[._ -]?q([1-4])(?![\d-])", re.IGNORECASE)

_UNREADABLE = (pa.ArrowException, zipfile.BadZipFile, zlib.error, EOFError, OSError, UnicodeDecodeError)


@dataclass(frozen=True)
class QcewRows:
    """State and county rows (levels 51-58 and 71-78) of one quarter, with the columns `TEXT` and `WHOLE`."""

    rows: pa.Table
    year: int
    quarter: int


def read_qcew(
    paths: Sequence[Path],
    *,
    states: Sequence[str] = (),
    own: Sequence[str] = ("5",),
    year: int | None = None,
    quarter: int | None = None,
    progress: Advance | None = None,
) -> QcewRows:
    """Reads the rows of the wanted states (FIPS; all if none is named) and ownerships.

    Year and quarter come from the rows, or, where a file has no such columns, from its name (2016q1, 2016.q1,
    …); if that tells nothing they must be given. Given ones pick the quarter and must be there.
    """
    asked = (year, quarter)
    rows, there = _rows(paths, states, own, asked, progress, only_asked=True)
    return _of_quarter(rows, _one_quarter(there, asked), states)


def read_quarters(
    paths: Sequence[Path],
    *,
    states: Sequence[str] = (),
    own: Sequence[str] = ("5",),
    year: int | None = None,
    quarter: int | None = None,
    progress: Advance | None = None,
) -> tuple[QcewRows, ...]:
    """Reads all quarters that the files hold, in order, as `read_qcew` reads one; there must be no gap between them.

    A given year and quarter are those of the first: earlier ones are left out, and files that do not show their quarter
    are taken to be of it.
    """
    rows, found = _rows(paths, states, own, (year, quarter), progress)
    first = (year or 0, quarter or 0)
    numbered = [(_number(year_text), _number(qtr)) for year_text, qtr in found]
    quarters = [(y, q) for y, q in numbered if y is not None and q is not None and q in range(1, 5)]
    there = sorted(when for when in quarters if when >= first)
    gaps = [second for before, second in pairwise(there) if following(*before) != second]
    if gaps or not there or (year and quarter and there[0] != first):
        names = ", ".join(f"{y} quarter {q}" for y, q in there) or "no quarter from there on"
        problem = f"the input holds {names}"
        raise FaultsError("QCEW input", [Fault("quarters", problem, "Give files of quarters that follow each other")])
    return tuple(_of_quarter(rows, when, states) for when in there)


def following(year: int, quarter: int) -> tuple[int, int]:
    """The next quarter."""
    return (year, quarter + 1) if quarter < 4 else (year + 1, 1)


def _rows(
    paths: Sequence[Path],
    states: Sequence[str],
    own: Sequence[str],
    asked: tuple[int | None, int | None],
    progress: Advance | None,
    *,
    only_asked: bool = False,
) -> tuple[pa.Table, set[tuple[str, str]]]:
    """The wanted rows with their year and quarter, of every quarter or of the one asked for, and which are there."""
    faults: list[Fault] = []
    tables: list[pa.Table] = []
    there: set[tuple[str, str]] = set()
    for source in find_sources(paths):
        try:
            for chunk in read_chunks(source, progress):
                rows = _select(_dated(chunk, source, asked), states, own)
                there |= _quarters(rows)
                tables.append(_asked_for(rows, asked) if only_asked else rows)
        except FaultsError as error:
            faults += error.faults
        except _UNREADABLE as error:
            problem = " ".join(str(error).split())[:160] or type(error).__name__
            faults.append(Fault(source.name, f"cannot be read ({problem})", "It may be cut short; download it again"))
    if not faults and not there:
        faults.append(_nothing(states, own))
    if faults:
        raise FaultsError("QCEW input", faults)
    return pa.concat_tables(tables), there


def _of_quarter(rows: pa.Table, when: tuple[int, int], states: Sequence[str]) -> QcewRows:
    rows = _asked_for(rows, when)
    _check_states(rows, states)
    return QcewRows(rows.select([*TEXT, *WHOLE]), *when)


def _dated(chunk: pa.Table, source: Source, asked: tuple[int | None, int | None]) -> pa.Table:
    """The chunk with its year and quarter: its own, those of the file's name, or those asked for."""
    if "year" in chunk.column_names and "qtr" in chunk.column_names:
        return chunk
    named = _QUARTER_IN_NAME.search(source.name)
    when = (int(named[1]), int(named[2])) if named else asked
    if None in when:
        problem = "has no columns year and qtr, and its name does not tell them"
        raise FaultsError("QCEW input", [Fault(source.name, problem, "Add --year and --quarter")])
    for name, value in zip(("year", "qtr"), when, strict=True):
        if name in chunk.column_names:
            chunk = chunk.drop_columns(name)
        chunk = chunk.append_column(name, pa.repeat(pa.scalar(str(value)), chunk.num_rows))
    return chunk


def _select(chunk: pa.Table, states: Sequence[str], own: Sequence[str]) -> pa.Table:
    level = chunk["agglvl_code"]
    keep = pc.or_(_between(level, STATE_LEVELS), _between(level, COUNTY_LEVELS))
    keep = pc.and_(keep, pc.is_in(chunk["own_code"], pa.array(own, pa.string())))
    if states:
        state = pc.utf8_slice_codeunits(chunk["area_fips"], 0, 2)
        keep = pc.and_(keep, pc.is_in(state, pa.array(states, pa.string())))
    chosen = chunk.filter(keep)
    return chosen.select([*TEXT, *WHOLE, "year", "qtr"])


def _between(values: pa.ChunkedArray, ends: tuple[int, int]) -> pa.ChunkedArray:
    return pc.and_(pc.greater_equal(values, ends[0]), pc.less_equal(values, ends[1]))


def _quarters(rows: pa.Table) -> set[tuple[str, str]]:
    pairs = rows.group_by(["year", "qtr"]).aggregate([])
    return set(zip(pairs["year"].to_pylist(), pairs["qtr"].to_pylist(), strict=True))


def _asked_for(rows: pa.Table, asked: tuple[int | None, int | None]) -> pa.Table:
    for name, number in zip(("year", "qtr"), asked, strict=True):
        if number is not None:
            rows = rows.filter(pc.equal(rows[name], str(number)))
    return rows


def _one_quarter(there: set[tuple[str, str]], asked: tuple[int | None, int | None]) -> tuple[int, int]:
    """The one quarter that is there and asked for; raises FaultsError if that is not just one."""
    fitting = [
        (int(year), int(qtr))
        for year, qtr in there
        if asked[0] in (None, _number(year)) and asked[1] in (None, _number(qtr)) and _number(qtr) in range(1, 5)
    ]
    if len(fitting) == 1:
        return fitting[0]
    holds = "holds " + ", ".join(f"{year} quarter {qtr}" for year, qtr in sorted(there)[:8])
    if fitting:
        fault = Fault("quarter", f"the input {holds}", "Pick one with --year and --quarter")
    else:
        names = zip(("year", "quarter"), asked, strict=True)
        wanted = " ".join(f"{word} {number}" for word, number in names if number)
        problem = f"{wanted or 'a quarter'} is not there: the input {holds}"
        fault = Fault("quarter", problem, "Change --year and --quarter, or the file")
    raise FaultsError("QCEW input", [fault])


def _check_states(rows: pa.Table, states: Sequence[str]) -> None:
    """Raises FaultsError for a wanted state without county rows, or if there are no county rows at all."""
    counties = rows.filter(_between(rows["agglvl_code"], COUNTY_LEVELS))
    there = set(pc.unique(pc.utf8_slice_codeunits(counties["area_fips"], 0, 2)).to_pylist())
    faults = [
        Fault(f"state {fips} ({POSTAL_OF_FIPS[fips]})", "no county rows", "Leave it out or add its file")
        for fips in states
        if fips not in there
    ]
    if not there and not faults:
        faults = [Fault("rows", "no county rows", "Use files with levels 71 to 78")]
    if faults:
        raise FaultsError("QCEW input", faults)


def _nothing(states: Sequence[str], own: Sequence[str]) -> Fault:
    where = f" in states {', '.join(states)}" if states else ""
    return Fault(
        "rows",
        f"no state or county rows of ownership {', '.join(own)}{where}",
        "Check --state, --own and the file",
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
