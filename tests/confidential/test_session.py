"""What Spark needs of the machine is missed in one sentence, before a session is started."""

from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import pytest

from gedp.confidential.engines import session
from gedp.confidential.engines.choice import is_of_spark
from gedp.confidential.engines.session import SparkEndedError, java_version, require_spark, until_left
from gedp.errors import Refused
from tests.helpers.runs import gedp


def java_that_says(folder: Path, text: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n", "utf-8")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21"', 21),
        ("?", 0),
    ],
)
def test_the_version_of_a_java_is_what_it_says(says: str, version: int, tmp_path: Path) -> None:
    assert java_version(str(java_that_says(tmp_path, says))) == version
    assert java_version(str(tmp_path / "nowhere")) == 0


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"pip install '\.\[spark\]'"):
        require_spark()
    monkeypatch.setattr(session, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(Refused, match="needs Java 17 or newer, and there is none"):
        require_spark()
    java_that_says(tmp_path / "old", 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(Refused, match=r"is version 11\. Set JAVA_HOME"):
        require_spark()
    java_that_says(tmp_path / "new", 'openjdk version "17"')
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", f"{tmp_path / 'new' / 'bin'}:/usr/bin:/bin")
    require_spark()


class Session:
    """A session whose Java has ended in this way, or goes on."""

    def __init__(self, ended: int | None) -> None:
        java = SimpleNamespace(poll=lambda: ended)
        self.sparkContext = SimpleNamespace(_gateway=SimpleNamespace(proc=java))
        self.ended, self.stopped = ended, False

    def stop(self) -> None:
        self.stopped = True
        if self.ended is not None:
            raise ConnectionRefusedError(111, "Connection refused")


def test_a_java_that_dies_does_not_hide_what_was_spent() -> None:
    failure = OSError("record 918273645")
    failure.add_note("mu = 1 counts as spent")
    with pytest.raises(SparkEndedError, match="Spark has ended: its Java was killed") as told, until_left(Session(-9)):
        raise failure
    assert told.value.__notes__ == ["mu = 1 counts as spent"]
    assert told.value.__suppress_context__
    session = Session(None)
    with pytest.raises(OSError, match="record"), until_left(session):
        raise failure
    assert session.stopped


def test_a_master_goes_with_spark(tmp_path: Path) -> None:
    ended = gedp("run", "paper-equal", "--master", "local", folder=tmp_path)
    assert ended.code == 2
    assert "--master goes with --engine spark" in ended.err


def test_a_table_is_of_spark_if_spark_made_it() -> None:
    assert not is_of_spark(None)
    assert not is_of_spark(Path("t.parquet"))
    assert is_of_spark(type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})())
