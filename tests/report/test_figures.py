"""The numbers of a report: rounded, added up and drawn as they are."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp import read_release
from gedp.margins import relative, with_margin
from gedp.microdata import Microdata
from gedp.numbers import short
from gedp.report import charts
from gedp.report.errors import TableErrors, curve, release_errors
from gedp.report.totals import Amount, main_totals
from tests.helpers.runs import SYNTHETIC, small_table, write_case
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


@given(st.floats(-1e15, 1e15), st.floats(1e-9, 1e12))
def test_numbers_are_rounded_to_the_place_of_their_margin(estimate: float, margin: float) -> None:
    shown, around = with_margin(estimate, margin)
    as_number = float(shown.replace(",", "").replace("\N{MINUS SIGN}", "-"))
    assert abs(as_number - estimate) <= 0.051 * margin + abs(estimate) * 1e-12
    assert float(around.replace(",", "")) == pytest.approx(margin, rel=0.051)
    assert "-" not in shown
    digits = around.replace(",", "").replace(".", "").strip("0")
    assert len(digits) <= 2


def test_numbers_as_people_write_them() -> None:
    assert with_margin(272_698.6, 1687.3) == ("272,700", "1,700")
    assert with_margin(12.345, 0.0996) == ("12.35", "0.10")
    assert with_margin(-0.2, 35) == ("0", "35")
    assert with_margin(-1234.5, 3.14159) == ("\N{MINUS SIGN}1,234.5", "3.1")
    assert with_margin(1234.5, None) == ("1,230", "unknown")
    assert with_margin(0, math.nan) == ("0", "unknown")
    assert (relative(0.02345), relative(2.5), relative(None)) == ("2.3%", "250%", "unknown")
    assert [short(x) for x in (0.1, 1, 100, 1e4, 1e6, 3e9, 1e13)] == ["0.1", "1", "100", "10k", "1M", "3bn", "10tn"]


def test_errors_by_size_against_plain_loops(microdata: Microdata) -> None:
    release, spec = microdata.release, microdata.public_rows.spec
    found = release_errors(release, spec)
    assert [errors.names for errors in found] == ["emp", "wage", "area", "profit"]
    for errors in found:
        (attribute,) = errors.attributes
        for table in errors.tables:
            lines = [a for a in release.answers(table.query).to_pylist() if a["attribute"] == attribute.name]
            sizes = [abs(a["estimate"]) if attribute.signed else a["estimate"] for a in lines]
            assert table.others == sum(size <= 0 for size in sizes)
            pairs = [(size, a["std_error"] / size) for size, a in zip(sizes, lines, strict=True) if size > 0]
            assert table.typical() == pytest.approx(np.median([error for _, error in pairs]))
            edges = [0.0, *errors.edges(), math.inf]
            counts = [int(((table.sizes >= low) & (table.sizes < high)).sum()) for low, high in pairwise(edges)]
            assert sum(counts) == len(pairs)
            inside = [error for size, error in pairs if edges[1] <= size < edges[2]]
            assert table.typical(edges[1], edges[2]) == (pytest.approx(np.median(inside)) if inside else None)
        identity = release.identity([f"{attribute.name}__psi"]).num_rows
        assert identity
        assert errors.single([100.0]) is not None


def test_attributes_alike_are_shown_together(tmp_path: Path) -> None:
    """The same protection and prices: one figure, of all of them."""
    write_case(
        tmp_path,
        SYNTHETIC,
        ("emp = { psi", 'wage2 = { psi = "log", gamma = 0.1, shift = 1, unit = 0.01 }\nemp = { psi'),
        ("wage = 0.1 }", "wage = 0.1, wage2 = 0.1 }"),
        table=small_table().append_column("wage2", small_table()["wage"]),
    )
    assert command("run", "spec.toml", folder=tmp_path).code == 0
    release = read_release(tmp_path / "out")
    found = release_errors(release, release.manifest.spec)
    assert sorted(errors.names for errors in found) == ["emp", "wage2, wage"]
    assert {table.query: len(table.sizes) + table.others for e in found for table in e.tables if "wage" in e.names} == {
        "county": 6
    }


def test_curves_hold_the_medians_of_bins() -> None:
    sizes = 10 ** np.random.default_rng(1).uniform(0, 4, 2000)
    errors = np.random.default_rng(2).lognormal(0, 1, 2000) / np.sqrt(sizes)
    found = curve(TableErrors("x", "x", sizes, errors, 0))
    assert len(found.sizes) == 16
    first = errors[sizes < 10**0.25]
    assert found.median[0] == pytest.approx(np.median(first))
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(np.percentile(first, [10, 90])))
    few = curve(TableErrors("x", "x", np.array([5.0]), np.array([0.1]), 0))
    assert few.median.tolist() == [0.1]
    assert curve(TableErrors("x", "x", np.array([]), np.array([]), 3)).sizes.size == 0


def test_totals_are_those_of_the_custom_tables(microdata: Microdata) -> None:
    totals = main_totals(microdata)
    assert [grouping.name for grouping in totals.groupings] == ["cnty", "naics2", "cnty × naics"]
    for line in microdata.tabulate([]).arrow.to_pylist():
        amount = totals.all_together[line["attribute"]]
        assert amount.estimate == pytest.approx(line["estimate"])
        assert amount.margin == pytest.approx((line["ci_high"] - line["ci_low"]) / 2)
        assert amount.relative == pytest.approx(line["cv"])
    shown = dict(totals.groupings[0].of_attribute["emp"])
    expected = {a["cnty"]: a for a in microdata.tabulate(["cnty"], ["emp"]).arrow.to_pylist()}
    assert {label: amount.estimate for label, amount in shown.items()} == pytest.approx(
        {label: a["estimate"] for label, a in expected.items()}
    )
    sizes = [amount.estimate for amount in shown.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_bars_have_their_ends_where_the_numbers_are() -> None:
    amounts = [Amount(80.0, 20.0, 0.1), Amount(-50.0, None, None)]
    low, high = charts.bar_scale(amounts)
    assert (low, high) == (-50.0, 100.0)
    positive, negative = (charts.bar(amount, low, high) for amount in amounts)
    assert 'rect x="33.33%" width="53.33%"' in positive
    assert 'x1="73.33%" x2="100.00%"' in positive
    assert 'rect x="0.00%" width="33.33%"' in negative
    assert "line" not in negative
    assert charts.bar_scale([Amount(0.0, 0.0, None)]) == (0.0, 1.0)
