"""From a DataFrame or a file to tables, with the names that `import gedp` offers."""

import pickle
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import DomainError
from gedp.policy import write_spec
from tests.helpers.runs import PRICE, small_table, write_case

ROWS = pa.table(
    {
        "id": pa.array(range(300)),
        "county": ["001", "003", "005"] * 100,
        "jobs": pa.array(np.random.default_rng(1).integers(0, 500, 300)),
    }
)
SECTIONS: dict[str, Any] = {
    "data": {"public": ["county"], "id": "id", "synthetic": np.bool_(True)},
    "attributes": {"jobs": {"psi": "sqrt", "gamma": 0.5}},
    "budget": {"mu": np.int16(2)},
    "queries": [
        {"name": "identity", "by": "establishment", "mu": np.float32(0.7)},
        {"name": "county", "by": ("county",), "mu": Decimal("0.5")},
    ],
}
SPEC = gedp.make_spec(**SECTIONS)


@pytest.mark.parametrize(
    "given",
    [lambda rows: rows, pa.Table.to_pandas, polars.DataFrame, lambda rows: duckdb.connect().from_arrow(rows)],
    ids=["pyarrow", "pandas", "polars", "duckdb"],
)
def test_any_table_gives_the_same_release(tmp_path: Path, given: Callable[[pa.Table], Any]) -> None:
    release = gedp.run(SPEC, table=given(ROWS), out=tmp_path / "out", seed=1, answers_only=True)
    expected = gedp.run(SPEC, table=ROWS, out=tmp_path / "expected", seed=1, answers_only=True)
    assert list(release.table("county")) == list(expected.table("county"))
    assert list(release.establishments()) == list(expected.establishments())


def test_the_table_is_given_once(tmp_path: Path) -> None:
    for call in (gedp.run, gedp.check):
        with pytest.raises(DomainError, match="two tables: `table` and `source`"):
            call(SPEC, ROWS, source="other.parquet", out=tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"seed": "a"}, "a seed is a whole"), ({"seed": 1.5}, "a seed is a whole"), ({"zeta": "abc"}, "zeta is a chance")],
)
def test_numbers_that_are_none_are_refused_in_words(tmp_path: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DomainError, match=problem):
        gedp.run(SPEC, ROWS, out=tmp_path / "out", **options)


def test_a_text_alone_stands_for_a_list_of_one(tmp_path: Path) -> None:
    release = gedp.run(SPEC, table=ROWS, out=tmp_path / "out", seed=1)
    package = gedp.publish(release, tmp_path / "package", tables="county", only="county", formats="csv")
    assert len(package.tables) == 1
    assert not [path for path in package.files if path.endswith((".parquet", ".xlsx"))]
    with pytest.raises(DomainError, match="a passphrase is of the key"):
        gedp.publish(release, tmp_path / "unsigned", passphrase="open sesame")
    assert not (tmp_path / "unsigned").exists()
    confidences: list[Any] = ["0.9", 0.9999999999, 1]
    for confidence in confidences:
        with pytest.raises(DomainError, match="a confidence is a number"):
            release.microdata().tabulate("county", confidence=confidence)
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    draft = gedp.draft_spec(tmp_path / "rows.parquet", "county", id="id", attributes="jobs", protect={"jobs": "10:2"})
    assert draft == gedp.draft_spec(tmp_path / "rows.parquet", ["county"], id="id", protect={"jobs": ["10:2"]})


def test_a_release_gives_tables_and_microdata(tmp_path: Path) -> None:
    release = gedp.run(SPEC, ROWS, out=tmp_path / "out", seed=1)
    assert sorted(path.name for path in release.folder.iterdir()) == [
        *("identity.parquet", "manifest.json", "microdata.json", "microdata.parquet", "report.html", "tables")
    ]
    microdata = release.microdata()
    assert microdata.is_on_file
    table = microdata.tabulate(by=["county"])
    assert table["county"] == ["001", "003", "005"]
    assert len(table) == 3
    assert table.to_pandas()["estimate"].tolist() == table["estimate"]
    assert table.to_polars()["estimate"].to_list() == table["estimate"]
    assert pa.table(table).equals(table.to_arrow())
    assert {type(value) for row in table for value in row.values()} == {str, float}
    assert gedp.read_release(tmp_path / "out") == release
    assert not release.microdata(nonnegative=True).is_on_file


def test_a_spec_from_python_is_the_one_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(write_spec(SPEC).replace("[data]\n", '[data]\nsource = "x"\n'))
    read = gedp.read_spec(tmp_path / "spec.toml")
    assert (read.policy, read.queries, read.folder) == (SPEC.policy, SPEC.queries, tmp_path)
    assert read.source_path() == tmp_path / "x"


def test_a_spec_from_python_names_all_its_faults() -> None:
    wrong = {**SECTIONS, "data": {"public": "county"}, "budget": {"mu": float("nan")}, "output": {1: "x"}}
    with pytest.raises(gedp.GedpError) as raised:
        gedp.make_spec(**wrong)
    assert [fault.place for fault in getattr(raised.value, "faults", ())] == ["data.public", "budget.mu", "output.1"]


def test_a_confidential_table_in_memory_needs_a_ledger(tmp_path: Path) -> None:
    spec = gedp.make_spec(**{**SECTIONS, "data": {"public": ["county"], "id": "id"}}, folder=tmp_path)
    for attempt in (gedp.run, gedp.check):
        with pytest.raises(gedp.GedpError, match="a confidential table in memory needs a ledger"):
            attempt(spec, ROWS)
    assert list(tmp_path.iterdir()) == []
    release = gedp.run(spec, ROWS, ledger=tmp_path / "register.ledger", answers_only=True)
    assert release.folder == tmp_path / "out"
    with gedp.Ledger.open(tmp_path / "register.ledger") as ledger:
        assert ledger.total() == gedp.price(spec).total


def test_checking_spends_nothing_and_refuses_what_a_run_refuses(tmp_path: Path) -> None:
    path = write_case(tmp_path)
    prices = gedp.check(path)
    assert prices.total.mu_squared == PRICE
    assert sorted(item.name for item in tmp_path.iterdir()) == ["spec.toml", "t.parquet"]
    with pytest.raises(gedp.GedpError, match="no such column"):
        gedp.check(path, small_table().drop_columns(["emp"]), ledger=tmp_path / "x.ledger")


@pytest.mark.parametrize("table", [{"county": ["001"]}, [1, 2], 7, object()])
def test_what_is_not_a_table_is_refused_without_being_quoted(table: Any) -> None:
    with pytest.raises(gedp.GedpError, match=f"{type(table).__name__} is not a table"):
        gedp.check(SPEC, table)


def test_a_column_of_several_types_is_refused_without_being_quoted() -> None:
    values = {"id": [1, 2], "county": ["001", "003"], "jobs": [5, "a secret"]}
    mixed = import_module("pandas").DataFrame(values, dtype=object)
    with pytest.raises(gedp.GedpError) as raised:
        gedp.check(SPEC, mixed)
    assert "secret" not in "".join(map(str, (raised.value, raised.value.__cause__, raised.value.__context__)))


def test_objects_show_themselves_shortly_and_survive_pickling(tmp_path: Path) -> None:
    release = gedp.run(SPEC, ROWS, out=tmp_path / "out", seed=1, answers_only=True)
    prices, table = gedp.price(SPEC), release.table("county")
    assert repr(SPEC) == "Spec(a table in memory: jobs by identity, county; budget 2)"
    assert repr(prices) == "PriceList(2 answers: mu = 0.860233 of a budget of 2)"
    assert repr(release) == f"Release({tmp_path / 'out'}: identity, county; mu = 0.860233, NOT PROTECTED: seeded)"
    assert repr(table).splitlines()[-1] == "3 rows"
    assert repr(release.establishments()).splitlines()[-1] == "300 rows, of which 10 are shown"
    for thing in (SPEC, prices, release, table):
        assert repr(pickle.loads(pickle.dumps(thing))) == repr(thing)
    for shown in (SPEC, prices, release, table, release.microdata()):
        assert "<table>" in shown._repr_html_()
    with pytest.raises(KeyError, match="the columns are county, attribute"):
        table["nonsense"]


def test_names_of_columns_in_memory_are_not_quoted() -> None:
    """A DataFrame that was read from a text without a header has a record for its names."""
    with pytest.raises(gedp.GedpError) as raised:
        gedp.check(SPEC, pa.table({"Smith & Sons": [1], "001": ["003"], "48211": [7]}))
    assert "Smith" not in str(raised.value)
    assert "48211" not in str(raised.value)
    assert "Check the names: 3 were found" in str(raised.value)


def test_two_columns_of_one_name_are_refused() -> None:
    columns = [pa.array([1]), pa.array(["001"]), pa.array([5]), pa.array([7])]
    with pytest.raises(gedp.GedpError, match="several columns have the same name"):
        gedp.check(SPEC, pa.Table.from_arrays(columns, names=["id", "county", "jobs", "jobs"]))
