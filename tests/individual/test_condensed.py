"""First answers that passes have looked at say what all of them say, whatever the order and division of rows."""

from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import MOST_UNITS, CodeArray, FloatArray
from gedp.individual import Bills, CondensedAnswers, FirstAnswer, FirstAnswers, Portions, QueryGroups, Terms, fill
from gedp.individual.answers import CLASSES, STEPS, _shares
from gedp.passes import PartialResults, Pass, nothing
from gedp.passes.in_memory import NumbersInMemory
from gedp.passes.lookup import make_lookup
from gedp.planning.choice import choose
from gedp.policy import Attribute, Closeness

SQRT = Attribute("x", Closeness("sqrt", Decimal("0.5")))
WAGES = Attribute("x", Closeness("sqrt", Decimal(1500)), unit=Decimal(1000))
LOG = Attribute("x", Closeness("log", Decimal("0.1"), Decimal(1)))
LINEAR = Attribute("x", Closeness("linear", Decimal(3)))
ATTRIBUTES = [SQRT, WAGES, LOG, LINEAR, replace(LINEAR, signed=True), replace(SQRT, signed=True)]
TAU = 4.0


class Divided(NumbersInMemory):
    """Rows in many small parts, which say their cells to whoever asks for them."""

    def reduce(self, run: Pass) -> PartialResults:
        assert run.reads.cells is not None
        found = nothing(run)
        for start in range(0, len(self.cells), 3):
            part = slice(start, start + 3)
            found |= NumbersInMemory(self.cells[part], {n: c[part] for n, c in self.columns.items()}).reduce(run)
        return found


def both(
    attribute: Attribute, cell: CodeArray, omega: FloatArray, rows: type[NumbersInMemory] = NumbersInMemory
) -> tuple[FirstAnswers, CondensedAnswers]:
    terms, most = Terms(attribute.protection, 0.3, 1.0), float(MOST_UNITS)
    counts = np.bincount(cell).astype(np.int64)
    lookup = make_lookup({}, {}, np.arange(len(counts), dtype=np.int32), len(counts))
    answered = rows(cell, {"omega": omega})
    condensed = CondensedAnswers.seen(FirstAnswer(attribute, terms, most), "omega", lookup, counts, answered)
    return FirstAnswers.of(attribute, cell, omega, terms, most), condensed


def answers_of(attribute: Attribute, count: int = 3000, cells: int = 40, seed: int = 1) -> tuple[CodeArray, FloatArray]:
    rng = np.random.default_rng(seed)
    cell = np.concatenate([np.arange(cells), rng.integers(0, cells, count - cells)]).astype(np.int32)
    sizes = np.ceil(rng.lognormal(3, 2, count)) * float(attribute.unit)
    signs = rng.choice([-1, 1], count) if attribute.signed else 1
    sigma = attribute.protection.gamma / np.sqrt(0.3)
    return cell, attribute.protection.psi(signs * sizes) + sigma * rng.normal(size=count)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: f"{a.protection.psi} in {a.unit}")
def test_cells_have_the_same_extremes_and_sums(attribute: Attribute) -> None:
    full, condensed = both(attribute, *answers_of(attribute))
    assert condensed.each.kept == pytest.approx(full.each.kept, rel=1e-3)
    condensed = replace(condensed, each=full.each)
    first = full.each
    for of in (partial(first.reach, tau=TAU), partial(first.reach_at, tau=TAU, price=0.2)):
        assert np.array_equal(full.widest(of), condensed.widest(of))
    asked = first.expected, first.clipping_loss, partial(first.variance, price=0.2)
    for sums, found in zip(full.total(*asked), condensed.total(*asked), strict=True):
        assert found == pytest.approx(sums, rel=1e-5, abs=1e-6 * float(np.max(np.abs(sums))))
    one, other = full.rows(TAU), condensed.rows(TAU)
    assert other.sums == pytest.approx(one.sums, rel=1e-5, abs=1e-6 * float(np.max(np.abs(one.sums))))
    assert other.total(np.ones(len(other.cell))).tolist() == one.total(np.ones(len(one.cell))).tolist()
    assert other.total(other.reach_squared) == pytest.approx(one.total(one.reach_squared), rel=1e-5)
    assert len(other.cell) <= 40 * (CLASSES + 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-50, 1e4)), min_size=4, max_size=40))
def test_order_and_division_change_nothing(answers: list[tuple[int, float]]) -> None:
    cell = np.array([*range(4), *(place for place, _ in answers)], dtype=np.int32)
    omega = np.array([1.0, 2.0, 3.0, 4.0, *(value for _, value in answers)])
    order = np.random.default_rng(len(answers)).permutation(len(cell))
    _, one = both(SQRT, cell, omega)
    _, two = both(SQRT, cell[order], omega[order], Divided)
    assert one.each == two.each
    for a, b in zip(one.total(one.each.expected), two.total(two.each.expected), strict=True):
        assert np.array_equal(a, b)
    first, second = one.rows(TAU), two.rows(TAU)
    for name in ("cell", "reach", "expected", "times"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def test_cells_of_one_or_two_are_known_as_they_are() -> None:
    cell, omega = np.array([0, 1, 1, 2], dtype=np.int32), np.array([3.0, 20.0, 5.0, 7.0])
    full, condensed = both(SQRT, cell, omega)
    condensed = replace(condensed, each=full.each)
    one, other = full.rows(TAU), condensed.rows(TAU)
    order = np.lexsort((-one.reach, one.cell))
    assert np.array_equal(other.cell, one.cell[order])
    assert other.reach == pytest.approx(one.reach[order])
    assert other.expected == pytest.approx(one.expected[order], rel=1e-6)


def test_what_is_chosen_is_as_good_as_if_all_answers_were_looked_at() -> None:
    cell, omega = answers_of(SQRT)
    partitions = [
        QueryGroups("all", np.zeros(40, dtype=np.int32), 1),
        QueryGroups("some", (np.arange(40) % 5).astype(np.int32), 5),
        QueryGroups("cells", np.arange(40, dtype=np.int32), 40),
    ]
    importance = {partition.query: 1.0 for partition in partitions}
    full, condensed = both(SQRT, cell, omega)
    one, other = (choose(answers, partitions, importance, 5.0) for answers in (full, condensed))
    assert other.tau == pytest.approx(one.tau, abs=0.02)
    assert dict(other.floor) == pytest.approx(dict(one.floor), rel=0.002)
    assert dict(other.errors) == pytest.approx(dict(one.errors), rel=0.02)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: f"{a.protection.psi} in {a.unit}")
def test_bills_leave_every_row_what_filling_left_it(attribute: Attribute) -> None:
    full, _ = both(attribute, *answers_of(attribute, 300))
    partitions = [
        QueryGroups("all", np.zeros(40, dtype=np.int32), 1),
        QueryGroups("some", (np.arange(40) % 5).astype(np.int32), 5),
        QueryGroups("cells", np.arange(40, dtype=np.int32), 40),
    ]
    rows, terms = full.rows(TAU), full.each.terms
    filling = fill(rows, partitions, terms, Portions({"all": 0.4, "some": 0.3}))
    left = Bills.planned(40, partitions, filling.noise).left(rows.cell, rows.reach, terms)
    assert left == pytest.approx(filling.left, rel=1e-9, abs=1e-12)
    assert left.min() > 0


@pytest.mark.parametrize(
    ("total", "positive", "kept"), [(10.0, 40.0, 0.25), (0.1, 0.4, 0.25), (3.0, 2.0, 1.0), (0.0, 0.0, 1.0)]
)
def test_of_positive_estimates_so_much_is_kept_that_they_come_to_the_total(
    total: float, positive: float, kept: float
) -> None:
    """Where the noise is small beside the total."""
    each = FirstAnswer(SQRT, Terms(SQRT.protection, 1e12, 1.0), float(MOST_UNITS))
    assert each.part_to_keep(np.array([2]), 1.0, total, positive) == pytest.approx(kept)


def test_the_widest_noise_that_a_grid_carries_is_carried() -> None:
    terms = Terms(SQRT.protection, 0.3, 1.0, widest=4.0)
    assert terms.carried(np.array([1 / 16, 1 / 17, 1.0])).tolist() == [1 / 16, 0.0, 1.0]


def test_a_share_that_is_no_number_counts_as_nothing_and_as_all_of_it_where_it_must_not_be_too_small() -> None:
    values, largest = np.array([np.nan, 0.25, np.inf]), np.ones(3)
    assert _shares(values, largest).tolist() == [0.0, STEPS / 4, STEPS]
    assert _shares(values, largest, up=True).tolist() == [STEPS, STEPS / 4, STEPS]
