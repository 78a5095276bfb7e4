"""The settings of individual accounting that make the predicted errors small, from public values alone.

After the first answers: how far bounds lie above them (τ), and how much of what is left each query takes. What is made
small is the mean of the logarithms of the tables' mean errors, weighted by their importance. No table may be worse than
with equal shares under the paper's rule, by the better of its two mechanisms: where it would be, each query has its
equal share set aside for it, and only the rest is filled.

Under the paper's rule the first answers would have an equal share too. They were drawn at another price, so what they
would have said is computed, and setting shares aside need not be enough. Where it is not, equal shares with the first
answers as they were drawn take the place of the paper's: these can be had, so no table is worse than they are.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtr

from gedp.arrays import FloatArray
from gedp.individual import AnswersByCell, Filling, GroupNoise, Portions, QueryGroups, Rows, Terms, fill
from gedp.individual.filling import (
    CELL_FRACTIONS,
    COARSE_CELL_FRACTIONS,
    LEAST_FRACTION,
    LEAST_SECOND,
    coarse_to_fine,
    most_fraction,
)
from gedp.neighbors.estimates import psi_variance
from gedp.planning.prediction import fitted_variances, mean_errors, predicted_variances

#: Of the standard error of any group's total, the most that clipping is expected to take off it.
CLIPPED_PART = 0.02
LEAST_TAU = 2.5
#: Rows beyond which the search looks at fewer fractions of the finest cells, and fewer times.
LARGE = 200_000
EVALUATIONS = 40
EVALUATIONS_IF_LARGE = 24
STARTS = (0.6, 0.3, 0.1)  # of what is left: the search begins at the best of these for all, or at falling ones
WORSE = 30.0  # how much a table weighs that would be worse than with equal shares
#: Of what equal shares give it, the error that every table should have if it costs the others little.
WANTED = 0.85
WANTING = 5.0  # how much a table weighs that has more
ALLOWED = 1e-9  # by rounding


@dataclass(frozen=True)
class Aims:
    """Which tables count how much, and what each would have with equal shares under the paper's rule."""

    importance: Mapping[str, float]  # of tables
    floor: Mapping[str, float]  # mean errors

    def score(self, errors: Mapping[str, float]) -> float:
        """The lower the better; tables that gain hardly anything weigh more, those that lose heavily."""
        total = sum(self.importance.values())
        score = sum(weight / total * float(np.log(errors[query])) for query, weight in self.importance.items())
        losses = [float(np.log(errors[query] / floor)) for query, floor in self.floor.items()]
        wanting = sum(max(loss - float(np.log(WANTED)), 0.0) for loss in losses)
        return score + WANTING * wanting + WORSE * sum(max(loss, 0.0) for loss in losses)

    def is_met(self, errors: Mapping[str, float]) -> bool:
        """Whether no table is worse than its floor."""
        return all(errors[query] <= floor * (1 + ALLOWED) for query, floor in self.floor.items())


@dataclass(frozen=True, repr=False)
class Choice:
    """What was chosen, and what it predicts."""

    tau: float
    portions: Portions
    filling: Filling
    rows: Rows
    errors: Mapping[str, float]  # the predicted mean standard error of every table
    floor: Mapping[str, float]  # with equal shares under the paper's rule
    is_paper: bool = True  # whether the first answers have an equal share in `floor`, too, or are as they were drawn


def choose(
    answers: AnswersByCell,
    partitions: Sequence[QueryGroups],
    importance: Mapping[str, float],
    tau_of_paper: float,
    shares: Mapping[str, float] | None = None,
    evaluations: int | None = None,
) -> Choice:
    """τ and the fractions that make predicted errors small, and how everything is then filled.

    `shares` are prices (μ²) to set aside for queries from the start, so that no group can be worse than with them.
    """
    tau = choose_tau(answers, partitions, tau_of_paper)
    rows, terms = answers.rows(tau), answers.each.terms
    aside = set_aside(terms, [partition.query for partition in partitions], shares)
    if answers.units is None:
        aims = Aims(importance, paper_errors(answers, rows, partitions, tau_of_paper))
    else:  # the paper's rule promises units nothing that could be compared
        aims = Aims(importance, _equal_shares(answers, partitions, tau_of_paper, aside).errors)
    for attempt in (Portions({}), aside) if shares is None else (aside,):
        portions = _search(rows, partitions, terms, aims, attempt, evaluations)
        filling = fill(rows, partitions, terms, portions)
        errors = _errors(rows, partitions, terms, filling)
        found = Choice(tau, portions, filling, rows, errors, aims.floor, is_paper=answers.units is None)
        if filling.is_carried and aims.is_met(found.errors):
            return found
    return found if shares is not None else _as_drawn(answers, partitions, tau_of_paper, aside, found)


def _as_drawn(
    answers: AnswersByCell, partitions: Sequence[QueryGroups], tau: float, aside: Portions, found: Choice
) -> Choice:
    """What was found if no table is worse than with equal shares after these first answers; else equal shares."""
    equal = _equal_shares(answers, partitions, tau, aside)
    if found.filling.is_carried and Aims({}, equal.errors).is_met(found.errors):
        return replace(found, floor=equal.errors, is_paper=False)
    return equal


def _equal_shares(answers: AnswersByCell, partitions: Sequence[QueryGroups], tau: float, aside: Portions) -> Choice:
    """Equal shares after these first answers: what is set aside for every query, and no more."""
    rows, terms = answers.rows(tau), answers.each.terms
    filling = fill(rows, partitions, terms, aside, cell_fractions=(0.0,))
    errors = _errors(rows, partitions, terms, filling)
    return Choice(tau, aside, filling, rows, errors, errors, is_paper=False)


def _errors(rows: Rows, partitions: Sequence[QueryGroups], terms: Terms, filling: Filling) -> dict[str, float]:
    return mean_errors(predicted_variances(rows, partitions, terms, filling))


def choose_tau(answers: AnswersByCell, partitions: Sequence[QueryGroups], tau_of_paper: float) -> float:
    """The least τ at which clipping is expected to take little off any group, beside its error; at most the paper's.

    An establishment loses about σ (φ(τ) − τ Φ(−τ))/ψ'(x) on average; no group is known better than by a clipped sum at
    the price of the whole pool.
    """
    first = answers.each
    (lost,) = answers.total(first.clipping_loss)
    widest, cells = answers.widest(partial(first.reach, tau=tau_of_paper)), len(lost)
    worst = max(
        float(np.max(p.total(lost) * np.sqrt(first.terms.pool) / -p.least(-widest)))
        for p in (*partitions, QueryGroups("", np.arange(cells, dtype=np.int32), cells))
    )
    low, high = min(LEAST_TAU, tau_of_paper), tau_of_paper
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if worst * expected_excess(middle) <= CLIPPED_PART else (middle, high)
    return high


def expected_excess(tau: float) -> float:
    """By how much N(0,1) is expected to be above τ: φ(τ) − τ Φ(−τ)."""
    return float(np.exp(-(tau**2) / 2) / np.sqrt(2 * np.pi) - tau * ndtr(-tau))


def paper_errors(answers: AnswersByCell, rows: Rows, partitions: Sequence[QueryGroups], tau: float) -> dict[str, float]:
    """The mean errors of all tables with equal shares under the paper's rule: ψ, or one bound for a whole group.

    First answers at the price of a share would have had less noise: the same draws, scaled down.
    """
    first, terms = answers.each, answers.each.terms
    share = (terms.first + terms.pool) / (len(partitions) + 1)
    paper = replace(terms, first=share, pool=0.0)
    widest = answers.widest(partial(first.reach_at, tau=tau, price=share))
    noise = {p.query: _of_paper(rows, p, paper, share / p.least(-widest) ** 2) for p in partitions}
    (alone,) = answers.total(partial(first.variance, price=share))
    return mean_errors(fitted_variances(alone, rows.sums, partitions, paper, noise))


def _of_paper(rows: Rows, partition: QueryGroups, terms: Terms, clipped: FloatArray) -> GroupNoise:
    """The better of the paper's two mechanisms for every group, where clipped sums have this precision.

    Where no grid carries their noise, there is ψ; without it bounds are cut down to what a grid carries.
    """
    if not terms.allows_psi:
        return GroupNoise(np.zeros(partition.count, dtype=bool), np.maximum(clipped, terms.least_precision))
    clipped, price = terms.carried(clipped), np.full(partition.count, terms.first)
    by_psi = psi_variance(terms.psi, partition.total(rows.sums), terms.sigma(price)) * clipped < 1
    return GroupNoise(by_psi, np.where(by_psi, price, clipped))


def set_aside(terms: Terms, queries: Collection[str], shares: Mapping[str, float] | None) -> Portions:
    """Its share of everything for each query, or an equal one, as far as the first answers leave it."""
    total = terms.first + terms.pool
    wanted = dict.fromkeys(queries, total / (len(queries) + 1)) if shares is None else dict(shares)
    second = max(total - sum(wanted.values()) - terms.first, 2 * LEAST_SECOND * terms.pool)
    scale = min(terms.pool / (sum(wanted.values()) + second), 1.0)
    return Portions({}, {query: share * scale for query, share in wanted.items()}, second * scale)


def _search(
    rows: Rows,
    partitions: Sequence[QueryGroups],
    terms: Terms,
    aims: Aims,
    portions: Portions,
    evaluations: int | None,
) -> Portions:
    """The fractions with the best score, by a search over condensed rows."""
    ordered = coarse_to_fine(partitions)
    free = ordered[:-1] if ordered and ordered[-1].count == rows.cells else ordered
    if not free:
        return replace(portions, fractions={})
    most = most_fraction(len(free))
    condensed, is_large = rows.condensed(), len(rows.cell) > LARGE
    cell_fractions = COARSE_CELL_FRACTIONS if is_large else CELL_FRACTIONS

    def with_fractions(position: FloatArray) -> Portions:
        fractions = LEAST_FRACTION + (most - LEAST_FRACTION) * expit(position)
        return replace(portions, fractions=dict(zip((p.query for p in free), map(float, fractions), strict=True)))

    def score(position: FloatArray) -> float:
        filling = fill(condensed, partitions, terms, with_fractions(position), cell_fractions)
        return aims.score(mean_errors(predicted_variances(condensed, partitions, terms, filling)))

    start = min(_starts(len(free), most), key=score)
    found = minimize(
        score,
        start,
        method="Nelder-Mead",
        options={
            "initial_simplex": np.vstack([start, start + np.eye(len(free))]),
            "maxfev": evaluations or (EVALUATIONS_IF_LARGE if is_large else EVALUATIONS),
            "xatol": 0.02,
            "fatol": 5e-4,
        },
    )
    return with_fractions(found.x)


def _starts(queries: int, most: float) -> list[FloatArray]:
    """Where a search may begin: the same fraction for all, or less and less from coarse to fine."""
    even = [np.full(queries, fraction) for fraction in STARTS]
    falling = np.geomspace(STARTS[0], LEAST_FRACTION * 2, queries) if queries > 1 else even[0]
    within = [np.clip((each - LEAST_FRACTION) / (most - LEAST_FRACTION), 0.01, 0.9) for each in (*even, falling)]
    return [logit(each) for each in within]
