"""From a release and its truth to errors: against plain Python, and every bad input."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError, GedpError
from gedp.microdata import fit_microdata
from gedp.microdata.cells import read_public_rows
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Data, Policy, Query
from gedp.release import ReleaseFolder
from gedp_lab.evaluate import Evaluation, evaluate
from gedp_lab.evaluate.groups import ANSWERS, ComparedGroups
from gedp_lab.evaluate.levels import chosen_levels, default_levels
from gedp_lab.evaluate.results import stamp_of
from gedp_lab.evaluate.truth import read_truth
from tests.helpers.specs import measured
from tests.microdata.test_fit import (
    ATTRIBUTES,
    EVERYTHING,
    GROUPERS,
    IDENTITY,
    Row,
    query,
    release_of,
    some_rows,
)
from tests.microdata.test_tabulate import group_of

BY = [(), ("cnty",), ("naics3",), ("cnty", "naics2"), ("floor", "naics")]


def table_of(rows: Sequence[Row], **changes: Any) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    named = dict(zip(("cnty", "naics", "floor", *ATTRIBUTES), columns, strict=True))
    return pa.table({"key": [f"k{i:04}" for i in range(len(rows))], **named, **changes})


def keys_of(each: ComparedGroups) -> list[tuple[str, ...]]:
    return list(zip(*(keys.to_pylist() for keys in each.keys.values()), strict=True)) if each.keys else [()]


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


@pytest.mark.parametrize("count", [1, 2, 40])
def test_truth_and_protected_are_those_of_the_same_group(count: int, tmp_path: Path) -> None:
    """Whatever the order of the truth's rows."""
    rows = some_rows(count, seed=count)
    release = release_of(rows, EVERYTHING, tmp_path)
    found = evaluate(release, shuffled(table_of(rows), count), by=BY, weights="plug-in")
    protected = fit_microdata(release, weights="plug-in").table().to_pylist()
    compared = {(each.level.by, each.attribute) for each in found.comparisons if each.source != ANSWERS}
    assert compared == set(product(BY, ATTRIBUTES))
    for each in found.comparisons:
        by = each.level.by
        place = 3 + list(ATTRIBUTES).index(each.attribute)
        for i, codes in enumerate(keys_of(each)):
            members = [j for j, row in enumerate(rows) if group_of(row, by) == codes]
            assert members
            assert each.truth[i] == sum(int(rows[j][place]) for j in members)
            if each.source != ANSWERS:
                wanted = sum(protected[j][each.attribute] for j in members)
                assert each.protected[i] == pytest.approx(wanted, rel=1e-9, abs=1e-6)
        assert each.groups == len({group_of(row, by) for row in rows})


def test_answers_are_those_that_were_released(tmp_path: Path) -> None:
    rows = some_rows(60)
    release = release_of(rows, EVERYTHING, tmp_path)
    found = evaluate(release, table_of(rows), by=[("naics", "cnty"), ()], attributes=["emp", "area"])
    assert [(c.level.by, c.attribute) for c in found.comparisons if c.source == ANSWERS] == [
        (("naics", "cnty"), "emp"),
        ((), "emp"),
        ((), "area"),
        ((), "emp"),  # the total was asked twice
        ((), "area"),
    ]
    (cells,) = [c for c in found.of("emp", ANSWERS) if c.level.by]
    lines = {(a["cnty"], a["naics"]): a for a in release.answers("cells").to_pylist() if a["attribute"] == "emp"}
    for i, (naics, cnty) in enumerate(
        zip(cells.keys["naics"].to_pylist(), cells.keys["cnty"].to_pylist(), strict=True)
    ):
        line = lines[cnty, naics]
        assert (cells.protected[i], cells.low[i], cells.high[i]) == (line["estimate"], line["ci_low"], line["ci_high"])
        assert cells.truth[i] == sum(row[3] for row in rows if row[:2] == (cnty, naics))


def test_the_microdata_are_those_on_file(tmp_path: Path) -> None:
    """With the constraints and totals that they were fitted with; damaged ones are refused."""
    rows = some_rows(60)
    release = release_of(
        rows, [query("identity", ["establishment"], "emp"), query("county", ["cnty"], "emp")], tmp_path
    )
    counties = pa.table({"cnty": ["000", "001", "002"], "emp": [400, 300, 200]})
    held = fit_microdata(release, whole=True, fixed=counties)
    path = held.write()
    (found,) = evaluate(release, table_of(rows), by=[("naics",)], fixed=[counties]).of("emp")
    for i, (code,) in enumerate(keys_of(found)):
        assert found.protected[i] == sum(held.fits["emp"].values[j] for j, row in enumerate(rows) if row[1] == code)
    (other,) = evaluate(release, table_of(rows), by=[("naics",)], weights="quasi").of("emp")
    assert not np.array_equal(other.protected, found.protected)
    (again,) = evaluate(release, table_of(rows), by=[("naics",)]).of("emp")  # the totals are in the file beside them
    assert np.array_equal(again.protected, found.protected)
    beside = path.with_suffix(".json")
    said = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps({name: said[name] for name in said if name != "fixed_totals"}), encoding="utf-8")
    with pytest.raises(FaultsError, match="fitted to fixed public totals"):
        evaluate(release, table_of(rows))
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(GedpError, match=r"microdata\.parquet is not as"):
        evaluate(release, table_of(rows), fixed=[counties])


def not_synthetic(release: ReleaseFolder) -> ReleaseFolder:
    """The same release of a table that was not declared synthetic."""
    spec = release.manifest.spec
    changed = replace(spec, data=replace(spec.data, synthetic=False))
    return replace(release, manifest=replace(release.manifest, spec=changed))


def test_a_stamp_goes_by_the_spec_of_the_release(tmp_path: Path) -> None:
    release = release_of(some_rows(20), [IDENTITY], tmp_path)
    assert not stamp_of(release).confidential
    assert stamp_of(not_synthetic(release)).confidential


def test_a_perfect_release_has_no_error(tmp_path: Path) -> None:
    """The truth is what the microdata say; and one more for everybody is as many too few in every group."""
    release = release_of(some_rows(50), [query("identity", ["establishment"], "area")], tmp_path)
    fitted = fit_microdata(release)
    rounded = np.rint(fitted.fits["area"].values).clip(0)
    truth = pa.table(
        {**{name: release.identity()[name] for name in ("key", "cnty", "naics", "floor")}, "area": rounded}
    )
    fitted.fits["area"].values[:] = rounded
    for shift in (0, 1):
        moved = truth.set_column(4, "area", pa.array(rounded + shift))
        found = read_truth(fitted.public_rows, moved, ["area"])
        groups = fitted.public_rows.cells(["cnty"])
        difference = groups.sums(rounded - found.values("area"))
        assert difference == pytest.approx(-shift * groups.sizes)


NAMELESS = Data("x", ("cnty", "naics", "floor"), synthetic=True)


def nameless_release(rows: Sequence[Row], queries: Sequence[Query], folder: Path) -> ReleaseFolder:
    (folder / "sectors.csv").write_text("".join(f"{row[1]},S\n" for row in rows))
    table = open_table(LocalEngine(table_of(rows)), NAMELESS, ATTRIBUTES, GROUPERS, folder)
    return measured(table, Policy(ATTRIBUTES, Decimal(1000)), queries, out=folder / "out", entropy=SeededEntropy(1))


def test_without_ids_groups_are_right_all_the_same(tmp_path: Path) -> None:
    rows = some_rows(80)
    release = nameless_release(rows, EVERYTHING, tmp_path)
    found = evaluate(release, shuffled(table_of(rows)), by=BY, attributes=["emp"], weights="plug-in")
    for each in found.of("emp"):
        for i, codes in enumerate(keys_of(each)):
            assert each.truth[i] == sum(row[3] for row in rows if group_of(row, each.level.by) == codes)
    other = [(*rows[0][:2], 99, *rows[0][3:]), *rows[1:]]
    with pytest.raises(FaultsError, match="1 of the release are not in the truth, and 1 of the truth are not in"):
        evaluate(release, table_of(other))


def test_without_an_identity_query_rows_are_cells(tmp_path: Path) -> None:
    rows = some_rows(80)
    queries = [query("cells", ["cnty", "naics2"], "emp", mechanism="psi"), query("all", [], "emp", mechanism="psi")]
    release = release_of(rows, queries, tmp_path)
    found = evaluate(release, shuffled(table_of(rows)), weights="plug-in")
    assert [level.by for level in found.levels] == [("cnty", "naics2"), ()]
    each = found.of("emp")[0]
    for i, codes in enumerate(keys_of(each)):
        assert each.truth[i] == sum(row[3] for row in rows if group_of(row, each.level.by) == codes)
    with pytest.raises(FaultsError, match="the release has 80 and the truth 79"):
        evaluate(release, table_of(rows[1:]))
    moved = [("777", *row[1:]) if i == 0 else row for i, row in enumerate(rows)]
    with pytest.raises(FaultsError, match="1 of the truth are not in the release"):
        evaluate(release, table_of(moved))
    together = [("000", "1111", *row[2:]) for row in rows]
    with pytest.raises(FaultsError, match="groups of query 'cells' have no establishments"):
        evaluate(release, table_of(together))
    only = release_of(rows, [query("all", [], "emp", mechanism="psi")], _made(tmp_path / "total"))
    assert evaluate(only, table_of(rows)).of("emp")[0].truth.tolist() == [sum(row[3] for row in rows)]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_csv_is_as_good_as_a_parquet_file(tmp_path: Path) -> None:
    rows = some_rows(30)
    release = release_of(rows, EVERYTHING, tmp_path)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "cnty", "naics", "floor", *ATTRIBUTES])
        writer.writerows([f"k{i:04}", *row] for i, row in enumerate(rows))
    pq.write_table(table_of(rows), tmp_path / "t.parquet")
    tables = [evaluate(release, tmp_path / name, weights="plug-in").errors() for name in ("t.csv", "t.parquet")]
    assert tables[0].equals(tables[1])


def without_some(rows: list[Row]) -> pa.Table:
    return table_of(rows[2:], key=[f"k{i:04}" for i in range(2, len(rows))])


BAD = {
    "two are missing": (
        without_some,
        "the release has 30 and the truth 28: 2 of the release are not in the truth, and 0",
    ),
    "other ids": (
        lambda rows: table_of(rows, key=[f"x{i}" for i in range(30)]),
        "30 of the release are not in the truth",
    ),
    "another county": (lambda rows: table_of(rows, cnty=["9"] * 30), "column cnty: 30 establishments have other codes"),
    "no column": (lambda rows: table_of(rows).drop_columns(["emp", "naics"]), "column naics: there is no such column"),
    "text": (lambda rows: table_of(rows, emp=["many"] * 30), "30 rows have something that is not a number"),
    "nulls": (lambda rows: table_of(rows, emp=[None] * 30), "column emp: 30 rows have null"),
    "negatives": (lambda rows: table_of(rows, emp=[-1] * 30), "30 rows have a negative value"),
    "twice": (lambda rows: pa.concat_tables([table_of(rows)] * 2), "30 rows have an id that appeared before"),
    "nothing": (lambda rows: table_of(rows).slice(0, 0), "it has no rows"),
}


@pytest.mark.parametrize("how", BAD)
def test_bad_truths_are_one_error_with_counts_alone(how: str, tmp_path: Path) -> None:
    rows = some_rows(30)
    change, message = BAD[how]
    release = release_of(rows, EVERYTHING, tmp_path)
    with pytest.raises(FaultsError) as error:
        evaluate(release, change(rows))
    assert message in str(error.value)
    assert error.value.__traceback__ is None or "units" not in str(error.getrepr(showlocals=True))


def test_unknown_keys_and_attributes_are_named(tmp_path: Path) -> None:
    rows = some_rows(10)
    release = release_of(rows, EVERYTHING, tmp_path)
    with pytest.raises(FaultsError, match="2 faults") as error:
        evaluate(release, table_of(rows), by=[("cnty", "nonsense"), ("key",), ("nonsense",)])
    assert "'nonsense' is not a public column" in str(error.value)
    assert "'key' is not a public column" in str(error.value)  # never establishment by establishment
    with pytest.raises(FaultsError, match="no query asks for 'nope'"):
        evaluate(release, table_of(rows), attributes=["emp", "nope"])
    with pytest.raises(GedpError, match="no such file"):
        evaluate(release, tmp_path / "nowhere.parquet")


def test_the_levels_are_those_of_the_qcew_and_of_the_queries(tmp_path: Path) -> None:
    rows = [("001", code, 1, 5, 50, 0, 0) for code in ("311811", "339950", "445110")]
    release = release_of(rows, [IDENTITY, query("floors", ["floor"], "emp")], tmp_path)
    levels = default_levels(read_public_rows(release))
    assert [level.name for level in levels] == [
        "state total",
        "domain",
        "supersector",
        "sector",
        "NAICS-3",
        "NAICS-4",
        "NAICS-5",
        "NAICS-6",
        "county total",
        "county x supersector",
        "county x sector",
        "county x NAICS-3",
        "county x NAICS-4",
        "county x NAICS-5",
        "county x NAICS-6",
        "floor",
    ]
    assert [level.agglvl for level in levels] == [*range(51, 59), 71, *range(73, 79), None]
    found = {each.level.name: each.groups for each in evaluate(release, table_of(rows)).of("emp")}
    names = ("domain", "NAICS-6", "county x sector", "county x NAICS-4", "county x NAICS-6")
    assert [found[name] for name in names] == [2, 3, 2, 3, 3]
    short = release_of(some_rows(5), [IDENTITY], _made(tmp_path / "short"))
    assert "NAICS-5" not in [level.name for level in default_levels(read_public_rows(short))]
    unknown = release_of([("1", "0011", 1, 5, 50, 0, 0)], [IDENTITY], _made(tmp_path / "unknown"))
    assert "supersector" not in [level.name for level in default_levels(read_public_rows(unknown))]


def test_levels_are_within_states_where_there_are_several(tmp_path: Path) -> None:
    """`floor` stands for the states."""
    rows = [("001", "311811", 1, 5, 50, 0, 0), ("001", "311811", 2, 5, 50, 0, 0)]
    columns = table_of(rows).rename_columns(["key", "cnty", "naics", "state", *ATTRIBUTES])
    data = Data("x", ("cnty", "naics", "state"), "key", synthetic=True)
    table = open_table(LocalEngine(columns), data, ATTRIBUTES)
    queries = [IDENTITY, query("counties", ["cnty"], "emp")]
    policy = Policy(ATTRIBUTES, Decimal(1000))
    public_rows = read_public_rows(measured(table, policy, queries, out=tmp_path / "out", entropy=SeededEntropy(1)))
    levels = {level.by: level for level in default_levels(public_rows)}
    assert (levels["state", "cnty"].name, levels["state", "cnty"].agglvl) == ("county total", 71)
    assert levels["cnty",].agglvl is None
    assert len({level.name for level in levels.values()}) == len(levels)
    assert [level.agglvl for level in chosen_levels(public_rows, [("cnty",), ("cnty", "state"), ()])] == [
        None,
        71,
        None,
    ]


def test_the_tables_are_tidy(tmp_path: Path) -> None:
    rows = some_rows(60)
    found = evaluate(release_of(rows, EVERYTHING, tmp_path), table_of(rows), by=[("cnty",), ()], weights="plug-in")
    errors = found.errors()
    every = errors.filter(pa.compute.equal(errors["size"], "all"))
    assert every.num_rows == len(found.comparisons)
    for name in ("groups", "intervals"):  # the classes of size are a partition
        assert pa.compute.sum(errors[name]).as_py() == 2 * pa.compute.sum(every[name]).as_py()
    worst = found.worst(2).to_pylist()
    counties = [line for line in worst if line["by"] == "cnty" and line["attribute"] == "emp"]
    assert len(counties) == 2
    assert abs(counties[0]["difference"]) >= abs(counties[1]["difference"])
    assert found.groups().num_rows == sum(each.groups for each in found.comparisons)
    assert repr(found) == f"Evaluation({found.release.folder}, 2 levels, synthetic data)"
    assert isinstance(found, Evaluation)


def test_a_map_file_is_that_of_the_release(tmp_path: Path) -> None:
    """Without establishments, the rows of the truth find their cells by the map file that the release holds."""
    rows = some_rows(40)
    release = release_of(rows, [query("sectors", ["sector", "cnty"], "emp")], tmp_path)
    (tmp_path / "sectors.csv").unlink()
    found = evaluate(release, table_of(rows), by=[("sector",)], weights="plug-in").comparisons[0]
    wanted = {f"S{code[-1]}": 0 for _, code, *_ in rows}
    for _, code, _, jobs, *_ in rows:
        wanted[f"S{code[-1]}"] += jobs
    assert dict(zip((key for (key,) in keys_of(found)), found.truth, strict=True)) == wanted


def test_where_answers_determine_no_cells_measured_groups_are_evaluated(tmp_path: Path) -> None:
    rows = some_rows(80)
    queries = [query("county", ["cnty"], "emp"), query("naics", ["naics"], "emp"), query("floor", ["floor"], "area")]
    release = release_of(rows, queries, tmp_path)
    found = evaluate(release, shuffled(table_of(rows)))
    assert [each.level.by for each in found.of("emp")] == [("cnty",), ("naics",)]
    assert [each.level.by for each in found.of("area")] == [("floor",)]
    for each in (*found.of("emp"), *found.of("area")):
        place = {"emp": 3, "area": 5}[each.attribute]
        for i, codes in enumerate(keys_of(each)):
            assert each.truth[i] == sum(int(row[place]) for row in rows if group_of(row, each.level.by) == codes)
        assert not np.isnan(each.low).any()
    assert found.write(tmp_path / "evaluation").exists()
