"""Baselines as workflows of a comparison: drawn like a rehearsal, with their own estimates. No release is made of them.

Each has the prices of the spec. Formal ones answer the same queries, and are fitted as gedp's answers are where their
variances are known. Smooth gamma's are not (they depend on the largest establishment): it spends everything on the
finest table, and other levels are sums of that. EZS has no price: its noise is bounded.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.microdata.answers import GroupAnswers, PsiNoise
from gedp.microdata.cells import PublicRows
from gedp.microdata.problem import AttributeProblem
from gedp.neighbors import Linear, NeighborFunction
from gedp.neighbors.estimates import psi_variance
from gedp.noise.entropy import Entropy
from gedp.planning.typical import assumed_median
from gedp.policy import Spec
from gedp_lab.baselines.draws import fourth_power, gaussian, laplace
from gedp_lab.baselines.ezs import Ezs
from gedp_lab.baselines.formal import FourthRoot, LaplaceLog, log_laplace_scale, smooth_gamma_rate, smooth_gamma_scale
from gedp_lab.baselines.translation import Reference, laplace_epsilon, pure_epsilon

LOG_LAPLACE, FOURTH_ROOT, SPLITTING, SMOOTH_GAMMA = "log-laplace", "fourth-root", "splitting", "smooth-gamma"
EZS, EZS_BALANCED = "ezs", "ezs-balanced"
#: Those whose answers are fitted, with their usual weights; the others have estimates for rows and no variances.
FITTED = {LOG_LAPLACE: "quasi", FOURTH_ROOT: "quasi", SPLITTING: "plug-in"}
UNFITTED = (SMOOTH_GAMMA, EZS, EZS_BALANCED)
NO_WEIGHTS = "no fit"
BASELINES: Mapping[str, str] = {**FITTED, **dict.fromkeys(UNFITTED, NO_WEIGHTS)}


@dataclass(frozen=True, repr=False)
class Truths:
    """What a baseline is drawn from: rows with their keys, and their true values."""

    public_rows: PublicRows
    spec: Spec
    values: Mapping[str, FloatArray]  # of the rows, for each attribute


@dataclass(frozen=True)
class _Noise:
    """ψ, its noise for a price of μ, and draws of noise of scale 1."""

    psi: NeighborFunction
    scale: Callable[[float], float]
    draw: Callable[[int, Entropy], FloatArray]


@dataclass(repr=False)
class BaselineDraw:
    """One replicate of a baseline, for all attributes: permanent factors are those of the establishment."""

    name: str
    truths: Truths
    entropy: Entropy

    def rows(self, attribute: str) -> FloatArray:
        """Estimates for the rows, of a baseline without a fit."""
        values = self.truths.values[attribute]
        return values * self._factors if self.name != SMOOTH_GAMMA else self._smooth_gamma(attribute, values)

    def problem(self, attribute: str) -> AttributeProblem:
        """The answers to all queries about an attribute, ready to be fitted."""
        rows, spec = self.truths.public_rows, self.truths.spec
        noise, values = noise_of(self.name, spec, attribute), self.truths.values[attribute]
        cells, prices = rows.cells_of(attribute), affordable(spec, attribute, noise)
        groups, estimates, of_rows = [], None, None
        for query in spec.plain:
            if query.name not in prices:
                continue
            sigma = noise.scale(prices[query.name])
            if query.is_identity:
                estimates, of_rows = self._answers(noise, values, sigma), PsiNoise(noise.psi, sigma)
                continue
            cells_of_query = rows.cells(query.by)
            answers = self._answers(noise, cells_of_query.sums(values), sigma)
            by_psi = np.ones(len(answers), dtype=bool)
            variances = psi_variance(noise.psi, answers, sigma)
            of_cells = cells.inside(cells_of_query)
            assert of_cells is not None  # the cells are those of all queries
            noise_of_query = PsiNoise(noise.psi, sigma)
            groups.append(GroupAnswers(of_cells, answers, variances, query.name, by_psi, noise_of_query))
        return AttributeProblem(attribute, cells, tuple(groups), estimates, of_rows)

    def _answers(self, noise: _Noise, true: FloatArray, sigma: float) -> FloatArray:
        omega = noise.psi(true) + sigma * noise.draw(len(true), self.entropy)
        return noise.psi.debiased(omega, sigma)

    @cached_property
    def _factors(self) -> FloatArray:
        """Drawn once for all attributes. Balanced ones balance the first."""
        (first, *_), ezs = self.truths.values.values(), Ezs()
        if self.name == EZS:
            return ezs.factors(len(first), self.entropy)
        keys = dict.fromkeys(key for query in self.truths.spec.group_sums for key in query.by)
        return ezs.balanced(first, self.truths.public_rows.cells(list(keys)).group_of, self.entropy)

    def _smooth_gamma(self, attribute: str, values: FloatArray) -> FloatArray:
        """The finest cells with noise for their largest establishment, divided equally among their rows."""
        spec, cells = self.truths.spec, self.truths.public_rows.cells_of(attribute)
        unit = float(spec.policy.attributes[attribute].unit)
        alpha, epsilon = reference_of(spec, attribute).alpha, pure_epsilon(pool_mu(spec, attribute))
        scale = smooth_gamma_scale(cells.largest(values), alpha, epsilon, unit)
        noisy = cells.sums(values) + scale * fourth_power(cells.count, self.entropy)
        result: FloatArray = (noisy / cells.sizes)[cells.group_of]
        return result


def noise_of(name: str, spec: Spec, attribute: str) -> _Noise:
    """The mechanism of a baseline for an attribute: as much noise as its price and the reference demand."""
    reference = reference_of(spec, attribute)
    if name == LOG_LAPLACE:
        unit = float(spec.policy.attributes[attribute].unit)
        psi = LaplaceLog(unit / reference.alpha)
        return _Noise(psi, lambda mu: log_laplace_scale(reference.alpha, laplace_epsilon(mu)), laplace)
    if name == SPLITTING:
        return _Noise(Linear(), lambda mu: reference.half_width / mu, gaussian)
    root = FourthRoot()
    gamma = float(root.distance(reference.size, reference.size * (1 + reference.alpha)))
    return _Noise(root, lambda mu: gamma / mu, gaussian)


def affordable(spec: Spec, attribute: str, noise: _Noise) -> dict[str, float]:
    """The price of every query that can be answered at it; the budget of others goes to these.

    Log-Laplace answers have no variance from λ = ½ on.
    """
    prices = {query.name: float(query.mu[attribute]) for query in spec.plain if attribute in query.mu}
    whole = pool_mu(spec, attribute)
    while prices:
        share = whole / np.sqrt(sum(mu**2 for mu in prices.values()))
        scaled = {name: mu * share for name, mu in prices.items()}
        cheapest = min(scaled, key=lambda name: scaled[name])
        if _has_variance(noise, noise.scale(scaled[cheapest])):
            return scaled
        del prices[cheapest]
    raise DomainError(f"no query about {attribute} has a price at which this baseline has a variance")


def require_affordable(name: str, spec: Spec, attribute: str) -> None:
    """Rejects prices at which a baseline cannot answer, and what it is not for."""
    require_amounts(spec, attribute)
    if name in UNFITTED:
        require_establishments(spec, name)
    if name in FITTED:
        affordable(spec, attribute, noise_of(name, spec, attribute))
    elif name == SMOOTH_GAMMA:
        smooth_gamma_rate(reference_of(spec, attribute).alpha, pure_epsilon(pool_mu(spec, attribute)))


def require_amounts(spec: Spec, attribute: str) -> None:
    """Rejects attributes that may be negative: baselines are for sizes."""
    if spec.policy.attributes[attribute].signed:
        raise DomainError(f"baselines take values of 0 or more, and {attribute} may be negative")


def require_establishments(spec: Spec, what: str) -> None:
    """Rejects a spec whose rows are not establishments, since then nobody knows who is in a cell."""
    if not spec.identities:
        names = ", ".join(spec.policy.attributes)
        raise DomainError(f"{what} needs establishments, and no query asks for {names} of every establishment")


def reference_of(spec: Spec, attribute: str) -> Reference:
    """Where methods protect the same."""
    said = spec.policy.attributes[attribute]
    return Reference.of(said.protection, float(said.unit), assumed_median(said))


def pool_mu(spec: Spec, attribute: str) -> float:
    """The μ of all that is spent on an attribute."""
    return math.sqrt(sum(exact(query.mu[attribute]) ** 2 for query in spec.plain if attribute in query.mu))


def _has_variance(noise: _Noise, sigma: float) -> bool:
    return not isinstance(noise.psi, LaplaceLog) or sigma < 0.5
