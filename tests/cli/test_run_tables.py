"""The table that `gedp run` reads: in any form, in several files, and changing meanwhile."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gedp import api
from gedp.confidential.run import plan_run, run
from gedp.errors import Refused, TableChangedError
from gedp.ledger import Ledger
from gedp.policy import read_spec
from gedp.release import read_release
from tests.confidential.test_measure import Silence
from tests.helpers.runs import LEDGER, PRICE, SYNTHETIC, names, small_table, spent, write_case, write_spec
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


def test_relative_paths_resolve_against_the_folder_of_the_spec(tmp_path: Path) -> None:
    study = tmp_path / "study"
    (study / "data").mkdir(parents=True)
    write_case(
        study, ("t.parquet", "data/t.parquet"), ("prefix = 2", 'map = "maps/sectors.csv"'), ('"out"', '"made/out"')
    )
    (study / "t.parquet").rename(study / "data" / "t.parquet")
    (study / "maps").mkdir()
    (study / "maps" / "sectors.csv").write_text("1111,A\n1122,A\n2222,B\n2361,C\n", encoding="utf-8")
    ended = command("run", "study/spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert names(study / "data") == ["t.parquet", LEDGER]
    release = read_release(study / "made" / "out")
    assert set(release.answers("naics2 x county")["naics2"].to_pylist()) == {"A", "B", "C"}
    assert names(tmp_path) == ["study"]


def test_a_table_in_memory_counts_for_the_file_that_the_spec_names(tmp_path: Path) -> None:
    """The file finds the ledger that was named for the table, and its budget is not there a second time."""
    study, ledger = tmp_path / "study", tmp_path / "register.ledger"
    study.mkdir()
    spec = write_case(study)
    api.run(spec, small_table(), ledger=ledger, out=tmp_path / "out", answers_only=True)
    assert (study / LEDGER).resolve() == ledger
    (release,) = Ledger.open(ledger).state().releases
    assert [Path(mark.path).name for mark in release.reserve.files] == ["t.parquet"]
    assert command("run", "spec.toml", "--answers-only", folder=study).code == 0
    assert len(Ledger.open(ledger).state().releases) == 2
    (study / LEDGER).unlink()
    with pytest.raises(Refused, match="these data already have a ledger"):
        api.run(spec, ledger=study / "other.ledger", out=tmp_path / "more")


def test_parquet_csv_and_globs_of_both_agree(tmp_path: Path) -> None:
    """The same rows in every form, without noise: the same answers to the last bit."""
    table = small_table()
    write_case(tmp_path, SYNTHETIC, table=table)
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.csv.write_csv(table, tmp_path / "semicolon.csv", pa.csv.WriteOptions(delimiter=";"))
    for i in range(4):
        pq.write_table(table.slice(10 * i, 10), tmp_path / f"part-{i}.parquet")
        pa.csv.write_csv(table.slice(10 * i, 10), tmp_path / f"part-{i}.csv")
    pq.write_table(table.slice(0, 10).select(["wage", "emp", "naics", "cnty", "key"]), tmp_path / "part-0.parquet")
    (tmp_path / "odd [1] name").mkdir()
    shutil.copy(tmp_path / "t.parquet", tmp_path / "odd [1] name" / "it's.parquet")
    sources = ["t.parquet", "t.csv", "semicolon.csv", "part-*.parquet", "part-?.csv", "odd [1] name/it's.parquet"]
    seen = []
    for i, source in enumerate(sources):
        spec = read_spec(write_spec(tmp_path, SYNTHETIC, ("t.parquet", source)))
        release = run(plan_run(spec, out=tmp_path / f"out{i}", entropy=Silence()))
        seen.append([release.identity(), *(release.answers(q) for q in ("county", "naics2 x county"))])
    for tables in seen[1:]:
        assert all(one.equals(other) for one, other in zip(seen[0], tables, strict=True))


def test_a_glob_has_one_ledger_beside_its_files(tmp_path: Path) -> None:
    write_case(tmp_path, ("t.parquet", "part-*.parquet"))
    for i in range(2):
        pq.write_table(small_table().slice(20 * i, 20), tmp_path / f"part-{i}.parquet")
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert spent(tmp_path, "part.ledger") == PRICE
    write_spec(tmp_path, ("t.parquet", "*/x.parquet"))
    (tmp_path / "2024").mkdir()
    others = small_table(30).set_column(0, "key", pa.array([f"other {i}" for i in range(30)]))
    pq.write_table(others, tmp_path / "2024" / "x.parquet")
    ended = command("run", "spec.toml", "--answers-only", "--out", "other", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert spent(tmp_path / "2024", "x.parquet.ledger") == PRICE


def test_files_of_a_glob_that_differ_are_not_rounded_to_the_first(tmp_path: Path) -> None:
    write_case(tmp_path, ("t.parquet", "part-*.parquet"))
    table = small_table()
    pq.write_table(table, tmp_path / "part-0.parquet")
    halves = pa.array([value + 0.5 for value in table["emp"].to_pylist()])
    keys = pa.array([f"other {key}" for key in table["key"].to_pylist()])
    pq.write_table(table.set_column(3, "emp", halves).set_column(0, "key", keys), tmp_path / "part-1.parquet")
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, "40 rows have a value that is not a whole multiple of the unit 1" in ended.err) == (2, True)


def append_row(path: Path) -> None:
    pq.write_table(pa.concat_tables([small_table(), small_table().slice(0, 1)]), path)


def make_null(path: Path) -> None:
    pq.write_table(small_table().set_column(3, "emp", pa.array([None] * 40, pa.int64())), path)


def make_text(path: Path) -> None:
    pq.write_table(small_table().set_column(3, "emp", pa.array(["918273645546x"] * 40)), path)


def one_more(path: Path) -> None:
    emp = small_table()["emp"].to_pylist()
    pq.write_table(small_table().set_column(3, "emp", pa.array([emp[0] + 1, *emp[1:]])), path)


@pytest.mark.parametrize(
    "change", [append_row, make_null, make_text, one_more, Path.unlink, lambda p: p.write_bytes(b"")]
)
@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_table_that_changes_is_noticed(change: Callable[[Path], object], moment: str, tmp_path: Path) -> None:
    """Before the first pass nothing is spent; between two passes it is; either way nothing is published."""
    plan = plan_run(read_spec(write_case(tmp_path)))
    if moment == "before":
        change(tmp_path / "t.parquet")

    def between(what: str, done: int, of: int) -> None:
        if (what, done, moment) == ("establishments", of, "between"):
            change(tmp_path / "t.parquet")

    with pytest.raises(TableChangedError) as raised:
        run(plan, progress=between)
    assert "918273645" not in str(raised.value)
    assert spent(tmp_path) == (0 if moment == "before" else PRICE)
    assert not (tmp_path / "out").exists()
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_a_file_that_joins_the_glob_is_noticed(tmp_path: Path) -> None:
    plan = plan_run(read_spec(write_case(tmp_path, ("t.parquet", "*.parquet"))))
    shutil.copy(tmp_path / "t.parquet", tmp_path / "more.parquet")
    with pytest.raises(TableChangedError):
        run(plan)
    assert spent(tmp_path) == 0
