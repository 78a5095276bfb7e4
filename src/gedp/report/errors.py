"""How large the errors of the published figures are, by the size of the figure. Reads the tables of a release."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import FloatArray
from gedp.neighbors.estimates import psi_variance
from gedp.policy import Attribute, Spec
from gedp.release import ReleaseFolder

MOST_CLASSES = 7
BINS_A_DECADE = 4
LEAST_IN_A_BIN = 3
MIDDLE = (10, 90)  # percentiles of the band around the median


@dataclass(frozen=True, repr=False)
class TableErrors:
    """The figures of one table that are not 0 or less: their sizes, and their relative standard errors."""

    query: str
    title: str  # what people call the table
    sizes: FloatArray
    relative: FloatArray
    others: int  # figures of 0 or less, which have no relative error

    def typical(self, low: float = 0.0, high: float = math.inf) -> float | None:
        """The median relative standard error of figures from `low` to below `high`; None where there are none."""
        inside = self.relative[(self.sizes >= low) & (self.sizes < high)]
        return float(np.median(inside)) if inside.size else None


@dataclass(frozen=True, repr=False)
class Curve:
    """Relative errors by size: the median of every bin, and the percentiles of MIDDLE."""

    sizes: FloatArray
    low: FloatArray
    median: FloatArray
    high: FloatArray


@dataclass(frozen=True, repr=False)
class ErrorsOfAlike:
    """Attributes that are protected and asked for alike, and the errors of their figures in every table."""

    attributes: tuple[Attribute, ...]
    tables: tuple[TableErrors, ...]
    sigma: float | None  # of ψ in the identity query
    names: str  # of the attributes as people call them, separated by commas

    def edges(self) -> tuple[float, ...]:
        """Powers of ten that part the figures into classes of size; figures below the first are a class too."""
        sizes = np.concatenate([*(table.sizes for table in self.tables), np.empty(0)])
        if not sizes.size:
            return ()
        lowest = max(float(self.attributes[0].unit), float(np.percentile(sizes, 2)))
        top = math.floor(math.log10(float(sizes.max())))
        bottom = min(max(math.floor(math.log10(lowest)) + 1, top - MOST_CLASSES + 2), top)
        return tuple(10.0**decade for decade in range(bottom, top + 1))

    def single(self, sizes: npt.ArrayLike) -> FloatArray | None:
        """The relative standard error of the identity answer of one establishment; None without such answers."""
        if self.sigma is None:
            return None
        at = np.asarray(sizes, dtype=np.float64)
        return np.sqrt(psi_variance(self.attributes[0].protection.psi, at, self.sigma)) / at


def release_errors(release: ReleaseFolder, spec: Spec) -> tuple[ErrorsOfAlike, ...]:
    """The errors of all tables, for attributes that are protected and asked for alike together."""
    groups: dict[tuple[Any, ...], list[Attribute]] = {}
    for a in spec.policy.attributes.values():
        terms = tuple(query.numbers.get(a.name) for query in spec.plain)
        if a.name in spec.asked:
            groups.setdefault((a.closeness, a.at_least, a.signed, a.unit, a.share, terms), []).append(a)
    tables = {query.name: release.answers(query.name) for query in spec.group_sums}
    labels, found = release.labels, []
    for alike in groups.values():
        name = alike[0].name
        sigmas = [a.noise[name].sigma for a in release.manifest.answered if a.is_identity and name in a.noise]
        errors = tuple(_table_errors(q.name, labels.of_query(q), tables[q.name], alike) for q in spec.sums_of(name))
        names = ", ".join(labels.title(each.name) for each in alike)
        found.append(ErrorsOfAlike(tuple(alike), errors, sigmas[0] if sigmas else None, names))
    return tuple(found)


def curve(table: TableErrors) -> Curve:
    """The errors of one table in bins of equal width on a logarithmic scale; bins of few figures are left out."""
    bins = np.floor(np.log10(table.sizes) * BINS_A_DECADE).astype(np.int64)
    columns = []
    for place in np.unique(bins):
        inside = bins == place
        if inside.sum() >= min(LEAST_IN_A_BIN, len(bins)):
            low, high = np.percentile(table.relative[inside], MIDDLE)
            middle = np.median(table.relative[inside])
            columns.append((10 ** float(np.log10(table.sizes[inside]).mean()), low, middle, high))
    sizes, low, median, high = np.array(columns, dtype=np.float64).reshape(-1, 4).T
    return Curve(sizes, low, median, high)


def _table_errors(query: str, title: str, table: pa.Table, alike: Sequence[Attribute]) -> TableErrors:
    names = pa.array([attribute.name for attribute in alike], pa.string())
    table = table.filter(pa.compute.is_in(table["attribute"], value_set=names))
    estimates, errors = (table[column].to_numpy() for column in ("estimate", "std_error"))
    sizes = np.abs(estimates) if alike[0].signed else estimates
    usable = (sizes > 0) & np.isfinite(sizes) & np.isfinite(errors)
    return TableErrors(query, title, sizes[usable], errors[usable] / sizes[usable], int(usable.size - usable.sum()))
