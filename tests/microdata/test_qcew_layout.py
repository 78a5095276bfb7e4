"""The layout of the QCEW: against sums in plain Python, against other tables, and against the published file."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gedp.cli import cli
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError, GedpError
from gedp.industries import ancestor_of, depth_of
from gedp.microdata import Microdata, fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Attribute, Closeness, Data, Grouper, Policy, Query
from gedp.release import ReleaseFolder
from gedp_lab.synth.establishments import write_establishments
from gedp_lab.synth.qcew.fill import fill
from gedp_lab.synth.qcew.read import read_qcew
from gedp_lab.synth.qcew.tree import build_tree
from tests.helpers.runs import COMMAND
from tests.helpers.specs import measured
from tests.microdata.test_kinds import ALWAYS

QCEW = Path(__file__).parents[3] / "shared" / "data" / "qcew_2016q1.parquet"
MONTHS = ["m1emp", "m2emp", "m3emp"]
PUBLIC = ["state", "cnty", "naics", "own", "year", "qtr"]
CODES = ["111110", "238211", "311811", "332710", "445110", "452990", "492110", "541110", "622110", "999999"]
LEVELS = [*range(50, 59), *range(70, 79)]
BLS = [
    *("area_fips", "own_code", "industry_code", "agglvl_code", "size_code", "year", "qtr", "disclosure_code"),
    *("qtrly_estabs", "month1_emplvl", "month2_emplvl", "month3_emplvl", "total_qtrly_wages", "avg_wkly_wage"),
]


def state(rows: int = 200, *, seed: int = 0) -> pa.Table:
    chance = np.random.default_rng(seed)
    jobs = chance.lognormal(3, 1, rows)
    return pa.table(
        {
            "key": [f"k{i}" for i in range(rows)],
            "state": [("34", "44")[i] for i in chance.integers(0, 2, rows)],
            "cnty": [("001", "003", "999")[i] for i in chance.integers(0, 3, rows)],
            "naics": [CODES[i] for i in chance.integers(0, len(CODES), rows)],
            "own": [("3", "5")[i] for i in chance.integers(0, 2, rows)],
            "year": [2016] * rows,
            "qtr": [1] * rows,
            **{name: (jobs * (1 + place / 20)).astype(np.int64) for place, name in enumerate(MONTHS)},
            "wage": (jobs * chance.lognormal(9, 0.4, rows)).astype(np.int64),
        }
    )


def release_of(
    table: pa.Table,
    folder: Path,
    public: Sequence[str] = tuple(PUBLIC),
    by: Sequence[Sequence[str]] = (("establishment",), ("cnty",), ("naics",)),
    groupers: Mapping[str, Grouper] | None = None,
    mu: Decimal = Decimal(2),
) -> ReleaseFolder:
    names = [name for name in table.column_names if name != "key" and name not in PUBLIC and name not in public]
    gammas = {name: Decimal(50) if name in ("wage", "pay") else Decimal("0.5") for name in names}
    attributes = {name: Attribute(name, Closeness("sqrt", gamma)) for name, gamma in gammas.items()}
    data = Data("x", tuple(public), "key", synthetic=True)
    opened = open_table(LocalEngine(table), data, attributes, groupers or {}, folder)
    queries = [Query(" x ".join(keys), tuple(keys), dict.fromkeys(names, mu)) for keys in by]
    return measured(opened, Policy(attributes, Decimal(100)), queries, out=folder / "out", entropy=SeededEntropy(1))


@pytest.fixture(scope="module")
def microdata(tmp_path_factory: pytest.TempPathFactory) -> Microdata:
    return fit_microdata(release_of(state(), tmp_path_factory.mktemp("state")), weights="plug-in")


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_adds_up_the_microdata(microdata: Microdata, level: int) -> None:
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in microdata.table().to_pylist():
        area = row["state"] + (row["cnty"] if level >= 70 else "000")
        digits = {5: 3, 6: 4, 7: 5, 8: 6}.get(level % 10)
        industry = row["naics"][:digits] if digits else ancestor_of(row["naics"], max(level % 10 - 1, 0))
        groups.setdefault((area, row["own"] if level % 10 else "0", str(industry)), []).append(row)
    table = microdata.tabulate_qcew(level).arrow
    assert table.column_names[: len(BLS)] == BLS
    lines = table.to_pylist()
    assert [(a["area_fips"], a["own_code"], a["industry_code"]) for a in lines] == sorted(groups)
    for line in lines:
        rows = groups[line["area_fips"], line["own_code"], line["industry_code"]]
        assert line["qtrly_estabs"] == len(rows)
        assert (line["agglvl_code"], line["size_code"], line["disclosure_code"]) == (str(level), "0", "")
        assert (line["year"], line["qtr"]) == ("2016", "1")
        sums = {name: sum(row[name] for row in rows) for name in (*MONTHS, "wage")}
        assert [line[f"month{m}_emplvl"] for m in (1, 2, 3)] == [round(sums[name]) for name in MONTHS]
        assert line["total_qtrly_wages"] == round(sums["wage"])
        if line["avg_wkly_wage"] is not None:
            weekly = sums["wage"] / (13 * sum(sums[name] for name in MONTHS) / 3)
            assert line["avg_wkly_wage"] == round(weekly)
            assert line["ci_low_avg_wkly_wage"] < weekly < line["ci_high_avg_wkly_wage"]
        else:
            assert line["se_avg_wkly_wage"] is None


def test_errors_are_those_of_the_same_table_by_name(microdata: Microdata) -> None:
    ours = microdata.tabulate_qcew(73, confidence=0.9).arrow
    columns = {"month1_emplvl": "m1emp", "total_qtrly_wages": "wage", "avg_wkly_wage": "weekly-wage"}
    plain = microdata.tabulate(["state", "cnty", "own", "supersector"], ["m1emp", "wage"], 0.9, ["weekly-wage"]).arrow
    for theirs, name in columns.items():
        lines = [line for line in plain.to_pylist() if line["attribute"] == name]
        keys = [(a["state"] + a["cnty"], a["own"], a["supersector"]) for a in lines]
        found = dict(zip(keys, lines, strict=True))
        assert len(found) == len(ours) > 0
        for line in ours.to_pylist():
            other = found[line["area_fips"], line["own_code"], line["industry_code"]]
            for kind, column in (("se", "std_error"), ("ci_low", "ci_low"), ("ci_high", "ci_high")):
                assert line[f"{kind}_{theirs}"] == pytest.approx(other[column])


def test_establishments_on_file_are_counted_as_in_memory(tmp_path: Path) -> None:
    release = release_of(state(), tmp_path, by=[["establishment"], ["state", "cnty"], ["own"], ["naics"]])
    here, there = fit_microdata(release), fit_microdata(release, on_file=ALWAYS)
    assert there.public_rows.count < there.public_rows.listed == 200
    for level in (50, 73, 78):
        counted = [each.tabulate_qcew(level).arrow["qtrly_estabs"].to_pylist() for each in (here, there)]
        assert counted[0] == counted[1]
        assert sum(counted[1]) == 200


def test_a_weekly_wage_without_an_error_is_empty_under_constraints_too(tmp_path: Path) -> None:
    release = release_of(state(60), tmp_path, mu=Decimal("0.2"))
    microdata = fit_microdata(release, nonnegative=True, whole=True)
    lines = microdata.tabulate_qcew(78).arrow.to_pylist()
    assert {line["se_avg_wkly_wage"] is None for line in lines} == {True, False}
    for line in lines:
        assert (line["avg_wkly_wage"] is None) == (line["se_avg_wkly_wage"] is None)
        assert line["total_qtrly_wages"] >= 0


def test_other_names_and_counties_of_five_digits(tmp_path: Path) -> None:
    table = state(60)
    counties = pa.array(
        [int(a + b) for a, b in zip(*table.select(["state", "cnty"]).to_pydict().values(), strict=True)]
    )
    renamed = table.drop_columns(["state", "cnty", "own", "year", "qtr"]).append_column("county", counties)
    renamed = renamed.rename_columns(
        {"m1emp": "jan", "m2emp": "feb", "m3emp": "mar", "wage": "pay", "naics": "industry"}
    )
    by = [["establishment"], ["county"]]
    release = release_of(renamed, tmp_path, ["county", "industry"], by)
    names = {"m1emp": "jan", "m2emp": "feb", "m3emp": "mar", "wage": "pay", "naics": "industry", "cnty": "county"}
    found = fit_microdata(release, weights="plug-in").tabulate_qcew(74, names=names).arrow
    assert set(found["area_fips"].to_pylist()) <= {a + b for a in ("34", "44") for b in ("001", "003", "999")}
    assert {depth_of(code) for code in found["industry_code"].to_pylist()} == {3}
    for empty in ("own_code", "year", "qtr"):
        assert found[empty].null_count == found.num_rows
    assert fit_microdata(release, weights="plug-in").tabulate_qcew(70, names=names).arrow["own_code"][0].as_py() == "0"


def test_cells_without_establishments_have_no_count(tmp_path: Path) -> None:
    groupers = {"naics3": Grouper("naics3", "naics", prefix=3)}
    release = release_of(state(), tmp_path, by=[("state", "cnty", "naics3")], groupers=groupers)
    table = fit_microdata(release, weights="plug-in").tabulate_qcew(75, names={"naics": "naics3"}).arrow
    assert table["qtrly_estabs"].null_count == table.num_rows
    assert table["se_month1_emplvl"].null_count == 0


def test_what_is_missing_is_said_at_once(tmp_path: Path) -> None:
    table = state(30).drop_columns(["m2emp"]).set_column(3, "naics", pa.array(["2382", "3118", "oil"] * 10))
    release = release_of(table, tmp_path, ["cnty", "naics"])
    with pytest.raises(FaultsError) as refused:
        fit_microdata(release, weights="plug-in").tabulate_qcew(78, names={"own": "owner", "nonsense": "x"})
    faults = [fault.place for fault in refused.value.faults]
    assert faults == ["name nonsense", "column state", "column owner", "column naics", "attribute m2emp"]
    assert "3 of 3 codes have no code at this level" in str(refused.value)
    assert "state=OTHER" in str(refused.value)
    for level in (49, 59, 60, 69, 79, 99, 5, -75):
        with pytest.raises(GedpError, match=f"agglvl {level}: it is not a level"):
            fit_microdata(release, weights="plug-in").tabulate_qcew(level)
    (tmp_path / "named").mkdir()
    named = state(30).set_column(2, "cnty", pa.array(["Mercer", "Essex", "001"] * 10))
    with pytest.raises(GedpError, match="column cnty: 2 of 3 codes are not FIPS codes"):
        fit_microdata(release_of(named, tmp_path / "named"), weights="plug-in").tabulate_qcew(71)


# The command.


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["tabulate", *map(str, arguments), "--weights", "plug-in"])


def test_the_command_writes_the_layout_and_ratios(microdata: Microdata, tmp_path: Path) -> None:
    folder = microdata.release.folder
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    assert invoke(folder, "--agglvl", "75", "--out", parquet).exit_code == 0
    assert pq.read_table(parquet).equals(microdata.tabulate_qcew(75).arrow)
    assert invoke(folder, "--agglvl", "75", "--out", csv).exit_code == 0
    piped, dashed = invoke(folder, "--agglvl", "75"), invoke(folder, "--agglvl", "75", "--out", "-")
    assert piped.stdout == dashed.stdout == csv.read_text()
    assert csv.read_text().splitlines()[1].startswith('"34001","3","111","75","0","2016","1","",')
    asked = ["--ratio", "weekly-wage", "--ratio", "x = 2 * jobs / m1emp", "--name", "m1emp=m2emp"]
    assert "no query asks for 'jobs'" in str(invoke(folder, *asked).exception)
    asked = ["--ratio", "change", "--ratio", "x = 2 * wage / m1emp", "--name", "m1emp=m2emp", "--out", str(parquet)]
    assert invoke(folder, "--by", "cnty", *asked).exit_code == 0
    change = microdata.tabulate(["cnty"], ratios=["moved = m3emp - m2emp"]).arrow
    assert pq.read_table(parquet)["estimate"].slice(0, 3).equals(change["estimate"])
    assert set(pq.read_table(parquet)["attribute"].to_pylist()) == {"change", "x"}
    both = ["--ratio", "change", "--attribute", "wage", "--out", str(parquet)]
    assert invoke(folder, *both).exit_code == 0
    assert pq.read_table(parquet)["attribute"].to_pylist() == ["wage", "change"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--agglvl", "99"], "not a level of states or counties"),
        (["--agglvl", "75", "--by", "cnty"], "a table of its own"),
        (["--agglvl", "75", "--ratio", "change"], "a table of its own"),
        (["--agglvl", "75", "--name", "naics=industry"], "column industry: there is no such public column"),
        (["--ratio", "nonsense"], "no ratio of this name"),
        (["--ratio", "x = wage / (m1emp - m1emp)"], "divides by 0"),
        (["--ratio", "change", "--name", "m1emp"], "two names"),
        (["--by", "nonsense"], "not a public column or grouping"),
    ],
)
def test_refusals(microdata: Microdata, arguments: list[str], problem: str) -> None:
    result = invoke(microdata.release.folder, *arguments)
    assert result.exit_code != 0
    assert problem in f"{result.output}{result.exception}"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_somebody_who_looks_sees_the_first_lines(tmp_path: Path) -> None:
    folder = release_of(state(), tmp_path, ["state", "cnty", "naics"]).folder
    above, below = os.openpty()
    command = [*COMMAND, "tabulate", str(folder), "--agglvl", "78", "--weights", "plug-in"]
    narrow = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(command, stdout=below, stderr=subprocess.PIPE, text=True, env=narrow) as process:
        os.close(below)
        shown = b""
        while chunk := _read(above):
            shown += chunk
        os.close(above)
        _, said = process.communicate()
    assert process.returncode == 0
    lines = shown.decode().splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert re.match(r"20 of \d+ lines, 7 of 29 columns", lines[-1])
    assert any(line.split()[:2] == ["34001", "111110"] for line in lines)
    assert "says nothing about them: own_code, year, qtr" in said


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # everything was read
        return b""


@pytest.mark.skipif(not QCEW.exists(), reason=f"needs {QCEW.name} of the shared data")
def test_lines_are_those_of_the_published_file(tmp_path: Path) -> None:
    """Synthetic Rhode Island has the published establishments: areas, industries and counts are the published ones."""
    published = read_qcew([QCEW], states=["44"])
    path = tmp_path / "ri.parquet"
    cells = fill(build_tree(published.rows)).cells
    write_establishments(cells, path, year=published.year, quarter=published.quarter, seed=0)
    table = pq.read_table(path, columns=["primary_key", *PUBLIC, *MONTHS, "wage"]).rename_columns(
        {"primary_key": "key"}
    )
    microdata = fit_microdata(release_of(table, tmp_path, by=[["establishment"]]), weights="plug-in")
    columns = "area_fips, own_code::varchar, industry_code, agglvl_code::varchar, qtrly_estabs::bigint"
    for level in (*range(51, 59), *range(71, 79)):
        where = f"area_fips like '44%' and own_code = 5 and agglvl_code = {level} and qtrly_estabs > 0"
        expected = duckdb.execute(f"select {columns} from '{QCEW}' where {where} order by all").fetchall()
        ours = microdata.tabulate_qcew(level).arrow
        assert list(zip(*(ours[name].to_pylist() for name in (*BLS[:4], "qtrly_estabs")), strict=True)) == expected
    names = [row[0] for row in duckdb.execute(f"describe from '{QCEW}'").fetchall()]
    assert set(names) <= set(BLS)
