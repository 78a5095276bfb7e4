"""Machines whose last bits differ: what one of them cuts off and draws, another has charged for, exactly."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.confidential.drawings import SecondDrawing
from gedp.confidential.individual_rows import Charges, OwnClipping
from gedp.individual import Terms, first
from gedp.individual.bounds import RAISE, For
from gedp.individual.classes import ClassInterval
from gedp.individual.combinations import combined_bounds
from gedp.neighbors import NeighborFunction
from gedp.neighbors.estimates import PsiAnswers
from gedp.policy import Attribute, Closeness, Query, Weights
from tests.individual.test_neighbors import close_to
from tests.individual.worlds import Asked, drawn_after

TAU = 3.0
#: How far the ends of intervals are off, as a part of them: more than any last bit, as much as the proof allows.
OFF = 1e-12
LAST_BITS = 2.0**-50
TASKS = (Charges, OwnClipping, SecondDrawing)
#: Whose bounds grow by much from one unit to the next.
ATTRIBUTES = (
    Attribute("x", Closeness("sqrt", Decimal("1.5"))),
    Attribute("x", Closeness("sqrt", Decimal("1.5")), signed=True),
    Attribute("x", Closeness("log", Decimal(1), Decimal(1)), Decimal("0.01")),
    Attribute("x", Closeness("log", Decimal("0.7"), Decimal(1)), signed=True),
    Attribute("x", Closeness("sqrt", Decimal(1)), at_least=(Closeness("linear", Decimal(3)),)),
)


@contextmanager
def machines(off: dict[type, float]) -> Iterator[None]:
    """Each task is done by a machine that finds upper ends by such parts too high; the others by one that is right."""
    now = [0.0]

    class Off(PsiAnswers):
        def upper_bounds(self, tau: float) -> FloatArray:
            return super().upper_bounds(tau) * (1 + now[-1])

    def by(task: Any, part: float) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            now.append(part)
            try:
                return done(self, *arguments)
            finally:
                now.pop()

        done = task.__call__
        return patch.object(task, "__call__", call)

    with ExitStack() as stack:
        stack.enter_context(patch.object(first, "PsiAnswers", Off))
        for task, part in off.items():
            stack.enter_context(by(task, part))
        yield


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: f"{a.protection}")
@pytest.mark.parametrize("bound", [1, 2])
def test_what_one_machine_charges_covers_what_others_cut_off_and_draw(attribute: Attribute, bound: int) -> None:
    """First answers whose bounds are whole units but for a last bit, so that machines disagree by a whole unit."""
    unit, protection = float(attribute.unit), attribute.protection
    asked = Asked(
        {"a": ["s", "s", "t"]},
        (attribute,),
        (Query("total", (), importance={"x": Decimal(1)}), Query("a", ("a",), importance={"x": Decimal(1)})),
        {"x": (Fraction(9), Decimal(1))},
    )
    sigma = protection.gamma
    told = {"x": np.full(3, float(protection.psi(bound * unit / RAISE)) - TAU * sigma)}
    farthest = Fraction(0)
    with (
        patch("gedp.planning.choice.choose_tau", lambda *_: TAU),
        patch("gedp.confidential.individual.no_clipping_tau", lambda *_, **__: TAU),
    ):
        for parts in product((-OFF, OFF), repeat=len(TASKS)):
            with machines(dict(zip(TASKS, parts, strict=True))):
                high, low = (np.array([2, each, 3]) for each in (bound + 1, close_to(attribute, bound + 1)))
                one, two = (drawn_after(asked, {"x": world}, told) for world in (high, low))
                assert np.array_equal(one.scales, two.scales)
                farthest = max(farthest, one.squared_distance(two))
    assert asked.rest / 5 < farthest <= asked.rest


@contextmanager
def a_machine(psi: NeighborFunction, off: float) -> Iterator[None]:
    """Finds ψ⁻¹ by such a part too high, of numbers that are by as small a part of ψ too high as its last bits."""
    right, at_zero = type(psi).inverse, psi.at_zero if np.isfinite(psi.at_zero) else 0.0

    def inverse(self: NeighborFunction, y: FloatArray) -> FloatArray:
        moved = np.asarray(y) + np.sign(off) * LAST_BITS * (np.abs(y) + abs(at_zero))
        return right(self, np.maximum(moved, self.lowest)) * (1 + off)

    with patch.object(type(psi), "inverse", inverse):
        yield


PSIS = (
    Closeness("sqrt", Decimal("1.5")),
    Closeness("sqrt", Decimal(20), Decimal(10**6)),
    Closeness("log", Decimal("0.2")),
    Closeness("log", Decimal("0.2"), Decimal(10**6)),
)
NEAR = st.tuples(st.sampled_from(PSIS), st.sampled_from(["0.01", "1"]), st.integers(1, 10**11))


@given(NEAR, st.sampled_from([-OFF, OFF]), st.sampled_from([-OFF, OFF]))
def test_what_a_bound_is_for_counts_for_more_than_the_machine(
    near: tuple[Closeness, str, int], one: float, other: float
) -> None:
    """Of bounds and classes, whichever machines compute the one for clipping, that for charging and that for plans."""
    closeness, unit, whole = near
    attribute = Attribute("x", closeness, Decimal(unit))
    psi, edge = attribute.protection.psi, whole * float(unit)
    terms = Terms(attribute.protection, attribute.protection.gamma**2, 1.0)
    read = first.FirstAnswer(attribute, terms, 2.0**53)
    classes = ClassInterval(psi, 1.0, TAU, np.array([0.0, edge]))
    omega = np.array([float(psi(edge / RAISE)), float(psi(edge))]) - TAU
    for earlier, later in pairwise(For):
        with a_machine(psi, one):
            below, (high_low, high) = read.bounds(omega, TAU, earlier), classes(omega + 2 * TAU, omega, earlier)
        with a_machine(psi, other):
            above, (low_low, low) = read.bounds(omega, TAU, later), classes(omega + 2 * TAU, omega, later)
        assert (below.bounds <= above.bounds).all()
        assert (high <= low).all()
        assert (low_low <= high_low).all()


def test_combinations_are_cut_down_by_more_where_they_are_clipped() -> None:
    """One attribute of two is found a unit larger: the other is not clipped above what is charged for it."""
    weights = Weights(Fraction(1), {"x": 1, "y": 1})
    attributes = dict.fromkeys("xy", ATTRIBUTES[0])
    bounds = {use: {"x": np.array([2.0**40 + use]), "y": np.array([3.0])} for use in For}
    found = [
        combined_bounds(weights, attributes, bounds[use], most=2.0**40, least=0.0, crowded_by=bounds[For(2 - use)])
        for use in For
    ]
    for earlier, later in pairwise(found):
        assert all((earlier.bounds[name] <= later.bounds[name]).all() for name in "xy")
        assert earlier.sensitivity <= later.sensitivity
