"""A spec for one period of a series, and the same spec for the next."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import FaultsError
from gedp.ledger import spec_digest
from gedp.periods import Period
from gedp.policy import for_period, parse_spec, write_spec

TEXT = """
[data]
source = "q1.csv"
public = ["county"]
period = "2016Q1"
[attributes]
jobs = { psi = "sqrt", gamma = 0.5 }
[budget]
mu = 1
year = 1.5
series = 3
[[queries]]
name = "all"
by = []
mu = 0.5
"""


def faults(text: str) -> list[str]:
    with pytest.raises(FaultsError) as error:
        parse_spec(text)
    return [str(fault) for fault in error.value.faults]


def test_period_and_budgets_are_read_and_written_back() -> None:
    spec = parse_spec(TEXT)
    assert spec.data.period == Period.of("2016Q1")
    assert (spec.policy.year, spec.policy.series) == (Decimal("1.5"), Decimal(3))
    assert spec.policy.year_budget == PrivacyLoss(Fraction(9, 4))
    assert parse_spec(write_spec(spec)) == spec


def test_a_spec_without_a_period_is_written_as_before() -> None:
    text = TEXT.replace('period = "2016Q1"\n', "").replace("year = 1.5\nseries = 3\n", "")
    written = write_spec(parse_spec(text))
    assert not any(key in written for key in ("period", "year", "series"))
    assert spec_digest(parse_spec(text)) != spec_digest(parse_spec(TEXT))


def test_budgets_over_several_periods_are_in_the_terms_of_the_budget() -> None:
    rho = parse_spec(TEXT.replace("mu = 1\n", "rho = 0.5\n"))
    assert (rho.policy.year_budget, rho.policy.series_budget) == (PrivacyLoss(Fraction(3)), PrivacyLoss(Fraction(6)))
    epsilon = parse_spec(TEXT.replace("mu = 1\n", "epsilon = 1.2\ndelta = 1e-6\n"))
    assert epsilon.policy.year_budget is not None
    assert epsilon.policy.year_budget > epsilon.policy.budget
    for spec in (rho, epsilon):
        assert parse_spec(write_spec(spec)) == spec


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("2016Q1", "2016-Q1"), "Did you mean '2016Q1'"),
        (('"2016Q1"', "2016"), 'like "2016"'),
        (('period = "2016Q1"\n', ""), "the table is not one of a series"),
        (("year = 1.5", "year = 0.9"), "less than the budget of a single period"),
        (("series = 3", "series = 1.2"), "less than the budget of a single year"),
        (("2016Q1", "2016"), "every period is a year"),
    ],
)
def test_what_does_not_fit_is_refused(change: tuple[str, str], fault: str) -> None:
    found = faults(TEXT.replace(*change))
    assert any(fault in text for text in found), found


def test_a_misspelt_period_is_one_fault() -> None:
    assert len(faults(TEXT.replace("2016Q1", "2016q1"))) == 1
    with pytest.raises(FaultsError) as refused:
        for_period(parse_spec(TEXT), "2016q2")
    assert len(refused.value.faults) == 1


def test_the_next_period_has_the_same_spec_about_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = parse_spec(TEXT)
    following = for_period(spec, "2016Q2", "q2.csv")
    assert (following.data.period, following.data.source) == (Period.of("2016Q2"), "q2.csv")
    assert for_period(following, "2016Q1", "q1.csv") == spec == for_period(spec)


def test_a_source_starts_from_where_the_command_runs_and_is_written_as_the_spec_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "specs").mkdir()
    monkeypatch.chdir(tmp_path)
    spec = replace(parse_spec(TEXT), folder=Path("specs"))
    named = for_period(spec, source=tmp_path / "data" / "q2.csv")
    assert named.data.source == "../data/q2.csv"
    assert for_period(spec, source="data/q2.csv").data.source == "../data/q2.csv"
    assert for_period(spec, source="adbc:postgresql").data.source == "adbc:postgresql"


def test_a_year_has_no_budget_of_its_years() -> None:
    with pytest.raises(FaultsError, match="every period is a year"):
        for_period(parse_spec(TEXT), "2017")
