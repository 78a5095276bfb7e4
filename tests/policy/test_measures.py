"""What queries ask for: weights, public keys and classes, and what follows from them."""

from dataclasses import replace
from fractions import Fraction

import pytest

import gedp
from gedp.errors import FaultsError
from gedp.policy import COUNT, Query
from gedp.policy.reader import reread_spec

SPEC = gedp.make_spec(
    data={"public": ["county"], "synthetic": True},
    attributes={name: {"psi": "sqrt", "gamma": 0.5} for name in ("jobs", "wage", "cost")},
    classes={"size": {"attribute": "jobs", "edges": [0, 5]}, "pay": {"attribute": "wage", "edges": [0, 9]}},
    combinations={"gap": "wage - cost / 2"},
    budget={"mu": 9},
    queries=[
        {"name": "gaps", "by": ["county"], "mu": {"gap": 1}},
        {"name": "sizes", "by": ["pay", "county", "size"], "count": True, "mu": {COUNT: 1, "cost": 1}},
        {"name": "county", "by": ["county"], "mu": {"jobs": 1}},
        {"name": "all", "by": "establishment", "mu": 1},
    ],
)


def test_queries_are_in_the_order_in_which_they_are_answered() -> None:
    assert [query.name for query in SPEC.queries] == ["county", "all", "sizes", "gaps"]
    assert reread_spec(replace(SPEC, queries=SPEC.queries[::-1])).queries == tuple(
        SPEC.queries[place] for place in (1, 0, 2, 3)
    )


def test_everything_asked_for_says_what_it_depends_on_who_pays_and_what_can_answer_it() -> None:
    found = {
        (query.name, name): (each.attributes, each.payers, each.mechanisms, each.is_plain)
        for query in SPEC.queries
        for name, each in query.measures.items()
    }
    by_record = {("all", name): ((name,), (name,), (), True) for name in ("jobs", "wage", "cost")}
    assert found == by_record | {
        ("county", "jobs"): (("jobs",), ("jobs",), ("psi", "pnc"), True),
        ("sizes", COUNT): (("wage", "jobs"), ("wage",), ("count",), False),
        ("sizes", "cost"): (("cost", "wage", "jobs"), ("cost",), ("pnc",), False),
        ("gaps", "gap"): (("wage", "cost"), ("wage", "cost"), ("pnc",), False),
    }
    assert SPEC.queries[-1].measures["gap"].weights == {"wage": 1, "cost": Fraction(-1, 2)}


def test_queries_are_plain_if_all_that_they_ask_for_is() -> None:
    assert all(query.is_plain == all(m.is_plain for m in query.measures.values()) for query in SPEC.queries)
    assert [query.name for query in SPEC.plain] == ["county", "all"]


def test_a_query_from_python_cannot_pass_for_a_plain_one() -> None:
    """Where it leaves out that a key is a class, or that it asks for a combination, it is rejected."""
    for place, reason in ((2, "sums by classes are always clipped sums"), (3, "combinations are always of clipped")):
        bare = replace(SPEC.queries[place], classes={}, combinations={})
        assert bare.is_plain
        with pytest.raises(FaultsError, match=reason):
            reread_spec(replace(SPEC, queries=(*SPEC.plain, bare)))


def test_an_attribute_can_be_called_as_the_count_is_where_nothing_is_counted() -> None:
    measure = Query("q", ("county",), dict(SPEC.queries[0].mu) | {COUNT: SPEC.policy.mu}).measures[COUNT]
    assert measure.weights == {COUNT: 1}
    assert measure.mechanisms == ("psi", "pnc")
