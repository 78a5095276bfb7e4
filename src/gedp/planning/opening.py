"""How much the first answers may cost, before anything is known but how many establishments every cell has.

Sizes are assumed: lognormal, with a median that the spec states as `typical`, or else what four people contribute, or
else the size whose interval reaches a quarter of the way to zero in ψ. The settings are flat around their best, so
little depends on it.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from gedp.arrays import MOST_UNITS, CodeArray, FloatArray, IntArray
from gedp.individual import FirstAnswers, QueryGroups, Terms
from gedp.individual.answers import members_of
from gedp.individual.first import Members
from gedp.individual.units import UnitCells
from gedp.planning.choice import Aims, choose
from gedp.planning.prediction import mean_errors, predicted_variances
from gedp.planning.typical import assumed_median
from gedp.policy import Attribute

#: Of an equal share, what the first answers may take. At more than it, other answers could not all have theirs: only
#: where none is predicted to need it.
CANDIDATES = (0.5, 0.75, 1.0, 1.25)
SPREAD = 1.5  # of the logarithms of sizes
MOST_ROWS = 5_000  # that are looked at
EVALUATIONS = 15
#: Fractions of multiples of these fill the unit square evenly (Roberts' sequence).
_STEPS = (0.7548776662466927, 0.5698402909980532)
_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


def even_normals(count: int, which: int) -> FloatArray:
    """Numbers spread like normal draws, the same every time; two independent series."""
    places = (np.arange(1, count + 1) * _STEPS[which]) % 1.0
    normals: FloatArray = ndtri(np.clip(places, 1e-12, 1 - 1e-12))
    return normals


def assumed_sizes(attribute: Attribute, count: int) -> FloatArray:
    """Sizes of so many establishments, in the attribute's own measure."""
    unit = float(attribute.unit)
    sizes = np.exp(np.log(assumed_median(attribute)) + SPREAD * even_normals(count, 0))
    whole: FloatArray = np.clip(np.rint(sizes / unit), 1, MOST_UNITS / count) * unit
    return whole


def first_answers_at(
    attribute: Attribute,
    cell: CodeArray,
    sizes: FloatArray,
    terms: Terms,
    most: float = float(MOST_UNITS),
    units: UnitCells | None = None,
) -> FirstAnswers:
    """The first answers as they may come out where establishments have these sizes."""
    drawn = drawn_at(attribute, sizes, terms, members_of(units, cell))
    return FirstAnswers.of(attribute, cell, drawn, terms, most, units=units)


def drawn_at(attribute: Attribute, sizes: FloatArray, terms: Terms, members: Members = 1.0) -> FloatArray:
    """Noisy values of ψ as they may come out."""
    sigma = terms.sigma(np.array(terms.first)) * np.sqrt(members)
    return attribute.protection.psi(sizes) + sigma * even_normals(len(sizes), 1)


def sampled(
    counts: IntArray, partitions: Sequence[QueryGroups], units: UnitCells | None = None
) -> tuple[CodeArray, list[QueryGroups], UnitCells | None]:
    """Every so many finest cells with all their establishments, few enough to look at; and their groups and units."""
    every = max(-(-int(counts.sum()) // MOST_ROWS), 1)
    kept = np.arange(0, len(counts), every)
    cell = np.repeat(np.arange(len(kept), dtype=np.int32), counts[kept])
    if units is None:
        return cell, [restricted(partition, kept) for partition in partitions], None
    cells, base = np.unique(units.base[kept], return_inverse=True)
    return (
        cell,
        [restricted(partition, cells.astype(np.int64)) for partition in partitions],
        units.restricted(kept, base),
    )


def restricted(partition: QueryGroups, cells: IntArray) -> QueryGroups:
    """The groups of some of the finest cells."""
    groups, of_cell = np.unique(partition.of_cell[cells], return_inverse=True)
    return QueryGroups(partition.query, of_cell.astype(np.int32), len(groups))


def candidates(pool: Fraction, queries: int, shares: Mapping[str, float] | None = None) -> list[Decimal]:
    """What the first answers may cost, as μ, where so many queries follow; with `shares` no more than they leave."""
    share = pool / (queries + 1)
    if shares is None:
        return [_decimal(share * Fraction(candidate)) for candidate in CANDIDATES if candidate < queries + 1]
    share = min(share, pool - Fraction(sum(shares.values())))
    return [_decimal(share * Fraction(candidate)) for candidate in CANDIDATES if candidate <= 1]


def choose_first(
    attribute: Attribute,
    pool: Fraction,
    counts: IntArray,
    partitions: Sequence[QueryGroups],
    importance: Mapping[str, float],
    tau_of_paper: float,
    shares: Mapping[str, float] | None = None,
    units: UnitCells | None = None,
) -> Decimal:
    """μ of the first answers: of some candidates the one that predicts the least errors for assumed sizes."""
    cell, smaller, units = sampled(counts, partitions, units)
    sizes = assumed_sizes(attribute, len(cell))
    equal = pool / (len(partitions) + 1)
    best, chosen = math.inf, Decimal(0)
    for mu in candidates(pool, len(partitions), shares):
        first = Fraction(mu) ** 2
        terms = Terms(attribute.protection, float(first), float(pool - first))
        answers = first_answers_at(attribute, cell, sizes, terms, units=units)
        found = choose(answers, smaller, importance, tau_of_paper, shares, EVALUATIONS)
        order = np.lexsort((drawn_at(attribute, sizes, terms, members_of(units, cell)), cell))
        rows = answers.rows_with(found.tau, sizes[order])  # errors where these are the sizes, not their noisy answers
        errors = mean_errors(predicted_variances(rows, smaller, terms, found.filling))
        score = Aims(importance, {}).score(errors)
        if not chosen or (score < best and (first <= equal or found.is_paper)):
            best, chosen = score, mu
    return chosen


def _decimal(mu_squared: Fraction) -> Decimal:
    """μ as a decimal of six digits, rounded down."""
    root = _DIGITS.plus(Context(prec=30).sqrt(Decimal(mu_squared.numerator) / Decimal(mu_squared.denominator)))
    return root if Fraction(root) ** 2 <= mu_squared else root.next_minus(_DIGITS)
