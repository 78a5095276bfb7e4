"""What a release says about one attribute, as a small problem to solve: estimates, answers of groups, their noise."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import FloatArray
from gedp.microdata.answers import GroupAnswers, PsiNoise, noise_of, read_answers
from gedp.microdata.by_kind import RowsOnFile
from gedp.microdata.cells import PublicRows
from gedp.microdata.pooled import RowsInMemory, RowsOfCells
from gedp.microdata.second import GroupPrice, SecondAnswers
from gedp.neighbors import Protection
from gedp.neighbors.estimates import PsiAnswers, no_clipping_tau
from gedp.partitions import Partition
from gedp.policy import Attribute, pools
from gedp.policy.model import PSI_SUFFIX, SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX


@dataclass(frozen=True)
class PooledNoise(PsiNoise):
    """The noise of the answers for the rows of every cell together."""

    rows: RowsOfCells = field(kw_only=True)

    def at_answers(self, answers: FloatArray) -> FloatArray:
        """The variances if every answer for a row were the truth."""
        return self.rows.variances_at_answers

    def variance(self, x: FloatArray) -> FloatArray:
        """The variances where the totals are x."""
        return self.rows.at(x).variances

    def highest(self, x: FloatArray, cells: Partition) -> FloatArray:
        """The highest fitted value of a row in every cell."""
        return self.rows.highest(self.rows.at(x))


@dataclass(frozen=True)
class ClippedNoise:
    """The noise of clipped sums: a bound from the noisy answer of the group's largest establishment sets its scale."""

    protection: Protection
    sigma: float  # of the answers for establishments
    tau: float

    def sensitivity(self, omega: FloatArray) -> FloatArray:
        """How far one establishment can move the sum of a group whose largest ψ of an establishment is omega."""
        upper = PsiAnswers(self.protection.psi, omega, self.sigma).upper_bounds(self.tau)
        return upper - self.protection.low(upper)


@dataclass(frozen=True, repr=False)
class AttributeProblem:
    """Everything a release says about one attribute."""

    name: str
    cells: Partition
    groups: tuple[GroupAnswers, ...]
    estimates: FloatArray | None  # of the rows; None without an identity query for this attribute
    noise: PsiNoise | None  # of the identity answers
    clipped: ClippedNoise | None = None  # None where nothing is clipped, or values have both signs
    second: SecondAnswers | None = None  # for establishments, by individual accounting

    def at(self, values: FloatArray | None) -> "AttributeProblem":
        """The problem with the precisions of individual accounting where these are the true values of the rows."""
        if self.second is None or values is None:
            return self
        answers, precisions = self.second.at(values)
        groups = tuple(
            replace(group, variances=np.where(group.by_psi, group.variances, 1 / precisions[group.query]))
            for group in self.groups
        )
        return replace(self._with(answers), groups=groups)

    def _with(self, answers: PsiAnswers) -> "AttributeProblem":
        assert self.noise is not None
        return replace(self, estimates=answers.estimate(), noise=replace(self.noise, sigma=answers.sigma))

    def with_second(self, second: SecondAnswers) -> "AttributeProblem":
        """The problem with second answers for establishments, weighed as they were drawn."""
        return replace(self._with(second.as_drawn()), second=second)


def attribute_problem(public_rows: PublicRows, name: str) -> AttributeProblem:
    """What the release says about one attribute."""
    source, spec = public_rows.source, public_rows.spec
    asked = [query for query in spec.plain if name in query.attributes]
    attribute = spec.policy.attributes[name]
    cells = public_rows.cells_of(name)
    groups = tuple(read_answers(public_rows, query, name, cells) for query in asked if not query.is_identity)
    for query in asked:
        if query.is_identity:
            noise = noise_of(source, query.name, attribute)
            sigma = float(noise.sigma)
            if public_rows.kinds is None:
                omega = source.identity([name + PSI_SUFFIX])[name + PSI_SUFFIX].to_numpy()
                estimates = PsiAnswers(noise.psi, omega, sigma).estimate()
            else:
                together = public_rows.kinds.together(name)
                omega, estimates = together.highest_omega, together.sums
                line = noise.psi.variance_line(sigma)
                assert line is not None  # else the rows would not be on file
                rows = RowsOnFile(public_rows.kinds, name, cells, *line)
                noise = PooledNoise(noise.psi, sigma, noise.least, rows=rows)
            problem = AttributeProblem(name, cells, groups, estimates, noise)
            if spec.is_individual:
                return problem.with_second(_second_answers(public_rows, attribute, problem, omega, sigma))
            if attribute.signed or all(group.by_psi.all() for group in groups):
                return problem
            clipped = ClippedNoise(attribute.protection, sigma, _tau(public_rows))
            noisy = [group.groups.largest(cells.largest(omega)) for group in groups]
            groups = tuple(
                replace(group, sensitivity=clipped.sensitivity(omega))
                for group, omega in zip(groups, noisy, strict=True)
            )
            return replace(problem, groups=groups, clipped=clipped)
    return AttributeProblem(name, cells, groups, None, None)


def _second_answers(
    public_rows: PublicRows, attribute: Attribute, problem: AttributeProblem, omega: FloatArray, sigma: float
) -> SecondAnswers:
    columns = [attribute.name + suffix for suffix in (SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX)]
    table, chosen = public_rows.source.identity(columns), public_rows.source.manifest.individual[attribute.name]
    second, second_sigma = (table[column].to_numpy() for column in columns)
    gamma, prices = attribute.protection.gamma, []
    for group in problem.groups:
        sigma_psi = gamma if group.noise is None else np.asarray(group.noise.sigma)
        precision = np.where(group.by_psi, (gamma / sigma_psi) ** 2, 1 / group.variances)
        prices.append(GroupPrice(group.query, problem.cells.of_groups(group.groups), group.by_psi, precision))
    prices.sort(key=lambda price: len(price.precision))
    units, members = public_rows.units()
    rest = float(pools(public_rows.spec)[attribute.name].mu_squared - exact(chosen.mu) ** 2)
    least = 0.0 if problem.noise is None else problem.noise.least
    first_sigma = sigma if members is None else sigma * np.sqrt(members)
    drawn = omega, first_sigma, second, second_sigma
    return SecondAnswers(attribute, *drawn, rest, chosen.tau, least, prices, units)


def _tau(public_rows: PublicRows) -> float:
    """By how many standard deviations the bounds of clipped sums are above the noisy answers."""
    manifest = public_rows.source.manifest
    identities = sum(len(query.asked) for query in public_rows.spec.identities)
    return no_clipping_tau(public_rows.listed, identities, manifest.zeta or Fraction(0))


def pooled(problem: AttributeProblem) -> tuple[AttributeProblem, RowsOfCells] | None:
    """The problem with one answer for every cell instead of those for its rows; None where variances are no line."""
    noise, cells = problem.noise, problem.cells
    if noise is None or problem.estimates is None or problem.second is not None:
        return None
    line = noise.psi.variance_line(float(noise.sigma))
    if line is None:
        return None
    rows = noise.rows if isinstance(noise, PooledNoise) else RowsInMemory(cells, problem.estimates, *line)
    together = PooledNoise(noise.psi, noise.sigma, noise.least, rows=rows)
    return replace(problem, cells=Partition.single(cells.count), estimates=rows.sums, noise=together), rows
