"""Rounded Gaussians: equal to slow exact draws from the same bits, and distributed as they should be."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import chisquare

from gedp.errors import DomainError
from gedp.noise import EntropyError, SeededEntropy, SystemEntropy, gaussian, rounded_gaussian, scaled_gaussian
from gedp.noise.gaussian import ERROR, LARGEST_SCALE, TAIL
from gedp.noise.settle import settle
from tests.noise.exact import ScriptedEntropy, chi_square_p, expansion, inverted, ks_p, script_of, slow_draw

words = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 63).flatmap(lambda e: st.integers(0, 2**e)),  # far out on the right
    st.integers(0, 63).flatmap(lambda e: st.integers(2**64 - 1 - 2**e, 2**64 - 1)),  # far out on the left
    st.integers(0, 2**40).map(lambda d: 2**63 - 1 - d),  # next to 0
    st.integers(0, 2**40).map(lambda d: 2**63 + d),
)
more = st.lists(st.integers(1, 2**64 - 1), min_size=4, max_size=4)
scales = st.one_of(
    st.integers(1, 44).map(lambda bits: 2.0**bits), st.floats(1, 2.0**20), st.floats(2.0**20, LARGEST_SCALE)
)
REJECTED = 1e-9


# Against slow exact draws from the same bits


@given(words, more, scales)
@settings(max_examples=150)
def test_draws_equal_slow_exact_draws(word: int, spare: list[int], scale: float) -> None:
    fast = scaled_gaussian(1, scale, ScriptedEntropy([word], spare))
    assert int(fast[0]) == slow_draw(word, spare, scale)


@pytest.mark.parametrize("bits", [1, 24, 36, 38])
def test_what_floats_round_equals_what_is_settled(bits: int) -> None:
    n = 1500
    drawn = SeededEntropy(bits).words(n).view(np.int64).tolist()
    fast = rounded_gaussian(n, bits, SeededEntropy(bits)).tolist()
    for word, value in zip(drawn, fast, strict=True):
        m, sign = (word, 1) if word >= 0 else (~word, -1)
        assert value == sign * settle(m, 2.0**bits, SeededEntropy(0).spare)


@given(st.floats(-6, 2.7).map(math.exp), scales, st.integers(0, 3), st.sampled_from([-1, 0]), st.booleans(), st.data())
def test_a_draw_next_to_a_boundary_goes_to_the_right_side(
    x: float, scale: float, spare_words: int, side: int, negative: bool, data: st.DataObject
) -> None:
    """p agrees with the boundary's tail in all bits but the last of 63, 127, 191 or 255."""
    k = round(x * scale)
    tail = expansion(Fraction(2 * k + 1, 2) / Fraction(scale), spare_words)
    assume(tail > 1)  # within the reach of these bits
    first, spare = script_of(tail + 1 + side * 2, spare_words)
    word = 2**64 - 1 - first if negative else first
    rest = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6))
    drawn = int(scaled_gaussian(1, scale, ScriptedEntropy([word], [*spare, *rest]))[0])
    expected = k if side == 0 else k + 1  # more tail than at the boundary is nearer to 0
    if scale <= 2.0**44 and tail.bit_length() > 62 - 10:
        assert drawn == (-expected if negative else expected)
    assert drawn == slow_draw(word, [*spare, *rest], scale)


def test_the_ends_are_refined_and_not_clamped() -> None:
    scripts = [[0] * zeros + [2**63, 1, 7, 9] for zeros in range(5)]
    far = [int(scaled_gaussian(1, 2.0**24, ScriptedEntropy([0], script))[0]) for script in scripts]
    assert far == [slow_draw(0, script, 2.0**24) for script in scripts]
    assert np.all(np.diff(far) > 2.0**24)
    left = [int(scaled_gaussian(1, 2.0**24, ScriptedEntropy([2**64 - 1], script))[0]) for script in scripts]
    assert left == [-value for value in far]


def test_a_source_stuck_at_zero_is_noticed() -> None:
    with pytest.raises(EntropyError, match="broken"):
        scaled_gaussian(1, LARGEST_SCALE, ScriptedEntropy([0], [0] * 100))
    as_far_as_it_goes = scaled_gaussian(1, 1.0, ScriptedEntropy([0], [0] * 14 + [1]))
    assert 36 <= as_far_as_it_goes[0] < 2**6


def test_float_error_is_far_below_the_bound() -> None:
    """Over all p that floats handle, next to every change of formula in ndtri, and at both ends of p's interval."""
    rng = np.random.default_rng(3)
    places = np.concatenate(
        [rng.random(250) / 2, 2.0 ** -rng.uniform(1, 20, 250), np.exp(-2) * (1 + rng.normal(size=100) * 1e-9)]
    )
    edges = [*(2**63 - 1 - i for i in range(5)), *(int(2**64 * TAIL) + i for i in (1, 2))]
    worst = mpmath.mpf(0)
    with mpmath.workprec(160):
        for m in [*edges, *(int(p * 2**64) for p in places)]:
            computed = -float(ndtri(abs(float(m)) * 2.0**-64))
            for end in (m, m + 1):
                worst = max(worst, abs(computed - inverted(mpmath.mpf(end) / 2**64)))
    assert worst < ERROR / 64


# Reproducible, whatever the pieces


def test_pieces_change_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 30_000
    whole = rounded_gaussian(n, 32, SeededEntropy(5))  # about 250 of them settled
    source = SeededEntropy(5)
    parts = [rounded_gaussian(k, 32, source) for k in (1, 0, 9_999, 20_000)]
    assert (np.concatenate(parts) == whole).all()
    monkeypatch.setattr(gaussian, "_WORTH_A_THREAD", 100)
    monkeypatch.setattr(gaussian, "_CHUNK", 777)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for threads in (1, 2, 3):
        monkeypatch.setattr(gaussian, "_MOST_THREADS", threads)
        assert (rounded_gaussian(n, 32, SeededEntropy(5)) == whole).all()
    each = scaled_gaussian(n, np.full(n, 2.0**32), SeededEntropy(5))
    assert (each == whole).all()


def test_every_draw_has_its_own_scale() -> None:
    scale = np.geomspace(1, 2.0**30, 3000)
    together = scaled_gaussian(3000, scale, SeededEntropy(6))
    source = SeededEntropy(6)
    assert together.tolist() == [int(scaled_gaussian(1, s, source)[0]) for s in scale]


def test_what_cannot_be_drawn_is_refused() -> None:
    source = SystemEntropy()
    assert rounded_gaussian(0, 24, source).tolist() == []
    for bits in (0, 45, -1):
        with pytest.raises(DomainError, match="bits"):
            rounded_gaussian(1, bits, source)
    for scale in (0.5, 2.0**49, math.nan, math.inf, -2.0):
        with pytest.raises(DomainError, match="scale"):
            scaled_gaussian(1, scale, source)
    with pytest.raises(DomainError, match="shape"):
        scaled_gaussian(3, [2.0, 3.0], source)
    with pytest.raises(DomainError, match="0 or more"):
        rounded_gaussian(-1, 24, source)


# Distribution


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_cells_have_their_exact_probabilities(bits: int) -> None:
    n, scale = 400_000, 2.0**bits
    assert chi_square_p(rounded_gaussian(n, bits, SeededEntropy(bits)), scale) > 1e-3
    for wrong in (0.9, 1.1):
        assert chi_square_p(scaled_gaussian(n, wrong * scale, SeededEntropy(bits)), scale) < REJECTED


@pytest.mark.parametrize("scale", [1.0, 1.7, 6.3])
def test_cells_have_their_exact_probabilities_at_any_scale(scale: float) -> None:
    assert chi_square_p(scaled_gaussian(300_000, scale, SeededEntropy(2)), scale) > 1e-3
    assert chi_square_p(scaled_gaussian(300_000, 1.1 * scale, SeededEntropy(2)), scale) < REJECTED


@pytest.mark.parametrize("bits", [24, 36, pytest.param(40, marks=pytest.mark.slow)])
def test_fine_draws_are_normal(bits: int) -> None:
    n, scale = 100_000, 2.0**bits
    drawn = (rounded_gaussian(n, bits, SeededEntropy(bits)) / scale).astype(np.float64)
    assert ks_p(drawn) > 1e-3
    for wrong in (0.9, 1.1):
        assert ks_p(wrong * drawn) < REJECTED
    assert abs(drawn.mean()) < 4 / math.sqrt(n)
    assert abs(drawn.var() - 1) < 4 * math.sqrt(2 / n)
    assert abs((drawn**3).mean()) < 4 * math.sqrt(15 / n)
    assert abs((drawn**4).mean() - 3) < 4 * math.sqrt(96 / n)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 4 / math.sqrt(n)


def test_last_digits_are_uniform() -> None:
    drawn = rounded_gaussian(500_000, 24, SeededEntropy(9))
    assert chisquare(np.bincount(drawn & 255, minlength=256)).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("bits", [2, 24])
def test_ten_million_draws_of_the_system(bits: int) -> None:
    drawn = rounded_gaussian(10_000_000, bits, SystemEntropy())
    fit = chi_square_p(drawn, 2.0**bits) if bits == 2 else ks_p(drawn / 2.0**bits)
    assert fit > 1e-6
    for wrong in (0.995, 1.005):
        if bits == 24:
            assert ks_p(drawn / 2.0**bits, wrong) < REJECTED
