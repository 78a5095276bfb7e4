"""Microdata and report of a release that Spark made, with its rows on file."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gedp
from gedp.confidential.engines.choice import on_file
from gedp.confidential.engines.spark import SparkEngine
from gedp.errors import Refused
from gedp.microdata import fit_microdata, fitted
from gedp.microdata.by_kind import FittedRows
from gedp.passes import Batch
from gedp.policy import Spec
from gedp.release.parts import files_of, read_columns
from tests.helpers import builder
from tests.helpers.passes import agrees_on_kinds, answered_table
from tests.spark.failing import is_first_try
from tests.spark.test_spark import ROWS, pytestmark  # noqa: F401 - the same warnings


def spec_of(**changes: Any) -> Spec:
    keys: dict[str, Any] = {
        "attributes": {"emp": {"psi": "sqrt", "gamma": 0.5}},
        "queries": [
            {"name": "identity", "by": "establishment", "mu": 1},
            {"name": "county", "by": ["cnty"], "mu": 1},
            {"name": "total", "by": [], "mu": 1, "mechanism": "pnc"},
        ],
    }
    return builder.spec_of(groupers={}, **keys | changes)


def table_of(rows: int) -> pa.Table:
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "key": [f"k{place:06}" for place in range(rows)],
            "cnty": [f"{place % 7:03}" for place in range(rows)],
            "naics": [f"{place % 3}" for place in range(rows)],
            "emp": rng.poisson(rng.choice([0.5, 5, 400], rows)),
        }
    )


@pytest.mark.parametrize(("parts", "rows"), [(3, ROWS), (8, ROWS[:5])])
def test_spark_goes_over_rows_of_a_release_as_plain_python_does(
    session: Any, tmp_path: Path, parts: int, rows: Any
) -> None:
    frame = session.createDataFrame(answered_table(rows)).repartition(parts)
    agrees_on_kinds(SparkEngine(frame, session), rows, tmp_path / "rewritten")


@dataclass(frozen=True, repr=False)
class KilledInRewriting(FittedRows):
    """Every worker is killed after it rewrote its rows, the first time."""

    def __call__(self, batch: Batch) -> pa.Table:
        rows = super().__call__(batch)
        if is_first_try():
            os.kill(os.getpid(), signal.SIGKILL)
        return rows


@pytest.mark.parametrize("rewriting", [FittedRows, KilledInRewriting])
def test_the_whole_chain_runs_on_spark(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewriting: type[FittedRows]
) -> None:
    monkeypatch.setattr(fitted, "FittedRows", rewriting)
    table = table_of(3_000)
    release = gedp.run(spec_of(), session.createDataFrame(table).repartition(4), out=tmp_path / "out")
    names = {path.name for path in release.folder.iterdir()}
    assert names == {
        *("identity.parquet", "manifest.json", "tables", "microdata.parquet", "microdata.json", "report.html"),
    }
    expected = fit_microdata(release)
    written = read_columns(release.folder / "microdata.parquet").sort_by("key")
    assert written["key"].to_pylist() == table["key"].to_pylist()
    by_key = dict(zip(release.identity()["key"].to_pylist(), expected.fits["emp"].values.tolist(), strict=True))
    values = [by_key[key] for key in written["key"].to_pylist()]
    assert written["emp"].to_numpy() == pytest.approx(np.array(values), rel=1e-8, abs=1e-8)
    assert all(path.name.startswith("part-0") for path in files_of(release.folder / "microdata.parquet"))
    for here in (release.microdata(), release.microdata(session=session)):
        assert here.is_on_file
        found, wanted = (m.tabulate(["cnty"]).arrow for m in (here, expected))
        for column in ("estimate", "std_error"):
            assert found[column].to_numpy() == pytest.approx(wanted[column].to_numpy(), rel=1e-7)
    with pytest.raises(Refused, match="cannot be fitted with Spark"):
        fit_microdata(release, nonnegative=True, on_file=on_file(session))


def test_columns_may_have_any_name(session: Any, tmp_path: Path) -> None:
    table = table_of(60).rename_columns(["key", "a.b", "column0", "place"])
    queries = [{"name": "identity", "by": "establishment", "mu": 1}, {"name": "a", "by": ["a.b"], "mu": 1}]
    spec = spec_of(
        data={"public": ["a.b", "column0"]},
        attributes={"place": {"psi": "sqrt", "gamma": 0.5}},
        queries=queries,
    )
    release = gedp.run(spec, session.createDataFrame(table), out=tmp_path / "out")
    found = read_columns(release.folder / "microdata.parquet").sort_by("key")
    assert found.column_names == ["key", "a.b", "column0", "place"]
    by_key = dict(zip(release.identity()["key"].to_pylist(), fit_microdata(release).fits["place"].values, strict=True))
    assert found["place"].to_numpy() == pytest.approx([by_key[key] for key in found["key"].to_pylist()], rel=1e-7)


def test_what_spark_cannot_fit_is_left_to_one_machine(session: Any, tmp_path: Path) -> None:
    spec = spec_of(attributes={"emp": {"psi": "log", "gamma": 0.3, "shift": 1}})
    release = gedp.run(spec, session.createDataFrame(table_of(300)), out=tmp_path / "out")
    assert not (release.folder / "microdata.parquet").exists()
    assert release.microdata().public_rows.listed == 300
