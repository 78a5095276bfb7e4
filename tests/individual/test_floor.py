"""No table is predicted to be worse than with equal shares, whatever the spec and whoever is a giant."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gedp
from gedp.arrays import MOST_UNITS, FloatArray
from gedp.individual import FirstAnswers, GroupNoise, QueryGroups, Terms
from gedp.neighbors import Log, Protection
from gedp.planning import choice
from gedp.planning.choice import Aims, choose, set_aside
from gedp.planning.prediction import fitted_variances
from gedp.policy import Attribute, Closeness
from gedp.release.rehearsal import Rehearsal
from tests.helpers.builder import rehearsed, spec_of, table_of

TABLES = [{"name": "total", "by": []}, {"name": "county", "by": ["cnty"]}, {"name": "cells", "by": ["naics", "cnty"]}]
ALLOWED = 1 + 1e-9
PSIS: list[tuple[dict[str, Any], tuple[float, float]]] = [
    ({"psi": "log"}, (0.01, 1)),
    ({"psi": "log", "shift": 1000}, (0.01, 3)),
    ({"psi": "log", "shift": 10, "signed": True}, (0.01, 1)),
    ({"psi": "sqrt"}, (0.1, 300)),
    ({"psi": "sqrt", "shift": 10_000}, (0.1, 300)),
    ({"psi": "sqrt", "signed": True}, (0.1, 300)),
    ({"psi": "sqrt", "at_least": {"psi": "linear", "gamma": 500}}, (0.1, 300)),
    ({"psi": "linear"}, (1, 1e8)),
    ({"psi": "linear", "signed": True}, (1, 1e8)),
]


def require_floor(found: Rehearsal) -> None:
    for each in found.manifest.individual.values():
        assert each.errors.keys() == each.floor.keys()
        assert all(error <= each.floor[query] * ALLOWED for query, error in each.errors.items()), each


def turnover(values: FloatArray, counties: int = 20, **sections: Any) -> tuple[Any, Any]:
    rows = len(values)
    table = table_of(
        rows,
        turnover=values,
        cnty=[str(i % counties) for i in range(rows)],
        naics=[["1111", "2222", "2361"][i % 3] for i in range(rows)],
    )
    return spec_of(**{"queries": TABLES, **sections}), table


@pytest.mark.parametrize("mu", [0.5, 2])
def test_giants_in_cents_cost_no_table_its_equal_share(mu: float) -> None:
    values = np.exp(np.random.default_rng(5).normal(12, 2, 1500)).round(2)
    values[[3, 500, 1200]] = [3e10, 8e10, 1.5e11]
    closeness = {"psi": "log", "gamma": 0.1, "shift": 1000, "unit": 0.01}
    spec, table = turnover(values, attributes={"turnover": closeness}, budget={"mu": mu})
    found = rehearsed(spec, table)
    require_floor(found)
    (total,) = found.answers("total").to_pylist()
    assert total["mechanism"] == "pnc"
    assert abs(total["estimate"] - values.sum()) < 6 * total["std_error"]


@st.composite
def extreme(draw: st.DrawFn) -> tuple[gedp.Spec, Any, int]:
    """Any ψ, narrow or wide, in cents or not, with establishments as large as a table can hold."""
    psi, (narrowest, widest) = draw(st.sampled_from(PSIS))
    unit = draw(st.sampled_from([0.01, 1.0]))
    gamma = float(f"{np.exp(draw(st.floats(np.log(narrowest), np.log(widest)))):.3g}")
    mu = draw(st.sampled_from([2, 5, 20])) * gamma if psi["psi"] == "log" else draw(st.sampled_from([0.05, 0.5, 5]))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([3, 20, 100]))
    values = np.clip(np.exp(chance.normal(chance.uniform(3, 12), 2, rows)), 1, 1e9).round()
    giants = draw(st.lists(st.floats(9, 14), max_size=3))
    values[: len(giants)] = np.minimum(10.0 ** np.array(giants), MOST_UNITS * unit / 5).round()
    if psi.get("signed"):
        values *= chance.choice([-1, 1], rows)
    closeness = {**psi, "gamma": gamma if psi["psi"] != "linear" else float(np.ceil(gamma)), "unit": unit}
    queries = draw(st.lists(st.sampled_from(TABLES), min_size=1, unique_by=lambda query: query["name"]))
    spec, table = turnover(
        values,
        draw(st.sampled_from([1, 3, 40])),
        attributes={"turnover": closeness},
        budget={"mu": mu},
        queries=queries,
    )
    return spec, table, draw(st.integers(0, 99))


@settings(max_examples=25)
@given(extreme())
def test_no_table_is_worse_than_with_equal_shares(world: tuple[gedp.Spec, Any, int]) -> None:
    """Everything is drawn: what was planned has grids, and nobody is overcharged."""
    require_floor(rehearsed(*world))


@pytest.mark.slow
@settings(max_examples=300)
@given(extreme())
def test_no_table_is_worse_than_with_equal_shares_in_more_cases(world: tuple[gedp.Spec, Any, int]) -> None:
    require_floor(rehearsed(*world))


def test_giants_of_both_signs_are_not_cut_off() -> None:
    """There is no ψ to leave their sums to, so noise must cover them; and a grid carries it."""
    values = np.array([3e12, -1e12, *(40_000.0 + 1_000 * i for i in range(18))])
    closeness = {"psi": "log", "gamma": 0.05, "shift": 1000, "unit": 0.01, "signed": True}
    spec, table = turnover(values, attributes={"turnover": closeness}, budget={"mu": 0.5})
    for seed in range(3):
        (total,) = rehearsed(spec, table, seed).answers("total").to_pylist()
        assert abs(total["estimate"] - values.sum()) < 6 * total["std_error"]


LOG = Attribute("x", Closeness("log", Decimal("0.2"), Decimal(1)))
CELL = np.repeat(np.arange(6, dtype=np.int32), 4)
PARTITIONS = [
    QueryGroups("total", np.zeros(6, dtype=np.int32), 1),
    QueryGroups("half", np.array([0, 0, 0, 1, 1, 1], dtype=np.int32), 2),
    QueryGroups("cells", np.arange(6, dtype=np.int32), 6),
]
IMPORTANCE = {"total": 1.0, "half": 1.0, "cells": 1.0}


def answers_of(terms: Terms) -> FirstAnswers:
    sizes = np.geomspace(5, 1e6, len(CELL))
    omega = LOG.protection.psi(sizes) + float(terms.sigma(np.array(terms.first))) * np.cos(np.arange(len(CELL)))
    return FirstAnswers.of(LOG, CELL, omega, terms, float(MOST_UNITS))


def test_where_nothing_else_will_do_every_query_has_its_equal_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the paper has it: for every group one price, and noise for the largest bound, or by ψ if that is better."""
    terms = Terms(LOG.protection, 0.2, 0.8)
    answers, aside = answers_of(terms), set_aside(terms, IMPORTANCE, None)
    monkeypatch.setattr(Aims, "is_met", lambda *_: False)
    found = choose(answers, PARTITIONS, IMPORTANCE, 4.0)
    assert (found.tau, found.is_paper, found.portions) == (4.0, False, aside)
    assert found.errors == found.floor
    assert sum(aside.reserves.values()) + aside.second <= terms.pool * (1 + 1e-12)
    reach = answers.each.reach(answers.omega, tau=4.0)
    for partition in PARTITIONS:
        price, noise = aside.reserves[partition.query], found.filling.noise[partition.query]
        widest = np.array([reach[partition.of_cell[CELL] == group].max() for group in range(partition.count)])
        assert noise.precision == pytest.approx(np.where(noise.by_psi, price, price / widest**2))
    assert any(noise.by_psi.any() for noise in found.filling.noise.values())
    assert not all(noise.by_psi.all() for noise in found.filling.noise.values())


@pytest.mark.parametrize("first", [0.1, 0.25, 0.31])
def test_the_paper_that_no_choice_reaches_gives_way_to_first_answers_as_drawn(
    monkeypatch: pytest.MonkeyPatch, first: float
) -> None:
    terms = Terms(LOG.protection, first, 1 - first)
    monkeypatch.setattr(choice, "paper_errors", lambda *_: dict.fromkeys(IMPORTANCE, 1e-3))
    found = choose(answers_of(terms), PARTITIONS, IMPORTANCE, 4.0)
    assert not found.is_paper
    assert all(found.floor[query] > 1 for query in IMPORTANCE)
    assert Aims(IMPORTANCE, found.floor).is_met(found.errors)


@given(st.floats(6, 99), st.floats(1, 6))
def test_an_answer_that_varies_without_end_predicts_what_none_does(large: float, ordinary: float) -> None:
    """The total is known by its cells and by the halves, whatever noise its own answer has."""
    terms = Terms(Protection(Log(1.0), 0.2), 0.2, 0.8)
    cells = 10.0 ** np.linspace(1, ordinary, 6)
    noise = {
        "total": GroupNoise(np.zeros(1, dtype=bool), np.array([1 / (10.0**large * cells.sum())])),
        "half": GroupNoise(np.zeros(2, dtype=bool), np.array([1e-3, 1e-4])),
    }
    found = fitted_variances(cells, np.full(6, 50.0), PARTITIONS[:2], terms, noise)
    alone = fitted_variances(cells, np.full(6, 50.0), PARTITIONS[1:2], terms, noise)
    assert found["half"] == pytest.approx(alone["half"], rel=1e-5)
    assert found["total"] == pytest.approx(alone["half"].sum(), rel=1e-5)
