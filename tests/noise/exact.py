"""What the noise tests share: a source that follows a script, exact draws by multiprecision inversion, fit tests."""

from collections.abc import Iterable
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, kstest, norm

from gedp.noise import Entropy


class ScriptedEntropy(Entropy):
    """Gives out the words it was made with, and fails when they run out."""

    kind = "seeded"

    def __init__(self, words: Iterable[int], spare: Iterable[int] = ()) -> None:
        self._words, self._spare = list(words), list(spare)

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        taken, self._words = self._words[:n], self._words[n:]
        assert len(taken) == n, "the script is over"
        return np.array(taken, dtype=np.uint64)

    def spare(self) -> int:
        return self._spare.pop(0)


def inverted(p: mpmath.mpf) -> mpmath.mpf:
    """x ≥ 0 with P(|X| ≥ x) = 2p, by Newton's method on the logarithm of the tail from a rough start."""
    x = mpmath.sqrt(-2 * mpmath.log(2 * p)) if p < 0.1 else (mpmath.mpf(1) / 2 - p) * mpmath.sqrt(2 * mpmath.pi)
    for _ in range(200):
        tail = mpmath.erfc(x / mpmath.sqrt(2)) / 2
        move = (mpmath.log(tail) - mpmath.log(p)) * tail / mpmath.npdf(x)
        x += move
        if abs(move) < mpmath.mpf(2) ** (20 - mpmath.mp.prec):
            return x
    raise AssertionError("no root")


def slow_draw(word: int, spare: Iterable[int], scale: float) -> int:
    """What a 64-bit word and the words after it round to: the bits as one long number, inverted, rounded."""
    sign, m = (1, word) if word < 2**63 else (-1, 2**64 - 1 - word)
    width = 64
    for more in spare:
        m, width = (m << 64) | more, width + 64
    with mpmath.workprec(2 * width + 200):
        far, near = (scale * inverted(mpmath.mpf(end) / mpmath.mpf(2) ** width) for end in (max(m, 0.5), m + 1))
        assert mpmath.nint(far) == mpmath.nint(near), "the script gives too few bits to decide"
        return sign * int(mpmath.nint(near))


def expansion(boundary: Fraction, words: int) -> int:
    """P(|X| ≥ boundary) in units of 2**-(63 + 64·words), rounded down."""
    width = 63 + 64 * words
    with mpmath.workprec(2 * width + 200):
        x = mpmath.mpf(boundary.numerator) / boundary.denominator
        return int(mpmath.floor(mpmath.erfc(x / mpmath.sqrt(2)) * mpmath.mpf(2) ** width))


def script_of(m: int, words: int) -> tuple[int, list[int]]:
    """The 63 + 64·words bits of m as a first word and spare words."""
    spare = [(m >> (64 * i)) & (2**64 - 1) for i in reversed(range(words))]
    return m >> (64 * words), spare


def chi_square_p(draws: npt.NDArray[np.int64], scale: float) -> float:
    """The p-value of the cells of whole numbers against their exact probabilities, the tails in one cell each."""
    last = int(3 * scale)
    edges = (np.arange(-last, last) + 0.5) / scale
    expected = np.diff(np.concatenate([[0.0], norm.cdf(edges), [1.0]])) * draws.size
    cells = np.bincount(np.clip(draws, -last, last) + last, minlength=2 * last + 1)
    assert expected.min() > 50
    return float(chi2.sf(((cells - expected) ** 2 / expected).sum(), 2 * last))


def ks_p(values: npt.NDArray[np.float64], sigma: float = 1.0) -> float:
    """The Kolmogorov-Smirnov p-value of values against N(0, sigma²)."""
    return float(kstest(values / sigma, "norm", method="asymp").pvalue)
