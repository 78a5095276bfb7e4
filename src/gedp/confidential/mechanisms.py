"""How group sums are answered: ψ of the sum plus noise (psi), or clipped sums plus noise (pnc).

pnc stands for "probably no clipping": its bounds are so far above the noisy answers for the largest establishments that
probably nothing is cut off. Each group can have the better of the two.

Sums come in as exact whole numbers of units. What leaves is noisy on an exact grid (docs/proofs/noise.md); estimates,
variances, intervals and the choice are computed from what left, so they are post-processing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, FloatArray, IntArray, max_by
from gedp.confidential.table import Groups
from gedp.confidential.tally import CellTally
from gedp.errors import DomainError
from gedp.individual.bounds import RAISE
from gedp.neighbors import Linear, NeighborFunction, Signed
from gedp.neighbors.estimates import PsiAnswers, no_clipping_tau
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE
from gedp.noise.grid import Grid, grid_for, psi_grid
from gedp.noise.rounding import Number, float_up
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.policy import Attribute
from gedp.policy.values import MOST_CONFIDENCE

BITS = 24
#: No draw is farther than this from its mean, in standard deviations, in 10^30 draws.
FARTHEST_DRAW = 12
#: No answer, error or end of an interval may be larger: products of two variances must not overflow in what follows.
LARGEST_ANSWER = 1e75


@dataclass(frozen=True)
class PsiMechanism:
    """ω = ψ(sum) + noise on a grid. Sensitivity γ: adding the rest of a group never spreads two values apart."""

    psi: NeighborFunction
    unit: float
    grid: Grid | SumGrid

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on ψ, what the grid costs included."""
        return float(self.grid.sigma) * (self.unit if isinstance(self.grid, SumGrid) else 1.0)

    def answer(self, sums: IntArray, entropy: Entropy) -> PsiAnswers:
        """ψ of each sum (in units) with noise of its own."""
        if isinstance(self.grid, SumGrid):
            return PsiAnswers(self.psi, self.grid.noisy(sums, entropy) * self.unit, self.sigma)
        return PsiAnswers(self.psi, self.grid.noisy(self.psi(sums * self.unit), entropy), self.sigma)


def psi_mechanism(attribute: Attribute, mu: Fraction) -> PsiMechanism:
    """The ψ-mechanism for one attribute. Where ψ is linear its values are sums, which have a grid without charges."""
    protection, unit = attribute.protection, exact(attribute.unit)
    base = protection.psi.base if isinstance(protection.psi, Signed) else protection.psi
    if isinstance(base, Linear):
        sensitivity = float_up(exact(attribute.closeness.gamma) / unit)
        return PsiMechanism(protection.psi, float(unit), sum_grid_for(sensitivity, mu, BITS, MOST_UNITS))
    grid = psi_grid(protection, mu, BITS, math.ceil(MOST_UNITS * unit), float(unit))
    mechanism = PsiMechanism(protection.psi, float(unit), grid)
    _require_useful(mechanism, attribute.name, mu)
    return mechanism


def _require_useful(mechanism: PsiMechanism, name: str, mu: Fraction) -> None:
    """Rejects noise so large that an answer or its error could overflow, whatever the truth."""
    psi, sigma = mechanism.psi, mechanism.sigma
    highest = float(psi(MOST_UNITS * mechanism.unit))
    lowest = psi.at_zero if math.isfinite(psi.at_zero) else float(psi(mechanism.unit))
    lowest = -highest if isinstance(psi, Signed) else lowest
    omega = np.linspace(lowest - FARTHEST_DRAW * sigma, highest + FARTHEST_DRAW * sigma, 1001)
    answers = PsiAnswers(psi, omega, sigma)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs([answers.estimate(), np.sqrt(answers.variance()), *answers.interval(MOST_CONFIDENCE)])
    if not (sizes <= LARGEST_ANSWER).all():  # nor is NaN
        raise DomainError(
            f"{name} at mu = {float(mu):g}: noise of deviation {sigma:.3g} in {psi} is too large to be useful, as "
            f"answers or their errors could be beyond {LARGEST_ANSWER:g}. Take a larger mu or a smaller gamma"
        )


def pnc_range(mu: Fraction) -> tuple[float, float]:
    """The largest bound and the least sensitivity, in units, whose noise the grid of sums can carry.

    Bounds are known only after the identity answers were drawn and paid for, so none may fail then: a smaller bound and
    a larger sensitivity are as safe.
    """
    finest = 2.0 ** ((MOST_UNITS - 1).bit_length() - 62)
    return min(math.floor(LARGEST_SCALE * float(mu) / 2.001), MOST_UNITS), finest * float(mu) * RAISE


def upper_bounds(
    identity: PsiMechanism, tally: CellTally, groups: Groups, rows: int, attributes: int, zeta: Fraction
) -> FloatArray:
    """Upper bounds on the magnitudes of single values in every group, from public identity answers alone.

    All of them hold, over `rows` establishments and `attributes` with such answers, but for a chance of ζ.
    """
    signed = isinstance(identity.psi, Signed)
    tau = no_clipping_tau(rows, attributes, zeta, signed=signed)
    highest = max_by(groups.of_cell, tally.highest, groups.count)
    upper = PsiAnswers(identity.psi, highest, identity.sigma).upper_bounds(tau)
    if signed:
        lowest = -max_by(groups.of_cell, -tally.lowest, groups.count)
        upper = np.maximum(upper, PsiAnswers(identity.psi, lowest, identity.sigma).upper_bounds(tau))
    return upper


def pnc_grid(sensitivity: FloatArray, mu: Fraction) -> SumGrid:
    """The pnc-mechanism: the noise of sums of values that are cut off at bounds with these sensitivities, in units."""
    return sum_grid_for(sensitivity, mu, BITS, MOST_UNITS)


def estab_gaussian(
    entries: int, sensitivity: Number, mu: Number, *, largest: float, relative_error: float = 1e-12
) -> Grid:
    """The paper's general mechanism: the grid for a vector with a stated ψ-neighbor sensitivity (L2 norm).

    `largest` bounds every entry of the answer over all possible tables and must not come from the data, nor may the
    number of entries. Rounding d entries moves their L2 distance by √d steps, which the grid charges.
    """
    return grid_for(sensitivity, mu, BITS, largest, relative_error, entries)
