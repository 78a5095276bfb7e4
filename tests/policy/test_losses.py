"""Prices and budgets in μ, ρ and (ε, δ), and ζ: read, written back, and every fault named."""

from decimal import Decimal
from fractions import Fraction

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.translations import mu_of_epsilon_delta, mu_of_rho
from gedp.policy import parse_spec, price, write_spec
from tests.policy.test_spec import changed, faults_of


def test_a_price_in_rho_costs_the_same_as_in_mu() -> None:
    assert parse_spec(changed(("mu = 0.7\n", "rho = 0.245\n"))) == parse_spec(changed())
    assert parse_spec(changed(("mu = { emp = 0.7, wage = 0.7 }", "rho = { emp = 0.245, wage = 0.245 }"))) == parse_spec(
        changed()
    )


def test_a_price_in_epsilon_and_delta_is_the_mu_below_it() -> None:
    spec = parse_spec(changed(("mu = { emp = 0.7, wage = 0.7 }", "epsilon = { emp = 1, wage = 0.5 }\ndelta = 1e-6")))
    delta = Decimal("1e-6")
    assert spec.queries[1].mu == {
        "emp": mu_of_epsilon_delta(Decimal(1), delta),
        "wage": mu_of_epsilon_delta(Decimal("0.5"), delta),
    }
    assert PrivacyLoss.of(spec.queries[1].mu["emp"]).delta(1.0) <= 1e-6
    both = parse_spec(changed(("mu = 0.7\n", "epsilon = 2\ndelta = 1e-6\n")))
    assert set(both.queries[0].mu.values()) == {mu_of_epsilon_delta(Decimal(2), delta)}


def test_a_budget_in_rho_is_exact_so_prices_that_add_up_to_it_fit() -> None:
    """√2 is no decimal: a budget rounded down would not hold two prices of ρ = 1/2, nor these of 1/3 and 2/3."""
    text = changed(("mu = 1.4\n", "rho = 1\n"), ("mu = 0.7\n", "rho = { emp = 0.25, wage = 0.25 }\n"))
    spec = parse_spec(text.replace("mu = { emp = 0.7, wage = 0.7 }", "rho = { emp = 0.1, wage = 0.4 }"))
    assert spec.policy.budget == PrivacyLoss(Fraction(2))
    assert spec.policy.mu == mu_of_rho(Decimal(1))
    prices = price(spec)
    assert prices.within_budget
    assert 0 <= prices.budget.mu_squared - prices.total.mu_squared < Fraction(1, 10**12)
    over = parse_spec(text.replace("mu = { emp = 0.7, wage = 0.7 }", "rho = { emp = 0.1000001, wage = 0.4 }"))
    assert not price(over).within_budget


@pytest.mark.parametrize(
    "change",
    [
        ("mu = 1.4\n", "rho = 1.1\n"),
        ("mu = 1.4\n", "epsilon = 9\ndelta = 1e-6\n"),
        ("mu = 0.7\n", "rho = 0.1\n"),
        ('[[queries]]\nname = "identity"', '[clipping]\nzeta = 0.05\n\n[[queries]]\nname = "identity"'),
    ],
)
def test_what_is_written_back_is_the_same_spec(change: tuple[str, str]) -> None:
    spec = parse_spec(changed(change))
    assert parse_spec(write_spec(spec)) == spec
    assert ("zeta = 0.05" in write_spec(spec)) == (spec.zeta == Decimal("0.05"))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("mu = 1.4\n", "", "budget.mu: this key is missing"),
        ("mu = 1.4\n", "mu = 1.4\nrho = 1\n", "budget.rho: the price is already given by mu"),
        ("mu = 1.4\n", "epsilon = 1\n", "budget.delta: this key is missing"),
        ("mu = 1.4\n", "mu = 1.4\ndelta = 1e-6\n", "budget.delta: delta goes with epsilon"),
        ("mu = 1.4\n", "epsilon = 1\ndelta = 2\n", "budget.delta: 2 does not fit"),
        ("mu = 1.4\n", "epsilon = 1\ndelta = 0.7\n", "budget.delta: with such a delta nothing is promised"),
        ("mu = 1.4\n", "epsilon = -1\ndelta = 1e-6\n", "budget.epsilon: -1 does not fit"),
        ("mu = 1.4\n", "rho = 0\n", "budget.rho: 0 does not fit"),
        ("mu = 0.7\n", "rho = {}\n", "queries[1].rho: it names no attribute"),
        ("mu = 0.7\n", "rho = { emq = 1 }\n", "queries[1].rho.emq: 'emq' is not a confidential attribute"),
        ("[budget]", "[clipping]\nzeta = 1\n[budget]", "clipping.zeta: 1 does not fit"),
        ("[budget]", "[clipping]\nzeta = 0\n[budget]", "clipping.zeta: 0 does not fit"),
        ("[budget]", "[clipping]\nzetta = 0.1\n[budget]", "clipping.zetta: this key is not known. Did you mean 'zeta'"),
    ],
)
def test_every_fault_has_its_place(old: str, new: str, fault: str) -> None:
    found = faults_of(changed((old, new)))
    assert len(found) == 1
    assert fault in found[0]
