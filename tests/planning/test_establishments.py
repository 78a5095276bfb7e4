"""Where the sizes of a plan come from: others that are alike, noisy answers, guesses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import label_codes
from gedp.individual import Terms
from gedp.planning.establishments import Establishments, Keys, Sizes, SizesFrom, resembling
from gedp.policy import parse_spec
from tests.policy.test_individual import GOOD

EMP = parse_spec(GOOD).policy.attributes["emp"]


def keys_of(*rows: tuple[str, str]) -> Keys:
    columns = {}
    for name, texts in zip(("a", "b"), zip(*rows, strict=True), strict=True):
        labels, codes = label_codes(list(texts))
        columns[name] = (codes, labels)
    return Keys(len(rows), columns)


ROWS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["1", "2", "3", "4"])), min_size=1, max_size=40)


@given(rows=ROWS, seed=st.integers(0, 99))
def test_the_same_establishments_keep_their_sizes(rows: list[tuple[str, str]], seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(3, 2, len(rows))
    there = Establishments(keys_of(*rows), {"emp": Sizes(values)}, "", SizesFrom(""))
    order = np.random.default_rng(seed + 1).permutation(len(rows))
    shuffled = [rows[i] for i in order]
    here = resembling(keys_of(*shuffled), "", there).sizes["emp"].values
    for kind in set(rows):
        mine = sorted(v for v, row in zip(here, shuffled, strict=True) if row == kind)
        assert mine == sorted(v for v, row in zip(values, rows, strict=True) if row == kind)


def test_many_of_one_kind_keep_their_sizes_too() -> None:
    values = np.random.default_rng(2).lognormal(3, 2, 500)
    there = Establishments(keys_of(*[("x", "1")] * 500), {"emp": Sizes(values)}, "", SizesFrom(""))
    here = resembling(keys_of(*[("x", "1")] * 500), "", there).sizes["emp"].values
    assert sorted(here) == sorted(values)


@given(rows=ROWS, others=ROWS)
def test_sizes_come_from_the_most_alike(rows: list[tuple[str, str]], others: list[tuple[str, str]]) -> None:
    values = np.arange(len(others), dtype=float)
    there = Establishments(keys_of(*others), {"emp": Sizes(values)}, "", SizesFrom(""))
    here = resembling(keys_of(*rows), "", there).sizes["emp"].values
    finer = 1 if len({b for _, b in others}) > len({a for a, _ in others}) else 0
    for row, value in zip(rows, here, strict=True):
        donor = others[int(value)]
        if row in others:
            assert donor == row
        elif any(other[finer] == row[finer] for other in others):
            assert donor[finer] == row[finer]
        elif any(other[1 - finer] == row[1 - finer] for other in others):
            assert donor[1 - finer] == row[1 - finer]


def test_another_number_of_the_same_kind_gives_about_the_same_mean() -> None:
    values = np.random.default_rng(5).lognormal(3, 1, 20_000)
    there = Establishments(keys_of(*[("x", "1")] * 20_000), {"emp": Sizes(values)}, "", SizesFrom(""))
    for rows in (300, 3_000, 50_000):
        here = resembling(keys_of(*[("y", "1")] * rows), "", there).sizes["emp"].values
        assert np.mean(here) == pytest.approx(np.mean(values), rel=0.05)


@pytest.mark.parametrize("known", [0.05, 0.3, 0.8, 3.0])
def test_noise_is_what_it_will_be_whatever_is_there_already(known: float) -> None:
    """Noise on ψ of 1 is wanted: less is added to, more is scaled down."""
    rows, protection = 40_000, EMP.protection
    truth = np.full(rows, 400.0)
    omega = protection.psi(truth) + np.random.default_rng(7).normal(0, known, rows)
    sizes = Sizes(truth, omega, np.full(rows, known))
    terms = Terms(protection, protection.gamma**2, 1.0)
    answers = sizes.first_answers(EMP, np.zeros(rows, dtype=np.int32), terms)
    assert np.std(answers.omega) == pytest.approx(1, rel=0.02)
    assert np.mean(answers.omega) == pytest.approx(20, abs=0.02)
    assert np.all(np.diff(answers.omega) >= 0)


def test_impossible_values_are_raised_and_the_total_kept() -> None:
    possible = Sizes(np.array([-5.0, 10.0, 15.0])).possible(EMP)
    assert possible.min() == 0
    assert possible.sum() == pytest.approx(20)
