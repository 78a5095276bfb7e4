"""The main totals of a release: all together, and the largest groups of every key that a query has."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute
from scipy.special import ndtri

from gedp.microdata import Microdata

MOST_SHOWN = 18  # groups of one key
MOST_KEYS = 4
MOST_GROUPS = {True: 2_000, False: 60}  # that are worth tabulating, by whether the fit is solved directly


@dataclass(frozen=True)
class Amount:
    """An estimate from the microdata with its error."""

    estimate: float
    margin: float | None  # half the width of its confidence interval; None where the answers do not say
    relative: float | None  # standard error relative to the estimate


@dataclass(frozen=True)
class Grouping:
    """The groups of one key, for every attribute the largest first; as many as are shown."""

    key: str
    groups: int
    of_attribute: Mapping[str, tuple[tuple[str, Amount], ...]]


@dataclass(frozen=True)
class Totals:
    """What the microdata add up to."""

    confidence: float
    all_together: Mapping[str, Amount]
    groupings: tuple[Grouping, ...]
    too_many: tuple[str, ...]  # keys with too many groups to show


def main_totals(microdata: Microdata) -> Totals:
    """The totals of all attributes, and those by every key of a query, coarse queries first."""
    frame = microdata.frame
    queries = sorted((q for q in frame.spec.queries if not q.is_identity), key=lambda query: len(query.by))
    keys = list(dict.fromkeys(key for query in queries for key in query.by))
    direct = all(a["solved"] != "by conjugate gradients" for a in microdata.described()["attributes"].values())
    counts = {key: frame.cells([key]).count for key in keys}
    fitting = [key for key in keys if 1 < counts[key] <= MOST_GROUPS[direct]]
    confidence = float(frame.spec.output.confidence)
    together = {name: amounts[0][1] for name, amounts in _amounts(microdata, None, confidence).items()}
    groupings = tuple(Grouping(key, counts[key], _amounts(microdata, key, confidence)) for key in fitting[:MOST_KEYS])
    return Totals(confidence, together, groupings, tuple(key for key in keys if counts[key] > MOST_GROUPS[direct]))


def _amounts(microdata: Microdata, key: str | None, confidence: float) -> dict[str, tuple[tuple[str, Amount], ...]]:
    table = microdata.tabulate([key] if key else [], confidence=confidence)
    reach = float(ndtri((1 + confidence) / 2))
    found = {}
    for name in microdata.fits:
        rows = table.filter(pa.compute.equal(table["attribute"], name))
        estimates = rows["estimate"].to_numpy()
        errors = rows["std_error"].to_numpy()  # NaN where unknown
        order = np.argsort(-np.abs(estimates), kind="stable")[:MOST_SHOWN]
        labels = rows[key].take(pa.array(order)).to_pylist() if key else [""] * len(order)
        amounts = (_amount(float(estimates[i]), float(errors[i]), reach) for i in order)
        found[name] = tuple(zip(labels, amounts, strict=True))
    return found


def _amount(estimate: float, error: float, reach: float) -> Amount:
    if not math.isfinite(error):
        return Amount(estimate, None, None)
    return Amount(estimate, reach * error, error / abs(estimate) if estimate else None)
