"""The model: totals of groups follow their own past, up to growth that they share and a change of their own.

Knows nothing of releases. For group g of a family, quarter t, true total x and fitted total y with error variance v:

    x[t,g] = (1 + b[t]) · x[t-1,g] + e[t,g],   e[t,g] ~ N(0, s²[t] · size[g]^p[t]),   y[t,g] ~ N(x[t,g], v[t,g])

The growth b is that of the other groups of the family, s² and p come from how far answers are from what they were
predicted to be, and a Kalman filter, forward in time, puts prediction and answer together. The derivation is in
docs/series-fit.md.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from gedp.arrays import BoolArray, FloatArray, IntArray

EXPONENTS = (1.0, 1.5, 2.0)
LEAST_GROUPS = 20  # predicted ones: with fewer, nothing is said about how totals change
LEAST_OTHERS = 4  # by which a growth is measured
CLEAR = 3.0  # a growth is measured where what it starts from is so many standard errors above 0
LITTLE = 99.0  # a prediction whose variance is so many times that of the answer would move it by less than 1%
CONTRADICTION = 3.0  # standard deviations from its prediction at which an answer is taken as it is


@dataclass(frozen=True)
class Step:
    """What was found about the changes of one quarter; None where the model could say nothing."""

    variance: float  # s²
    exponent: float  # p
    predicted: int  # groups that had an estimate in the quarter before
    contradicted: int  # of these, those that were too far from it
    typical: float  # median over groups of the standard deviation of a change, relative to the size


@dataclass(frozen=True)
class Filtered:
    """What is known of every group after a quarter: estimate, its variance, and whether earlier quarters are in it."""

    estimate: FloatArray
    variance: FloatArray
    is_sharpened: BoolArray

    def take(self, places: IntArray) -> "Filtered":
        """What is known of some groups."""
        return Filtered(self.estimate[places], self.variance[places], self.is_sharpened[places])


def sharpen_totals(answers: FloatArray, variances: FloatArray, family: IntArray) -> tuple[Filtered, list[Step | None]]:
    """The filter over quarters (rows, the earliest first) of groups (columns); NaN where a group is not there.

    Returns what is known after the last quarter. A group that the quarter before does not have, or whose answer
    contradicts its prediction, starts afresh from its answer.
    """
    state = _afresh(answers[0], variances[0])
    steps: list[Step | None] = []
    for answer, variance in zip(answers[1:], variances[1:], strict=True):
        state, step = _advance(state, answer, variance, family)
        steps.append(step)
    return state, steps


def _afresh(answer: FloatArray, variance: FloatArray) -> Filtered:
    return Filtered(answer, variance, np.zeros(len(answer), bool))


def _advance(state: Filtered, answer: FloatArray, noise: FloatArray, family: IntArray) -> tuple[Filtered, Step | None]:
    """One quarter further."""
    there = np.flatnonzero(np.isfinite(state.estimate + state.variance + answer + noise))
    if len(there) < LEAST_GROUPS:
        return _afresh(answer, noise), None
    before, error = state.estimate[there], state.variance[there]
    growth = shared_growth(before, error, answer[there], noise[there], family[there])
    expected = growth.factor * before
    known = growth.factor**2 * error + growth.noise * before**2
    surprise, blur = answer[there] - expected, known + noise[there]
    size = np.maximum(np.maximum(np.abs(before), np.sqrt(error)), np.finfo(np.float64).tiny)
    found = [change_variance(surprise, blur, growth.change_weights(size**p, before)) for p in EXPONENTS]
    best = min(range(len(EXPONENTS)), key=lambda place: found[place].misfit)
    s2, p = found[best].variance, EXPONENTS[best]
    prior = known + s2 * growth.change_weights(size**p, before)
    fits = surprise**2 <= CONTRADICTION**2 * (prior + noise[there])
    kept = there[fits & (prior < LITTLE * noise[there])]
    estimate, variance, sharpened = answer.copy(), noise.copy(), np.zeros(len(answer), bool)
    estimate[there], variance[there] = combine(expected, prior, answer[there], noise[there])
    sharpened[kept] = True
    after = Filtered(np.where(sharpened, estimate, answer), np.where(sharpened, variance, noise), sharpened)
    typical = float(np.median(np.sqrt(s2 * size ** (p - 2))))
    return after, Step(s2, p, len(there), int((~fits).sum()), typical)


def combine(
    expected: FloatArray, prior: FloatArray, answer: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Prediction and answer weighted by their precision, and the variance of that: one update of a Kalman filter."""
    gain = np.divide(prior, prior + noise, out=np.ones_like(prior), where=prior + noise > 0)
    return expected + gain * (answer - expected), gain * noise


@dataclass(frozen=True)
class Growth:
    """The growth that a group shares, measured on the others of its family, so that no answer predicts itself."""

    factor: FloatArray  # 1 + b
    noise: FloatArray  # its variance, as far as that comes from errors of the answers
    base: FloatArray  # what the others had before
    family: IntArray
    in_family: BoolArray  # whether the others are those of the family, or all groups

    def others(self, values: FloatArray) -> FloatArray:
        """The sum over the others of each group."""
        return _others(values, self.family, self.in_family)

    def change_weights(self, weights: FloatArray, before: FloatArray) -> FloatArray:
        """What s² is multiplied by in the variance of a prediction: for the change of the group itself, and for
        those of the others, which blur the growth."""
        return weights + before**2 * self.others(weights) / self.base**2


def shared_growth(
    before: FloatArray, error: FloatArray, now: FloatArray, noise: FloatArray, family: IntArray
) -> Growth:
    """The growth of the others of each group's family; of all others where these are too few or not clearly above
    0; none where even all are not."""
    everywhere = np.zeros(len(before), bool)
    in_family = _is_clear(before, error, family, ~everywhere)
    clear = in_family | _is_clear(before, error, family, everywhere)
    base = np.where(clear, _others(before, family, in_family), np.inf)
    factor = np.where(clear, _others(now, family, in_family) / base, 1.0)
    blurred = _others(noise, family, in_family) + factor**2 * _others(error, family, in_family)
    return Growth(factor, blurred / base**2, base, family, in_family)


def _is_clear(before: FloatArray, error: FloatArray, family: IntArray, in_family: BoolArray) -> BoolArray:
    number = _others(np.ones(len(before)), family, in_family)
    base, spread = _others(before, family, in_family), _others(error, family, in_family)
    return (number >= LEAST_OTHERS) & (base > CLEAR * np.sqrt(np.maximum(spread, 0.0)))


def _others(values: FloatArray, family: IntArray, in_family: BoolArray) -> FloatArray:
    of_family = np.bincount(family, values)[family]
    return np.where(in_family, of_family, values.sum()) - values


def pooled_noise(variances: FloatArray) -> FloatArray:
    """Error variances (quarters by groups) as a level of the quarter times one of the group, averaged over quarters.

    Where variances were estimated at the answers, an answer that is too low has one that is too low. Taken as they are,
    low answers would then weigh more than high ones, and what they are combined to would be too low.
    """
    there = np.isfinite(variances)
    everywhere = there.all(axis=0)
    if not everywhere.any():
        return variances
    level = variances[:, everywhere].sum(axis=1, keepdims=True)
    level = np.where(level > 0, level / level.mean(), 1.0)
    own = np.where(there, variances / level, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, level * own, np.nan)


@dataclass(frozen=True)
class ChangeVariance:
    """An estimate of s², and minus twice the logarithm of its likelihood, up to a constant."""

    variance: float
    misfit: float


def change_variance(surprise: FloatArray, known: FloatArray, weights: FloatArray) -> ChangeVariance:
    """The most likely s², if surprises are independent with mean 0 and variances known + s² · weights; 0 where
    the errors of the answers explain them all."""

    def misfit(s2: float) -> float:
        variance = np.maximum(known + s2 * weights, np.finfo(np.float64).tiny)
        return float(np.sum(np.log(variance) + surprise**2 / variance))

    scale = float(np.sum(surprise**2) / np.sum(weights))
    if scale <= 0:
        return ChangeVariance(0.0, misfit(0.0))
    found = minimize_scalar(lambda power: misfit(scale * np.exp(power)), bounds=(-25.0, 5.0), method="bounded")
    best = ChangeVariance(float(scale * np.exp(found.x)), float(found.fun))
    none = ChangeVariance(0.0, misfit(0.0))
    return best if best.misfit < none.misfit else none


def keep_totals(state: Filtered, answer: FloatArray, family: IntArray, total_variance: FloatArray) -> Filtered:
    """The state with the sharpened groups of each family moved so that they add up to what their answers add up to.

    Each bears a share in proportion to its variance: least squares, with the total as it was answered.
    `total_variance` is the error variance, by family, of that total.
    """
    moved, families = state.is_sharpened, len(total_variance)
    spread = np.where(moved, state.variance, 0.0)
    missing = np.bincount(family, np.where(moved, answer - state.estimate, 0.0), families)
    whole = np.bincount(family, spread, families)[family]
    share = np.divide(spread, whole, out=np.zeros_like(spread), where=whole > 0)
    variance = spread * (1 - share) + share**2 * total_variance[family]
    return Filtered(
        np.where(moved, state.estimate + share * missing[family], state.estimate),
        np.where(moved, variance, state.variance),
        moved,
    )
