"""Rounded Gaussians, exactly distributed: the nearest whole numbers to s·X, where X is a real N(0,1).

Each draw takes 64 bits. Its sign is one of them; the other 63 are the first bits of a uniform p in (0, ½), and
X = ∓Φ⁻¹(p). Floating point computes s·X with an error below `ERROR`·s, bit width included; unless it comes that close
to the middle between two whole numbers, the rounding is certain. The others are settled exactly (see `settle`), with
more bits of p as needed. docs/proofs/noise.md has the argument and the sum of the errors.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.noise.entropy import Entropy
from gedp.noise.settle import settle

Steps = npt.NDArray[np.int64]

#: How far the computed |X| may be from every |X| that the 64 bits allow, for p of at least `TAIL`.
ERROR = 2.0**-40
#: Smaller p go to `settle` at once: 64 bits say too little about them.
TAIL = 2.0**-20

MOST_BITS = 44
#: |X| < 2**6 for every draw that `settle` ends, so none reaches 2**54 and sums with up to 2**62 steps are safe.
LARGEST_SCALE = 2.0**48

_CHUNK = 2**14  # the arrays of a chunk stay in the second-level cache
_WORTH_A_THREAD = 2**16
_MOST_THREADS = 2


def with_noise(steps: Steps, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
    """Whole numbers of steps, each with a draw of its own added. Nothing else in the program adds noise to a value."""
    return steps + scaled_gaussian(steps.size, np.ravel(scale) if np.ndim(scale) else scale, entropy).reshape(
        steps.shape
    )


def rounded_gaussian(n: int, bits: int, entropy: Entropy) -> Steps:
    """n independent draws of the nearest integer to 2**bits · X with X ~ N(0,1).

    The work for the rare draws that floating point cannot round grows with `bits`: none to speak of up to 28, every
    hundredth draw at 32, all of them from 39 on.
    """
    if not 1 <= bits <= MOST_BITS:
        raise DomainError(f"bits must be from 1 to {MOST_BITS}, not {bits}")
    return scaled_gaussian(n, 2.0**bits, entropy)


def scaled_gaussian(n: int, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
    """n independent draws of the nearest integer to scale · X with X ~ N(0,1); one scale, or one for each draw."""
    if n < 0:
        raise DomainError(f"the number of draws must be 0 or more, not {n}")
    scales = np.asarray(scale, dtype=np.float64)
    if scales.shape not in ((), (n,)):
        raise DomainError(f"{n} draws take one scale or {n}, not an array of shape {scales.shape}")
    if not ((scales >= 1) & (scales <= LARGEST_SCALE)).all():
        raise DomainError(f"a scale of noise must be from 1 to {LARGEST_SCALE:g} steps")

    draws = entropy.words(n).view(np.int64)
    pieces = _pieces(n)
    transform = partial(_round_where_certain, draws, scales)
    if len(pieces) == 1:
        open_draws = [transform(pieces[0])]
    else:
        with ThreadPoolExecutor(len(pieces)) as threads:
            open_draws = list(threads.map(transform, pieces))
    for index, word in (pair for found in open_draws for pair in found):
        m, sign = (word, 1) if word >= 0 else (~word, -1)
        draws[index] = sign * settle(m, float(scales[index] if scales.ndim else scales), entropy.spare)
    return draws


def _pieces(n: int) -> list[slice]:
    """The draws in parts, one per thread; how they are cut changes no draw."""
    threads = max(1, min(_MOST_THREADS, os.cpu_count() or 1, n // _WORTH_A_THREAD))
    cuts = [n * i // threads for i in range(threads + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]


def _round_where_certain(draws: Steps, scales: FloatArray, piece: slice) -> list[tuple[int, int]]:
    """Turns words into rounded draws in place; returns the place and the word of those that are still open.

    A word w stands for p between m and m + 1 units of 2**-64, where m = w if w ≥ 0 and m = -w - 1 otherwise, so |w| is
    one of the two ends.
    """
    open_draws: list[tuple[int, int]] = []
    signed, p, x = np.empty((3, _CHUNK))
    for start in range(piece.start, piece.stop, _CHUNK):
        words = draws[start : min(start + _CHUNK, piece.stop)]
        size = len(words)
        if size < _CHUNK:
            signed, p, x = signed[:size], p[:size], x[:size]
        scale = scales[start : start + size] if scales.ndim else scales
        np.copyto(signed, words)
        np.abs(signed, out=p)
        p *= 2.0**-64
        with np.errstate(invalid="ignore"):  # p = 0 gives infinity; it is among the open draws
            ndtri(p, out=x)
            x *= scale
            np.copysign(x, signed, out=x)
            np.rint(x, out=signed)
            x -= signed
            np.abs(x, out=x)
            is_open = (x >= 0.5 - ERROR * scale) | (p < TAIL)
            found = np.flatnonzero(is_open)
            open_draws += zip((found + start).tolist(), words[found].tolist(), strict=True)
            np.copyto(words, signed, casting="unsafe")
    return open_draws
