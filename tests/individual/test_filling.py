"""Filling against a few lines of plain Python, and prediction against dense least squares."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.individual import Filling, GroupNoise, Portions, QueryGroups, Rows, Terms, fill, largest_share
from gedp.individual.charges import OverchargedError
from gedp.individual.filling import CELL_FRACTIONS, LEAST_SECOND, coarse_to_fine, row_variances
from gedp.neighbors import Linear, Log, Protection, Signed, Sqrt
from gedp.neighbors.estimates import psi_variance
from gedp.planning.prediction import predicted_variances

PROTECTIONS = (
    Protection(Sqrt(), 0.5),
    Protection(Sqrt(3.0), 20.0),
    Protection(Log(1.0), 0.2),
    Protection(Linear(), 5.0),
    Protection(Signed(Sqrt()), 2.0),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, list[QueryGroups], Terms, Portions]:
    """Rows of some cells, crossing and nested groups of these, and any way to share out a pool."""
    cells = draw(st.integers(1, 6))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    counts = chance.integers(1, 4, cells)
    cell = np.repeat(np.arange(cells, dtype=np.int32), counts)
    reach = np.exp(chance.normal(3, 2, len(cell)))
    rows = Rows(cell, reach, np.exp(chance.normal(4, 2, len(cell))))
    partitions = []
    for query in range(draw(st.integers(1, 4))):
        groups, of_cell = np.unique(chance.integers(0, chance.integers(1, cells + 1), cells), return_inverse=True)
        partitions.append(QueryGroups(str(query), of_cell.astype(np.int32), len(groups)))
    if draw(st.booleans()):
        partitions.append(QueryGroups("cells", chance.permutation(cells).astype(np.int32), cells))
    pool = draw(st.floats(0.1, 5))
    fractions = {p.query: draw(st.floats(0.02, 0.95)) for p in partitions}
    each = pool / (len(partitions) + 2)
    reserves = {p.query: each for p in partitions} if draw(st.booleans()) else {}
    terms = Terms(draw(st.sampled_from(PROTECTIONS)), draw(st.floats(0.05, 1)), pool)
    return rows, partitions, terms, Portions(fractions, reserves, draw(st.sampled_from([0.0, each])))


def plainly_filled(
    rows: Rows, partitions: list[QueryGroups], terms: Terms, portions: Portions
) -> tuple[dict[str, list[tuple[bool, float]]], list[float]]:
    """The same, one establishment at a time."""
    left = [terms.pool] * len(rows.cell)
    waiting = sum(portions.reserves.values()) + max(portions.second, LEAST_SECOND * terms.pool)
    filled: dict[str, list[tuple[bool, float]]] = {}
    ordered = coarse_to_fine(partitions)
    for place, partition in enumerate(ordered):
        own = portions.reserves.get(partition.query, 0.0)
        is_last = partition.count == rows.cells and place == len(ordered) - 1
        fractions = CELL_FRACTIONS if is_last else (portions.fractions[partition.query],)
        filled[partition.query] = []
        charges = [0.0] * len(left)
        for group in range(partition.count):
            members = [row for row in range(len(left)) if partition.of_cell[rows.cell[row]] == group]
            total = sum(rows.expected[row] for row in members)
            best = None
            for fraction in fractions:
                offered = {row: own + fraction * (left[row] - waiting) for row in members}
                for by_psi in (False, True) if terms.allows_psi else (False,):
                    moves = {row: 1.0 if by_psi else rows.reach[row] ** 2 for row in members}
                    precision = min(offered[row] / moves[row] for row in members)
                    variance = 1 / precision
                    if by_psi:
                        variance = float(psi_variance(terms.psi, total, terms.protection.gamma / precision**0.5))
                    known = 1 / variance
                    if is_last:
                        rest = {r: max(left[r] - precision * moves[r], LEAST_SECOND * terms.pool) for r in members}
                        known += 1 / sum(
                            float(
                                psi_variance(
                                    terms.psi, rows.expected[r], terms.protection.gamma / (terms.first + rest[r]) ** 0.5
                                )
                            )
                            for r in members
                        )
                    if best is None or known > best[0] * (1 + 1e-12):
                        best = known, by_psi, precision, moves
            assert best is not None
            _, by_psi, precision, moves = best
            filled[partition.query].append((by_psi, precision))
            for row in members:
                charges[row] = precision * moves[row]
        waiting -= own
        left = [one - paid for one, paid in zip(left, charges, strict=True)]
    return filled, [max(one, LEAST_SECOND * terms.pool) for one in left]


@settings(max_examples=60, deadline=None)
@given(tables())
def test_fill_is_what_plain_python_fills(table: tuple[Rows, list[QueryGroups], Terms, Portions]) -> None:
    rows, partitions, terms, portions = table
    filled = fill(rows, partitions, terms, portions)
    noise, left = plainly_filled(rows, partitions, terms, portions)
    for query, groups in noise.items():
        assert filled.noise[query].by_psi.tolist() == [by_psi for by_psi, _ in groups]
        assert filled.noise[query].precision == pytest.approx([precision for _, precision in groups], rel=1e-9)
    assert filled.left == pytest.approx(left, rel=1e-6, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables())
def test_nobody_pays_more_than_the_pool(table: tuple[Rows, list[QueryGroups], Terms, Portions]) -> None:
    rows, partitions, terms, portions = table
    filled = fill(rows, partitions, terms, portions)
    paid = sum((filled.noise[p.query].charges(rows, p) for p in partitions), filled.left)
    assert (paid <= terms.pool * (1 + 1e-12)).all()
    assert (filled.left >= LEAST_SECOND * terms.pool).all()


def dense_variances(rows: Rows, partitions: list[QueryGroups], terms: Terms, filling: Filling) -> dict[str, FloatArray]:
    """The covariance of weighted least squares, with every matrix written out."""
    alone = row_variances(rows, terms, filling.left)
    ways, precisions = [np.eye(rows.cells)], [1 / alone]
    for p in partitions:
        ways.append(np.eye(p.count)[:, p.of_cell])
        precisions.append(1 / filling.noise[p.query].variances(terms, p.total(rows.sums)))
    design, weights = np.vstack(ways), np.concatenate(precisions)
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    groups = dict(zip((p.query for p in partitions), ways[1:], strict=True))
    return {query: np.diagonal(way @ covariance @ way.T) for query, way in groups.items()}


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(0, 2**32))
def test_prediction_is_the_covariance_of_least_squares(
    table: tuple[Rows, list[QueryGroups], Terms, Portions], seed: int
) -> None:
    """At precisions of the same order, so that the inverse of the dense matrix has the digits to compare with."""
    rows, partitions, terms, portions = table
    chance = np.random.default_rng(seed)
    rows = replace(rows, reach=chance.uniform(1, 10, len(rows.cell)), expected=chance.uniform(5, 50, len(rows.cell)))
    filled = fill(rows, partitions, terms, portions)
    found = predicted_variances(rows, partitions, terms, filled)
    expected = dense_variances(rows, partitions, terms, filled)
    assert list(expected) == [partition.query for partition in partitions] != []
    for query, variances in expected.items():
        assert found[query] == pytest.approx(variances, rel=1e-9)


def test_a_prediction_that_rounding_prevents_stops_nothing() -> None:
    """Variances of 1 and of 10^40: no factor exists, and the tables are judged by their cells."""
    rows = Rows(np.arange(4, dtype=np.int32), np.ones(4), np.full(4, 100.0))
    halves = [
        QueryGroups(name, np.array(codes, dtype=np.int32), 2)
        for name, codes in (("a", [0, 0, 1, 1]), ("b", [0, 1, 0, 1]))
    ]
    sure = GroupNoise(np.zeros(2, dtype=bool), np.full(2, 1e40))
    filling = Filling({"a": sure, "b": sure}, np.full(4, 1e-6))
    found = predicted_variances(rows, halves, Terms(PROTECTIONS[0], 1e-9, 1.0), filling)
    assert all(np.isfinite(each).all() and (each >= 0).all() for each in found.values())


def test_a_prediction_is_a_number_where_noise_has_no_finite_variance() -> None:
    """Under log, an answer with little precision has a variance beyond floats; a release must not fail for it."""
    rows = Rows(np.arange(4, dtype=np.int32), np.ones(4), np.full(4, 1e30))
    halves = [
        QueryGroups(name, np.array(codes, dtype=np.int32), 2)
        for name, codes in (("a", [0, 0, 1, 1]), ("b", [0, 1, 0, 1]))
    ]
    by_psi = GroupNoise(np.ones(2, dtype=bool), np.array([1e-9, 1.0]))
    filling = Filling({"a": by_psi, "b": by_psi}, np.array([1e-9, 1e-9, 1.0, 1.0]))
    with np.errstate(over="ignore", invalid="ignore"):
        found = predicted_variances(rows, halves, Terms(Protection(Log(1.0), 0.9), 1e-6, 1.0), filling)
    assert [np.isfinite(each).all() for each in found.values()] == [True, True]


@settings(max_examples=60, deadline=None)
@given(tables())
def test_condensed_rows_have_the_same_sums_and_largest(table: tuple[Rows, list[QueryGroups], Terms, Portions]) -> None:
    rows, *_ = table
    condensed = rows.condensed()
    ones = np.ones(len(rows.cell))
    assert condensed.total(np.ones(len(condensed.cell))) == pytest.approx(rows.total(ones))
    assert condensed.sums == pytest.approx(rows.sums)
    assert condensed.total(condensed.reach_squared) == pytest.approx(rows.total(rows.reach_squared))
    assert (condensed.least(-condensed.reach) == rows.least(-rows.reach)).all()
    assert len(condensed.cell) == sum(min(count, 2) for count in np.bincount(rows.cell))


def test_the_share_is_never_above_1_and_a_hair_more_is_refused() -> None:
    first, pool = Fraction(1, 4), Fraction(1)
    allowed = float(Fraction(3, 4)) / (1 + 2.0**-30)
    parts = [np.array([0.1, allowed / 2]), np.array([0.2, allowed / 2])]
    assert 0.999999 < largest_share(first, parts, pool) <= 1
    for more in (np.nextafter(allowed, 1) - allowed, 1e-15, 1e-9):
        with pytest.raises(OverchargedError):
            largest_share(first, [*parts, np.array([0.0, more])], pool)
    assert largest_share(first, [np.array([0.5])], pool) == pytest.approx(0.75)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(OverchargedError):
        largest_share(Fraction(0), [np.array([0.1, bad])], Fraction(1))


@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=13), st.decimals("0.001", "5", places=3))
def test_the_share_is_rounded_up(charges: list[float], pool: Decimal) -> None:
    paid = sum(map(Fraction, charges), Fraction(0))
    try:
        share = largest_share(Fraction(0), [np.array([each]) for each in charges], Fraction(pool))
    except OverchargedError:
        assert paid * (1 + Fraction(1, 2**29)) > Fraction(pool)
    else:
        assert paid <= Fraction(pool)
        assert paid / Fraction(pool) <= Fraction(share) <= 1
