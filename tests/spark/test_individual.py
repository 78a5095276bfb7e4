"""Individual accounting with Spark: planned as on one machine, every row drawn twice and no more, known by its id."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gedp
from gedp.confidential import individual
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.individual import IndividualJob
from gedp.confidential.preparing import prepare
from gedp.confidential.table import open_table
from gedp.errors import Refused, TableChangedError
from gedp.ledger import Ledger
from gedp.neighbors.estimates import ZETA
from gedp.noise.entropy import SeededEntropy
from gedp.passes import Reads
from gedp.passes.in_memory import NumbersInMemory
from gedp.policy import Spec
from gedp.progress import silent
from tests.helpers import builder
from tests.individual.worlds import Kept
from tests.spark.failing import KilledFirst, KilledSecond
from tests.spark.test_spark import is_noise, large_table

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]

ROWS = 20_000


def spec_of(**data: Any) -> Spec:
    return builder.spec_of(
        data={"synthetic": False, **data},
        groupers={},
        attributes={"emp": {"psi": "sqrt", "gamma": 0.5}, "profit": {"psi": "sqrt", "gamma": 3, "signed": True}},
        budget={"mu": 2, "spend": 1.5},
        queries=[{"name": "county", "by": ["cnty"]}, {"name": "cells", "by": ["cnty", "naics"]}],
    )


def test_whatever_befalls_workers_rows_have_two_answers_as_planned(
    session: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All workers are killed once after they drew first answers, and once after second ones."""
    marks, spec, table = tmp_path_factory.mktemp("marks"), spec_of(), large_table(ROWS)
    monkeypatch.setattr(individual, "FirstDrawing", partial(KilledFirst, marks=marks))
    monkeypatch.setattr(individual, "SecondDrawing", partial(KilledSecond, marks=marks))
    frame = session.createDataFrame(table).repartition(3)
    release = gedp.run(spec, frame, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert {path.name.split()[0] for path in marks.iterdir()} == {"KilledFirst", "KilledSecond"}
    assert float(Ledger.open(tmp_path / "ledger", create=False).total().mu_squared) == pytest.approx(2.25)
    assert {path.name for path in release.folder.iterdir()} == {"identity.parquet", "manifest.json", "tables"}
    identity = release.identity().sort_by("key")
    assert identity["key"].to_pylist() == table["key"].to_pylist()

    prepared = prepare(open_table(LocalEngine(table), spec.data, spec.policy.attributes), spec)
    cells, pools = prepared.cells, prepared.pools
    job = IndividualJob(prepared, SeededEntropy(1), ZETA, Kept(), silent)  # type: ignore[arg-type]
    (batch,) = LocalEngine(table).batches(Reads(cells=cells.lookup))
    for name, values in {"emp": np.sqrt(table["emp"].to_numpy()), "profit": _signed(table["profit"])}.items():
        omega, second, sigma = (identity[f"{name}__{end}"].to_numpy() for end in ("psi", "psi2", "sigma2"))
        plan = job._plan(name, NumbersInMemory(batch.cells, {f"{name}__psi": omega}))
        assert release.manifest.individual[name] == plan.described
        assert np.array_equal(sigma, plan.rows.second_sigma(batch.cells, omega))
        for errors in ((omega - values) / pools[name].first.sigma, (second - values) / sigma):
            assert is_noise(errors)
            assert not is_noise(errors, 0.95)
            assert len(np.unique(errors)) > 0.99 * ROWS
    cut = release.answers("cells").filter(release.answers("cells")["mechanism"].to_numpy() == np.array("pnc"))
    sums = table.group_by(["cnty", "naics"]).aggregate([("emp", "sum"), ("profit", "sum")]).to_pylist()
    truth = {(row["cnty"], row["naics"], name): row[f"{name}_sum"] for row in sums for name in ("emp", "profit")}
    rows = cut.to_pylist()
    errors = [(r["estimate"] - truth[r["cnty"], r["naics"], r["attribute"]]) / r["variance"] ** 0.5 for r in rows]
    assert len(errors) > 20
    assert is_noise(np.array(errors))


def _signed(values: Any) -> Any:
    return np.sign(values.to_numpy()) * np.sqrt(np.abs(values.to_numpy()))


def test_without_ids_nothing_is_spent(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame(large_table(20))
    with pytest.raises(Refused, match="by their ids, and the spec names none"):
        gedp.run(spec_of(id=None), frame, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert list(tmp_path.iterdir()) == []


def test_a_table_with_other_values_the_second_time_is_noticed(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gedp.confidential.engines.spark import SparkEngine

    def changed(self: SparkEngine, answered: Any, key: str, columns: Any) -> Any:
        from pyspark.sql import functions as sql

        both = beside(self, answered, key, columns)
        return replace(both, frame=both.frame.withColumn("emp", sql.col("emp") + 1))

    beside = SparkEngine._beside
    monkeypatch.setattr(SparkEngine, "_beside", changed)
    with pytest.raises(TableChangedError):
        gedp.run(spec_of(), session.createDataFrame(large_table(50)), out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]
