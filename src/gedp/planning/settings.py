"""One attribute under other settings: without one of its tables, and with another μ or γ."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gedp.errors import DomainError
from gedp.planning.expected import Case, PartOfEntries, Predicted
from gedp.planning.opening import restricted

#: Rows beyond which settings are compared on some of the finest cells, and with fewer looks.
MOST_COMPARED = 30_000
EVALUATIONS = 15
DROWNED = 1e30  # a mean error of another setting that is as good as infinite


@dataclass(frozen=True, repr=False)
class AtSetting:
    """What is predicted of one attribute at another setting."""

    errors: Mapping[str, float]  # the mean error of every table; infinite where noise is too large to be useful
    part: PartOfEntries | None = None  # None where the noise is too large to be useful


@dataclass(frozen=True, repr=False)
class PlannedAttribute:
    """What is predicted of one attribute: as the spec says, without each table, and at other settings."""

    predicted: Predicted
    others_without: Mapping[str, Mapping[str, float]]
    at: tuple[AtSetting, ...]


def plan_attribute(case: Case, other: Sequence[tuple[float, float]], advance: Callable[[], None]) -> PlannedAttribute:
    """The errors of all tables of one attribute; and at so many times the μ and γ."""
    predicted, compared = case.predicted(), some_of(case)
    base = (predicted if compared is case else compared.predicted(evaluations=EVALUATIONS)).means
    advance()
    without: dict[str, dict[str, float]] = {}
    for query in case.queries:
        without[query] = _without(compared, query, base) if len(case.queries) > 1 else {}
        advance()
    at = []
    for times, gamma_times in other:
        then = _predicted_at(compared.with_gamma(gamma_times), times)
        at.append(_scaled(predicted, base, then))
        advance()
    return PlannedAttribute(predicted, without, tuple(at))


def _scaled(predicted: Predicted, base: Mapping[str, float], then: Predicted | None) -> AtSetting:
    """All tables, with errors that change as those of the cells that were compared do."""
    if then is None:
        return AtSetting(dict.fromkeys(predicted.variances, math.inf))
    now, means = predicted.means, then.means
    errors = {query: now[query] * means[query] / base[query] for query in predicted.variances}
    combined = predicted.part.variances.items()
    scaled = {query: each * (means[query] / base[query]) ** 2 for query, each in combined}
    return AtSetting(errors, replace(then.part, variances=scaled))


def some_of(case: Case, most: int = MOST_COMPARED) -> Case:
    """The same with every so many of the finest cells, few enough to compare settings on; itself if it is small."""
    every = -(-len(case.cell) // most)
    if every == 1:
        return case
    kept = np.arange(0, int(case.cell.max()) + 1, every)
    rows = np.flatnonzero(case.cell % every == 0).astype(np.int32)
    partitions, combined = ([restricted(p, kept) for p in each] for each in (case.partitions, case.in_combinations))
    cell = (case.cell[rows] // every).astype(np.int32)
    return replace(case, cell=cell, sizes=case.sizes.taken(rows), partitions=partitions, in_combinations=combined)


def _without(case: Case, query: str, base: Mapping[str, float]) -> dict[str, float]:
    """The mean errors of the other tables, relative to now, if the price of one were theirs.

    Under the paper's rule all other prices are then raised alike, so that the release costs the same.
    """
    times = 1.0
    if not case.spec.is_individual:
        name = case.attribute.name
        prices = {q.name: float(q.mu[name]) ** 2 for q in case.spec.plain if name in q.mu}
        times = float(np.sqrt(sum(prices.values()) / (sum(prices.values()) - prices[query])))
    found = case.without(query).predicted(times, EVALUATIONS)
    return {other: found.means[other] / base[other] for other in found.variances}


def _predicted_at(case: Case, times: float) -> Predicted | None:
    """What is predicted at so many times the μ; None where noise is so large that rounding decides."""
    try:
        with np.errstate(all="ignore"):
            found = case.predicted(times, EVALUATIONS)
    except DomainError:  # of sizes that became 0
        return None
    return found if all(0 < mean < DROWNED for mean in found.means.values()) else None
