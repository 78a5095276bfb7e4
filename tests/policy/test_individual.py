"""Specs whose queries have no mu: how they are read, written and priced."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError, FaultsError
from gedp.policy import (
    Attribute,
    Closeness,
    Data,
    Policy,
    Query,
    Spec,
    make_spec,
    parse_spec,
    pools,
    price,
    require_within_budget,
    write_spec,
)
from gedp.policy.pricing import ALL_ANSWERS
from tests.helpers.builder import spec_of
from tests.helpers.runs import changed as with_changes
from tests.policy.test_spec import GOOD as PRICED
from tests.policy.test_spec import faults_of

GOOD = """\
[data]
source = "ri.parquet"
public = ["cnty", "naics"]

[attributes]
emp = { psi = "sqrt", gamma = 0.5, typical = 4 }
wage = { psi = "sqrt", gamma = 50, share = 2 }
profit = { psi = "sqrt", gamma = 50, signed = true }

[budget]
mu = 1.4
spend = 0.6

[[queries]]
name = "total"
by = []

[[queries]]
name = "county"
by = ["cnty"]
importance = { emp = 0.5, wage = 3 }
"""
ONE = Decimal(1)


def changed(*replacements: tuple[str, str]) -> str:
    return with_changes(GOOD, *replacements)


def test_reads_what_is_written_and_implies_the_identity_query() -> None:
    spec = parse_spec(GOOD)
    assert spec.is_individual
    assert spec.policy.spent == PrivacyLoss.of("0.6")
    assert spec.policy.budget == PrivacyLoss.of("1.4")
    assert spec.policy.attributes["emp"].typical == 4
    identity, total, county = spec.queries
    assert (identity.name, identity.is_identity, identity.attributes) == ("identity", True, ("emp", "wage", "profit"))
    assert set(identity.importance.values()) == {0}
    assert total == Query("total", (), importance=dict.fromkeys(["emp", "wage", "profit"], ONE))
    assert county.attributes == ("emp", "wage")
    assert not any(query.mu for query in spec.queries)


def test_the_identity_query_answers_what_anybody_asks_for_and_nothing_else() -> None:
    text = changed(("by = []", "by = []\nimportance = { profit = 1 }"))
    assert parse_spec(text).queries[0].attributes == ("emp", "wage", "profit")
    assert parse_spec(text.replace("wage = 3", "emp = 3").replace("emp = 0.5, ", "")).asked == ["emp", "profit"]


@pytest.mark.parametrize("importance", ["", "importance = 2", "importance = { wage = 0.5 }", "importance = 0"])
def test_an_identity_query_that_is_written_is_the_one(importance: str) -> None:
    spec = parse_spec(f'{GOOD}\n[[queries]]\nname = "everyone"\nby = "establishment"\n{importance}\n')
    assert [query.name for query in spec.queries] == ["total", "county", "everyone"]
    everyone = spec.queries[-1]
    assert set(everyone.attributes) == {"emp", "wage", "profit"}
    found = {"": [1, 1, 1], "importance = 2": [2, 2, 2], "importance = 0": [0, 0, 0]}.get(
        importance, [0, Decimal("0.5"), 0]
    )
    assert [everyone.importance[name] for name in ("emp", "wage", "profit")] == found
    assert parse_spec(write_spec(spec)) == spec


def test_without_spend_a_release_costs_the_whole_budget() -> None:
    spec = parse_spec(changed(("spend = 0.6\n", "")))
    assert spec.policy.spend is None
    assert price(spec).total == PrivacyLoss.of("1.4")


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("spend = 0.6", "spend = 1.41", ["line 12, budget.spend: 1.41 is more than the budget of 1.4. Give at most"]),
        ("spend = 0.6", "spend = 0", ["line 12, budget.spend: 0 does not fit"]),
        ("spend = 0.6", "spent = 0.6", ["line 12, budget.spent: this key is not known. Did you mean 'spend'?"]),
        ("share = 2", "share = 0", ["line 7, attributes.wage.share: 0 does not fit"]),
        ("typical = 4", "typical = -4", ["line 6, attributes.emp.typical: -4 does not fit"]),
        ("wage = 3", "wage = 0", ["line 21, queries[2].importance.wage: 0 does not fit"]),
        ("wage = 3", "wages = 3", ["line 21, queries[2].importance.wages: 'wages' is not a confidential attribute"]),
        ("{ emp = 0.5, wage = 3 }", "{}", ["line 21, queries[2].importance: it names no attribute"]),
        ("{ emp = 0.5, wage = 3 }", "true", ["line 21, queries[2].importance: true does not fit"]),
        ("by = []", "by = []\ndelta = 1e-6", ["line 17, queries[1].delta: delta goes with epsilon, which is missing"]),
        ("by = []", 'by = []\nmechanism = "pnc"', ["line 17, queries[1].mechanism: without mu, each group gets"]),
        ("by = []", 'by = []\nmechanism = "auto"', ["line 17, queries[1].mechanism: without mu, each group gets"]),
        ('name = "total"', 'name = "Identity"', ["line 15, queries[1].name: 'Identity' is the name of the identity"]),
        (
            "by = []",
            "by = []\nmu = 0.5",
            ["line 19, queries[2].mu: some queries have a mu (line 14) and some do not (line 19). Give every query"],
        ),
        (
            "by = []",
            "by = []\nrho = 0.5",
            ["line 19, queries[2].mu: some queries have a mu (line 14) and some do not (line 19). Give every query"],
        ),
        (
            "importance = { emp = 0.5, wage = 3 }",
            'importance = 1\n[[queries]]\nname = "all"\nby = "establishment"\n'
            '[[queries]]\nname = "twice"\nby = "establishment"',
            ["line 27, queries[4].by: there is another identity query"],
        ),
    ],
)
def test_each_mistake_is_one_fault_with_its_line(old: str, new: str, faults: list[str]) -> None:
    found = faults_of(changed((old, new)))
    assert [fault[: len(said)] for fault, said in zip(found, faults, strict=True)] == faults, found


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("mu = 1.4\n", "mu = 1.4\nspend = 1\n", "budget.spend: every query has a price"),
        ("gamma = 0.5 }", "gamma = 0.5, share = 2 }", "attributes.emp.share: every query has a mu"),
        ("mu = 0.7\n", "mu = 0.7\nimportance = 2\n", "queries[1].importance: the query has a price"),
    ],
)
def test_priced_queries_leave_nothing_to_share_out(old: str, new: str, place: str) -> None:
    (fault,) = faults_of(PRICED.replace(old, new, 1))
    assert place in fault


def test_queries_with_and_without_mu_are_one_fault_that_names_them_all() -> None:
    more = '\n[[queries]]\nname = "more"\nby = []\nmu = 0.1\nmechanism = "pnc"\n'
    (fault,) = faults_of(GOOD + more)
    assert fault.startswith(
        "line 14, queries[1].mu: some queries have a mu (line 23) and some do not (line 14, line 18)."
    )
    with pytest.raises(FaultsError) as raised:
        spec_of(queries=[{"name": "a", "by": [], "mu": 1}, {"name": "b", "by": ["cnty"]}])
    assert [fault.problem for fault in raised.value.faults] == [
        "some queries have a mu (query 1) and some do not (query 2)"
    ]


def test_a_misspelt_mu_is_one_fault() -> None:
    (fault,) = faults_of(PRICED.replace("mu = 0.7\n", "mue = 0.7\n"))
    assert "queries[1].mue: this key is not known. Did you mean 'mu'?" in fault


def test_what_nobody_counts_is_not_asked() -> None:
    alone = '\n[[queries]]\nname = "one"\nby = "establishment"\nimportance = { profit = 0, emp = 0 }\n'
    (fault,) = faults_of(changed(("by = []", "by = []\nimportance = { emp = 1 }")) + alone)
    assert "line 27, queries[3].importance: every importance for profit is 0" in fault


def test_a_typical_value_changes_neither_promise_nor_price() -> None:
    with_it, without = parse_spec(GOOD), parse_spec(changed((", typical = 4", "")))
    assert with_it.policy.promise == without.policy.promise
    assert price(with_it) == price(without)


def test_every_attribute_has_its_share_of_what_is_spent() -> None:
    spec = parse_spec(GOOD)
    each = Fraction("0.36") / 4
    assert pools(spec) == {"emp": PrivacyLoss(each), "wage": PrivacyLoss(2 * each), "profit": PrivacyLoss(each)}
    prices = price(spec)
    assert [(line.query, line.attribute, line.mu) for line in prices.lines] == [
        (ALL_ANSWERS, "emp", "0.3"),
        (ALL_ANSWERS, "wage", "0.424265"),  # √0.18, rounded up
        (ALL_ANSWERS, "profit", "0.3"),
    ]
    assert prices.total == PrivacyLoss.of("0.6")
    assert (prices.is_individual, prices.answers) == (True, 8)


def test_an_attribute_that_nobody_asks_for_costs_nothing() -> None:
    spec = parse_spec(changed(("by = []", "by = []\nimportance = { emp = 1 }")))
    each = Fraction("0.36") / 3
    assert pools(spec) == {"emp": PrivacyLoss(each), "wage": PrivacyLoss(2 * each)}


def test_a_budget_in_rho_is_spent_in_rho() -> None:
    spec = parse_spec(changed(("mu = 1.4\nspend = 0.6", "rho = 0.9\nspend = 0.3")))
    assert price(spec).total == PrivacyLoss(Fraction("0.6"))
    assert parse_spec(write_spec(spec)) == spec
    (fault,) = faults_of(changed(("mu = 1.4\nspend = 0.6", "rho = 0.5\nspend = 0.6")))
    assert "0.6 is more than the budget of 0.5" in fault


def test_a_budget_in_epsilon_and_delta_is_spent_at_that_delta() -> None:
    spec = parse_spec(changed(("mu = 1.4\nspend = 0.6", "epsilon = 8\ndelta = 1e-6\nspend = 4")))
    total = price(spec).total
    assert total.epsilon(1e-6) == pytest.approx(4, rel=1e-9)
    assert spec.policy.budget.epsilon(1e-6) == pytest.approx(8, rel=1e-9)


def test_spending_more_than_the_budget_from_python_is_refused() -> None:
    spec = parse_spec(GOOD)
    more = replace(spec, policy=replace(spec.policy, spend=Decimal("1.5")))
    with pytest.raises(BudgetExceededError, match="Spend at most the budget, or have"):
        require_within_budget(price(more))


def test_what_is_asked_and_paid_shows_in_notebooks() -> None:
    spec = parse_spec(GOOD)
    assert repr(spec).endswith("by identity, total, county; budget 1.4, of which 0.6 is spent)")
    assert ">importance</th>" in spec._repr_html_()
    assert repr(price(spec)) == "PriceList(8 answers: mu = 0.6 of a budget of 1.4)"
    assert "What all answers cost every establishment at most" in price(spec)._repr_html_()


# Back and forth without loss.

names = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True).filter(
    lambda name: name not in ("establishment", "identity")
)
amounts = st.decimals("0.0001", 1000, places=4)


@st.composite
def sections(draw: st.DrawFn) -> dict[str, Any]:
    """The sections of a spec as `make_spec` takes them."""
    columns = draw(st.lists(names.map("c_{}".format), min_size=1, max_size=3, unique=True))
    confidential = draw(st.lists(names.map("a_{}".format), min_size=1, max_size=3, unique=True))
    attributes = {}
    for name in confidential:
        optional = {key: draw(st.none() | amounts) for key in ("share", "typical", "person")}
        given = {key: value for key, value in optional.items() if value is not None}
        attributes[name] = {"psi": "sqrt", "gamma": draw(amounts), "signed": draw(st.booleans()), **given}
    importances = amounts | st.dictionaries(st.sampled_from(confidential), amounts, min_size=1)
    queries: list[dict[str, Any]] = [
        {"name": name, "by": draw(st.lists(st.sampled_from(columns), unique=True)), "importance": draw(importances)}
        for name in draw(st.lists(names, min_size=1, max_size=4, unique_by=str.casefold))
    ]
    if draw(st.booleans()):
        identity: dict[str, Any] = {"name": "identity", "by": "establishment"}
        if draw(st.booleans()):
            identity["importance"] = draw(importances)
        queries.insert(draw(st.integers(0, len(queries))), identity)
    mu = draw(amounts)
    spend = draw(st.none() | st.decimals("0.0001", mu, places=4))
    budget = {"mu": mu} if spend is None else {"mu": mu, "spend": spend}
    data = {"source": "t.parquet", "public": columns}
    return {"data": data, "attributes": attributes, "budget": budget, "queries": queries}


@given(sections())
def test_writing_and_reading_gives_the_same_spec(given_sections: dict[str, Any]) -> None:
    spec = make_spec(**given_sections)
    assert spec.is_individual
    assert [query.is_identity for query in spec.queries].count(True) == 1
    text = write_spec(spec)
    again = parse_spec(text)
    assert again == spec
    assert [query.attributes for query in again.queries] == [query.attributes for query in spec.queries]
    assert write_spec(again) == text


@given(sections())
def test_pools_are_exactly_what_is_spent_in_the_proportions_of_shares(given_sections: dict[str, Any]) -> None:
    spec = make_spec(**given_sections)
    found = pools(spec)
    assert list(found) == spec.asked
    spend = Fraction(spec.policy.mu if spec.policy.spend is None else spec.policy.spend)
    assert price(spec).total.mu_squared == sum(pool.mu_squared for pool in found.values()) == spend**2
    ratios = {pool.mu_squared / Fraction(spec.policy.attributes[name].share) for name, pool in found.items()}
    assert len(ratios) == 1
    for line in price(spec).lines:
        squared, tick = Fraction(line.mu) ** 2, Fraction(1, 10**5)
        assert line.loss.mu_squared <= squared <= line.loss.mu_squared * (1 + tick) ** 2


def test_queries_made_in_python_that_ask_for_nothing_are_refused() -> None:
    emp = Attribute("emp", Closeness("sqrt", Decimal("0.5")))
    for queries in ((Query("county", ("cnty",)),), (Query("county", ("cnty",)), Query("state", (), {"emp": ONE}))):
        spec = Spec(Data("t.parquet", ("cnty",)), Policy({"emp": emp}, ONE), queries)
        (fault,) = faults_of(write_spec(spec))
        assert "it names no attribute" in fault
    mixed = (Query("county", ("cnty",), importance={"emp": ONE}), Query("state", (), {"emp": ONE}))
    (fault,) = faults_of(write_spec(Spec(Data("t.parquet", ("cnty",)), Policy({"emp": emp}, ONE), mixed)))
    assert "some queries have a mu" in fault
