"""Classes of confidential attributes in a spec: what they are called, what queries by them ask for, and all faults."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import gedp
from gedp.errors import FaultsError
from gedp.policy import COUNT, Classes, Spec, parse_spec, price, write_spec
from tests.helpers.builder import spec_of

SPEC = """
[data]
source = "t.parquet"
public = ["cnty", "naics"]

[attributes]
emp = { psi = "sqrt", gamma = 0.5 }
wage = { psi = "log", gamma = 0.1, shift = 1, unit = 0.01 }
profit = { psi = "sqrt", gamma = 5, signed = true }

[classes]
size = { attribute = "emp", edges = [0, 1, 5, 1e3] }
pay = { attribute = "wage", edges = [0, 0.05, 100] }

[budget]
mu = 2

[[queries]]
name = "identity"
by = "establishment"
mu = 0.1

[[queries]]
name = "sizes"
by = ["naics", "size"]
count = true
mu = 0.5

[[queries]]
name = "wages"
by = ["pay", "cnty", "size"]
count = true
mu = { establishments = 0.3, emp = 0.4, wage = 0.2 }
"""
INDIVIDUAL = SPEC.replace("mu = 0.1\n", "").replace("mu = 0.5\n", "").replace("mu = { est", "importance = { est")


def changed(*changes: tuple[str, str], text: str = SPEC) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_classes_are_named_by_the_least_and_the_largest_value() -> None:
    spec = parse_spec(SPEC)
    labels = {name: each.labels(spec.policy.attributes[each.attribute].unit) for name, each in spec.classes.items()}
    assert labels == {"size": ["0", "1-4", "5-999", "1000+"], "pay": ["0-0.04", "0.05-99.99", "100+"]}
    assert spec.classes["pay"].in_units(Decimal("0.01")).tolist() == [0, 5, 10_000]


def test_one_number_beside_count_is_for_the_count_alone() -> None:
    sizes, wages = parse_spec(SPEC).by_classes
    assert (sizes.mu, sizes.public, list(sizes.classes)) == ({COUNT: Decimal("0.5")}, ("naics",), ["size"])
    assert (wages.asked, wages.public, list(wages.classes)) == ((COUNT, "emp", "wage"), ("cnty",), ["pay", "size"])


def test_without_count_one_number_is_for_the_sums_of_all_attributes() -> None:
    spec = parse_spec(changed(("count = true\nmu = 0.5", "mu = 0.5")))
    assert spec.by_classes[0].asked == ("emp", "wage", "profit")


def test_queries_by_classes_are_no_plain_ones() -> None:
    spec = parse_spec(SPEC)
    assert [query.name for query in spec.plain] == ["identity"]
    assert spec.concerned == ["emp", "wage", "profit"]
    assert "sizes, wages" in repr(spec)


@pytest.mark.parametrize("text", [SPEC, INDIVIDUAL])
def test_a_spec_with_classes_is_written_as_it_was_read(text: str) -> None:
    spec = parse_spec(text)
    assert parse_spec(write_spec(spec)) == spec


def test_every_attribute_that_an_answer_depends_on_has_a_line_with_its_price() -> None:
    """Counts are priced under the attribute of the first class, sums under their own."""
    lines = [(line.query, line.attribute, line.loss.mu_squared) for line in price(parse_spec(SPEC)).lines]
    assert lines[3:] == [
        ("sizes", "emp", Fraction(1, 4)),
        ("wages", "wage", Fraction(9, 100) + Fraction(4, 100)),
        ("wages", "emp", Fraction(16, 100)),
    ]
    only = parse_spec(
        changed(("establishments = 0.3, emp = 0.4", "establishments = 0.3"), ("wage = 0.2 }", "wage = 0.2 }"))
    )
    assert [(line.attribute, line.mu) for line in price(only).lines][4:] == [("wage", "0.360556"), ("emp", "0")]
    assert price(only).answers == 5


def test_a_release_needs_a_query_without_classes() -> None:
    text = changed(('[[queries]]\nname = "identity"\nby = "establishment"\nmu = 0.1\n', ""))
    text = text[: text.index('[[queries]]\nname = "wages"')]
    with pytest.raises(FaultsError, match="every query groups by classes"):
        parse_spec(text)
    spec = parse_spec(text + '[[queries]]\nname = "all"\nby = []\nmu = { wage = 0.1 }')
    assert (spec.is_individual, spec.asked, spec.concerned) == (False, ["wage"], ["emp", "wage"])


def test_individual_accounting_has_first_answers_for_everything_that_classes_need() -> None:
    spec = parse_spec(changed(("profit = { psi", "other = { psi"), text=INDIVIDUAL))
    assert spec.is_individual
    (identity,) = spec.plain
    assert identity.attributes == ("emp", "wage", "other")  # it is written, without naming any
    assert spec.by_classes[1].importance == {COUNT: Decimal("0.3"), "emp": Decimal("0.4"), "wage": Decimal("0.2")}
    implied = parse_spec(changed(('[[queries]]\nname = "identity"\nby = "establishment"\n', ""), text=INDIVIDUAL))
    assert implied.queries[0].attributes == ("emp", "wage")


FAULTS = [
    (("edges = [0, 1, 5, 1e3]", "edges = [1, 5]"), "line 12, classes.size.edges: what lies below the first edge"),
    (("edges = [0, 1, 5, 1e3]", "edges = [0, 5, 5]"), "line 12, classes.size.edges: this value does not fit"),
    (("edges = [0, 1, 5, 1e3]", "edges = [0]"), "classes.size.edges: this value does not fit"),
    (("edges = [0, 1, 5, 1e3]", "edges = [0, true]"), "classes.size.edges: this value does not fit"),
    (("edges = [0, 1, 5, 1e3]", "edges = [0, nan]"), "classes.size.edges: this value does not fit"),
    (("edges = [0, 1, 5, 1e3]", "edges = [0, 1e99]"), "the last is above 2^53 units"),
    (("0.05, 100", "0.055, 100"), "line 13, classes.pay.edges: some are not whole multiples of the unit 0.01"),
    (('attribute = "emp"', 'attribute = "empp"'), "'empp' is not a confidential attribute. Did you mean 'emp'?"),
    (('attribute = "emp"', 'attribute = "profit"'), "profit has values of both signs, which have no classes"),
    (('size = { attribute = "emp"', 'cnty = { attribute = "emp"'), "line 12, classes.cnty: this name is taken"),
    (('size = { attribute = "emp"', 'establishments = { attribute = "emp"'), "establishments: this name is taken"),
    (('size = { attribute = "emp"', 'estimate = { attribute = "emp"'), "'estimate' is a reserved name"),
    (('size = { attribute = "emp"', 'SIZE = { attribute = "emp"'), "'size' is neither a public column nor a grouping"),
    (("[0, 1, 5, 1e3] }", "[0, 1, 5, 1e3], bins = 3 }"), "classes.size.bins: this key is not known"),
    (('["naics", "size"]', '["naics"]'), "line 26, queries[2].count: it groups by no classes"),
    (('"pay", "cnty", "size"', '"pay", "cnty", "pay2"'), "'pay2' is neither a public column nor a grouping"),
    (('"size"]\ncount = true\nmu = 0.5', '"siz"]\nmu = 0.5'), "nor a grouping. Did you mean 'size'?"),
    (("{ establishments = 0.3, emp", "{ emp"), "queries[3].mu: it has no number for establishments"),
    (('["pay", "cnty", "size"]\ncount = true', '["pay", "cnty", "size"]'), "'establishments' goes with count = true"),
    (("count = true\nmu = 0.5", 'count = true\nmu = 0.5\nmechanism = "psi"'), "sums by classes are always clipped"),
    (("count = true\nmu = 0.5", "count = true\nmu = 0.5\nimportance = 1"), "importance: the query has a price"),
    (("count = true\nmu = 0.5", "count = 3\nmu = 0.5"), "queries[2].count: 3 does not fit"),
    (("wage = 0.2 }", "wages = 0.2 }"), "'wages' is not a confidential attribute"),
    (('name = "wages"', 'name = "Sizes"'), "the name 'Sizes' is used more than once"),
    (('name = "wages"', 'name = "a/b"'), "'a/b' cannot be a file name"),
    (('by = "establishment"\nmu = 0.1', 'by = "establishment"\nmu = {emp = 0.1}'), "the sums of wage by classes"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_what_is_wrong_with_classes_is_said_with_its_line(change: tuple[str, str], said: str) -> None:
    with pytest.raises(FaultsError) as raised:
        parse_spec(changed(change))
    assert said in str(raised.value)


def test_classes_are_of_gain_or_loss_and_not_of_a_split_column() -> None:
    split = ("profit = { ", "profit = { split = true, "), ("signed = true", "signed = false")
    with pytest.raises(FaultsError, match=r"profit is split\. Name one of its parts: profit_gain or profit_loss"):
        parse_spec(changed(*split, ('attribute = "emp"', 'attribute = "profit"')))
    spec = parse_spec(changed(*split, ('attribute = "emp"', 'attribute = "profit_gain"')))
    assert spec.classes["size"].attribute == "profit_gain"


def test_an_attribute_must_not_have_the_name_of_the_count() -> None:
    text = changed(("emp = { psi", "establishments = { psi"), ('attribute = "emp"', 'attribute = "establishments"'))
    with pytest.raises(FaultsError, match="there is an attribute called establishments"):
        parse_spec(text)


def test_two_classes_of_one_attribute_do_not_cross() -> None:
    with pytest.raises(FaultsError, match="two of its classes are of one attribute"):
        parse_spec(changed(('pay = { attribute = "wage"', 'pay = { attribute = "emp"'), ("0.05, 100", "7, 100")))


def test_not_all_combinations_are_answered_where_there_are_too_many() -> None:
    many = "[" + ", ".join(map(str, range(400))) + "]"
    with pytest.raises(FaultsError, match="more than 1,000 combinations"):
        parse_spec(changed(("[0, 1, 5, 1e3]", many)))


def test_a_table_by_classes_must_not_have_the_name_of_an_implied_query() -> None:
    text = changed(
        ('[[queries]]\nname = "identity"\nby = "establishment"\n', ""), ("wages", "Identity"), text=INDIVIDUAL
    )
    with pytest.raises(FaultsError, match="'Identity' is the name of the identity query"):
        parse_spec(text)


def test_a_count_that_is_not_asked_for_may_be_said() -> None:
    assert parse_spec(changed(("mu = 0.1", "mu = 0.1\ncount = false"))) == parse_spec(SPEC)


def test_classes_come_from_python_too() -> None:
    keys: dict[str, Any] = {
        "data": {"public": ["cnty"]},
        "attributes": {"emp": {"psi": "sqrt", "gamma": 0.5}},
        "classes": {"size": {"attribute": "emp", "edges": [0, 2.5e1]}},
        "budget": {"mu": 1},
        "queries": [{"name": "sizes", "by": ["size"], "count": True, "mu": 0.5}, {"name": "all", "by": [], "mu": 1}],
    }
    spec: Spec = gedp.make_spec(**keys)
    assert spec.classes == {"size": Classes("size", "emp", (Decimal(0), Decimal(25)))}


def test_names_are_proposed_in_the_same_order_every_time() -> None:
    letters = "hgfedcba"
    attributes = {letter * 9: {"psi": "sqrt", "gamma": 1} for letter in letters}
    with pytest.raises(FaultsError) as raised:
        spec_of(attributes=attributes, classes={"size": {"attribute": "zz", "edges": [0, 1]}})
    listed = ", ".join(repr(letter * 9) for letter in sorted(letters))
    assert raised.value.faults[0].suggestion == f"Use one of: {listed}"
