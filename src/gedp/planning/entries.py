"""The errors that tables by classes and of combinations will have, entry by entry.

What one establishment can move in an entry follows from identity answers as they may come out, by the arithmetic that
the release itself uses: for a whole group under the paper's rule, for every establishment by individual accounting.
Errors by classes are those of the noise alone. A combination is fitted to its parts too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gedp.arrays import MOST_UNITS, CodeArray, FloatArray, IntArray, max_by, sum_by
from gedp.individual.bounds import in_units
from gedp.individual.classes import (
    ClassInterval,
    ClassTable,
    Possible,
    bounds_in,
    class_of,
    class_table,
    squared_reach_of_counts,
    squared_reach_of_sums,
)
from gedp.individual.combinations import combined_bounds
from gedp.individual.first import Members
from gedp.individual.units import UnitParts
from gedp.neighbors.estimates import ZETA, PsiAnswers, no_clipping_tau, whole_variance
from gedp.planning.establishments import Establishments, Sizes
from gedp.planning.expected import IdentityNoise, PartOfEntries, with_gamma
from gedp.planning.opening import assumed_sizes
from gedp.policy import Attribute, Measure, Query, Spec, measured_mu

ByAsked = dict[tuple[str, str], FloatArray]  # by query and what it asks for: a number for every entry


@dataclass(frozen=True, repr=False)
class Entries:
    """The entries of all tables by classes and of combinations, at so many times every μ and γ."""

    spec: Spec
    establishments: Establishments
    parts: Mapping[str, PartOfEntries]  # by attribute
    times: float = 1.0
    gamma_times: float = 1.0

    @cached_property
    def totals(self) -> ByAsked:
        """What every entry has, as far as is known."""
        found: ByAsked = {}
        for query in self._queries:
            table, (group, count) = self._table(query), self.establishments.keys.groups(query.public)
            edged = zip(table.classes, table.edges, strict=True)
            place = table.places(group, [class_of(edges, self._units(each.attribute)) for each, edges in edged])
            for asked, measure in query.measures.items():
                values = self._measured(measure)
                found[query.name, asked] = sum_by(place.astype(np.int32), values, count * table.combinations)
        return found

    def errors(self) -> ByAsked:
        """The standard error of every entry."""
        found: ByAsked = {}
        for query in self._queries:
            errors = self._of_classes(query) if query.classes else self._of_combinations(query)
            found |= {(query.name, asked): error for asked, error in errors}
        return found

    @property
    def _queries(self) -> list[Query]:
        return [query for query in self.spec.queries if not query.is_plain]

    def _of_classes(self, query: Query) -> Iterator[tuple[str, FloatArray]]:
        table, groups, omega = self._table(query), self._groups(query.public), self._omega
        intervals = self._intervals(table)
        of_row = table.possible(intervals, omega, omega, len(groups.of_row))
        lowest = {name: -groups.widest(-omega[name]) for name in intervals}
        highest = {name: groups.widest(omega[name]) for name in intervals}
        possible = table.possible(intervals, lowest, highest, groups.places)
        for asked, measure in query.measures.items():
            is_count = not measure.weights
            if is_count:
                squared = [squared_reach_of_counts(table, possible, each) for each in range(table.combinations)]
            else:
                squared = list(self._of_sums(table, asked, groups, possible, of_row))
            reach = np.stack([groups.furthest(np.sqrt(each)) for each in squared], axis=1).ravel()
            unit = 1.0 if is_count else float(self._attribute(asked).unit)
            error = reach * unit / self._mu(query, asked)
            if is_count:
                error[error > 0] = np.sqrt(whole_variance(error[error > 0]))
            yield asked, error

    def _of_sums(
        self, table: ClassTable, asked: str, groups: "_Groups", possible: Possible, of_row: Possible
    ) -> Iterator[FloatArray]:
        """How far one establishment can move the sums of every class, squared."""
        attribute, upper = self._attribute(asked), self._upper(asked)
        for each in range(table.combinations):
            inside = groups.widest(np.where(of_row.holds(table, each), upper, -np.inf))
            bounds = bounds_in(table, attribute, inside, each, most=float(MOST_UNITS), least=0.0)
            yield squared_reach_of_sums(table, attribute, possible, bounds, each)

    def _of_combinations(self, query: Query) -> Iterator[tuple[str, FloatArray]]:
        groups = self._groups(query.by)
        for asked, measure in query.measures.items():
            attributes = {name: self._attribute(name) for name in measure.weights}
            weights = measure.whole_weights({name: Fraction(each.unit) for name, each in attributes.items()})
            upper = {name: groups.widest(self._upper(name)) for name in attributes}
            moved = combined_bounds(weights, attributes, upper, most=np.inf, least=0.0).sensitivity
            noise = (groups.furthest(moved * float(weights.unit)) / self._mu(query, asked)) ** 2
            variances = {name: self.parts[name].variances[query.name] for name in attributes}
            parts = [float(c) ** 2 * variances[name] for name, c in measure.weights.items()]
            yield asked, np.sqrt(1 / (1 / noise + 1 / np.add.reduce(parts)))

    def _groups(self, by: Sequence[str]) -> "_Groups":
        units = self.establishments.keys.units(self.spec.policy.unit)
        return _Groups(*self.establishments.keys.groups(by), self.spec.is_individual, units)

    def _table(self, query: Query) -> ClassTable:
        return class_table(query.classes, self.spec.policy.attributes)

    def _intervals(self, table: ClassTable) -> dict[str, ClassInterval]:
        """Which classes are possible after identity answers, for the attributes that have them."""
        zeta = ZETA if self.spec.zeta is None else Fraction(self.spec.zeta)
        tau = no_clipping_tau(self.establishments.keys.rows, len(self.spec.asked), zeta, signed=True)
        found = {}
        for each in table.classes:
            if (reading := self._readings.get(each.attribute)) is not None:
                edges = np.array(each.edges, dtype=np.float64)
                sigma = reading.sigma * np.sqrt(self._members)
                found[each.attribute] = ClassInterval(reading.terms.psi, sigma, tau, edges)
        return found

    @cached_property
    def _omega(self) -> dict[str, FloatArray]:
        """Identity answers as they may come out, of the attributes that have them."""
        return {
            name: self.establishments.sizes[name].drawn(self._attribute(name), reading.terms, self._members)
            for name, reading in self._readings.items()
        }

    @cached_property
    def _members(self) -> Members:
        """How many records the unit of every establishment has."""
        units = self.establishments.keys.units(self.spec.policy.unit)
        if units is None:
            return 1.0
        members = np.ones(len(units))
        members[units >= 0] = np.bincount(units[units >= 0])[units[units >= 0]]
        return members

    @cached_property
    def _readings(self) -> dict[str, IdentityNoise]:
        return {name: each.reading for name, each in self.parts.items() if each.reading is not None}

    def _upper(self, name: str) -> FloatArray:
        """Bounds on the values of all establishments, in units."""
        reading = self._readings[name]
        sigma = reading.sigma * np.sqrt(self._members)
        found = PsiAnswers(reading.terms.psi, self._omega[name], sigma).upper_bounds(reading.tau)
        return np.minimum(in_units(self._attribute(name), found), float(MOST_UNITS))

    def _attribute(self, name: str) -> Attribute:
        return with_gamma(self.spec.policy.attributes[name], self.gamma_times)

    def _mu(self, query: Query, asked: str) -> float:
        return measured_mu(self.spec, query, asked) * self.times

    def _measured(self, measure: Measure) -> FloatArray:
        """What every establishment contributes."""
        if not measure.weights:
            return np.ones(self.establishments.keys.rows)
        values = [float(weight) * self._values(name) for name, weight in measure.weights.items()]
        return sum(values, np.zeros(self.establishments.keys.rows))

    def _values(self, name: str) -> FloatArray:
        """What establishments have; assumed where nobody asks for the attribute but as classes."""
        attribute, known = self.spec.policy.attributes[name], self.establishments.sizes.get(name)
        sizes = Sizes(assumed_sizes(attribute, self.establishments.keys.rows)) if known is None else known
        return sizes.possible(attribute)

    def _units(self, name: str) -> IntArray:
        units: IntArray = np.rint(self._values(name) / float(self.spec.policy.attributes[name].unit)).astype(np.int64)
        return units


@dataclass(frozen=True, repr=False)
class _Groups:
    """The group of every establishment, and where bounds hold: by group, or by establishment."""

    of_row: CodeArray
    count: int
    is_individual: bool
    units: CodeArray | None = None  # of several records; -1 for a record by itself

    @property
    def places(self) -> int:
        """How many bounds there are."""
        return len(self.of_row) if self.is_individual else self.count

    def widest(self, of_rows: FloatArray) -> FloatArray:
        """Numbers of establishments where bounds hold."""
        return of_rows if self.is_individual else max_by(self.of_row, of_rows, self.count)

    def furthest(self, reach: FloatArray) -> FloatArray:
        """What somebody can do in every group, from what can be done where bounds hold."""
        if self.units is None:
            return max_by(self.of_row, reach, self.count) if self.is_individual else reach
        rows = np.flatnonzero(self.units >= 0).astype(np.int32)
        parts = UnitParts(self.units[rows], rows, np.ones(len(rows)), reach[rows])
        moved = reach.copy()
        moved[rows] = parts.in_group(self.of_row, reach[rows]) * np.sqrt(parts.groups(self.of_row))
        return max_by(self.of_row, moved, self.count)
