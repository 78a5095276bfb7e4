"""One table of 30,000 establishments through every source: the same release, and a change in the middle is noticed."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
import tomli_w

import gedp
from gedp.confidential.engines import in_order
from gedp.confidential.engines.choice import engine_of
from gedp.confidential.engines.sources import streams
from gedp.errors import TableChangedError
from gedp.passes import Reads
from gedp.release import MANIFEST
from tests.helpers.runs import SPEC, SYNTHETIC, changed, small_table
from tests.helpers.sources import CASES, Case, text_of

TABLE = small_table(30_000).set_column(0, "key", pa.array([f"k{i:05}" for i in range(30_000)]))
UNITS = {"emp": Fraction(1), "wage": Fraction(1, 100)}
Require = Callable[[str | None], None]


def spec_for(folder: Path, source: str, keys: dict[str, Any]) -> Path:
    """The spec of a seeded release from this source."""
    stated = tomli_w.dumps({"source": source, **keys})
    path = folder / "spec.toml"
    path.write_text(changed(SPEC, SYNTHETIC, ('source = "t.parquet"\n', stated)), encoding="utf-8")
    return path


def released(folder: Path) -> dict[str, str]:
    """The checksums of all files of a release."""
    files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    assert files
    return {str(name): str(sum_) for name, sum_ in files.items()}


def release(spec: Path, **more: Any) -> dict[str, str]:
    gedp.run(spec, seed=7, answers_only=True, **more)
    return released(spec.parent / "out")


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The release from the table in memory."""
    return release(spec_for(tmp_path_factory.mktemp("memory"), "absent", {}), table=TABLE)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_file_gives_the_same_release(
    case: Case, expected: dict[str, str], require: Require, tmp_path: Path
) -> None:
    require(case.needs)
    case.write(TABLE, tmp_path / case.source)
    assert release(spec_for(tmp_path, case.source, case.keys)) == expected


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_is_read_anew_for_every_pass_is_the_same(
    case: Case, require: Require, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(case.needs)
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    for module in ("databases", "statistical"):
        monkeypatch.setattr(f"gedp.confidential.engines.sources.{module}.PIECE_ROWS", 7_000)
    case.write(TABLE, tmp_path / case.source)
    engine = engine_of(gedp.read_spec(spec_for(tmp_path, case.source, case.keys)))
    wages = [round(100 * wage) for wage in TABLE["wage"].to_pylist()]
    for _ in "12":
        batches = list(in_order(engine).batches(Reads(amounts=UNITS, plain=["key", "naics"])))
        for column in ("key", "naics"):
            assert [text for batch in batches for text in batch.plain[column].to_pylist()] == TABLE[column].to_pylist()
        assert [n for batch in batches for n in batch.amounts["emp"].tolist()] == TABLE["emp"].to_pylist()
        assert [n for batch in batches for n in batch.amounts["wage"].tolist()] == wages


def test_every_table_in_memory_gives_the_same_release(expected: dict[str, str], tmp_path: Path) -> None:
    tables = {
        "pandas": TABLE.to_pandas(),
        "polars": pl.DataFrame(TABLE),
        "duckdb": duckdb.from_arrow(TABLE),
        "texts": pa.table({name: TABLE[name].cast(pa.string()) for name in TABLE.column_names}),
    }
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        assert release(spec_for(tmp_path / name, "absent", {}), table=table) == expected, name


@pytest.mark.parametrize("streamed", [False, True], ids=["held", "streamed"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_file_that_changes_between_two_passes_is_noticed(
    case: Case, streamed: bool, require: Require, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(case.needs)
    if streamed:
        monkeypatch.setattr(streams, "HELD_BYTES", 0)
    case.write(small_table(100), tmp_path / case.source)
    spec = gedp.read_spec(spec_for(tmp_path, case.source, case.keys))
    engine = engine_of(spec)
    assert engine.rows() == 100
    case.write(small_table(90), tmp_path / f"new-{case.source}")
    (tmp_path / f"new-{case.source}").replace(tmp_path / case.source)
    with pytest.raises(TableChangedError):
        list(in_order(engine).batches(Reads(amounts=UNITS)))


@pytest.mark.parametrize("source", ["t.sqlite", "t.duckdb"])
def test_rows_of_a_query_come_in_one_order_whatever_the_database_does(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    CASES["SQLite table" if source == "t.sqlite" else "DuckDB table"].write(TABLE, tmp_path / source)
    keys = {"query": "SELECT * FROM establishments ORDER BY random()"}
    engine = in_order(engine_of(gedp.read_spec(spec_for(tmp_path, source, keys))))
    for _ in "12":
        found = [key for batch in engine.batches(Reads(plain=["key"])) for key in batch.plain[0].to_pylist()]
        assert found == TABLE["key"].to_pylist()


@pytest.mark.parametrize("source", ["t.sqlite", "t.duckdb"])
def test_the_order_of_rows_does_not_say_who_has_more(source: str, tmp_path: Path) -> None:
    """Until they are sorted, noisy rows wait in this order on disk."""
    CASES["SQLite table" if source == "t.sqlite" else "DuckDB table"].write(small_table(), tmp_path / source)
    keys = {"query": "SELECT wage, emp, cnty, naics, key FROM establishments ORDER BY wage"}
    engine = in_order(engine_of(gedp.read_spec(spec_for(tmp_path, source, keys))))
    (batch,) = engine.batches(Reads(plain=["key"]))
    assert batch.plain[0].to_pylist() == small_table()["key"].to_pylist()


def test_a_point_in_the_name_of_a_table_is_no_schema(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("rows", small_table())
        connection.execute('CREATE TABLE "a.b" AS SELECT * FROM rows; CREATE SCHEMA a; CREATE TABLE a.c (x INTEGER)')
    engine = engine_of(gedp.read_spec(spec_for(tmp_path, "t.duckdb", {"table": "a.b"})))
    assert engine.rows() == small_table().num_rows


def test_rows_of_a_file_keep_their_order_in_every_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    for place, part in enumerate((TABLE.slice(0, 17_000), TABLE.slice(17_000))):
        pyarrow.feather.write_feather(part, str(tmp_path / f"part{place}.arrow"), chunksize=777)
        text = text_of(part, ";").encode("cp1252")
        (tmp_path / f"part{place}.csv").write_bytes(text)
    for source, keys in (("part*.arrow", {}), ("part*.csv", {"encoding": "cp1252"})):
        engine = in_order(engine_of(gedp.read_spec(spec_for(tmp_path, source, keys))))
        for _ in "12":
            batches = list(engine.batches(Reads(plain=["key"], amounts=UNITS)))
            assert [key for batch in batches for key in batch.plain[0].to_pylist()] == TABLE["key"].to_pylist()
            assert [n for batch in batches for n in batch.amounts["emp"].tolist()] == TABLE["emp"].to_pylist()
