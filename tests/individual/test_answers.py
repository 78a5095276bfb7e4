"""Whole answers by individual accounting: their noise, the order of rows, and what is refused before it is paid for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

from gedp.arrays import IntArray
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.engines.ordered import _Seen
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table
from gedp.errors import GedpError, TableChangedError
from gedp.individual.bounds import For
from gedp.noise.entropy import SeededEntropy
from gedp.passes.in_memory import NumbersInMemory
from gedp.policy import Attribute, Closeness, Data, Policy, Query, Spec
from gedp.release.rehearsal import Rehearsal
from tests.individual.worlds import Asked, job_of

DATA = Data("memory", ("a", "b"), "id", synthetic=True)
SQRT = Attribute("x", Closeness("sqrt", Decimal("0.5")))
LINEAR = Attribute("x", Closeness("linear", Decimal(1)))
LOG = Attribute("x", Closeness("log", Decimal("0.1"), Decimal(1)))
THOUSANDS = Attribute("x", Closeness("sqrt", Decimal(1500)), unit=Decimal(1000))
QUERIES = tuple(
    Query("-".join(by) or "total", by, importance={"x": Decimal(1)}) for by in ((), ("a",), ("b",), ("a", "b"))
)


def table_of(values: IntArray, unit: int = 1, order: Sequence[int] | None = None) -> pa.Table:
    rows = len(values)
    table = pa.table(
        {
            "id": [f"{row:05}" for row in range(rows)],
            "a": [str(row % 3) for row in range(rows)],
            "b": [str(row % 4) for row in range(rows)],
            "x": values * unit,
        }
    )
    return table if order is None else table.take(order)


def answers_of(table: pa.Table, attribute: Attribute, mu: str, seed: int = 1, **changed: Any) -> Rehearsal:
    policy = Policy({"x": attribute}, Decimal(mu))
    opened = open_table(LocalEngine(table), DATA, policy.attributes)
    identity = Query("identity", ("establishment",), importance={"x": Decimal(0)})
    spec = Spec(DATA, policy, (identity, *changed.get("queries", QUERIES)))
    return rehearse(opened, spec, entropy=SeededEntropy(seed))


SIZES = np.random.default_rng(1).lognormal(3, 1.5, 40).astype(np.int64) + 1
WORLDS: Mapping[str, IntArray] = {
    "one": SIZES[:1],
    "ordinary": SIZES,
    "zeros": np.zeros(40, dtype=np.int64),
    "huge": np.full(40, 2**53 // 40),
    "a giant": np.array([2**52, *[0] * 39]),
}


@pytest.mark.parametrize(
    "attribute",
    [SQRT, LINEAR, LOG, THOUSANDS, replace(LINEAR, signed=True)],
    ids=lambda attribute: f"{attribute.protection.psi} in {attribute.unit}",
)
@pytest.mark.parametrize("world", WORLDS)
def test_what_was_paid_for_is_answered(attribute: Attribute, world: str) -> None:
    """Equal shares set aside for every query once left less than nothing; groups by ψ once had no grid in thousands."""
    values = WORLDS[world] // (1000 if attribute.unit > 1 else 1)
    release = answers_of(table_of(values, int(attribute.unit)), attribute, "1.2")
    chosen = release.manifest.individual["x"]
    assert 0.999 < chosen.largest_share <= 1
    for query in QUERIES:
        assert np.isfinite(release.answers(query.name)["estimate"].to_numpy()).all()


@pytest.mark.parametrize(
    ("attribute", "mu"),
    [
        (SQRT, "0.0001"),
        (SQRT, "1000000000"),
        (LOG, "0.001"),
        (LINEAR, "10000"),
        (replace(LINEAR, closeness=Closeness("linear", Decimal("1000"))), "0.000000000001"),
        (replace(SQRT, closeness=Closeness("sqrt", Decimal("0.000000001"))), "1"),
        (Attribute("x", Closeness("log", Decimal("1.5"))), "0.1"),
    ],
)
def test_what_has_no_grid_is_refused_before_anything_is_drawn(attribute: Attribute, mu: str) -> None:
    class Spending(SeededEntropy):
        def words(self, n: int) -> Any:
            raise AssertionError("noise was drawn")

    policy = Policy({"x": attribute}, Decimal(mu))
    opened = open_table(LocalEngine(table_of(SIZES)), DATA, policy.attributes)
    identity = Query("identity", ("establishment",), importance={"x": Decimal(0)})
    with pytest.raises(GedpError, match=r"grid|drowns"):
        rehearse(opened, Spec(DATA, policy, (identity, *QUERIES)), entropy=Spending(1))


def test_more_queries_than_can_leave_something_are_refused() -> None:
    queries = [Query(f"q{number}", (), importance={"x": Decimal(1)}) for number in range(401)]
    with pytest.raises(GedpError, match="at most 400 queries"):
        answers_of(table_of(SIZES), SQRT, "1", queries=queries)


def test_the_order_of_rows_changes_nothing() -> None:
    """First answers are told by id, so that both tables have the same; all that is chosen follows from them."""
    public = {"a": [str(row % 3) for row in range(40)], "b": [str(row % 4) for row in range(40)]}
    prices = {"x": (Fraction(2), Decimal("0.5"))}
    omega = np.sqrt(SIZES) + np.random.default_rng(2).normal(size=40)
    omega[5] = omega[17] = omega[29]  # equal answers in one cell
    order = np.random.default_rng(3).permutation(40)
    found = []
    for rows in (np.arange(40), order):
        asked = Asked({key: [codes[row] for row in rows] for key, codes in public.items()}, (SQRT,), QUERIES, prices)
        job = job_of(asked, {}, {"x": omega[rows]})
        plan = job._plan("x", NumbersInMemory(asked.of_row, {"x__psi": omega[rows]}))
        sigma = plan.rows.second_sigma(asked.of_row, omega[rows])
        found.append((plan, plan.rows.bounds(asked.of_row, omega[rows], For.CLIPPING).bounds, sigma))
    (one, bounds, sigma), (two, *others) = found
    assert one.described == two.described
    assert np.array_equal(bounds[order], others[0])
    assert np.array_equal(sigma[order], others[1])
    for query in QUERIES:
        noise, same = one.noise[query.name], two.noise[query.name]
        assert np.array_equal(noise.by_psi, same.by_psi)
        assert np.array_equal(noise.answer_psi.keywords["sigma"], same.answer_psi.keywords["sigma"])
        assert np.array_equal(noise.clipped.sigma, same.clipped.sigma)


def test_rows_that_change_places_between_the_passes_are_noticed() -> None:
    """Within a cell, so that all sums stay: bounds belong to rows by their place."""
    asked = Asked({"a": ["0"] * 4}, (SQRT,), QUERIES[:2], {"x": (Fraction(1), Decimal("0.5"))})
    job = job_of(asked, {"x": np.array([10, 2000, 30, 40])})

    def swap(what: str, done: int, of: int) -> None:
        job.prepared.table.engine.amounts["x"][:2] = 2000, 10

    with pytest.raises(TableChangedError):
        replace(job, progress=swap).draw()


def test_passes_are_the_same_however_they_are_cut() -> None:
    whole, parts = _Seen(), _Seen()
    values = np.arange(10)
    whole.add({"x": values})
    for part in (values[:3], values[3:]):
        parts.add({"x": part})
    assert whole.result() == parts.result()
    parts.add({"x": values[:1]})
    assert whole.result() != parts.result()


def is_noise_of(errors: Any, part: float = 1.0) -> bool:
    """Whether standardised errors, times this part, have the variance 1; a true one is denied once in 10^6 times."""
    total = float(np.sum((part * errors) ** 2))
    return bool(chi2.ppf(5e-7, errors.size) < total < chi2.ppf(1 - 5e-7, errors.size))


def test_second_answers_and_groups_have_the_noise_that_they_say() -> None:
    """Of 20,000 establishments and 10,000 groups: 5% too little is rejected, by either."""
    rows = 20_000
    values = np.random.default_rng(4).lognormal(4, 1, rows).astype(np.int64) + 1
    table = table_of(values).set_column(2, "b", pa.array([str(row // 2) for row in range(rows)]))
    queries = (QUERIES[0], QUERIES[2])
    release = answers_of(table, SQRT, "2", seed=5, queries=queries)
    identity = release.identity(["id", "x__psi2", "x__sigma2"]).sort_by("id")
    second = (identity["x__psi2"].to_numpy() - np.sqrt(values)) / identity["x__sigma2"].to_numpy()
    cells = release.answers("b").sort_by("b")
    truth = np.bincount(np.arange(rows) // 2, weights=values)[np.array(cells["b"].to_pylist(), dtype=int)]
    is_clipped = cells["mechanism"].to_numpy() == "pnc"
    clipped = ((cells["estimate"].to_numpy() - truth) / cells["std_error"].to_numpy())[is_clipped]
    sigma = cells["noise"].to_numpy()
    by_psi = ((np.sqrt(np.maximum(cells["estimate"].to_numpy() + sigma**2, 0)) - np.sqrt(truth)) / sigma)[~is_clipped]
    assert min(clipped.size, by_psi.size) > 3_000
    for errors in (second, np.concatenate([clipped, by_psi])):
        assert is_noise_of(errors)
        assert not is_noise_of(errors, 0.95)
