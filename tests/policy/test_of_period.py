"""Columns that hold values of other periods: what a spec may say, and for which periods its price counts."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gedp
from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.series import charged_in
from gedp.errors import BudgetExceededError, FaultsError
from gedp.ledger import spec_digest
from gedp.periods import Period
from gedp.policy import for_period, parse_spec, price, require_within_budget, write_spec
from tests.helpers.builder import JOBS, SECTIONS, spec_of

EMP, WAGE = SECTIONS["attributes"]["emp"], SECTIONS["attributes"]["wage"]
QUARTER = {"period": "2016Q2"}


def two_columns(emp: Any = None, wage: Any = None, *kinds: str, **sections: Any) -> gedp.Spec:
    """A table of 2016Q2, whose columns hold values of these periods."""
    attributes = {"emp": dict(EMP), "wage": dict(WAGE)}
    for name, of_period in (("emp", emp), ("wage", wage)):
        attributes[name] |= {} if of_period is None else {"of_period": of_period}
    return spec_of(*kinds, **{"data": QUARTER, "attributes": attributes, **sections})


def charged(spec: gedp.Spec) -> dict[str, Fraction]:
    return {" ".join(map(str, each.periods)): each.loss.mu_squared for each in price(spec).charges or ()}


def faults(**sections: Any) -> list[str]:
    with pytest.raises(FaultsError) as error:
        two_columns(**sections)
    return [str(fault) for fault in error.value.faults]


offsets = st.integers(-40, 0)
names = st.sampled_from(["2016Q2", "2016Q1", "2015Q4", "1999Q3"])
given_periods = st.one_of(offsets, names, st.lists(st.one_of(offsets, names), min_size=1, max_size=4, unique=True))


@given(given_periods, given_periods)
def test_what_a_column_holds_is_read_and_written_back(emp: Any, wage: Any) -> None:
    spec = two_columns(emp, wage)
    assert parse_spec(write_spec(spec), in_memory=True) == spec
    held = spec.policy.attributes["emp"].periods(Period.of("2016Q2"))
    given_list = emp if isinstance(emp, list) else [emp]
    expected = {Period.of("2016Q2").moved(each) if isinstance(each, int) else Period.of(each) for each in given_list}
    assert held == expected


def test_a_spec_without_it_is_written_as_before_and_charged_to_the_period_of_its_table() -> None:
    assert "of_period" not in write_spec(two_columns())
    for spec in (two_columns(), two_columns(0, [0]), two_columns("2016Q2")):
        assert price(spec).charges == ()
        assert price(spec).most == price(spec).total
    assert len({spec_digest(two_columns()), spec_digest(two_columns(0)), spec_digest(two_columns(-1))}) == 3
    assert price(spec_of()).charges == ()


def test_both_parts_of_a_column_that_is_split_hold_its_periods() -> None:
    profit = {"psi": "sqrt", "gamma": 5, "split": True, "of_period": [0, -1]}
    spec = spec_of(data=QUARTER, attributes={"profit": profit})
    assert parse_spec(write_spec(spec), in_memory=True) == spec
    assert charged(spec) == {"2016Q1 2016Q2": price(spec).total.mu_squared}


@pytest.mark.parametrize(
    ("of_period", "fault"),
    [
        ("2016Q5", "it is neither a period nor a number of periods"),
        ("2016-Q1", "Did you mean '2016Q1'?"),
        (["2016Q1", "2015q4"], "Did you mean '2015Q4'?"),
        ("2016-03", "2016-03 is a month, and the table is of a quarter"),
        ("2016", "2016 is a year, and the table is of a quarter"),
        ("2016Q3", "2016Q3 is after 2016Q2, the period of the table"),
        (1, "Give -1 for 1 before it"),
        (-100_000, "too long before the period"),
        ("previous", "Give -1 for the period before"),
        (True, "neither a period nor"),
        (-0.5, "neither a period nor"),
        ({"quarter": -1}, "neither a period nor"),
        ([], "it names no period, or one twice"),
        ([-1, -1], "it names no period, or one twice"),
    ],
)
def test_what_is_not_an_earlier_period_of_the_same_kind_is_refused(of_period: Any, fault: str) -> None:
    (found,) = faults(emp=of_period)
    assert "attributes.emp.of_period" in found
    assert fault in found


def test_without_a_period_of_the_table_it_is_refused() -> None:
    (found,) = faults(emp=-1, data={})
    assert "attributes.emp.of_period: the table is not one of a series. Give data.period" in found
    (found,) = faults(emp=-1, data={"period": "2016q2"})
    assert "data.period" in found, "one mistake, one fault"


def test_a_number_of_periods_goes_along_to_another_period_and_a_name_does_not() -> None:
    following = for_period(two_columns([0, -1]), "2017Q1")
    assert following.policy.attributes["emp"].periods(Period.of("2017Q1")) == {
        Period.of("2016Q4"),
        Period.of("2017Q1"),
    }
    named = two_columns(["2016Q1", -1])
    assert for_period(named, "2016Q2") == for_period(named) == named
    with pytest.raises(FaultsError, match=r"emp\.of_period.*2016Q3.*Count from the table's period, like -1"):
        for_period(named, "2016Q3")
    with pytest.raises(FaultsError, match="2016-04"):
        for_period(named, "2016-04")


# For which periods the price counts.


def test_each_answer_counts_for_the_periods_of_what_it_depends_on() -> None:
    emp, wage = Fraction(9 + 1 + 1), Fraction(9 + 1 + 1)  # identity, county, cells
    assert charged(two_columns(-1)) == {"2016Q1": emp, "2016Q2": wage}
    assert charged(two_columns(-1, -1)) == {"2016Q1": emp + wage}
    assert charged(two_columns([0, -1], -2)) == {"2016Q1 2016Q2": emp, "2015Q4": wage}


def test_what_is_grouped_by_classes_depends_on_their_attribute_too() -> None:
    spec = two_columns(-1, None, "classes")
    numbers, wages, jobs = Fraction(25 + 4, 100), Fraction(16, 100), Fraction(36, 100)  # by classes of emp
    assert charged(spec) == {"2016Q1": 11 + numbers + jobs, "2016Q1 2016Q2": wages, "2016Q2": 11}


def test_a_combination_counts_whole_for_the_period_of_each_of_its_attributes() -> None:
    spec = two_columns(-1, None, "combinations")
    combined = Fraction(25 + 16 + 9, 100)
    assert charged(spec) == {"2016Q1": 11, "2016Q1 2016Q2": combined, "2016Q2": 11}
    assert price(spec).most.mu_squared == 11 + combined


@pytest.mark.parametrize("kinds", [(), ("classes",), ("combinations",), ("classes", "combinations")])
@pytest.mark.parametrize("held", [(-1, None), ([0, -1], -1), (-1, [0, -3])])
def test_pools_count_where_their_answers_belong_and_are_all_charged(kinds: tuple[str, ...], held: Any) -> None:
    spec = two_columns(*held, *kinds, accounting="individual")
    prices, charges = price(spec), price(spec).charges
    assert charges
    assert charged_in(charges, {period for each in charges for period in each.periods}) == prices.total
    pools = gedp.policy.whole_pools(spec)
    quarter = Period.of("2016Q2")
    for window in ({quarter}, {quarter.previous}, {quarter, quarter.previous}, {quarter.moved(-3)}):
        within = [pools[name] for name, a in spec.policy.attributes.items() if a.periods(quarter) & window]
        others = [p for name, p in pools.items() if not spec.policy.attributes[name].periods(quarter) & window]
        least = sum((pool.mu_squared for pool in within), Fraction(0))
        shared = sum((pool.mu_squared for pool in others), Fraction(0)) if kinds else Fraction(0)
        assert least <= charged_in(charges, window).mu_squared <= least + shared
    if kinds == ("classes",) and held == (-1, None):
        (query,) = (query for query in spec.by_classes if query.name == "wages")
        (both,) = gedp.policy.set_aside(query, spec)["wage"].values()
        assert charged(spec)["2016Q1 2016Q2"] == both.mu_squared


def test_the_budget_of_a_period_limits_what_counts_for_it_and_not_the_sum() -> None:
    queries = [{"name": "county", "by": ["cnty"], "mu": 1}]
    within = two_columns(-1, queries=queries, budget={"mu": 1})
    require_within_budget(price(within))
    assert price(within).total == PrivacyLoss(Fraction(2))
    with pytest.raises(BudgetExceededError, match=r"cost mu = 1\.41421 in all and the budget is 1"):
        require_within_budget(price(two_columns(queries=queries, budget={"mu": 1})))
    with pytest.raises(BudgetExceededError, match=r"cost mu = 1\.41421 for 2016Q1 and the budget is 1.*mu by 0\.7071"):
        require_within_budget(price(two_columns([0, -1], -1, queries=queries, budget={"mu": 1})))


def test_a_column_of_one_attribute_alone_may_say_it() -> None:
    spec = spec_of(data=QUARTER, attributes={"emp": {**JOBS["emp"], "of_period": -1}})
    assert charged(spec) == {"2016Q1": price(spec).total.mu_squared}
