"""The figures of a published table: fitted, with errors, counts of establishments and quality flags, and rounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, FloatArray, IntArray, multiples
from gedp.estimates import Figures
from gedp.microdata import Microdata
from gedp.microdata.cells import NO_FILTER, Where
from gedp.microdata.class_tables import has_classes
from gedp.microdata.ratios import Ratio
from gedp.policy import Spec
from gedp.publication.chosen import NAME, ChosenTable
from gedp.publication.quality import Quality, coefficients
from gedp.publication.ratios import common_unit, differences, unit_of
from gedp.publication.rounding import digits, outward, places_of, rounded
from gedp.release import Labels
from gedp.release.estimated import FORMULA

ROUNDINGS = {
    "error": (
        "Every figure is rounded to what its error supports: its margin to two digits, the rest to the same place; "
        "a figure whose error is unknown has three digits. "
        "Totals add up but for that rounding."
    ),
    "whole": (
        "Every total is in whole units. All tables are sums of the same whole values, so every total is exactly the "
        "sum of its parts, in every table and over all levels."
    ),
    "none": "Figures are not rounded. Totals add up but for the last digits that a computer keeps.",
}
CV_DIGITS = 3


@dataclass(frozen=True)
class Presentation:
    """How figures are shown."""

    rounding: str = "error"  # of ROUNDINGS
    quality: Quality = field(default_factory=Quality)
    confidence: float | None = None  # of intervals; as in the spec where it is not given


@dataclass(frozen=True, repr=False)
class TableOfFigures:
    """A published table: its keys and their names, and a line for every group and attribute or ratio."""

    chosen: ChosenTable
    names: Mapping[str, str]  # of keys with a code list: the column with the names of its codes
    arrow: pa.Table

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.arrow.num_rows // len(self.chosen.lines)

    def of(self, attribute: str) -> pa.Table:
        """The lines of one attribute or ratio: all groups, in the same order for each."""
        place = self.chosen.lines.index(attribute)
        return self.arrow.slice(place * self.groups, self.groups)


def table_of(microdata: Microdata, labels: Labels, chosen: ChosenTable, shown: Presentation) -> TableOfFigures:
    """The figures of one table."""
    found = microdata.tabulate(chosen.by, chosen.attributes, shown.confidence, chosen.ratios).arrow
    names, keys = named_keys(found, labels, chosen.by)
    counts = establishments(microdata, chosen.by)
    repeated = None if counts is None else np.tile(counts, len(chosen.lines))
    sizes = pa.nulls(found.num_rows, pa.int64()) if repeated is None else pa.array(repeated, pa.int64())
    numbers = _shown(found, chosen, microdata.public_rows.spec, shown)
    texts = {name: found[name] for name in ("attribute", FORMULA) if name in found.column_names}
    columns = {**keys, **texts, "establishments": sizes, **numbers}
    return TableOfFigures(chosen, names, pa.table({**columns, "variance_kind": found["variance_kind"]}))


def named_keys(
    found: pa.Table, labels: Labels, by: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, pa.ChunkedArray | pa.Array]]:
    """The columns with the names of codes, by their keys; and all columns of keys and names."""
    keys: dict[str, pa.ChunkedArray | pa.Array] = {key: found[key] for key in by}
    names = {key: _name_column(key, by) for key in by if labels.code_list(key) is not None}
    return names, {**keys, **{names[key]: pa.array(labels.names(key, found), pa.string()) for key in names}}


def establishments(microdata: Microdata, by: Sequence[str], where: Where = NO_FILTER) -> IntArray | None:
    """How many establishments are in every group, which is public.

    None where the release lists none, and for classes of a confidential attribute: who is in them is secret.
    """
    rows = microdata.public_rows
    if not rows.lists_establishments or has_classes(rows.spec, [*by, *where]):
        return None
    groups = rows.cells(by, where)
    counts = rows.establishments_in(groups)
    return None if counts is None else counts[groups.asked_for]


def _shown(found: pa.Table, chosen: ChosenTable, spec: Spec, shown: Presentation) -> dict[str, pa.Array]:
    """The numbers of all lines as they are shown, and their flags; nothing where they are withheld."""
    figures, kinds = Figures.of(found), LineKinds.of(chosen, found.num_rows // len(chosen.lines), spec)
    withheld = kinds.withheld(figures.estimate, figures.std_error, shown.quality)
    numbers = shown_numbers(figures, withheld, kinds.in_units(figures.estimate, shown.rounding), shown.rounding)
    flags = shown.quality.flags(coefficients(figures.estimate, figures.std_error))
    return {**numbers, "quality": pa.array(flags, pa.string(), mask=kinds.is_difference)}


@dataclass(frozen=True, repr=False)
class LineKinds:
    """Of all lines of a table: which are differences, which are quotients, and which units the others are in."""

    is_difference: BoolArray
    is_divided: BoolArray
    units: tuple[Decimal | None, ...]  # of every figure of a group; None where it is in no whole units

    @classmethod
    def of(cls, chosen: ChosenTable, groups: int, *specs: Spec) -> "LineKinds":
        """Those of a table with so many groups, of one release or of several that are compared."""
        without = {name for spec in specs for name in differences(chosen.ratios, spec)}
        divided = {ratio.name for ratio in chosen.ratios if ratio.denominator}
        is_difference, is_divided = (
            np.repeat([name in of for name in chosen.lines], groups) for of in (without, divided)
        )
        figures = [*(Ratio(name, {name: 1.0}) for name in chosen.attributes), *chosen.ratios]
        units = (common_unit([unit_of(figure, spec) for spec in specs]) for figure in figures)
        return cls(is_difference, is_divided, tuple(units))

    def withheld(self, estimate: FloatArray, std_error: FloatArray, quality: Quality) -> BoolArray:
        """Which figures are not to be shown.

        A difference is not withheld for its relative error. A ratio without an error, whose denominator may be noise
        alone, is withheld where anything is.
        """
        cv = coefficients(estimate, std_error)
        found: BoolArray = quality.withheld(cv) & ~self.is_difference
        return found if quality.withheld_above is None else found | (self.is_divided & np.isnan(cv))

    def in_units(self, estimate: FloatArray, rounding: str) -> FloatArray:
        """The figures that are whole multiples of a unit, and NaN for all others. Ratios are not whole."""
        if rounding != "whole":
            return np.full_like(estimate, np.nan)
        parts = zip(np.split(estimate, len(self.units)), self.units, strict=True)
        return np.concatenate([np.full_like(of, np.nan) if unit is None else multiples(of, unit) for of, unit in parts])


def shown_numbers(figures: Figures, withheld: BoolArray, whole: FloatArray, rounding: str) -> dict[str, pa.Array]:
    """Figures and their errors, rounded but for those in `whole` units; nothing where they are withheld."""
    estimate, error, low, high = figures.estimate, figures.std_error, figures.ci_low, figures.ci_high
    cv = coefficients(estimate, error)
    if rounding != "none":
        places = places_of((high - low) / 2, estimate)
        estimate = np.where(np.isnan(whole), rounded(estimate, places), whole)
        low, high = outward(low, high, places)
        error, cv = rounded(error, places), digits(cv, CV_DIGITS)
    numbers = {"estimate": estimate, "std_error": error, "cv": cv, "ci_low": low, "ci_high": high}
    return {
        name: pa.array(values, pa.float64(), mask=withheld | ~np.isfinite(values)) for name, values in numbers.items()
    }


def _name_column(key: str, by: tuple[str, ...]) -> str:
    name = key + NAME
    while name in by:
        name += "_"
    return name
