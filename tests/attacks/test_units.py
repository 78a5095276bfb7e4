"""What `measure` is given must agree: a table read in other units than it is priced in is hardly protected."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gedp.api import measure
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError
from gedp.policy import Attribute, Closeness, Data, Grouper, Policy, Query
from tests.helpers.specs import measured, rehearsed, spec_of

EMP = Attribute("emp", Closeness("sqrt", Decimal("0.5")))
SIGNED = replace(EMP, signed=True)
LOG = Attribute("emp", Closeness("log", Decimal("0.5")))
DATA = Data("memory", ("cnty",), synthetic=True)
ROWS = pa.table({"cnty": ["001", "003"], "emp": [1000, 0]})


@pytest.mark.parametrize(
    ("opened", "asked", "said"),
    [
        (EMP, replace(EMP, unit=Decimal(1000)), "another unit"),
        (replace(EMP, unit=Decimal("0.1")), EMP, "another unit"),
        (SIGNED, EMP, "values at which psi is not defined"),
        (EMP, LOG, "values at which psi is not defined"),
        (replace(EMP, name="wage"), EMP, "opened without it"),
    ],
)
def test_a_table_that_was_opened_for_something_else_is_refused(
    opened: Attribute, asked: Attribute, said: str, tmp_path: Path
) -> None:
    table = open_table(LocalEngine(ROWS.append_column("wage", ROWS["emp"])), DATA, {opened.name: opened})
    policy, queries = Policy({"emp": asked}, Decimal(1)), [Query("total", (), {"emp": Decimal(1)}, "psi")]
    with pytest.raises(FaultsError, match=said):
        measured(table, policy, queries, out=tmp_path / "out")
    with pytest.raises(FaultsError, match=said):
        rehearsed(table, policy, queries)
    assert list(tmp_path.iterdir()) == []


def test_another_psi_on_the_same_values_may_be_rehearsed() -> None:
    table = open_table(LocalEngine(ROWS), DATA, {"emp": EMP})
    other = Attribute("emp", Closeness("linear", Decimal(10)))
    queries = [Query("total", (), {"emp": Decimal(1)})]
    assert rehearsed(table, Policy({"emp": other}, Decimal(1)), queries).answers("total").num_rows == 1


@pytest.mark.parametrize(
    "claimed",
    [
        {"data": replace(DATA, public=("cnty", "state"), synthetic=False)},
        {"data": DATA},  # synthetic, as the table is not: it would need no ledger
        {"groupers": {"part": Grouper("part", "cnty", prefix=1)}},
    ],
)
def test_a_spec_that_is_not_of_the_table_is_refused(claimed: dict[str, Any], tmp_path: Path) -> None:
    table = open_table(LocalEngine(ROWS), replace(DATA, synthetic=False), {"emp": EMP})
    spec = spec_of(table, Policy({"emp": EMP}, Decimal(1)), [Query("total", (), {"emp": Decimal(1)}, "psi")])
    with pytest.raises(FaultsError, match="the table was opened with other settings"):
        measure(table, replace(spec, **claimed), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
