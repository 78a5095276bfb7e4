"""The three public sources, read and checked against each other; all their faults come in one error."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from gedp.errors import Fault, FaultsError
from gedp.progress import NextStep, silent
from gedp_lab.synth.cbp.codes import LEVELS, parent_sql
from gedp_lab.synth.cbp.county_patterns import cbp_year, efsy_year, read_cbp, read_efsy
from gedp_lab.synth.cbp.workforce import Workforce, read_qwi
from gedp_lab.synth.database import database
from gedp_lab.synth.sizes import CBP_CLASSES
from gedp_lab.synth.states import find_states

QUARTER = 1  # CBP's payroll is that of the first quarter
UNMATCHED_SHARE = 0.05  # of the imputed CBP's NAICS-6 cells; beyond it the files are of different vintages


@dataclass(frozen=True)
class Sources:
    """CBP, imputed CBP and QWI of the same quarter, with checked codes, and the states (FIPS) whose cells are
    wanted, none meaning all. The regressions learn from all states of the files."""

    year: int
    quarter: int
    cbp: pa.Table
    efsy: pa.Table
    qwi: Workforce
    states: tuple[str, ...] = ()

    @property
    def size_classes(self) -> bool:
        """Whether CBP was read with its establishments by size class."""
        return set(CBP_CLASSES) <= set(self.cbp.column_names)


def read_sources(
    cbp: Path,
    qwi: Path,
    efsy: Path,
    *,
    states: Sequence[str] = (),
    year: int | None = None,
    size_classes: bool = False,
    progress: NextStep = silent,
) -> Sources:
    """Reads the CBP county file, the folder of QWI extracts and the imputed CBP.

    `states` are the postal or FIPS codes of those whose cells are wanted, none meaning all; the others are
    read for the regressions. `year` is needed only where the CBP file's name lacks it. With
    `size_classes` CBP's establishments by size class are read too, and cells will carry them. Raises
    FaultsError with every fault of the three.
    """
    faults: list[Fault] = []
    wanted, state_faults = find_states(states)
    faults += state_faults
    the_year = _year(cbp, efsy, year, faults)
    if faults:
        raise FaultsError("the request", faults)
    progress(f"reading {cbp.name}")
    cbp_table = read_cbp(cbp, faults, size_classes=size_classes)
    progress(f"reading {efsy.name}")
    efsy_table = read_efsy(efsy, faults)
    workforce = read_qwi(qwi, the_year, QUARTER, faults, progress)
    progress("checking that the codes nest")
    for path, table in ((cbp, cbp_table), (efsy, efsy_table)):
        if table is not None:
            faults += _states_absent(path, table, wanted) + nesting_faults(path, table)
    if workforce is not None:
        faults += _states_absent(qwi, workforce.cells, wanted) + _duplicate_faults(qwi, workforce.cells)
    if not faults and cbp_table is not None and efsy_table is not None and workforce is not None:
        faults += _mismatch_faults(cbp, efsy, qwi, cbp_table, efsy_table, workforce)
        if not faults:
            return Sources(the_year, QUARTER, cbp_table, efsy_table, workforce, wanted)
    raise FaultsError("the CBP, QWI and imputed CBP files", faults)


def _year(cbp: Path, efsy: Path, year: int | None, faults: list[Fault]) -> int:
    of_cbp, of_efsy = cbp_year(cbp), efsy_year(efsy)
    if year is not None and of_cbp is not None and of_cbp != year:
        faults.append(Fault(str(cbp), f"is of {of_cbp}, not of {year}", "Give the CBP file of that year"))
    the_year = year if year is not None else of_cbp
    if the_year is None:
        faults.append(Fault(str(cbp), "does not tell its year", "Name it cbp16co.txt (for 2016) or give the year"))
        return 0
    if of_efsy is not None and of_efsy != the_year:
        faults.append(Fault(str(efsy), f"is of {of_efsy}, but CBP is of {the_year}", "Give files of the same year"))
    return the_year


def _states_absent(path: Path, table: pa.Table, wanted: Sequence[str]) -> list[Fault]:
    absent = sorted(set(wanted) - set(table["state"].unique().to_pylist()))
    if not absent:
        return []
    return [Fault(str(path), f"has no row of state {', '.join(absent)}", "Choose states that all the files cover")]


def _duplicate_faults(path: Path, cells: pa.Table) -> list[Fault]:
    with database() as connection:
        connection.register("cells", cells)
        sql = "SELECT count(*) FROM (SELECT 1 FROM cells GROUP BY state, cnty, code HAVING count(*) > 1)"
        doubled = _count(connection, sql)
    problem = f"{doubled} county x industry cells occur more than once"
    return [Fault(str(path), problem, "Remove repeated or overlapping extracts")] if doubled else []


def nesting_faults(path: Path, table: pa.Table) -> list[Fault]:
    """Faults of an industry tree: malformed levels, repeated cells, cells whose parent industry is absent
    from their county, and (where establishments are given) children with more establishments than their
    parent.
    """
    faults = _duplicate_faults(path, table)
    with database() as connection:
        connection.register("cells", table)
        levels = ", ".join(map(str, LEVELS))
        odd = _count(connection, f"SELECT count(*) FROM cells WHERE length(code) NOT IN ({levels})")
        orphans = connection.execute(f"""
            SELECT count(*), min(child.state || child.cnty || ' ' || child.code)
            FROM cells child ANTI JOIN cells parent
              ON child.state = parent.state AND child.cnty = parent.cnty
             AND parent.code = {parent_sql("child.code")}
            WHERE child.code <> ''""").fetchone()
        overfull = 0
        if "est" in table.schema.names:
            overfull = _count(
                connection,
                f"""
            SELECT count(*) FROM (
              SELECT state, cnty, {parent_sql("code")} AS parent, sum(est) AS est
              FROM cells WHERE code <> '' GROUP BY ALL) children
            JOIN cells ON cells.state = children.state AND cells.cnty = children.cnty AND cells.code = parent
            WHERE children.est > cells.est""",
            )
    if odd:
        faults.append(Fault(str(path), f"{odd} industry codes have one digit", "NAICS codes have 2 to 6"))
    if orphans and orphans[0]:
        faults.append(
            Fault(
                str(path),
                f"{orphans[0]} industry codes do not nest: their parent industry is not in the county "
                f"(first: {orphans[1]})",
                "The file is incomplete or mixes versions of NAICS",
            )
        )
    if overfull:
        faults.append(
            Fault(
                str(path),
                f"{overfull} industries have fewer establishments than the industries inside them",
                "The file is damaged or mixes years",
            )
        )
    return faults


def _mismatch_faults(
    cbp: Path, efsy: Path, qwi: Path, cbp_table: pa.Table, efsy_table: pa.Table, workforce: Workforce
) -> list[Fault]:
    faults = []
    with database() as connection:
        for name, table in (("cbp", cbp_table), ("efsy", efsy_table), ("qwi", workforce.cells)):
            connection.register(name, table)
        imputed = _count(connection, "SELECT count(*) FROM efsy WHERE length(code) = 6")
        join = "USING (state, cnty, code) WHERE length(code) ="
        unmatched = imputed - _count(connection, f"SELECT count(*) FROM efsy JOIN cbp {join} 6")
        connection.execute("CREATE TEMP VIEW matched AS FROM efsy JOIN cbp USING (state, cnty, code)")
        shared = _count(connection, f"SELECT count(*) FROM matched JOIN qwi {join} 4")
    if unmatched > UNMATCHED_SHARE * imputed:
        faults.append(
            Fault(
                str(efsy),
                f"{unmatched} of its {imputed} county x NAICS-6 cells are not in {cbp.name}",
                "Give the imputed CBP of the same year",
            )
        )
    if not shared:
        faults.append(
            Fault(str(qwi), "shares no county x NAICS-4 cell with CBP and the imputed CBP", "Check the extracts")
        )
    return faults


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    return int(row[0]) if row else 0
