"""Donors against looking for them one receiver at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import FaultsError
from gedp_lab.synth.cbp.donors import NEAREST, Donors, donors_among

cells = st.tuples(st.sampled_from(["23", "31", "44"]), st.integers(1, 60).map(float))


def slow_choice(donors: Donors, sector: str, month3: float, draw: float) -> float:
    """As many donors on the smaller as on the larger side, as far as there are, and one of them by the draw."""
    able = [at for at in range(len(donors.month3)) if donors.sector[at] == sector] or [*range(len(donors.month3))]
    able.sort(key=lambda at: float(donors.month3[at]))
    smaller = sum(bool(donors.month3[at] < month3) for at in able)
    first = smaller - NEAREST // 2
    window = able[first : first + NEAREST] if first >= 0 else able[:NEAREST]
    if len(window) < min(NEAREST, len(able)):
        window = able[-NEAREST:]
    return float(donors.ratio[window[int(draw * len(window))]])


class FixedUniforms(np.random.Generator):
    def __init__(self, values: list[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self.values = values

    def random(self, size: int) -> np.ndarray:  # type: ignore[override]
        return np.array(self.values[:size])


@given(st.lists(cells, min_size=1, max_size=60), st.lists(st.tuples(cells, st.floats(0, 0.999)), min_size=1))
def test_donors_are_those_found_one_by_one(
    published: list[tuple[str, float]], receivers: list[tuple[tuple[str, float], float]]
) -> None:
    sector, month3 = (np.array(column) for column in zip(*published, strict=True))
    donors = Donors(sector, month3, np.arange(len(published)) / 7)
    wanted = [(cell, size) for (cell, size), _ in receivers]
    draws = [draw for _, draw in receivers]
    given_ratios = donors.give(
        np.array([cell for cell, _ in wanted]), np.array([size for _, size in wanted]), FixedUniforms(draws)
    )
    expected = [slow_choice(donors, *cell, draw) for cell, draw in zip(wanted, draws, strict=True)]
    assert given_ratios.tolist() == expected


def test_every_near_donor_gives_as_often() -> None:
    donors = Donors(np.array(["23"] * 40), np.arange(40.0), np.arange(40.0))
    given_ratios = donors.give(np.array(["23"] * 20_000), np.full(20_000, 20.0), np.random.default_rng(3))
    near, counts = np.unique(given_ratios, return_counts=True)
    assert near.tolist() == [*range(15, 25)]
    chance = 1 / NEAREST
    assert np.abs(counts - 20_000 * chance).max() < 4.5 * np.sqrt(20_000 * chance * (1 - chance))


def test_a_donor_is_published_and_has_jobs() -> None:
    published = np.array([True, True, False])
    month3, figure = np.array([4.0, 0, 5]), np.array([8.0, 3, 5])
    donors = donors_among("month 1", published, np.array(["23"] * 3), month3, figure)
    assert donors.ratio.tolist() == [2]


def test_without_any_donor_the_fault_says_what_to_do() -> None:
    nothing = np.zeros(2)
    with pytest.raises(FaultsError, match="Add states"):
        donors_among("wages", np.ones(2, bool), np.array(["23", "31"]), nothing, nothing)
