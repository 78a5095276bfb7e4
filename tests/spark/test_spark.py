"""Spark finds what the local engine finds, draws every row once whatever befalls its workers, and tells nothing."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import gedp
from gedp.confidential import priced
from gedp.confidential.engines import Draw, Engine, Results
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.engines.session import _started, new_session
from gedp.confidential.engines.spark import SparkEngine
from gedp.confidential.measure import answer
from gedp.confidential.preparing import prepare
from gedp.confidential.table import open_table, open_table_of
from gedp.confidential.tally import CellSums, DrawnCells
from gedp.errors import FaultsError, GedpError, Refused, TableChangedError
from gedp.ledger import Ledger
from gedp.noise.entropy import SeededEntropy, SystemEntropy
from gedp.policy import Data, Spec
from tests.helpers import builder
from tests.helpers.passes import (
    UNIT,
    Row,
    agrees,
    agrees_on_faults,
    agrees_with_drawn,
    faulty_table,
    identity_drawing,
    opened,
    table_of,
)
from tests.spark.failing import Failed, Hopeless, Killed, Marking

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]

ROWS: list[Row] = [
    (["001", "003", "00é"][i % 3], ["1111", "1122", "2222", "33"][i % 4], i * i, (-1) ** i * 7 * i) for i in range(23)
]
CANARY = 987_654_321


@pytest.mark.parametrize(("parts", "rows"), [(2, ROWS), (8, ROWS[:5])])
def test_spark_finds_what_plain_python_finds(session: Any, parts: int, rows: list[Row]) -> None:
    """In a few parts, and in more than there are rows."""
    agrees(SparkEngine(session.createDataFrame(table_of(rows)).repartition(parts), session), rows, 50)


def test_spark_counts_what_is_wrong(session: Any) -> None:
    agrees_on_faults(SparkEngine(session.createDataFrame(faulty_table()).repartition(4), session))


def test_spark_reads_parquet_and_csv(session: Any, tmp_path: Path) -> None:
    folder = tmp_path / "odd {name} [1]"
    folder.mkdir()
    table = table_of(ROWS)
    for place, start in enumerate((0, 10, 10, 17)):
        stop = (10, 10, 17, 23)[place]
        pq.write_table(table.slice(start, stop - start), folder / f"{place}.parquet")
    pyarrow.csv.write_csv(table, folder / "t.csv")
    (folder / "semicolons.csv").write_text((folder / "t.csv").read_text("utf-8").replace(",", ";"), "utf-8")
    glob = str(tmp_path / "odd {name} *" / "*.parquet")
    for source in (glob, folder / "t.csv", folder / "semicolons.csv"):
        engine = SparkEngine(source, session)
        assert engine.columns() == table.column_names
        assert engine.has_own_names
        assert engine.has_schema == (source == glob)
        assert len(engine.files()) == (4 if source == glob else 1)
        assert engine.combinations(["cnty"])[1].sum() == len(ROWS)
        counts = engine.count_faults({"profit": Fraction(1, 2)}).faults["profit"]
        assert counts.total == sum(abs(row[3]) for row in ROWS)


def test_lines_and_names_that_spark_would_bend_are_refused(session: Any, tmp_path: Path) -> None:
    for name, text in {"more": "a,b\n1,2\n1,2,3\n", "fewer": "a,b\n1,2\n1\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text, "utf-8")
        with pytest.raises(FaultsError, match="1 of its lines do not have the columns of the first"):
            SparkEngine(tmp_path / f"{name}.csv", session)
    (tmp_path / "twice.csv").write_text("a,A\n1,2\n", "utf-8")
    with pytest.raises(FaultsError, match="several columns have the same name"):
        open_table(SparkEngine(tmp_path / "twice.csv", session), Data("t", ("a",)), {})
    with pytest.raises(FaultsError, match="there is no such file"):
        SparkEngine(tmp_path / "nowhere.parquet", session)
    assert not SparkEngine(session.sql("SELECT 1 AS x, 2 AS X"), session).has_own_names


def spec_of(**data: Any) -> Spec:
    return builder.spec_of(
        data=data,
        groupers={},
        attributes={"emp": {"psi": "sqrt", "gamma": 0.5}, "profit": {"psi": "sqrt", "gamma": 3, "signed": True}},
        queries=[
            {"name": "identity", "by": "establishment", "mu": 1},
            {"name": "county", "by": ["cnty"], "mu": 1},
            {"name": "total", "by": [], "mu": 1, "mechanism": "pnc"},
        ],
    )


def large_table(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "key": [f"k{place:06}" for place in range(rows)],
            "cnty": [f"{place % 7:03}" for place in range(rows)],
            "naics": [f"{place % 3}" for place in range(rows)],
            "emp": rng.lognormal(4, 1, rows).astype(np.int64),
            "profit": rng.normal(0, 1000, rows).astype(np.int64),
        }
    )


class RowsFromElsewhere(LocalEngine):
    """Draws rows from the source that workers have, as Spark does."""

    def draw(self, asked: Draw) -> Results:
        return super().draw(replace(asked, entropy=asked.entropy.for_worker()()))


@pytest.mark.parametrize("id_column", ["key", None])
def test_with_the_same_noise_both_engines_release_the_same(session: Any, tmp_path: Path, id_column: str | None) -> None:
    """Spark has three parts, in the order of the table: a seed is used once for all of them."""
    table = large_table(500)
    frame = session.createDataFrame(table).repartitionByRange(3, "key").sortWithinPartitions("key")
    spec, found = spec_of(id=id_column), []
    engines: dict[str, Engine] = {"local": RowsFromElsewhere(table), "spark": SparkEngine(frame, session)}
    for name, engine in engines.items():
        with_roles = open_table(engine, spec.data, spec.policy.attributes)
        answer(prepare(with_roles, spec), out=tmp_path / name, ledger=None, entropy=SeededEntropy(5))
        found.append(gedp.read_release(tmp_path / name))
    one, two = found
    for query in ("county", "total"):
        assert one.answers(query).equals(two.answers(query))
    order = [(name, "ascending") for name in ("cnty", "naics", "emp__psi")]
    assert one.identity().sort_by(order).equals(two.identity().sort_by(order))
    assert one.manifest.answered == two.manifest.answered


def is_noise(errors: Any, part: float = 1.0) -> bool:
    total = float(np.sum((part * errors) ** 2))
    return bool(chi2.ppf(5e-7, errors.size) < total < chi2.ppf(1 - 5e-7, errors.size))


def whole(release: gedp.Release, table: pa.Table) -> None:
    """Every row once, with noise of the right size: noise that is 5% too small is rejected."""
    identity = release.identity().sort_by("key")
    assert identity["key"].to_pylist() == table["key"].to_pylist()
    answered = release.manifest.query("identity")
    assert answered is not None
    errors = (identity["emp__psi"].to_numpy() - np.sqrt(table["emp"].to_numpy())) / answered.noise["emp"].sigma
    assert is_noise(errors)
    assert not is_noise(errors, 0.95)
    assert len(np.unique(errors)) > 0.99 * len(errors)


@pytest.mark.parametrize(("befalls", "times"), [(Marking, 0), (Killed, 4), (Failed, 2)])
def test_whatever_befalls_workers_there_is_one_whole_release(
    session: Any,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    befalls: type[Marking],
    times: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marks = tmp_path_factory.mktemp("marks")
    monkeypatch.setattr(priced, "IdentityAnswers", partial(befalls, marks=marks))
    table = large_table(20_000)
    frame = session.createDataFrame(table).repartition(4)
    release = gedp.run(spec_of(synthetic=False), frame, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert len(list(marks.iterdir())) == times
    whole(gedp.read_release(release.folder), table)
    assert {path.name for path in release.folder.iterdir()} == {"identity.parquet", "manifest.json", "tables"}
    assert [path.name for path in (release.folder / "identity.parquet").iterdir()] == ["part-00000.parquet"]
    ledger = Ledger.open(tmp_path / "ledger", create=False)
    assert float(ledger.total().mu_squared) == pytest.approx(6)
    assert release.manifest.entropy == "system"
    highest = release.identity().group_by("cnty").aggregate([("emp__psi", "max")])
    assert highest.num_rows == 7


class Parts:
    """A writer for parts alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def identity_parts(self) -> Path:
        return self.folder / "identity.parquet"

    def write_identity(self, *_: object) -> None:
        raise AssertionError

    finish_identity = write_identity


def test_what_is_known_of_drawn_rows_is_what_was_published_of_them(session: Any, tmp_path: Path) -> None:
    """Although half of the tasks drew twice."""
    (tmp_path / "marks").mkdir()
    drawing = identity_drawing()
    failing = Failed(drawing.data, drawing.mechanisms, drawing.units, tmp_path / "marks")
    engine = SparkEngine(session.createDataFrame(table_of(ROWS)).repartition(4), session)
    _, cells = opened(engine)
    of_rows, of_drawn = CellSums(cells.lookup, UNIT), DrawnCells(cells.lookup, UNIT)
    asked = Draw(failing, SystemEntropy(), Parts(tmp_path), of_rows, lambda rows: None, of_drawn)
    found = engine.draw(asked).of_drawn
    assert list((tmp_path / "marks").iterdir())
    agrees_with_drawn(pq.read_table(tmp_path / "identity.parquet"), cells, found)
    assert {path.name for path in tmp_path.iterdir()} == {"identity.parquet", "marks"}


def test_a_task_that_cannot_be_done_costs_and_tells_nothing(
    session: Any,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    marks = tmp_path_factory.mktemp("marks")
    monkeypatch.setattr(priced, "IdentityAnswers", partial(Hopeless, marks=marks))
    table = large_table(50).set_column(3, "emp", pa.array([CANARY] * 50))
    with pytest.raises(GedpError, match=r"cannot be read \(ValueError\)") as raised:
        gedp.run(
            spec_of(synthetic=False), session.createDataFrame(table), out=tmp_path / "out", ledger=tmp_path / "ledger"
        )
    assert len(list(marks.iterdir())) >= 4
    told = capfd.readouterr()
    assert str(CANARY) not in f"{raised.value} {raised.value.__notes__} {told.out} {told.err}"
    assert float(Ledger.open(tmp_path / "ledger", create=False).total().mu_squared) == pytest.approx(6)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_parts_are_in_no_order_but_that_of_public_columns(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gedp.confidential.engines import spark

    monkeypatch.setattr(spark, "ROWS_PER_GROUP", 500)
    table = large_table(2000).sort_by([("emp", "ascending")])
    frame = session.createDataFrame(table).coalesce(1)
    seen = []
    for name in ("one", "two"):
        release = gedp.run(spec_of(id="key" if name == "one" else None), frame, out=tmp_path / name)
        parts = [pq.read_table(release.folder / file) for file in release.manifest.identity_files]
        assert len(parts) == 5
        assert min(part.num_rows for part in parts) > 300
        for part in parts:
            keys = ["key"] if name == "one" else ["cnty", "naics"]
            rows = list(zip(*(part[key].to_pylist() for key in keys), strict=True))
            assert rows == sorted(rows)
            order = part["emp__psi"].to_numpy()
            assert abs(np.corrcoef(np.arange(len(order)), order)[0, 1]) < 0.25
        seen.append(release.identity().num_rows)
        gedp.read_release(release.folder).microdata()
    assert seen == [2000, 2000]


def test_what_spark_cannot_do_is_refused_before_anything_is_spent(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame(large_table(20))
    with pytest.raises(Refused, match="needs a ledger"):
        gedp.run(spec_of(synthetic=False), frame, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_workers_do_not_see_is_refused_before_anything_is_spent(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gedp.release import ReleaseWriter

    engine = SparkEngine(session.createDataFrame(large_table(20)), session)
    with ReleaseWriter(tmp_path / "out") as writer:
        engine.require_place(writer)
        assert [path.name for path in writer.folder.iterdir()] == ["tables"]
        monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
        with pytest.raises(Refused, match="do not see"):
            engine.require_place(writer)


def test_the_session_hides_and_encrypts(session: Any) -> None:
    settings = dict(session.sparkContext.getConf().getAll())
    assert settings["spark.ui.enabled"] == settings["spark.eventLog.enabled"] == "false"
    assert settings["spark.io.encryption.enabled"] == "true"


@pytest.fixture
def run_here(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gedp", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)

    return run


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("master", [None, "local-cluster[2,1,1024]"])
def test_the_command_line_runs_spark(run_here: Any, tmp_path: Path, master: str | None) -> None:
    """In a process of its own, and with workers that are processes of their own."""
    table = large_table(20_000)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=5000)
    text = gedp.write_spec(spec_of(synthetic=False)).replace("[data]\n", '[data]\nsource = "t.parquet"\n')
    (tmp_path / "spec.toml").write_text(text, "utf-8")
    ended = run_here("run", "spec.toml", "--engine", "spark", *(["--master", master] if master else []), "--out", "out")
    assert ended.returncode == 0, ended.stderr
    assert "Microdata and report are made on one machine" in ended.stdout
    whole(gedp.read_release(tmp_path / "out"), table)
    assert (tmp_path / "t.parquet.ledger").exists()


@pytest.mark.usefixtures("session")
def test_nobody_imports_spark_without_asking(run_here: Any) -> None:
    code = "import sys, gedp, gedp.cli.run, gedp.confidential.run; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_files_that_change_are_noticed(session: Any, tmp_path: Path) -> None:
    pq.write_table(table_of(ROWS), tmp_path / "t.parquet")
    here = SparkEngine(tmp_path / "t.parquet", session)
    assert here.combinations([])[1].tolist() == [len(ROWS)]
    assert repr(here) == f"SparkEngine({tmp_path / 't.parquet'})"
    _, cells = opened(LocalEngine(table_of(ROWS[:1])))
    with pytest.raises(TableChangedError):
        here.reduce(CellSums(cells.lookup, UNIT))
    pq.write_table(table_of(ROWS[:3]), tmp_path / "t.parquet")
    with pytest.raises(TableChangedError):
        here.require_unchanged()


@pytest.mark.usefixtures("session")
def test_a_session_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(Refused, match="a Spark session is open already"), new_session():
        raise AssertionError

    class Builder:
        def getOrCreate(self) -> None:  # noqa: N802 - Spark's name
            raise ValueError(f"no {CANARY}")

    with pytest.raises(Refused, match=r"^Spark did not start \(ValueError\); nothing was spent"):
        _started(Builder())


def test_tables_by_classes_are_what_the_local_engine_finds(session: Any, tmp_path: Path) -> None:
    """Possible classes and bounds follow from drawn rows, and the rest from a pass over all rows."""
    spec, table = builder.spec_of("classes"), builder.table_of()
    spark = SparkEngine(session.createDataFrame(table).repartition(3), session)
    with builder.without_noise():
        release = answer(
            prepare(open_table_of(spec, spark), spec), out=tmp_path / "out", ledger=None, entropy=SeededEntropy(1)
        )
        local = builder.rehearsed(spec)
    for query in ("sizes", "wages"):
        assert release.answers(query)["estimate"].equals(local.answers(query)["estimate"])


def test_combinations_are_what_the_local_engine_finds(session: Any, tmp_path: Path) -> None:
    """Bounds follow from drawn rows, and the rest from a pass over all rows."""
    spec, table = builder.spec_of("combinations"), builder.table_of()
    spark = SparkEngine(session.createDataFrame(table).repartition(3), session)
    with builder.without_noise():
        release = answer(
            prepare(open_table_of(spec, spark), spec), out=tmp_path / "out", ledger=None, entropy=SeededEntropy(1)
        )
        local = builder.rehearsed(spec)
    for query in ("combined", "costs"):
        assert release.answers(query)["estimate"].equals(local.answers(query)["estimate"])
