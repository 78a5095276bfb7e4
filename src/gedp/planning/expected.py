"""The errors that the tables of one attribute will have, under individual accounting and under the paper's rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, sum_by
from gedp.individual import GroupNoise, QueryGroups, Rows, Terms
from gedp.individual.filling import row_variances
from gedp.individual.units import UnitCells
from gedp.neighbors.estimates import ZETA, no_clipping_tau, psi_variance
from gedp.planning.choice import choose
from gedp.planning.establishments import Sizes
from gedp.planning.opening import choose_first
from gedp.planning.prediction import MOST_VARIANCE, fitted_variances
from gedp.policy import Attribute, Query, Spec, pools


@dataclass(frozen=True)
class IdentityNoise:
    """How the identity answers about an attribute are read: their noise, and how far above them values are cut off."""

    terms: Terms
    tau: float

    @property
    def sigma(self) -> float:
        """The noise of the answers."""
        return float(self.terms.sigma(np.array(self.terms.first)))


@dataclass(frozen=True, repr=False)
class PartOfEntries:
    """What tables by classes and of combinations need of one attribute."""

    reading: IdentityNoise | None = None  # None where no identity answers are asked for
    variances: Mapping[str, FloatArray] = field(default_factory=dict)  # by query: in the groups of combinations


@dataclass(frozen=True, repr=False)
class Predicted:
    """The variance of every group of every table of one attribute, and what other tables need of it."""

    variances: Mapping[str, FloatArray]  # by query; of the establishments too, if asked
    part: PartOfEntries = field(default_factory=PartOfEntries)

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean standard error of every query."""
        each = {**self.variances, **self.part.variances}
        return {query: float(np.mean(np.sqrt(variances))) for query, variances in each.items()}


@dataclass(frozen=True, repr=False)
class Case:
    """One attribute of a spec, its establishments by finest cell, and the groups of its tables."""

    spec: Spec
    attribute: Attribute
    cell: CodeArray
    sizes: Sizes
    partitions: Sequence[QueryGroups]
    in_combinations: Sequence[
        QueryGroups
    ] = ()  # groups of tables of combinations, in which no answer is about it alone
    units: UnitCells | None = None  # where there are units of several records; then `cell` has cells of their own

    @property
    def tau(self) -> float:
        """The bounds of the paper's rule, in standard deviations above the identity answers."""
        zeta = ZETA if self.spec.zeta is None else Fraction(self.spec.zeta)
        return no_clipping_tau(len(self.cell), len(self.spec.asked), zeta, signed=self.attribute.signed)

    @property
    def counts(self) -> IntArray:
        """The number of establishments of every finest cell."""
        return np.bincount(self.cell).astype(np.int64)

    @property
    def queries(self) -> dict[str, Query]:
        """The tables by name."""
        here = {partition.query for partition in self.partitions}
        return {query.name: query for query in self.spec.queries if query.name in here}

    def without(self, query: str) -> "Case":
        """The same if a table were not asked for."""
        return replace(self, partitions=[p for p in self.partitions if p.query != query])

    def with_gamma(self, times: float) -> "Case":
        """The same with so many times the γ."""
        return replace(self, attribute=with_gamma(self.attribute, times))

    def variances(self, times: float = 1.0, evaluations: int | None = None) -> Mapping[str, FloatArray]:
        """The variance of every group of every table, at so many times the μ; and of the establishments, if asked."""
        return self.predicted(times, evaluations).variances

    def predicted(self, times: float = 1.0, evaluations: int | None = None) -> Predicted:
        """All that is predicted, at so many times the μ."""
        name = self.attribute.name
        identity = self.spec.identity_of(name)
        if self.spec.is_individual:
            pool = pools(self.spec)[name].mu_squared * Fraction(times) ** 2
            reading, price, found = self._individual(pool, evaluations)
        elif identity is None:
            return Predicted(self._answers_alone(times))
        else:
            reading, price, found = self._paper(float(identity.mu[name]) * times, times)
        combined = {p.query: found.pop(p.query) for p in self.in_combinations}
        if identity is not None:
            values, terms = self.totals()[identity.name], reading.terms
            found[identity.name] = psi_variance(terms.psi, values, terms.sigma(price))
        return Predicted(found, PartOfEntries(reading, combined))

    def _individual(
        self, pool: Fraction, evaluations: int | None
    ) -> tuple[IdentityNoise, FloatArray, dict[str, FloatArray]]:
        name, attribute = self.attribute.name, self.attribute
        importance = {query: float(q.importance[name]) for query, q in self.queries.items()}
        mu = choose_first(attribute, pool, self.counts, self.partitions, importance, self.tau, units=self.units)
        first = Fraction(mu) ** 2
        terms = Terms(attribute.protection, float(first), float(pool - first))
        answers = self.sizes.first_answers(attribute, self.cell, terms, self.units)
        choice = choose(answers, self.partitions, importance, self.tau, evaluations=evaluations)
        rows, left = choice.rows, choice.filling.left
        found = self._fitted(rows, terms, left, choice.filling.noise)
        price = answers.by_record(terms.first * rows.first_share + left * rows.second_share)
        if self.units is not None:  # in the order of `totals`
            price = price[np.lexsort((answers.omega, self.units.base[answers.cell]))]
        return IdentityNoise(terms, choice.tau), price, found

    def _fitted(
        self, rows: Rows, terms: Terms, left: FloatArray, noise: Mapping[str, GroupNoise]
    ) -> dict[str, FloatArray]:
        """With all groups; where no answer is about the attribute alone, it counts as one that says nothing."""
        nothing = {
            p.query: GroupNoise(np.full(p.count, False), np.full(p.count, 1 / MOST_VARIANCE))
            for p in self.in_combinations
        }
        partitions = [*self.partitions, *self.in_combinations]
        return fitted_variances(row_variances(rows, terms, left), rows.sums, partitions, terms, {**noise, **nothing})

    def _paper(self, mu: float, times: float) -> tuple[IdentityNoise, FloatArray, dict[str, FloatArray]]:
        """With an identity query: bounds follow from its answers, and it is part of the fit."""
        terms = Terms(self.attribute.protection, mu**2, 0.0)
        answers = self.sizes.first_answers(self.attribute, self.cell, terms)
        rows = answers.rows(self.tau)
        widest = -rows.least(-rows.reach)
        noise = {p.query: self._noise(p, -p.least(-widest), p.total(rows.sums), terms, times) for p in self.partitions}
        nothing = np.zeros(len(rows.cell))
        return IdentityNoise(terms, self.tau), nothing + terms.first, self._fitted(rows, terms, nothing, noise)

    def _noise(
        self, partition: QueryGroups, reach: FloatArray, totals: FloatArray, terms: Terms, times: float
    ) -> GroupNoise:
        """The noise of a table, each group by the mechanism that the spec names or else by the better one."""
        query = self.queries[partition.query]
        price = (float(query.mu[self.attribute.name]) * times) ** 2
        of_psi, clipped = psi_variance(terms.psi, totals, terms.sigma(np.array(price))), reach**2 / price
        allowed = terms.psi.contracts_in_sums and not self.attribute.signed
        forced = {"psi": np.full(partition.count, True), "pnc": np.full(partition.count, False)}
        by_psi = forced.get(query.mechanism, of_psi < clipped if allowed else forced["pnc"])
        return GroupNoise(by_psi, np.where(by_psi, price, 1 / clipped))

    def _answers_alone(self, times: float) -> dict[str, FloatArray]:
        """Without an identity query every table is answered by ψ of its sums; what the fit adds is left out."""
        values = self.totals()
        protection = self.attribute.protection
        return {
            name: psi_variance(
                protection.psi, values[name], protection.gamma / (float(query.mu[self.attribute.name]) * times)
            )
            for name, query in self.queries.items()
        }

    def totals(self) -> dict[str, FloatArray]:
        """What the groups of every table have, as far as is known; the establishments too."""
        values = self.sizes.possible(self.attribute)
        cell = self.cell if self.units is None else self.units.base[self.cell]
        by_cell = sum_by(cell, values, int(cell.max()) + 1)
        found: Mapping[str, FloatArray] = {p.query: p.total(by_cell) for p in self.partitions}
        order = np.lexsort((values, cell))
        return {**found, **{q.name: values[order] for q in self.spec.identities}}


def with_gamma(attribute: Attribute, times: float) -> Attribute:
    """The same attribute with so many times the γ."""
    factor = Decimal(repr(times))
    wider = [replace(c, gamma=c.gamma * factor) for c in (attribute.closeness, *attribute.at_least)]
    return replace(attribute, closeness=wider[0], at_least=tuple(wider[1:]))
