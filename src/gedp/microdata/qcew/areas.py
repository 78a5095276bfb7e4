"""Tables in the layout of the QCEW for states and counties."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray
from gedp.errors import Fault, FaultsError
from gedp.industries import TOTAL, ancestor_of
from gedp.microdata.cells import Cells, PublicRows
from gedp.microdata.combining import combinations
from gedp.microdata.fitted import NO_ROWS, MicrodataFit
from gedp.microdata.qcew.columns import AMOUNTS, NUMBER, WEEKLY, code_columns, figure_columns
from gedp.microdata.ratios import Ratio, parse_ratios
from gedp.microdata.tabulate import estimate_groups

Key = tuple[CodeArray, list[str]]  # of every row the place of its text, and the texts

#: Aggregation levels of states and of counties: all ownerships, total, domain, supersector, sector, NAICS 3 to 6.
STATES, COUNTIES = range(50, 59), range(70, 79)
LEVELS_HINT = "Use 50 to 58 or 70 to 78, or by size 21 to 28 or 61 to 64"

NAMES = (*AMOUNTS.values(), "state", "cnty", "naics", "own", "year", "qtr")
ALL_OWNERSHIPS, ALL_SIZES = "0", "0"


@dataclass(frozen=True, repr=False)
class Layout:
    """What a level needs of a release: attributes in the order of AMOUNTS, and grouping keys."""

    level: int
    attributes: tuple[str, ...]
    keys: Mapping[str, Key]


def tabulate_areas(
    microdata: MicrodataFit, level: int, confidence: float | None = None, names: Mapping[str, str] | None = None
) -> pa.Table:
    """One line for every area, ownership and industry of an aggregation level; `names` as in `find_layout`."""
    layout = find_layout(microdata.public_rows, level, names)
    of_row, codes = combinations([codes for codes, _ in layout.keys.values()], microdata.public_rows.count)
    groups = Cells(of_row, len(codes[0]), dict(zip(layout.keys, codes, strict=True)))
    renamed = dict(zip(AMOUNTS.values(), layout.attributes, strict=True))
    asked = [*(Ratio(name, {name: 1.0}) for name in layout.attributes), *parse_ratios(["weekly-wage"], renamed)]
    found = estimate_groups(microdata, groups, asked, confidence)
    figures = {name: of.columns() for name, of in zip((*AMOUNTS, WEEKLY), found, strict=True)}
    counts = microdata.public_rows.establishments_in(groups)
    numbers = pa.nulls(groups.count, pa.int64()) if counts is None else pa.array(counts)
    return pa.table({**_codes(layout, groups), NUMBER: numbers, **figure_columns(figures)})


def find_layout(public_rows: PublicRows, level: int, names: Mapping[str, str] | None = None) -> Layout:
    """What the level needs of a release; everything that is missing in one error.

    `names` says what the release calls the attributes and columns of NAMES. It may have no ownership, year or quarter,
    and counties numbered across states (five digits) need no state.
    """
    if not public_rows.has_rows:
        hint = "Tabulate by a grouping that was measured"
        raise FaultsError(public_rows.source.name, [Fault(f"agglvl {level}", NO_ROWS, hint)])
    names, detail = names or {}, level % 10
    find = _Finder(public_rows, {name: names.get(name, name) for name in NAMES})
    if level not in (*STATES, *COUNTIES):
        no_table = Fault(f"agglvl {level}", "it is not a level of states or counties", LEVELS_HINT)
        raise FaultsError(public_rows.source.name, [no_table])
    for name in (name for name in names if name not in NAMES):
        find.faults.append(Fault(f"name {name}", "the layout has no such name", f"There are: {', '.join(NAMES)}"))
    keys: dict[str, Key] = {}
    wide = level in COUNTIES and find.width("cnty") > 3
    if not wide:
        keys["state"] = find.key("state", _fips(2), "are not FIPS codes")
    if level in COUNTIES:
        keys["cnty"] = find.key("cnty", _fips(5 if wide else 3), "are not FIPS codes")
    for name in ("own", "year", "qtr"):
        if (name != "own" or detail) and (name in names or find.knows(name)):
            keys[name] = find.key(name, str, "")
    if detail > 1:
        keys["naics"] = find.key("naics", lambda text: ancestor_of(text, detail - 1), "have no code at this level")
    attributes = tuple(find.attribute(name) for name in AMOUNTS.values())
    if find.faults:
        raise FaultsError(public_rows.source.name, find.faults)
    return Layout(level, attributes, keys)


@dataclass(frozen=True, repr=False)
class _Finder:
    """Looks for columns and attributes under the names that the release has for them, and collects what is amiss."""

    public_rows: PublicRows
    called: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)

    def knows(self, name: str) -> bool:
        column = self.called[name]
        known = (*self.public_rows.table.column_names, *self.public_rows.spec.groupers)
        return column in known and column != self.public_rows.spec.data.id

    def width(self, name: str) -> int:
        return max(map(len, self.public_rows.key(self.called[name])[1]), default=0) if self.knows(name) else 0

    def key(self, name: str, translate: Callable[[str], str | None], otherwise: str) -> Key:
        """The column, its texts translated; with faults it is of no use."""
        column, wrong = self.called[name], 0

        def derive(texts: list[str]) -> list[str]:
            nonlocal wrong
            found = [translate(text) for text in texts]
            wrong = found.count(None)
            return [text or "" for text in found]

        if not self.knows(name):
            problem = "there is no such public column or grouping in the release"
            self.faults.append(Fault(f"column {column}", problem, _hint(name)))
            return np.zeros(0, dtype=np.int32), []
        key = self.public_rows.derived(column, derive)
        if wrong:
            problem = f"{wrong:,} of {len(self.public_rows.key(column)[1]):,} codes {otherwise}"
            self.faults.append(Fault(f"column {column}", problem, "Choose another level or column"))
        return key

    def attribute(self, name: str) -> str:
        column = self.called[name]
        if column not in self.public_rows.spec.asked:
            self.faults.append(Fault(f"attribute {column}", "it is not in the release", _hint(name)))
        return column


def _hint(name: str) -> str:
    return f"If it has another name, give it: --name {name}=OTHER (names in Python)"


def _fips(digits: int) -> Callable[[str], str | None]:
    return lambda text: text.zfill(digits) if text.isascii() and text.isdigit() and len(text) <= digits else None


def _codes(layout: Layout, groups: Cells) -> dict[str, pa.Array]:
    """What every line is about."""
    texts = {name: [key[1][code] for code in groups.codes[name]] for name, key in layout.keys.items()}
    state, county = texts.get("state", [""] * groups.count), texts.get("cnty", ["000"] * groups.count)
    return code_columns(
        groups.count,
        area_fips=[one + other for one, other in zip(state, county, strict=True)],
        own_code=texts.get("own") if layout.level % 10 else ALL_OWNERSHIPS,
        industry_code=texts.get("naics", TOTAL),
        agglvl_code=str(layout.level),
        size_code=ALL_SIZES,
        year=texts.get("year"),
        qtr=texts.get("qtr"),
    )
