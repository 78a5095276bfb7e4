"""One table has one ledger, however Spark is led to it: by a path, an address, or a DataFrame made from its files."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import gedp
from gedp.confidential.engines.spark import SparkEngine
from gedp.errors import FaultsError, Refused
from gedp.ledger import Ledger
from tests.spark.test_spark import large_table, spec_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]

CONFIDENTIAL = spec_of(synthetic=False)


def spec_at(folder: Path, source: str) -> Path:
    text = gedp.write_spec(CONFIDENTIAL).replace("[data]\n", f'[data]\nsource = "{source}"\n')
    (folder / "spec.toml").write_text(text, encoding="utf-8")
    return folder / "spec.toml"


def test_a_data_frame_has_the_ledger_of_the_files_that_it_is_made_from(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "a register.parquet"
    pq.write_table(large_table(50), path)
    gedp.run(spec_at(tmp_path, path.name), out=tmp_path / "first", answers_only=True)
    frame = session.read.parquet(str(path)).where("emp >= 0")
    with pytest.raises(Refused, match="these data already have a ledger"):
        gedp.run(CONFIDENTIAL, frame, out=tmp_path / "second", ledger=tmp_path / "other.ledger", answers_only=True)
    gedp.run(CONFIDENTIAL, frame, out=tmp_path / "second", answers_only=True)
    ledger = Ledger.open(tmp_path / "a register.parquet.ledger", create=False)
    assert len(ledger.state().releases) == 2


def test_a_file_has_the_ledger_of_a_data_frame_that_was_made_from_it(session: Any, tmp_path: Path) -> None:
    """Nothing is left in the folder: Spark would take it for a part of the table."""
    folder = tmp_path / "register"
    folder.mkdir()
    pq.write_table(large_table(50), folder / "part-0.parquet")
    frame = session.read.parquet(str(folder))
    gedp.run(CONFIDENTIAL, frame, out=tmp_path / "first", ledger=tmp_path / "own.ledger", answers_only=True)
    assert [path.name for path in folder.iterdir()] == ["part-0.parquet"]
    spec = spec_at(tmp_path, "register/part-0.parquet")
    with pytest.raises(Refused, match=r"these data already have a ledger: .*own\.ledger"):
        gedp.check(spec, out=tmp_path / "second", ledger=folder / "other.ledger")


def test_a_file_of_this_machine_is_not_called_by_an_address(session: Any, tmp_path: Path) -> None:
    """Beside a path a ledger is looked for."""
    pq.write_table(large_table(5), tmp_path / "t.parquet")
    for scheme in ("file", "FILE"):
        spec = spec_at(tmp_path, f"{scheme}://{tmp_path}/t.parquet")
        with pytest.raises(FaultsError, match=r"it is on this machine\. Give its path, without file://"):
            gedp.check(spec, session=session, ledger=tmp_path / "other.ledger")


def test_a_table_elsewhere_has_one_ledger_by_its_full_address(session: Any, tmp_path: Path) -> None:
    """A file system of another name, which leads here."""
    (tmp_path / "there").mkdir()
    pq.write_table(large_table(50), tmp_path / "there" / "t.parquet")
    settings = session.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.elsewhere.link./data", f"file://{tmp_path}/there")
    spec, options = spec_at(tmp_path, "viewfs://elsewhere/data/*.parquet"), {"session": session, "answers_only": True}
    gedp.run(spec, out=tmp_path / "first", ledger=tmp_path / "own.ledger", **options)
    engine = SparkEngine("viewfs://elsewhere/data/t.parquet", session)
    assert (engine.files(), engine.origins()) == ([], [])
    assert engine.identities() == ["viewfs://elsewhere/data/t.parquet"]
    other = {"out": tmp_path / "second", "ledger": tmp_path / "other.ledger", **options}
    with pytest.raises(Refused, match=r"these data already have a ledger: .*own\.ledger"):
        gedp.run(spec_at(tmp_path, "viewfs://elsewhere/data/t.parquet"), **other)
    with pytest.raises(Refused, match=r"these data already have a ledger: .*own\.ledger"):
        gedp.run(CONFIDENTIAL, session.read.parquet("viewfs://elsewhere/data"), **other)


def test_a_data_frame_that_no_file_is_behind_is_known_by_its_rows(session: Any, tmp_path: Path) -> None:
    pq.write_table(large_table(50), tmp_path / "t.parquet")
    gedp.run(spec_at(tmp_path, "t.parquet"), out=tmp_path / "first", answers_only=True)
    frame = session.createDataFrame(large_table(50).to_pandas()).orderBy("emp")
    assert SparkEngine(frame, session).origins() == []
    for other in ("other.ledger", "elsewhere.db"):
        with pytest.raises(Refused, match="these data already have a ledger"):
            gedp.check(CONFIDENTIAL, frame, out=tmp_path / "second", ledger=tmp_path / other)
