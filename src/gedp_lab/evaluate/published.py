"""Suppression in the published QCEW: which cells are blank, at each aggregation level, for a state and the nation.

And beside it a release of the same cells: what it answers, and its error where cells are blank and elsewhere.
The published files mark a cell `N` where employment and wages are withheld; the number of establishments is given all
the same. Cells without establishments (`-`) count nowhere. Private ownership only.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.errors import Fault, FaultsError
from gedp.industries import TOTAL
from gedp.microdata.cells import PublicRows
from gedp.numbers import short_share
from gedp.sql import draw_no_progress, quoted_text
from gedp_lab.evaluate.groups import MICRODATA, ComparedGroups
from gedp_lab.evaluate.levels import COUNTY, STATE
from gedp_lab.evaluate.metrics import errors_of

ERRORS = ("median_relative_withheld", "within_10_withheld", "median_relative_disclosed", "within_10_disclosed")
PRIVATE, WITHHELD, EMPTY = 5, "N", "-"
NATION = "US"
_NAMES = ("total", "domain", "supersector", "sector", "NAICS-3", "NAICS-4", "NAICS-5", "NAICS-6")
LEVEL_NAMES = {
    **{51 + place: f"state {name}" if place == 0 else name for place, name in enumerate(_NAMES)},
    **{71 + place: f"county {name}" if place == 0 else f"county x {name}" for place, name in enumerate(_NAMES)},
}
COLUMNS = (
    "area_fips",
    "own_code",
    "industry_code",
    "agglvl_code",
    "disclosure_code",
    "qtrly_estabs",
    "month3_emplvl",
)


@dataclass(frozen=True)
class PublishedQcew:
    """A published QCEW file with the columns of the Bureau of Labor Statistics, as Parquet or CSV."""

    name: ClassVar[str] = "suppression"
    explanation: ClassVar[str] = (
        "The published QCEW leaves some cells blank. The release answers all; its median relative error there and "
        "elsewhere, and the shares of errors up to 10%"
    )
    headings: ClassVar[Sequence[str]] = ("level", "cells", "blank", "share", "there", "≤10%", "elsewhere", "≤10%")

    path: Path

    def beside(self, public_rows: PublicRows, groups: Sequence[ComparedGroups]) -> pa.Table:
        """How many cells were blanked, and the error of the release there and elsewhere."""
        if not (public_rows.lists_establishments and STATE in public_rows.table.column_names):
            fault = Fault("published", "the release has no public column state to find its cells by", "Leave it out")
            raise FaultsError(public_rows.source.name, [fault])
        found = self.beside_states(groups, tuple(public_rows.key(STATE)[1]))
        if not pa.compute.any(pa.compute.greater(found["matched"], 0)).as_py():
            raise FaultsError(str(self.path), [Fault("cells", "none is in the release", "Is it of the same state?")])
        return found

    def beside_states(self, groups: Sequence[ComparedGroups], states: tuple[str, ...]) -> pa.Table:
        """The same for groups in these states (FIPS)."""
        cells = self.cells(states)
        found = [line for each in groups if each.source == MICRODATA for line in _beside(each, cells, states)]
        return pa.Table.from_pylist(found)

    def texts(self, line: Mapping[str, Any]) -> list[str]:
        """A line as it is shown under the headings."""
        cells = (f"{line['published']:,}", f"{line['withheld']:,}")
        return [line["level"], *cells, _share(line["share_withheld"]), *error_texts(line)]

    def cells(self, states: tuple[str, ...] = ()) -> pa.Table:
        """Area, industry, level, whether it is withheld, establishments and employment of every active private cell."""
        levels = ", ".join(map(str, LEVEL_NAMES))
        wanted = ", ".join(f"'{state}'" for state in states if state.isalnum())
        here = f"AND area_fips[1:2] IN ({wanted})" if states else ""
        return self._query(
            f"SELECT area_fips::VARCHAR AS area, industry_code::VARCHAR AS industry, agglvl_code::INTEGER AS agglvl, "
            f"disclosure = '{WITHHELD}' AS withheld, qtrly_estabs::BIGINT AS establishments, "
            f"month3_emplvl::BIGINT AS employment FROM published WHERE own_code::INTEGER = {PRIVATE} "
            f"AND agglvl_code::INTEGER IN ({levels}) AND disclosure <> '{EMPTY}' AND qtrly_estabs::BIGINT > 0 "
            f"AND area_fips[1:2] BETWEEN '01' AND '78' {here}"
        )

    def suppression(self, *states: str) -> pa.Table:
        """For the nation and each state (FIPS), level by level: cells, and what share of them is withheld.

        The share of establishments is exact. That of employment is what the areas whose total is disclosed leave
        untold, and unknown where no area's is.
        """
        cells = self.cells()
        parts = [_suppression(cells, NATION, ""), *(_suppression(cells, state, state) for state in states)]
        return pa.concat_tables(parts)

    def _query(self, sql: str) -> pa.Table:
        reader = "read_csv" if ".csv" in [suffix.lower() for suffix in self.path.suffixes[-2:]] else "read_parquet"
        options = ", all_varchar = true" if reader == "read_csv" else ""
        with duckdb.connect(config={"temp_directory": ""}) as connection:
            try:
                draw_no_progress(connection)
                path = quoted_text(str(self.path))
                columns = f"{', '.join(COLUMNS)}, coalesce(disclosure_code, '') AS disclosure"  # empty is null in CSV
                connection.execute(f"CREATE VIEW published AS SELECT {columns} FROM {reader}({path}{options})")
                rows: pa.Table = connection.sql(sql).to_arrow_table()
                return rows
            except duckdb.Error:
                fault = Fault("the file", "it is not a published QCEW", f"It needs the columns {', '.join(COLUMNS)}")
                if not self.path.is_file():
                    fault = Fault("the file", "there is no such file", "Check the path")
                raise FaultsError(str(self.path), [fault]) from None


def _suppression(cells: pa.Table, name: str, state: str) -> pa.Table:
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.register("cells", cells)
        names = ", ".join(f"({code}, '{text}')" for code, text in LEVEL_NAMES.items())
        lines: pa.Table = connection.sql(
            f"""
            WITH here AS (SELECT * FROM cells WHERE starts_with(area, $state)),
            known AS (SELECT area, employment AS total FROM here
                      WHERE agglvl % 10 = 1 AND industry = '{TOTAL}' AND NOT withheld),
            totals AS (SELECT agglvl // 10 AS family, sum(total) AS total FROM here JOIN known USING (area)
                       WHERE agglvl % 10 = 1 GROUP BY family),
            named(agglvl, level) AS (VALUES {names})
            SELECT $name AS area, agglvl, level, count(*) AS cells, count(*) FILTER (withheld) AS withheld,
              count(*) FILTER (withheld) / count(*) AS share_of_cells,
              coalesce(sum(establishments) FILTER (withheld), 0) / sum(establishments) AS share_of_establishments,
              1 - coalesce(sum(here.employment) FILTER (NOT withheld AND known.total IS NOT NULL), 0)
                / any_value(totals.total) AS share_of_employment
            FROM here JOIN named USING (agglvl) LEFT JOIN known USING (area)
            LEFT JOIN totals ON totals.family = agglvl // 10
            GROUP BY agglvl, level ORDER BY agglvl
            """,
            params={"state": state, "name": name},
        ).to_arrow_table()
        return lines


def error_texts(line: Mapping[str, Any]) -> list[str]:
    """The errors of one line as they are shown: where cells are blank, and where they are disclosed."""
    return [_share(line[name]) for name in ERRORS]


def _share(value: float | None) -> str:
    return short_share(math.nan if value is None else value)


def _beside(each: ComparedGroups, cells: pa.Table, states: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One line for a level that the QCEW publishes."""
    if each.level.agglvl is None:
        return
    at_level = cells.filter(pa.compute.equal(cells["agglvl"], each.level.agglvl))
    names = pa.compute.binary_join_element_wise(at_level["area"], at_level["industry"], " ")
    withheld = at_level["withheld"].to_numpy()
    place = {name: i for i, name in enumerate(names.to_pylist())}
    found = np.array([place.get(name, -1) for name in _published_names(each, states)], dtype=np.int64)
    line: dict[str, Any] = {
        "level": each.level.name,
        "agglvl": each.level.agglvl,
        "attribute": each.attribute,
        "published": len(withheld),
        "withheld": int(withheld.sum()),
        "share_withheld": float(withheld.mean()) if len(withheld) else None,
        "matched": int((found >= 0).sum()),
    }
    for name, wanted in (("withheld", True), ("disclosed", False)):
        part = (found >= 0) & (withheld[found] == wanted) if len(withheld) else np.zeros(len(found), dtype=bool)
        errors = errors_of(each.truth[part], each.protected[part]) if part.any() else None
        line[f"released_{name}"] = int(part.sum())
        line[f"median_relative_{name}"] = errors.median_relative if errors else None
        line[f"within_10_{name}"] = errors.within_10 if errors else None
    yield line


def _published_names(each: ComparedGroups, states: Sequence[str]) -> Iterator[str]:
    """Area and industry of every group, as the QCEW writes them."""
    columns = {key: values.to_pylist() for key, values in each.keys.items()}
    industries = [key for key in columns if key not in (STATE, COUNTY)]
    for i in range(each.groups):
        state = columns[STATE][i] if STATE in columns else states[0]
        county = columns[COUNTY][i] if COUNTY in columns else "000"
        yield f"{state}{county} {columns[industries[0]][i] if industries else TOTAL}"
