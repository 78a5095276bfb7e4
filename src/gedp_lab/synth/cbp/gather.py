"""Joins the sources into the arrays that the algorithms take: county x NAICS-4 cells and the NAICS-6 cells
inside.
"""

from dataclasses import dataclass, fields
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from gedp.arrays import IntArray
from gedp_lab.synth.cbp.codes import parent_sql, sector_sql
from gedp_lab.synth.cbp.divide import group_sum
from gedp_lab.synth.cbp.employment import EmploymentInput
from gedp_lab.synth.cbp.inputs import Sources
from gedp_lab.synth.cbp.naics6 import Naics6Input
from gedp_lab.synth.cbp.wages import WageInput
from gedp_lab.synth.cells import class_counts
from gedp_lab.synth.columns import floats, integers, texts
from gedp_lab.synth.database import database
from gedp_lab.synth.sizes import possible_jobs


@dataclass(frozen=True)
class Gathered:
    """Inputs of the algorithms, with the keys of the NAICS-6 cells and what had to be left out."""

    employment: EmploymentInput
    wages: WageInput
    naics6: Naics6Input
    naics6_keys: pa.Table  # state, cnty, naics
    # CBP's NAICS-4 cells in the wanted states that QWI or the imputed CBP lacks, or without NAICS-6 cells
    left_out_cells: int
    left_out_establishments: int


def _known(parent: str, digits: int, name: str) -> str:
    """Published payroll of the industries inside each industry, and the number of them withheld."""
    return f"""
    (SELECT state, cnty, {parent} AS {name}, sum(qp1) AS known, count(*) - count(qp1) AS withheld
     FROM cbp WHERE length(code) = {digits} GROUP BY ALL)"""


def _above(name: str) -> str:
    """Payroll of every industry, to be joined by this name for its code."""
    return f"(SELECT state, cnty, code AS {name}, qp1 FROM cbp)"


# The columns are those of the inputs of the algorithms.
_NAICS4 = f"""
CREATE TEMP TABLE naics4 AS
SELECT (row_number() OVER (ORDER BY state, cnty, code) - 1) AS index, state, cnty, code, sector,
       est AS establishments, cell.qp1 AS payroll, efsy.emp AS imputed_emp,
       qwi.Emp AS emp, qwi.EmpEnd AS emp_end, qwi.EmpS AS emp_stable, qwi.EarnBeg AS earnings,
       coalesce(inside6.known, 0) AS known_naics6, coalesce(inside6.withheld, 0) AS withheld_naics6,
       above3.qp1 AS payroll_naics3, coalesce(inside3.known, 0) AS known_in_naics3,
       above2.qp1 AS payroll_sector, coalesce(inside2.known, 0) AS known_in_sector,
       county.qp1 AS payroll_county, coalesce(sectors.known, 0) AS known_in_county
FROM (SELECT *, substr(code, 1, 3) AS naics3, {sector_sql("code")} AS sector, '' AS all_industries
      FROM cbp WHERE length(code) = 4) cell
JOIN efsy USING (state, cnty, code)
JOIN qwi USING (state, cnty, code)
SEMI JOIN (
  SELECT DISTINCT state, cnty, substr(code, 1, 4) AS code FROM cbp JOIN efsy USING (state, cnty, code)
  WHERE length(code) = 6 AND est > 0
) inside USING (state, cnty, code)
LEFT JOIN {_known("substr(code, 1, 4)", 6, "code")} inside6 USING (state, cnty, code)
LEFT JOIN {_above("naics3")} above3 USING (state, cnty, naics3)
LEFT JOIN {_known(parent_sql("code"), 4, "naics3")} inside3 USING (state, cnty, naics3)
LEFT JOIN {_above("sector")} above2 USING (state, cnty, sector)
LEFT JOIN {_known(parent_sql("code"), 3, "sector")} inside2 USING (state, cnty, sector)
LEFT JOIN {_above("all_industries")} county USING (state, cnty, all_industries)
LEFT JOIN {_known("''", 2, "all_industries")} sectors USING (state, cnty, all_industries)
"""

_COUNTIES = """
SELECT naics4.state, naics4.cnty, any_value(total.Emp) AS county_emp,
       coalesce(any_value(elsewhere.Emp), 0) AS county_emp_elsewhere
FROM naics4
LEFT JOIN qwi_counties total USING (state, cnty)
LEFT JOIN (
  SELECT state, cnty, sum(Emp) AS Emp FROM qwi ANTI JOIN naics4 USING (state, cnty, code) GROUP BY ALL
) elsewhere USING (state, cnty)
GROUP BY naics4.state, naics4.cnty ORDER BY naics4.state, naics4.cnty
"""

_NAICS6 = """
SELECT naics4.index AS parent, cbp.* EXCLUDE (code, emp, est, qp1), cbp.code AS naics,
       cbp.est AS establishments, cbp.qp1 AS payroll, efsy.emp AS imputed_emp
FROM cbp JOIN efsy USING (state, cnty, code)
JOIN naics4 ON naics4.state = cbp.state AND naics4.cnty = cbp.cnty AND naics4.code = substr(cbp.code, 1, 4)
WHERE length(cbp.code) = 6 AND cbp.est > 0
ORDER BY cbp.state, cbp.cnty, cbp.code
"""

_LEFT_OUT = """
SELECT count(*), coalesce(sum(est), 0)
FROM cbp ANTI JOIN naics4 USING (state, cnty, code) WHERE length(code) = 4 AND (len($states) = 0 OR state IN $states)
"""


def gather(sources: Sources) -> Gathered:
    """Cells of all states in QWI, CBP and the imputed CBP, ordered by state, county and industry."""
    with database() as connection:
        tables = {"cbp": sources.cbp, "efsy": sources.efsy, "qwi": sources.qwi.cells}
        for name, table in (tables | {"qwi_counties": sources.qwi.counties}).items():
            connection.register(name, table)
        connection.execute(_NAICS4)
        naics4 = _arrow(connection, "SELECT * FROM naics4 ORDER BY index")
        counties = _arrow(connection, _COUNTIES)
        naics6 = _arrow(connection, _NAICS6)
        left_out = connection.execute(_LEFT_OUT, {"states": [*sources.states]}).fetchone() or (0, 0)
    names: dict[str, Any] = {"state": texts(naics4, "state"), "sector": texts(naics4, "sector")}
    area = np.char.add(names["state"], texts(naics4, "cnty"))
    parent = integers(naics6, "parent")
    classes = class_counts(naics6) if sources.size_classes else None
    return Gathered(
        EmploymentInput(
            **names,
            county=np.searchsorted(np.unique(area), area).astype(np.int64),
            **_figures(EmploymentInput, naics4, counties),
            **_month_three_bounds(parent, classes, naics4.num_rows),
        ),
        WageInput(**names, **_figures(WageInput, naics4)),
        Naics6Input(parent=parent, classes=classes, **_figures(Naics6Input, naics6)),
        naics6.select(["state", "cnty", "naics"]),
        int(left_out[0]),
        int(left_out[1]),
    )


def _figures(kind: type, *tables: pa.Table) -> dict[str, Any]:
    """The figures of an input that some table has a column for."""
    wanted = [each.name for each in fields(kind) if each.name not in ("state", "sector", "parent")]
    return {name: floats(table, name) for table in tables for name in wanted if name in table.column_names}


def _month_three_bounds(parent: IntArray, classes: IntArray | None, parents: int) -> dict[str, Any]:
    """What the size classes inside NAICS-4 cells say of their month 3; nothing if they are not used."""
    if classes is None:
        return {}
    least, most = possible_jobs(classes)
    return {"least_m3": group_sum(least, parent, parents), "most_m3": group_sum(most, parent, parents)}


def _arrow(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    table: pa.Table = connection.sql(sql).to_arrow_table()
    return table
