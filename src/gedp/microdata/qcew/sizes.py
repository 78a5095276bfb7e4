"""Tables by establishment size in the layout of the QCEW: national ones, and those of states, in first quarters.

The Bureau of Labor Statistics publishes them for private establishments, by nine classes of employment in March.
Columns are those of the other levels; what the release does not measure by class is empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import pyarrow as pa
import pyarrow.compute

from gedp.errors import Fault, FaultsError
from gedp.industries import TOTAL
from gedp.microdata.cells import PublicRows
from gedp.microdata.class_tables import asked_by_class
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.qcew.columns import AMOUNTS, ERRORS, NUMBER, WEEKLY, code_columns, figure_columns
from gedp.microdata.ratios import parse_ratios
from gedp.microdata.request import TableRequest
from gedp.microdata.tabulate import tabulate
from gedp.policy import COUNT, Classes, Spec

#: Aggregation levels by size: total, domain, supersector, sector, and for the nation NAICS 3 to 6.
NATION_SIZES, STATE_SIZES = range(21, 29), range(61, 65)
#: Where the classes of the QCEW begin; their codes are 1 to 9.
SIZES = tuple(map(Decimal, (0, 5, 10, 20, 50, 100, 250, 500, 1000)))
NATION, PRIVATE = "US000", "5"
INDUSTRIES = {1: None, 2: "domain", 3: "supersector", 4: "sector", 5: "naics3", 6: "naics4", 7: "naics5", 8: "naics6"}
COLUMNS = {NUMBER: COUNT, **AMOUNTS}
NAMES = (*COLUMNS.values(), "state", "naics", "own", "year", "qtr")


def is_by_size(level: int) -> bool:
    """Whether an aggregation level is one by establishment size."""
    return level in NATION_SIZES or level in STATE_SIZES


def tabulate_sizes(
    microdata: MicrodataFit, level: int, confidence: float | None = None, names: Mapping[str, str] | None = None
) -> pa.Table:
    """One line for every area, industry and size of an aggregation level; `names` as in the other levels."""
    layout = SizeLayout(microdata.public_rows, level, {name: (names or {}).get(name, name) for name in NAMES})
    by, asked = layout.by, [layout.called[name] for name in COLUMNS.values()]
    measured = [name for name in asked if name in asked_by_class(layout.spec, by)]
    found = {
        column: layout.private(tabulate(microdata, TableRequest.of(by, [name], confidence)))
        for column, name in zip(COLUMNS, asked, strict=True)
        if name in measured
    }
    if set(asked[1:]) <= set(measured):
        wage = parse_ratios(["weekly-wage"], layout.called)
        found[WEEKLY] = layout.private(tabulate(microdata, TableRequest.of(by, ratios=wage, confidence=confidence)))
    lines = next(iter(found.values()))
    unmeasured = dict.fromkeys((*COLUMNS, WEEKLY), pa.nulls(lines.num_rows, pa.int64()))
    figures = {
        column: {name: table[name].combine_chunks() for name in ("estimate", *ERRORS.values())}
        for column, table in found.items()
    }
    return pa.table({**layout.codes(lines), **unmeasured, **figure_columns(figures)})


@dataclass(frozen=True, repr=False)
class SizeLayout:
    """What a level by size needs of a release; `called` says what the release calls the names of the layout."""

    public_rows: PublicRows
    level: int
    called: Mapping[str, str]

    @property
    def spec(self) -> Spec:
        """The spec of the release."""
        return self.public_rows.spec

    @cached_property
    def classes(self) -> Classes:
        """The classes of the spec that are those of the QCEW."""
        spec, attribute = self.spec, self.called["m3emp"]
        for each in spec.classes.values():
            is_asked = any(each.name in query.classes for query in spec.by_classes)
            if is_asked and each.attribute == attribute and each.edges == SIZES:
                return each
        problem = f"no query groups by the nine size classes of {attribute}"
        hint = f"They have edges = {list(map(int, SIZES))}; --name m3emp=OTHER says what employment in March is called"
        raise FaultsError(self.public_rows.source.name, [Fault(f"agglvl {self.level}", problem, hint)])

    @cached_property
    def by(self) -> list[str]:
        """The keys of the lines: state and ownership where the release has them, industry, and size."""
        if self._only("qtr") not in (None, "1"):
            problem = Fault(f"agglvl {self.level}", "sizes are published for first quarters", "Use another level")
            raise FaultsError(self.public_rows.source.name, [problem])
        states = ["state"] if self.level in STATE_SIZES else []
        known = [self.called[name] for name in (*states, "own") if self._knows(name)]
        industry = INDUSTRIES[self.level % 10]
        return [*known, *([industry] if industry else []), self.classes.name]

    def private(self, table: pa.Table) -> pa.Table:
        """The lines of private establishments, where the release has ownerships."""
        if not self._knows("own"):
            return table
        return table.filter(pa.compute.equal(table[self.called["own"]], PRIVATE))

    def codes(self, lines: pa.Table) -> dict[str, pa.Array]:
        """What every line is about."""
        industry = INDUSTRIES[self.level % 10]
        labels = self.classes.labels(self.spec.policy.attributes[self.classes.attribute].unit)
        area: Sequence[str] | str | None = NATION if self.level in NATION_SIZES else None
        if self.level in STATE_SIZES and self._knows("state"):
            area = [f"{code.zfill(2)}000" for code in lines[self.called["state"]].to_pylist()]
        return code_columns(
            lines.num_rows,
            area_fips=area,
            own_code=PRIVATE if self._knows("own") else None,
            industry_code=lines[industry].to_pylist() if industry else TOTAL,
            agglvl_code=str(self.level),
            size_code=[str(1 + labels.index(text)) for text in lines[self.classes.name].to_pylist()],
            year=self._only("year"),
            qtr=self._only("qtr"),
        )

    def _knows(self, name: str) -> bool:
        return self.called[name] in (*self.spec.data.public, *self.spec.groupers)

    def _only(self, name: str) -> str | None:
        """What all rows have in common."""
        texts = self.public_rows.key(self.called[name])[1] if self._knows(name) else []
        return texts[0] if len(texts) == 1 else None
