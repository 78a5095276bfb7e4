"""From Python, where objects can change, lie and show themselves: none of it gets past the ledger or into a message."""

import traceback
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.noise.entropy import SystemEntropy, Words
from gedp.policy import Grouper, Query
from tests.helpers.canaries import CANARY, sings

SECTIONS: dict[str, Any] = {
    "data": {"public": ["county"]},
    "attributes": {"jobs": {"psi": "sqrt", "gamma": 0.5}},
    "budget": {"mu": 2},
    "queries": [
        {"name": "identity", "by": "establishment", "mu": 1},
        {"name": "county", "by": ["county"], "mu": 1, "mechanism": "pnc"},
    ],
}


def spec_of(**sections: Any) -> gedp.Spec:
    return gedp.make_spec(**{**SECTIONS, **sections})


def rows(**columns: Any) -> pa.Table:
    return pa.table({"county": ["001", "003"] * 20, "jobs": list(range(40)), "profit": list(range(40)), **columns})


def refused(spec: gedp.Spec, table: gedp.ConfidentialTable, folder: Path, match: str, **options: Any) -> None:
    """The release is refused before anything is spent."""
    ledger = gedp.Ledger.open(folder / "x.ledger")
    with pytest.raises(gedp.GedpError, match=match):
        gedp.measure(table, spec, out=folder / "out", ledger=ledger, **options)
    assert ledger.total().mu_squared == 0
    assert not (folder / "out").exists()


def test_a_grouping_under_another_name_cannot_publish_a_confidential_column(tmp_path: Path) -> None:
    """The reader sees a grouping called profit; the lookup has another name, so the column itself would be read."""
    honest = spec_of()
    query = Query("leak", ("profit",), {"jobs": Decimal("0.1")})
    spec = replace(honest, groupers={"profit": Grouper("other", "county", prefix=2)}, queries=(*honest.queries, query))
    refused(spec, gedp.open_table(spec, rows()), tmp_path, "opened with other settings")


def test_a_spec_that_changes_while_noise_is_drawn_changes_no_noise(tmp_path: Path) -> None:
    spec = spec_of()

    def change(*_: object) -> None:
        prices = spec.queries[1].mu
        assert isinstance(prices, dict)
        prices["jobs"] = Decimal(10**6)

    ledger = gedp.Ledger.open(tmp_path / "x.ledger")
    table = gedp.open_table(spec, rows())
    release = gedp.measure(table, spec, out=tmp_path / "out", ledger=ledger, progress=change)
    assert gedp.price(spec).total.mu_squared > 10**6  # it was changed
    assert release.manifest.prices.total == ledger.total() == gedp.PrivacyLoss(Fraction(2))
    assert min(release.table("county")["std_error"]) > 1


def test_a_spec_that_changes_after_the_table_was_opened_is_not_the_one_it_was_checked_for(tmp_path: Path) -> None:
    spec = spec_of(attributes={"jobs": {"psi": "sqrt", "gamma": 0.5, "signed": True}})
    table = gedp.open_table(spec, rows(jobs=[-5] * 40))
    attributes = spec.policy.attributes
    assert isinstance(attributes, dict)
    attributes["jobs"] = replace(attributes["jobs"], signed=False)
    refused(spec, table, tmp_path, "the table may hold values at which psi is not defined")


class Constant(SystemEntropy):
    """Calls itself the system's, as it inherits the kind."""

    def words(self, n: int) -> Words:
        return np.full(n, 2**63, dtype=np.uint64)


def test_randomness_of_ones_own_cannot_pass_for_the_systems(tmp_path: Path) -> None:
    for synthetic in (False, True):
        spec = spec_of(data={"public": ["county"], "synthetic": synthetic})
        refused(spec, gedp.open_table(spec, rows()), tmp_path, "not the system's randomness", entropy=Constant())


@pytest.mark.parametrize("zeta", [0, 1, -1, 3, 10**30, float("nan"), "x", Fraction(1, 10**31)])
def test_what_is_no_chance_of_clipping_is_refused_before_anything_is_spent(tmp_path: Path, zeta: Any) -> None:
    spec = spec_of()
    refused(spec, gedp.open_table(spec, rows()), tmp_path, "zeta is a chance|not a finite decimal", zeta=zeta)


def written(write: Callable[[pa.Table, Path], Any], name: str) -> Callable[[pa.Table, Path], Path]:
    def put(table: pa.Table, folder: Path) -> Path:
        write(table, folder / name)
        return folder / name

    return put


def write_text(table: pa.Table, path: Path) -> None:
    lines = [table.column_names, *zip(*(map(str, column.to_pylist()) for column in table.columns), strict=True)]
    path.write_text("\n".join(map(",".join, lines)), encoding="utf-8")


@pytest.mark.parametrize("names", [["X", "x", "x_1"], ["x", "x", "x_1"], ["x_1", "X_1", "x"]])
@pytest.mark.parametrize(
    "given",
    [lambda table, _: table, written(pq.write_table, "t.parquet"), written(write_text, "t.csv")],
    ids=["memory", "parquet", "csv"],
)
def test_a_column_that_another_gets_the_name_of_is_not_mistaken_for_it(
    tmp_path: Path, names: list[str], given: Callable[[pa.Table, Path], Any]
) -> None:
    """DuckDB calls the second of X, x and x_1 x_1: here it is confidential, and x_1 is public."""
    table = pa.Table.from_arrays([pa.array([f"{name}{i}" for i in "01"]) for name in "abc"], names)
    table = table.append_column("jobs", pa.array([1, 2]))
    spec = spec_of(data={"public": ["x_1"]}, queries=[{"name": "q", "by": ["x_1"], "mu": 1}])
    with pytest.raises(gedp.GedpError, match="several columns have the same name"):
        gedp.open_table(spec, given(table, tmp_path))


def test_a_text_may_have_a_column_without_a_name_unless_another_has_the_one_it_gets(tmp_path: Path) -> None:
    spec = spec_of(queries=[{"name": "q", "by": ["county"], "mu": 1}])
    (tmp_path / "t.csv").write_text(",county, jobs\n0,001,5\n1,003,6\n", encoding="utf-8")
    assert "column0" in gedp.open_table(spec, tmp_path / "t.csv").engine.columns()
    (tmp_path / "t.csv").write_text(",column0,county,jobs\n0,1,001,5\n1,1,003,6\n", encoding="utf-8")
    with pytest.raises(gedp.GedpError, match="several columns have the same name"):
        gedp.open_table(spec, tmp_path / "t.csv")


def test_names_inside_a_column_may_be_those_of_others(tmp_path: Path) -> None:
    nested = pa.array([{"county": 1, "jobs": [{"jobs": 2}]}] * 40)
    pq.write_table(rows(profit=nested, more=nested), tmp_path / "t.parquet")
    assert gedp.open_table(spec_of(), tmp_path / "t.parquet").engine.columns() == ["county", "jobs", "profit", "more"]


def of_ours(error: BaseException) -> str:
    """What tools show of the variables in our frames; those of the caller hold the caller's table anyway."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    package = str(Path(gedp.__file__).parent)
    return "".join(str(frame.locals) for frame in shown.stack if frame.filename.startswith(package))


@pytest.mark.parametrize("attempt", [gedp.run, gedp.check, gedp.open_table])
@pytest.mark.parametrize("jobs", [[-CANARY] * 40, pa.array([CANARY] * 40).cast(pa.decimal256(50, 2))])
def test_no_frame_of_ours_holds_the_table_after_an_error(attempt: Callable[..., Any], jobs: Any) -> None:
    table = rows(jobs=jobs)
    assert sings(table)
    with pytest.raises(gedp.GedpError) as raised:
        attempt(spec_of(data={"public": ["county"], "synthetic": True}), table)
    assert of_ours(raised.value)
    assert not sings(of_ours(raised.value))


def test_rows_that_were_read_into_memory_keep_the_ledger_of_their_file(tmp_path: Path) -> None:
    """Else a DataFrame and a second ledger would give the whole budget again."""
    pq.write_table(rows(), tmp_path / "t.parquet")
    data = {"public": ["county"], "source": "t.parquet"}
    spec = spec_of(data=data, folder=tmp_path, budget={"mu": 1.5})
    gedp.run(spec, out=tmp_path / "out", answers_only=True)
    other = tmp_path / "other.ledger"
    for attempt in (gedp.run, gedp.check):
        with pytest.raises(gedp.GedpError, match="these data already have a ledger"):
            attempt(spec, rows(), out=tmp_path / "again", ledger=other)
        with pytest.raises(gedp.GedpError, match="over budget"):
            attempt(spec, rows(), out=tmp_path / "again")
        with pytest.raises(gedp.GedpError, match="releases from them as confidential data"):
            attempt(replace(spec, data=replace(spec.data, synthetic=True)), rows(), out=tmp_path / "again")
    with pytest.raises(gedp.GedpError, match="these data have a ledger"):
        gedp.measure(gedp.open_table(spec, rows()), spec, out=tmp_path / "again", ledger=gedp.Ledger.open(other))
    assert not (tmp_path / "again").exists()


def test_a_misspelt_parameter_is_named() -> None:
    misspelt: dict[str, Any] = {"tabel": rows()}
    with pytest.raises(TypeError, match="unexpected keyword argument 'tabel'"):
        gedp.check(spec_of(), **misspelt)
