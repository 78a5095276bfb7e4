"""Show what estimated variances do to a fit, by formula and by simulation (Cases 1 to 3 of the appendix).

One establishment with X jobs and n independent answers a_i. Case 1: their variance is known. Case 2: each has an
estimated variance that has nothing to do with the answer. Case 3: the variance is c·X, and each answer estimates its
own as c·a_i, as with ψ = sqrt. Where the paper's formulas have slips, these are the corrected ones.

Randomness here protects nothing: the data are made up, so an ordinary seeded generator is right.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np

from gedp.arrays import FloatArray
from gedp.documents import PrintedTable
from gedp.microdata.weights import MOST_ROUNDS, quasi_step
from gedp_lab.reproduce.claims import Check, claim, ours
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import Item, Result, Simulation, verdict_of, yes_or_no

JOBS = 10.0
VARIANCE = 20.0  # of an answer in Cases 1 and 2
SETTLED = 1e-9  # of the last step, in jobs
WITHIN = 4.5  # standard errors: a correct program fails once in 150,000 checks
COUNTED = (1, 2, 10, 100)  # establishments in a total


@dataclass(frozen=True)
class Moments:
    """The mean and the mean squared error of a fitted value whose truth is X."""

    mean: float
    squared_error: float


@dataclass(frozen=True)
class Simulated:
    """The same over many trials, each with its standard error."""

    mean: float
    mean_error: float
    squared_error: float
    squared_error_error: float

    def agrees(self, formula: Moments) -> bool:
        """Whether both moments are within chance of the formula's."""
        off = abs(self.mean - formula.mean) / self.mean_error
        off_squared = abs(self.squared_error - formula.squared_error) / self.squared_error_error
        return max(off, off_squared) <= WITHIN


def known_variances(n: int, variance: float = VARIANCE) -> Moments:
    """Case 1."""
    return Moments(JOBS, variance / n)


def noisy_variances(n: int, tau: float, variance: float = VARIANCE) -> Moments:
    """Case 2: estimated variances of mean σ² and variance σ⁴/τ."""
    return Moments(JOBS, variance / n * lost_to_noise(n, tau))


def lost_to_noise(n: int, tau: float) -> float:
    """By how much Case 2's squared error is larger than that of Case 1."""
    return n * (3 + tau) / (1 + n * (2 + tau))


def own_variances(n: int, c: float, jobs: float = JOBS) -> Moments:
    """Case 3: n times an inverse Gamma variable with shape n(2 + X/c) and scale X + X²/c."""
    shape, scale = n * (2 + jobs / c), jobs + jobs**2 / c
    mean = n * scale / (shape - 1)
    return Moments(mean, (jobs - mean) ** 2 + mean**2 / (shape - 2))


def fitted_variances(n: int, c: float, jobs: float = JOBS) -> Moments:
    """Case 3 with quasi weights: at the fitted value all answers have one variance, so the fit is their mean."""
    return Moments(jobs, c * jobs / n)


def least_squares(answers: FloatArray, variances: FloatArray) -> FloatArray:
    """The value that fits the answers of each trial (a row) best."""
    weights = 1 / variances
    fit: FloatArray = (answers * weights).sum(axis=1) / weights.sum(axis=1)
    return fit


def quasi(answers: FloatArray, c: float) -> FloatArray:
    """The fit with variances at the fitted value, by the steps that the microdata take."""
    at_answers = c * answers
    fit = least_squares(answers, at_answers)
    for _ in range(MOST_ROUNDS):
        fitted = np.broadcast_to(fit[:, None], answers.shape)
        before, fit = fit, least_squares(*quasi_step(answers, fitted, at_answers, c * fitted))
        if float(np.max(np.abs(fit - before))) <= SETTLED:
            break
    return fit


def known_answers(n: int, trials: int, generator: np.random.Generator) -> FloatArray:
    """Answers of Cases 1 and 2."""
    return generator.normal(JOBS, sqrt(VARIANCE), (trials, n))


def own_answers(n: int, c: float, trials: int, generator: np.random.Generator) -> FloatArray:
    """Answers of Case 3: inverse Gamma with mean X and variance c·X."""
    return (JOBS + JOBS**2 / c) / generator.gamma(2 + JOBS / c, size=(trials, n))


def simulated(fits: FloatArray) -> Simulated:
    """The moments of the fits of all trials."""
    squares, root = (fits - JOBS) ** 2, sqrt(len(fits))
    return Simulated(float(fits.mean()), float(fits.std()) / root, float(squares.mean()), float(squares.std()) / root)


def every_case(trials: int, seed: int) -> Iterator[tuple[str, Moments, Simulated]]:
    """All cases: what they are called, by formula, by simulation."""
    for place, n in enumerate((2, 5)):
        generator = np.random.default_rng((seed, place))
        answers = known_answers(n, trials, generator)
        yield f"Case 1, n = {n}", known_variances(n), simulated(answers.mean(axis=1))
        for tau in (1.0, 4.0):
            variances = VARIANCE * (1 + tau) / generator.gamma(2 + tau, size=answers.shape)
            name = f"Case 2, n = {n}, τ = {tau:g}"
            yield name, noisy_variances(n, tau), simulated(least_squares(answers, variances))
    for place, (n, c) in enumerate(((5, 2.0), (20, 2.0), (5, 0.5))):
        answers = own_answers(n, c, trials, np.random.default_rng((seed, 2 + place)))
        name = f"Case 3, n = {n}, c = {c:g}"
        yield name, own_variances(n, c), simulated(least_squares(answers, c * answers))
        yield f"{name}, quasi weights", fitted_variances(n, c), simulated(quasi(answers, c))


def run(context: Context) -> Result:
    """Formulas beside simulations, and what becomes of a total."""
    trials = ITEM.draws(context)
    found = list(every_case(trials, context.seed))
    factor, plain, mended = lost_to_noise(2, 1), own_variances(5, 2), fitted_variances(5, 2)
    drawn = {name: each for name, _, each in found}
    drawn_factor = drawn["Case 2, n = 2, τ = 1"].squared_error / drawn["Case 1, n = 2"].squared_error
    third = drawn["Case 3, n = 5, c = 2"]
    releases = f"{trials:,} independent trials of each case"
    claims = [
        claim(
            "Estimated variances lose 14% with two answers and τ = 1 (Case 2)",
            [
                Check("formula", abs(factor - 8 / 7) < 1e-12, f"{factor:.4f}"),
                Check("simulation", abs(drawn_factor - factor) < 0.01, f"{drawn_factor:.4f}"),
            ],
            drawn=releases,
        ),
        claim(
            "Where answers estimate their own variances, the fit is too low (Case 3)",
            [
                Check(name, formula.mean < JOBS and each.mean < JOBS - WITHIN * each.mean_error, f"{each.mean:.4f}")
                for name, formula, each in found
                if name.startswith("Case 3") and "quasi" not in name
            ],
            drawn=releases,
        ),
        ours(
            "Quasi weights leave no bias in Case 3",
            [
                Check(name, abs(each.mean - JOBS) <= WITHIN * each.mean_error, f"{each.mean:.4f}")
                for name, _, each in found
                if "quasi" in name
            ],
            drawn=releases,
        ),
        ours(
            "Simulated means and squared errors are those of the formulas",
            [Check(name, each.agrees(formula), f"{each.mean:.4f}") for name, formula, each in found],
            drawn=releases,
        ),
    ]
    return Result(
        "Case 2: squared error 1.14 times that of Case 1 (n = 2, τ = 1). Case 3: a downward bias",
        f"Case 2: {factor:.4f} = 8/7 by formula, {drawn_factor:.4f} simulated. Case 3 with n = 5, X = 10, c = 2: mean "
        f"{plain.mean:.4f} and squared error {plain.squared_error:.3f} by formula, {third.mean:.4f} and "
        f"{third.squared_error:.3f} simulated; with quasi weights mean {mended.mean:g} and squared error "
        f"{mended.squared_error:g}",
        verdict_of([each.outcome for each in claims]),
        "In the text, Case 3's mean lacks the factor X, its variance the factor n², and v_i is c·a_i, not a_i/c; in "
        "Case 2 a Dirichlet component has mean 1/n. With n = 5 and quasi weights, a single value has a slightly larger "
        "squared error, since what is biased towards 0 also varies less; with more answers, or for a total of two "
        "establishments or more, it has a smaller one.",
        claims=claims,
        tables=[_table(found), _totals()],
    )


def _table(found: list[tuple[str, Moments, Simulated]]) -> PrintedTable:
    rows = [
        [
            name,
            f"{formula.mean:.4f}",
            f"{each.mean:.4f} ± {each.mean_error:.4f}",
            f"{formula.squared_error:.3f}",
            f"{each.squared_error:.3f} ± {each.squared_error_error:.3f}",
            yes_or_no(each.agrees(formula)),
        ]
        for name, formula, each in found
    ]
    headings = ["case", "mean", "simulated", "squared error", "simulated", "agrees"]
    caption = f"Fitted jobs of an establishment with {JOBS:g} (Cases 1 and 2: answers of variance {VARIANCE:g})"
    return PrintedTable(caption, headings, rows)


def _totals() -> PrintedTable:
    """Biases add up, independent errors only in their squares."""
    rows = []
    for count in COUNTED:
        plug_in, mended = own_variances(5, 2), fitted_variances(5, 2)
        bias = plug_in.mean - JOBS
        squared = count * (plug_in.squared_error - bias**2) + (count * bias) ** 2
        rows.append([f"{count}", f"{count * bias:+,.1f}", f"{squared:,.1f}", f"{count * mended.squared_error:,.1f}"])
    headings = ["establishments", "bias, own variances", "squared error", "squared error, quasi weights"]
    return PrintedTable("A total of establishments as in Case 3 (n = 5, c = 2), by formula", headings, rows)


ITEM = Item(
    "cases",
    "Estimated variances in closed form (Cases 1 to 3 of the appendix)",
    45,
    run,
    is_printed=True,
    simulation=Simulation("trials", 200_000, least=100_000),
)
