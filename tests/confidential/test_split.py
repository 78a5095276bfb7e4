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
from gedp.passes import Reads
from tests.helpers.builder import JOBS, spec_of, table_of

COUNTIES = ["001", "003", "005"]
DRAWS = np.random.default_rng(5)
ROWS = 300
PROFIT = np.round(DRAWS.normal(0, 4000, ROWS) * 2) / 2
PROFIT[:5] = 0
#: Establishments with profits, losses, zeros and nulls.
TABLE = table_of(ROWS, emp=DRAWS.integers(1, 99, ROWS), profit=pa.array(PROFIT, mask=np.arange(ROWS) % 50 == 7))
FILLED = TABLE.set_column(TABLE.column_names.index("profit"), "profit", pa.compute.fill_null(TABLE["profit"], 0))
CONFIDENTIAL = {"synthetic": False}
PUBLIC = {**CONFIDENTIAL, "public": ["cnty", "naics", "profit"]}
EACH = {"name": "each", "by": "establishment", "mu": 400}
COUNTY = {"name": "county", "by": ["cnty"], "mu": 100}


def profits(**changes: Any) -> gedp.Spec:
    """Profit by county and of every establishment, with hardly any noise."""
    data = {"missing": {"profit": 0}, **changes.pop("data", {})}
    split = {"psi": "sqrt", "gamma": 1, "unit": 0.5, "split": True}
    usual = {"attributes": {**JOBS, "profit": split}, "budget": {"mu": 1000}, "queries": [EACH, COUNTY]}
    return spec_of(data=data, **{**usual, **changes})


def true_sum(county: str) -> float:
    return sum(row["profit"] or 0 for row in TABLE.to_pylist() if row["cnty"] == county)


def lines(of: gedp.Table, attribute: str) -> dict[str, dict[str, Any]]:
    return {row["cnty"]: row for row in of.arrow.to_pylist() if row["attribute"] == attribute}


def test_parts_are_read_exactly_from_numbers_and_from_texts() -> None:
    spec, values = profits(), TABLE["profit"].to_pylist()
    texts = pa.array([None if value is None else str(value) for value in values])
    halves = np.array([2 * (value or 0) for value in values])
    for each in (TABLE, table_of(ROWS, profit=texts)):
        engine = open_table_of(spec, engine_of(spec, each)).engine
        (batch,) = in_order(engine).batches(
            Reads(amounts=dict.fromkeys(("profit_gain", "profit_loss"), Fraction(1, 2)))
        )
        assert np.array_equal(batch.amounts["profit_gain"], np.maximum(halves, 0))
        assert np.array_equal(batch.amounts["profit_loss"], np.maximum(-halves, 0))


@pytest.mark.parametrize("by_establishment", [True, False])
def test_every_table_has_the_difference_with_its_error(tmp_path: Path, by_establishment: bool) -> None:
    spec = profits(queries=[EACH, COUNTY] if by_establishment else [COUNTY])
    release = gedp.run(spec, TABLE, out=tmp_path / "out", seed=1)
    made = release.microdata().tabulate(["cnty"])
    gain, loss, whole = (lines(made, name) for name in ("profit_gain", "profit_loss", "profit"))
    for county in COUNTIES:
        assert whole[county]["estimate"] == pytest.approx(gain[county]["estimate"] - loss[county]["estimate"])
        errors = gain[county]["std_error"], loss[county]["std_error"]
        assert whole[county]["std_error"] == pytest.approx(float(np.hypot(*errors)))
        assert abs(whole[county]["estimate"] - true_sum(county)) < 6 * whole[county]["std_error"]
    alone = release.microdata().tabulate(["cnty"], "profit", ratios=["margin = profit / emp"])
    assert lines(alone, "profit") == {county: {**line, "formula": None} for county, line in whole.items()}
    assert lines(alone, "margin")["001"]["estimate"] == pytest.approx(
        whole["001"]["estimate"] / lines(made, "emp")["001"]["estimate"]
    )
    report = (release.folder / "report.html").read_text()
    assert "profit_gain" in report
    assert ">profit<" in report


def test_a_column_that_is_split_is_checked_under_its_own_name_and_once() -> None:
    wrong = table_of(3, profit=["-0.3", "x", None])
    spec = profits(data={"missing": "refuse"})
    with pytest.raises(FaultsError) as refused:
        open_table_of(spec, engine_of(spec, wrong))
    assert [fault.place for fault in refused.value.faults] == ["column profit"] * 3


def test_what_was_published_as_parts_cannot_become_public(tmp_path: Path) -> None:
    gedp.run(profits(data=CONFIDENTIAL), TABLE, out=tmp_path / "out", ledger=tmp_path / "one.ledger")
    plain = spec_of(attributes=JOBS, queries=["county"], data=PUBLIC)
    with pytest.raises(Refused, match="profit: confidential in an earlier release"):
        gedp.run(plain, FILLED, out=tmp_path / "more", ledger=tmp_path / "one.ledger")


def test_one_part_alone_is_remembered_as_a_part_of_its_column(tmp_path: Path) -> None:
    """Later the column is neither public nor, as a whole, protected by narrower intervals."""
    only_gain = [{**COUNTY, "mu": {"profit_gain": 100}}]
    ledger = tmp_path / "x.ledger"
    gedp.run(profits(data=CONFIDENTIAL, queries=only_gain), TABLE, out=tmp_path / "out", ledger=ledger)
    (release,) = gedp.Ledger.open(ledger).state().releases
    assert sorted(release.reserve.attributes) == ["profit_gain", "profit_loss"]
    with pytest.raises(Refused, match="profit: confidential in an earlier release"):
        gedp.check(spec_of(data=PUBLIC, attributes=JOBS), FILLED, out=tmp_path / "public", ledger=ledger)
    whole = {**JOBS, "profit": {"psi": "sqrt", "gamma": 0.01, "unit": 0.5, "signed": True}}
    with pytest.raises(Refused, match="profit: gain and loss could move at once before"):
        gedp.check(profits(data=CONFIDENTIAL, attributes=whole), TABLE, out=tmp_path / "whole", ledger=ledger)
