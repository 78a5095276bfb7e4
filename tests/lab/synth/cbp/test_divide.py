import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gedp_lab.synth.cbp.divide import dirichlet_divider, proportions, whole_parts

GROUP = np.array([0, 0, 1, 1, 1])


def test_dirichlet_parts_add_up_to_their_totals() -> None:
    totals = np.array([100.0, 7.5])
    parts = dirichlet_divider(np.array([3.0, 1.0, 2.0, 0.0, 5.0]), totals, GROUP, np.random.default_rng(1))
    assert parts[:2].sum() == pytest.approx(100)
    assert parts[2:].sum() == pytest.approx(7.5)
    assert parts[3] == 0
    assert (parts >= 0).all()


def test_dirichlet_has_the_mean_and_variance_of_its_concentrations() -> None:
    draws = 40_000
    concentration = np.tile([6.0, 3.0, 1.0], draws)
    group = np.repeat(np.arange(draws), 3)
    parts = dirichlet_divider(concentration, np.ones(draws), group, np.random.default_rng(2)).reshape(-1, 3)
    means = np.array([0.6, 0.3, 0.1])
    variances = means * (1 - means) / 11  # b_i (b - b_i) / (b^2 (b + 1)) with b = 10
    assert parts.mean(axis=0) == pytest.approx(means, abs=5 * np.sqrt(variances.max() / draws))
    assert parts.var(axis=0) == pytest.approx(variances, rel=0.05)


def test_all_zero_concentrations_become_ones() -> None:
    draws = 20_000
    group = np.repeat(np.arange(draws), 2)
    parts = dirichlet_divider(np.zeros(2 * draws), np.ones(draws), group, np.random.default_rng(3))
    first = parts.reshape(-1, 2)[:, 0]
    assert first.mean() == pytest.approx(1 / 2, abs=0.01)
    assert first.var() == pytest.approx(1 / 12, rel=0.05)  # Dirichlet(1, 1) is uniform


def test_tiny_concentrations_still_add_up() -> None:
    parts = dirichlet_divider(np.full(4, 1e-9), np.array([8.0]), np.zeros(4, np.int64), np.random.default_rng(4))
    assert parts.sum() == pytest.approx(8)


def test_proportions_are_equal_where_nothing_weighs() -> None:
    assert proportions(np.array([1.0, 3.0, 0, 0, 0]), GROUP, 2) == pytest.approx([1 / 4, 3 / 4, 1 / 3, 1 / 3, 1 / 3])


def test_largest_remainders_by_hand() -> None:
    # 10 by 5.5 : 2.75 : 1.75 gives 5, 2, 1 and two more units to the remainders .75 and .75
    parts = whole_parts(np.array([5.5, 2.75, 1.75]), np.array([10]), np.zeros(3, np.int64))
    assert parts.tolist() == [5, 3, 2]


@given(
    st.integers(1, 4).flatmap(
        lambda groups: st.tuples(
            arrays(np.float64, 12, elements=st.floats(0, 1e6, allow_subnormal=False)),
            arrays(np.int64, groups, elements=st.integers(0, 10**12)),
            arrays(np.int64, 12, elements=st.integers(0, groups - 1)),
        )
    )
)
def test_whole_parts_add_up_and_stay_within_one_of_their_share(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    parts, totals, group = case
    whole = whole_parts(parts, totals, group)
    for at, total in enumerate(totals):
        members = group == at
        if members.any():
            assert whole[members].sum() == total
            weights = parts[members] if parts[members].sum() > 0 else np.ones(members.sum())
            exact = weights / weights.sum() * total
            assert (np.abs(whole[members] - exact) <= 1 + 1e-9 * total).all()
    assert (whole >= 0).all()
