"""Suppression in the published QCEW: which cells are blank, at each aggregation level, for a state and the nation.

The published files mark a cell `N` where employment and wages are withheld; the number of establishments is given all
the same. Cells without establishments (`-`) count nowhere. Private ownership only.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from gedp.errors import Fault, FaultsError
from gedp.industries import TOTAL
from gedp.sql import quoted_text

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

    path: Path

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
                connection.execute("SET enable_progress_bar = false")
                path = quoted_text(str(self.path))
                columns = f"{', '.join(COLUMNS)}, coalesce(disclosure_code, '') AS disclosure"  # empty is null in CSV
                connection.execute(f"CREATE VIEW published AS SELECT {columns} FROM {reader}({path}{options})")
                rows: pa.Table = connection.sql(sql).to_arrow_table()
                return rows
            except duckdb.Error:
                fault = Fault("the file", "it is no published QCEW", f"It needs the columns {', '.join(COLUMNS)}")
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
              1 - sum(here.employment) FILTER (NOT withheld AND known.total IS NOT NULL) / any_value(totals.total)
                AS share_of_employment
            FROM here JOIN named USING (agglvl) LEFT JOIN known USING (area)
            LEFT JOIN totals ON totals.family = agglvl // 10
            GROUP BY agglvl, level ORDER BY agglvl
            """,
            params={"state": state, "name": name},
        ).to_arrow_table()
        return lines
