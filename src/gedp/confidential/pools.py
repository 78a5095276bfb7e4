"""What individual accounting may spend on every attribute, and the mechanisms of its answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from gedp.accounting.composition import exact
from gedp.confidential.limits import require_pool
from gedp.confidential.mechanisms import PsiMechanism, psi_mechanism
from gedp.confidential.table import FinestCells
from gedp.confidential.varied import VariedPsi, most_noise, varied_psi
from gedp.individual import QueryGroups, Terms
from gedp.neighbors.estimates import ZETA, no_clipping_tau
from gedp.planning.opening import choose_first
from gedp.policy import Attribute, Spec, pools

#: What is planned with is less than the pool by this part, so that rounding toward more noise is never too much.
MARGIN = 1e-8
#: What is set aside for tables, in μ²: by attribute and query.
Shares = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class AttributePool:
    """What all answers about an attribute may cost, what the first ones do, and their mechanisms."""

    pool: Fraction
    mu_as_decimal: Decimal  # of the first answers
    first: PsiMechanism  # of records that are units by themselves
    varied: VariedPsi

    @property
    def mu(self) -> Fraction:
        """μ of the first answers, exactly."""
        return exact(self.mu_as_decimal)

    @property
    def rest(self) -> Fraction:
        """What is left for everything after the first answers, in μ²."""
        return self.pool - self.mu**2

    def terms(self, attribute: Attribute) -> Terms:
        """The same as numbers to plan with."""
        rest = float(self.rest) * (1 - MARGIN)
        return Terms(attribute.protection, float(self.mu**2), rest, most_noise(attribute))


def open_pools(spec: Spec, cells: FinestCells, shares: Shares | None = None) -> dict[str, AttributePool]:
    """For individual accounting what the first answers cost, from public counts, and mechanisms for all answers."""
    tables = spec.group_sums
    groups = {query.name: partition_of(query.name, cells, query.by) for query in tables}
    members = 1 if cells.units is None else cells.units.most
    tau = no_clipping_tau(cells.rows, len(spec.asked), ZETA)
    result, chosen = {}, dict[tuple[object, ...], Decimal]()
    for name, loss in pools(spec).items():
        attribute, pool = spec.policy.attributes[name], loss.mu_squared
        asked = {query.name: float(query.importance[name]) for query in tables if name in query.importance}
        own = (shares or {}).get(name)
        alike = (replace(attribute, name=""), pool, *asked.items(), *(own or {}).items())
        require_pool(spec, attribute, pool, len(asked), own)
        if alike not in chosen:
            partitions = [groups[query] for query in asked]
            with np.errstate(over="ignore", invalid="ignore"):  # what is predicted to be infinite is not chosen
                chosen[alike] = choose_first(attribute, pool, cells.counts, partitions, asked, tau, own, cells.units)
        mu = chosen[alike]
        first = psi_mechanism(attribute, exact(mu))
        if members > 1:  # a record of the largest unit has so much more noise
            psi_mechanism(attribute, exact(mu) / (math.isqrt(members - 1) + 1))
        result[name] = AttributePool(pool, mu, first, varied_psi(attribute, pool - exact(mu) ** 2, members))
    return result


def partition_of(query: str, cells: FinestCells, by: Sequence[str]) -> QueryGroups:
    """The groups of a query: which one every cell by grouping keys is in."""
    groups = cells.groups(by)
    if cells.units is None:
        return QueryGroups(query, groups.of_cell, groups.count)
    of_cell = np.zeros(cells.units.count, dtype=np.int32)
    of_cell[cells.units.base] = groups.of_cell
    return QueryGroups(query, of_cell, groups.count)
