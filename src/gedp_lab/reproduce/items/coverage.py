"""Check whether 95% intervals of the psi-mechanism hold the truth, and whether its estimates are unbiased.

By simulation: the real mechanism, real grids, invented groups of 5 to 1,000,000 jobs.

An interval holds the truth x exactly when |ω − ψ(x)| ≤ z·σ. Cutting its ends off at ψ(0) changes that for no group with
x above 0: a lower end of 0 is below x, and an upper end of 0 belongs to an interval that missed x before it was cut. It
does shorten the intervals of small groups, some to nothing but [0, 0]; and at x = 0 itself, which has no lower side,
97.5% of them hold the truth. The estimate with 1.96 standard errors on both sides is another interval, and a bad one
where the noise is large (small groups for sqrt, small μ for log): there the estimate is far from normal, and its
variance is itself estimated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from gedp.confidential.mechanisms import psi_mechanism
from gedp.documents import PrintedTable
from gedp.neighbors.estimates import psi_variance
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Attribute, Closeness
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import Item, Result, Simulation, verdict_of, yes_or_no

ATTRIBUTES = (
    Attribute("sqrt, gamma 0.5", Closeness("sqrt", Decimal("0.5"))),
    Attribute("log, gamma 0.1", Closeness("log", Decimal("0.1"))),
)
#: From the least μ of the shipped specs, over those of their largest and smallest queries, to one far above them.
MUS = ("0.1", "0.179", "0.611", "2")
JOBS = (5, 20, 100, 1_000, 10_000, 100_000, 1_000_000)
CONFIDENCE = 0.95
LEAST, MOST = 0.93, 0.97
#: Mean errors of so many standard errors come by chance once in 150,000 cases.
LARGEST_MEAN_ERROR = 4.5
HEADINGS = ("μ", "jobs", "error", "cover", "93-97%", "cut", "[0, 0]", "±1.96 se")
LEGEND = (
    "error: the mean error of the estimates, in standard errors of that mean. cut: intervals cut off at 0, which "
    "shortens them, some to [0, 0], but changes no coverage: no truth is below 0. ±1.96 se: how often the estimate "
    "with 1.96 times its std_error on both sides holds the truth; where that is off, use ci_low and ci_high."
)


@dataclass(frozen=True)
class Coverage:
    """One ψ, μ and size of group, over many draws. All but the mean error are shares of the draws."""

    psi: str
    mu: str
    jobs: int
    mean_error: float  # of the estimates, in standard errors of their mean
    covered: float  # intervals that hold the truth
    cut: float  # intervals cut off at 0
    nothing: float  # intervals of which only [0, 0] is left
    plain: float  # estimates within 1.96 of their standard errors of the truth

    @property
    def covers(self) -> bool:
        """Whether 93% to 97% of the intervals hold the truth."""
        return LEAST <= self.covered <= MOST

    @property
    def unbiased(self) -> bool:
        """Whether the mean error is within chance."""
        return abs(self.mean_error) <= LARGEST_MEAN_ERROR


def coverage(draws: int, seed: int) -> Iterator[Coverage]:
    """Every ψ, μ and size in turn, with `draws` draws each."""
    entropy = SeededEntropy(seed)
    for attribute in ATTRIBUTES:
        for mu in MUS:
            mechanism = psi_mechanism(attribute, Fraction(mu))
            for jobs in JOBS:
                answers = mechanism.answer(np.full(draws, jobs, dtype=np.int64), entropy)
                estimates = answers.estimate()
                low, high = answers.interval(CONFIDENCE)
                error_of_mean = np.sqrt(psi_variance(mechanism.psi, jobs, mechanism.sigma) / draws)
                reach = 1.959964 * np.sqrt(answers.variance())
                yield Coverage(
                    psi=attribute.name,
                    mu=mu,
                    jobs=jobs,
                    mean_error=float((estimates.mean() - jobs) / error_of_mean),
                    covered=float(np.mean((low <= jobs) & (jobs <= high))),
                    cut=float(np.mean(low == 0)),
                    nothing=float(np.mean(high == 0)),
                    plain=float(np.mean(np.abs(estimates - jobs) <= reach)),
                )


def run(context: Context) -> Result:
    """The theorem of unbiased estimates, and the intervals, with the mechanism itself."""
    draws = ITEM.draws(context)
    found = list(coverage(draws, context.seed))
    covers, unbiased = [each.covers for each in found], [each.unbiased for each in found]
    tables = [
        _table(f"95% intervals, {attribute.name}: {draws:,} draws per line", found, attribute.name)
        for attribute in ATTRIBUTES
    ]
    return Result(
        "Theorem: estimates are unbiased, and intervals hold the truth as often as they say",
        f"Between 93% and 97% of the intervals hold the truth on {sum(covers)} of {len(found)} lines; the mean error "
        f"is within chance on {sum(unbiased)}",
        verdict_of([fine for pair in zip(covers, unbiased, strict=True) for fine in pair]),
        tables=[*tables[:-1], replace(tables[-1], note=LEGEND)],
    )


def _table(caption: str, found: Sequence[Coverage], psi: str) -> PrintedTable:
    rows = []
    for each in found:
        if each.psi == psi:
            shares = [f"{share:.1%}" if share else "–" for share in (each.cut, each.nothing, each.plain)]
            numbers = (f"{each.jobs:,}", f"{each.mean_error:+.1f}", f"{each.covered:.2%}")
            rows.append([each.mu, *numbers, yes_or_no(each.covers), *shares])
    return PrintedTable(caption, HEADINGS, rows)


ITEM = Item(
    "coverage",
    "Unbiased estimates and their intervals (theorem on the ψ-mechanism)",
    60,
    run,
    is_printed=True,
    simulation=Simulation("draws", 100_000, least=100_000),
)
