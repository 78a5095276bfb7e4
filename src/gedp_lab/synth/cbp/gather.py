"""Joins the sources into the arrays that the algorithms take: county x NAICS-4 cells and the NAICS-6 cells
inside.
"""

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from gedp.arrays import FloatArray, IntArray
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


# Published payroll of the children of each industry, with the number of children withheld.
_KNOWN = """
    SELECT state, cnty, {group} AS code, coalesce(sum(qp1), 0) AS known, count(*) - count(qp1) AS withheld
    FROM cbp WHERE length(code) = {digits} GROUP BY ALL
"""

_NAICS4 = f"""
CREATE TEMP TABLE naics4 AS
SELECT (row_number() OVER (ORDER BY cell.state, cell.cnty, cell.code) - 1) AS index,
       cell.state, cell.cnty, cell.code, {sector_sql("cell.code")} AS sector,
       cell.est, cell.qp1, efsy.emp AS imputed,
       qwi.Emp, qwi.EmpEnd, qwi.EmpS, qwi.EarnBeg,
       coalesce(known6.known, 0) AS known6, coalesce(known6.withheld, 0) AS withheld6,
       above3.qp1 AS qp1_3, coalesce(known4.known, 0) AS known4,
       above2.qp1 AS qp1_2, coalesce(known3.known, 0) AS known3,
       county.qp1 AS qp1_0, coalesce(known2.known, 0) AS known2
FROM cbp cell
JOIN efsy USING (state, cnty, code)
JOIN qwi USING (state, cnty, code)
SEMI JOIN (
  SELECT DISTINCT state, cnty, substr(code, 1, 4) AS code FROM cbp JOIN efsy USING (state, cnty, code)
  WHERE length(code) = 6 AND est > 0
) inside USING (state, cnty, code)
LEFT JOIN ({_KNOWN.format(group="substr(code, 1, 4)", digits=6)}) known6
  ON known6.state = cell.state AND known6.cnty = cell.cnty AND known6.code = cell.code
LEFT JOIN cbp above3
  ON above3.state = cell.state AND above3.cnty = cell.cnty AND above3.code = substr(cell.code, 1, 3)
LEFT JOIN ({_KNOWN.format(group=parent_sql("code"), digits=4)}) known4
  ON known4.state = cell.state AND known4.cnty = cell.cnty AND known4.code = substr(cell.code, 1, 3)
LEFT JOIN cbp above2
  ON above2.state = cell.state AND above2.cnty = cell.cnty AND above2.code = {sector_sql("cell.code")}
LEFT JOIN ({_KNOWN.format(group=parent_sql("code"), digits=3)}) known3
  ON known3.state = cell.state AND known3.cnty = cell.cnty AND known3.code = {sector_sql("cell.code")}
LEFT JOIN cbp county ON county.state = cell.state AND county.cnty = cell.cnty AND county.code = ''
LEFT JOIN ({_KNOWN.format(group="''", digits=2)}) known2
  ON known2.state = cell.state AND known2.cnty = cell.cnty
WHERE length(cell.code) = 4
"""

_COUNTIES = """
SELECT naics4.state, naics4.cnty, any_value(total.Emp) AS Emp,
       coalesce(any_value(elsewhere.Emp), 0) AS elsewhere
FROM naics4
LEFT JOIN qwi_counties total USING (state, cnty)
LEFT JOIN (
  SELECT state, cnty, sum(Emp) AS Emp FROM qwi ANTI JOIN naics4 USING (state, cnty, code) GROUP BY ALL
) elsewhere USING (state, cnty)
GROUP BY naics4.state, naics4.cnty ORDER BY naics4.state, naics4.cnty
"""

_NAICS6 = """
SELECT naics4.index AS parent, cbp.* EXCLUDE (code, emp), cbp.code AS naics, efsy.emp
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
    state, sector = texts(naics4, "state"), texts(naics4, "sector")
    area = np.char.add(state, texts(naics4, "cnty"))
    parent = integers(naics6, "parent")
    classes = class_counts(naics6) if sources.size_classes else None
    return Gathered(
        EmploymentInput(
            state=state,
            sector=sector,
            county=np.searchsorted(np.unique(area), area).astype(np.int64),
            establishments=floats(naics4, "est"),
            emp=floats(naics4, "Emp"),
            emp_end=floats(naics4, "EmpEnd"),
            emp_stable=floats(naics4, "EmpS"),
            imputed_emp=floats(naics4, "imputed"),
            county_emp=floats(counties, "Emp"),
            county_emp_elsewhere=floats(counties, "elsewhere"),
            **_month_three_bounds(parent, classes, naics4.num_rows),
        ),
        WageInput(
            state=state,
            sector=sector,
            earnings=floats(naics4, "EarnBeg"),
            payroll=floats(naics4, "qp1"),
            known_naics6=floats(naics4, "known6"),
            withheld_naics6=floats(naics4, "withheld6"),
            payroll_naics3=floats(naics4, "qp1_3"),
            known_in_naics3=floats(naics4, "known4"),
            payroll_sector=floats(naics4, "qp1_2"),
            known_in_sector=floats(naics4, "known3"),
            payroll_county=floats(naics4, "qp1_0"),
            known_in_county=floats(naics4, "known2"),
        ),
        Naics6Input(
            parent=parent,
            establishments=floats(naics6, "est"),
            imputed_emp=floats(naics6, "emp"),
            payroll=floats(naics6, "qp1"),
            classes=classes,
        ),
        naics6.select(["state", "cnty", "naics"]),
        int(left_out[0]),
        int(left_out[1]),
    )


def _month_three_bounds(parent: IntArray, classes: IntArray | None, parents: int) -> dict[str, FloatArray]:
    """What the size classes inside NAICS-4 cells say of their month 3; nothing if they are not used."""
    if classes is None:
        return {}
    least, most = possible_jobs(classes)
    return {"least_m3": group_sum(least, parent, parents), "most_m3": group_sum(most, parent, parents)}


def _arrow(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    table: pa.Table = connection.sql(sql).to_arrow_table()
    return table
