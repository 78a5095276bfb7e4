"""Parquet files that workers read by themselves: found to be what Spark reads, or left to Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.confidential.engines.spark import SparkEngine
from gedp.confidential.engines.spark_rows import SparkRows, rows_of
from gedp.errors import FaultsError, TableChangedError
from tests.helpers.passes import agrees, agrees_on_faults, agrees_on_kinds, answered_table, faulty_table, table_of
from tests.spark.test_spark import ROWS, large_table, pytestmark, spec_of  # noqa: F401 - the same warnings

FORMS: dict[str, dict[str, pa.DataType]] = {
    "as it is": {},
    "large texts": {"cnty": pa.large_string(), "naics": pa.large_string()},
    "codes of texts": {"cnty": pa.dictionary(pa.int8(), pa.string()), "key": pa.dictionary(pa.int32(), pa.string())},
    "numbers that Spark widens": {"emp": pa.uint64()},
}


def written(table: pa.Table, folder: Path, *, files: int = 2, rows_a_group: int = 4) -> str:
    """The table in several files of several row groups."""
    rows = -(-table.num_rows // files)
    for place in range(files):
        pq.write_table(table.slice(place * rows, rows), folder / f"{place}.parquet", row_group_size=rows_a_group)
    return str(folder / "*.parquet")


def in_form(table: pa.Table, form: str) -> pa.Table:
    return table.cast(pa.schema([pa.field(f.name, FORMS[form].get(f.name, f.type)) for f in table.schema]))


@pytest.mark.parametrize("form", FORMS)
def test_workers_find_in_files_what_plain_python_finds(session: Any, tmp_path: Path, form: str) -> None:
    agrees(SparkEngine(written(in_form(table_of(ROWS), form), tmp_path), session), ROWS, 50)


def test_workers_count_what_is_wrong_in_files(session: Any, tmp_path: Path) -> None:
    agrees_on_faults(SparkEngine(written(faulty_table(), tmp_path, rows_a_group=2), session))


def test_workers_go_over_the_files_of_a_release(session: Any, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    source = written(answered_table(ROWS), tmp_path / "parts", files=3)
    agrees_on_kinds(SparkEngine(source, session), ROWS, tmp_path / "rewritten")


def read_by(session: Any, source: str, columns: list[str]) -> tuple[bool, list[str]]:
    """Whether Spark's own reader has a part in it, and the rows that workers get."""

    def seen(records: Any) -> Any:
        for record in records:
            yield pa.RecordBatch.from_arrays([pa.array(map(repr, record.to_pylist()))], ["row"])

    rows: SparkRows = SparkEngine(source, session)._rows
    frame = rows.tasks(columns, seen, "row string")
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    return "parquet" in plan.lower(), sorted(row.row for row in frame.collect())


def test_types_that_differ_and_files_that_differ_are_left_to_spark(session: Any, tmp_path: Path) -> None:
    table = table_of(ROWS[:6]).append_column("on", pa.array([0] * 6, pa.timestamp("ms")))
    source = written(table, tmp_path)
    by_spark, rows = read_by(session, source, ["cnty", "emp"])
    assert not by_spark
    assert rows == sorted(map(repr, table.select(["cnty", "emp"]).to_pylist()))
    assert read_by(session, source, ["cnty", "on"])[0]
    pq.write_table(table.select(["emp", "cnty", "key", "naics", "profit", "on"]), tmp_path / "1.parquet")
    assert read_by(session, source, ["cnty", "emp"])[0]


def test_many_groups_are_divided_among_tasks_and_a_seed_takes_one(session: Any, tmp_path: Path) -> None:
    source = written(table_of(ROWS), tmp_path, rows_a_group=3)
    rows: SparkRows = SparkEngine(source, session)._rows
    assert [group.rows for group in rows.groups] == [3, 3, 3, 3, 3, 3, 3, 2]
    for each, tasks in ((rows, 2), (rows.by_one(), 1)):
        assert each.tasks(["emp"], iter, "emp long").rdd.getNumPartitions() == tasks


def test_a_file_that_changes_while_workers_read_is_noticed(session: Any, tmp_path: Path) -> None:
    source = written(table_of(ROWS), tmp_path)
    engine = SparkEngine(source, session)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(TableChangedError):
        engine.combinations(["cnty"])
    whole = SparkEngine(written(table_of(ROWS), tmp_path), session)
    (tmp_path / "0.parquet").write_bytes(b"PAR1 987654321 PAR1")
    with pytest.raises(TableChangedError) as raised:
        whole.combinations(["cnty"])
    assert "987654321" not in f"{raised.value} {raised.value.__context__}"


def test_a_damaged_file_is_refused_and_not_quoted(session: Any, tmp_path: Path) -> None:
    pq.write_table(large_table(50), tmp_path / "t.parquet", compression="none", use_dictionary=False)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[60:400] = b"987654321" * 37 + b"9876543"
    (tmp_path / "t.parquet").write_bytes(bytes(content))
    with pytest.raises(FaultsError, match="cannot be read") as raised:
        SparkEngine(tmp_path / "t.parquet", session).combinations(["key", "cnty"])
    assert "987654321" not in f"{raised.value} {raised.value.__context__} {raised.value.__cause__}"


def test_a_release_of_files_has_every_row_once(session: Any, tmp_path: Path) -> None:
    table = large_table(400)
    (tmp_path / "t").mkdir()
    written(table, tmp_path / "t", files=3, rows_a_group=30)
    text = gedp.write_spec(spec_of()).replace("[data]\n", '[data]\nsource = "t/*.parquet"\n')
    (tmp_path / "spec.toml").write_text(text, "utf-8")
    release = gedp.run(tmp_path / "spec.toml", session=session, out=tmp_path / "out")
    assert release.identity().sort_by("key")["key"].to_pylist() == table["key"].to_pylist()
    parts = sorted((tmp_path / "out" / "identity.parquet").iterdir())
    drawn = rows_of(session.read.parquet(str(tmp_path / "out" / "identity.parquet")), parts)
    assert sum(group.rows for group in drawn.groups) == 400
