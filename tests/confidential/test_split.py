"""A column of both signs released as gain and loss: read exactly, and in every table with the difference."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

import gedp
from gedp.confidential.engines import in_order
from gedp.confidential.engines.choice import engine_of
from gedp.confidential.table import open_table_of
from gedp.errors import FaultsError, Refused

COUNTIES = ["A", "B"]


def spec_of(**changes: Any) -> gedp.Spec:
    """Profit by county and of every establishment, with hardly any noise."""
    data = {"public": ["county"], "synthetic": True, "missing": {"profit": 0}, **changes.pop("data", {})}
    keys: dict[str, Any] = {
        "attributes": {
            "jobs": {"psi": "sqrt", "gamma": 0.5},
            "profit": {"psi": "sqrt", "gamma": 1, "unit": 0.5, "split": True},
        },
        "budget": {"mu": 1000},
        "queries": [
            {"name": "each", "by": "establishment", "mu": 400},
            {"name": "county", "by": ["county"], "mu": 100},
        ],
        **changes,
    }
    return gedp.make_spec(data=data, **keys)


def table(rows: int = 300) -> pa.Table:
    """Establishments with profits, losses, zeros and nulls."""
    draws = np.random.default_rng(5)
    profit = np.round(draws.normal(0, 4000, rows) * 2) / 2
    profit[:5] = 0
    return pa.table(
        {
            "county": [COUNTIES[row % 2] for row in range(rows)],
            "jobs": draws.integers(1, 99, rows),
            "profit": pa.array(profit, mask=np.arange(rows) % 50 == 7),
        }
    )


def true_sum(of: pa.Table, county: str) -> float:
    return sum(row["profit"] or 0 for row in of.to_pylist() if row["county"] == county)


def lines(of: gedp.Table, attribute: str) -> dict[str, dict[str, Any]]:
    return {row["county"]: row for row in of.arrow.to_pylist() if row["attribute"] == attribute}


def test_parts_are_read_exactly_from_numbers_and_from_texts() -> None:
    whole, spec = table(), spec_of()
    texts = pa.array([None if value is None else str(value) for value in whole["profit"].to_pylist()])
    halves = np.array([2 * (value or 0) for value in whole["profit"].to_pylist()])
    for each in (whole, whole.set_column(2, "profit", texts)):
        engine = open_table_of(spec, engine_of(spec, each)).engine
        (batch,) = in_order(engine).scan(amounts=dict.fromkeys(("profit_gain", "profit_loss"), Fraction(1, 2)))
        assert np.array_equal(batch.amounts["profit_gain"], np.maximum(halves, 0))
        assert np.array_equal(batch.amounts["profit_loss"], np.maximum(-halves, 0))


@pytest.mark.parametrize("by_establishment", [True, False])
def test_every_table_has_the_difference_with_its_error(tmp_path: Path, by_establishment: bool) -> None:
    queries = [{"name": "each", "by": "establishment", "mu": 400}] if by_establishment else []
    spec = spec_of(queries=[*queries, {"name": "county", "by": ["county"], "mu": 100}])
    release = gedp.run(spec, table(), out=tmp_path / "out", seed=1)
    made = release.microdata().tabulate(["county"])
    gain, loss, whole = (lines(made, name) for name in ("profit_gain", "profit_loss", "profit"))
    for county in COUNTIES:
        assert whole[county]["estimate"] == pytest.approx(gain[county]["estimate"] - loss[county]["estimate"])
        errors = gain[county]["std_error"], loss[county]["std_error"]
        assert whole[county]["std_error"] == pytest.approx(float(np.hypot(*errors)))
        assert abs(whole[county]["estimate"] - true_sum(table(), county)) < 6 * whole[county]["std_error"]
    alone = release.microdata().tabulate(["county"], "profit", ratios=["margin = profit / jobs"])
    assert lines(alone, "profit") == whole
    assert lines(alone, "margin")["A"]["estimate"] == pytest.approx(
        whole["A"]["estimate"] / lines(made, "jobs")["A"]["estimate"]
    )
    report = (release.folder / "report.html").read_text()
    assert "profit_gain" in report
    assert ">profit<" in report


def test_individual_accounting_and_a_plan_take_the_parts_for_attributes(tmp_path: Path) -> None:
    spec = spec_of(budget={"mu": 5}, queries=[{"name": "county", "by": ["county"]}])
    release = gedp.run(spec, table(), out=tmp_path / "out", seed=1)
    assert set(lines(release.microdata().tabulate(["county"]), "profit")) == set(COUNTIES)
    assert release.manifest.prices.total <= spec.policy.budget


def test_a_column_that_is_split_is_checked_under_its_own_name_and_once() -> None:
    wrong = pa.table({"county": ["A", "B", "B"], "jobs": [1, 2, 3], "profit": ["-0.3", "x", None]})
    spec = spec_of(data={"missing": "refuse"})
    with pytest.raises(FaultsError) as refused:
        open_table_of(spec, engine_of(spec, wrong))
    assert [fault.place for fault in refused.value.faults] == ["column profit"] * 3


def test_what_was_published_as_parts_cannot_become_public(tmp_path: Path) -> None:
    confidential = {"synthetic": False}
    gedp.run(spec_of(data=confidential), table(), out=tmp_path / "out", ledger=tmp_path / "one.ledger")
    plain = {
        "attributes": {"jobs": {"psi": "sqrt", "gamma": 0.5}},
        "queries": [{"name": "county", "by": ["county"], "mu": 1}],
        "data": {**confidential, "public": ["county", "profit"], "missing": "refuse"},
    }
    filled = table().set_column(2, "profit", pa.compute.fill_null(table()["profit"], 0))
    with pytest.raises(Refused, match="profit: confidential in an earlier release"):
        gedp.run(spec_of(**plain), filled, out=tmp_path / "more", ledger=tmp_path / "one.ledger")


def test_one_part_alone_is_remembered_as_a_part_of_its_column(tmp_path: Path) -> None:
    """Later the column is neither public nor, as a whole, protected by narrower intervals."""
    only_gain = [{"name": "county", "by": ["county"], "mu": {"profit_gain": 100}}]
    ledger = tmp_path / "x.ledger"
    gedp.run(spec_of(data={"synthetic": False}, queries=only_gain), table(), out=tmp_path / "out", ledger=ledger)
    (release,) = gedp.Ledger.open(ledger).state().releases
    assert sorted(release.reserve.attributes) == ["profit_gain", "profit_loss"]
    jobs = {"jobs": {"psi": "sqrt", "gamma": 0.5}}
    public = {"public": ["county", "profit"], "synthetic": False, "missing": "refuse"}
    filled = table().set_column(2, "profit", pa.compute.fill_null(table()["profit"], 0))
    with pytest.raises(Refused, match="profit: confidential in an earlier release"):
        gedp.check(spec_of(data=public, attributes=jobs), filled, out=tmp_path / "public", ledger=ledger)
    whole = {**jobs, "profit": {"psi": "sqrt", "gamma": 0.01, "unit": 0.5, "signed": True}}
    with pytest.raises(Refused, match="profit: gain and loss could move at once before"):
        gedp.check(spec_of(data={"synthetic": False}, attributes=whole), table(), out=tmp_path / "whole", ledger=ledger)
