"""A statistical audit of whole releases: does an attacker tell close worlds apart better than was promised?

Two worlds differ in one establishment whose every attribute moves as far as closeness allows. A table holds thousands
of groups, each with a pair of worlds of its own, so a release of each world gives thousands of independent samples. For
every group the attacker computes the most powerful statistic there is, the log-likelihood ratio of all answers that
involve it, from published numbers alone. Whatever the statistic, under μ-gedp the area under its ROC curve is at most
Φ(μ/√2). So √2·Φ⁻¹(area) is an effective μ, which exceeds the promised one by chance alone.

`python -m tests.attacks.audit` prints the figures; docs/privacy-audit.md explains them.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtr, ndtri
from scipy.stats import norm, rankdata

import gedp.noise.grid
import gedp.noise.sums
import gedp.noise.varied
from gedp.accounting.composition import exact
from gedp.arrays import FloatArray, IntArray
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.mechanisms import pnc_range
from gedp.confidential.table import ConfidentialTable, open_table
from gedp.confidential.varied import clipping_range
from gedp.individual.bounds import clipping_bounds
from gedp.microdata import fit_microdata
from gedp.neighbors import NeighborFunction, Signed
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import Steps, scaled_gaussian
from gedp.policy import Attribute, Closeness, Data, Policy, Query, Spec, price
from gedp.release import ProtectedAnswers, read_release
from gedp.release.estimates import ZETA, PsiAnswers, no_clipping_tau
from tests.attacks.channels import LAYOUTS, audit_layout
from tests.helpers.specs import measured, rehearsed

#: A correct program raises an alarm in one of two million audits of all cases.
FALSE_ALARM = 5e-7
#: So that small tables are clipped all the time: the chance of no clipping that is asked for is nearly 0.
CLIPPING = Fraction(10**16 - 1, 10**16)

ESTABLISHMENTS, CELL, AREA, TOTAL = ("establishment",), ("plot",), ("area",), ()
DATA = Data("memory", ("area", "plot"), "id", synthetic=True)

World = Mapping[str, IntArray]  # for each attribute the values in units, groups × establishments of a group


@dataclass(frozen=True)
class Case:
    """What is measured, and what the two worlds look like.

    Each group is an area. Its first cell has the establishment that moves and, if there are `others`, one of that
    value; its second cell has one more. `sizes` say where pairs of close values are sought, in units.
    """

    name: str
    attributes: tuple[Attribute, ...]
    queries: tuple[Query, ...]
    sizes: tuple[int, ...]
    others: int | None = 0
    groups: int = 40_000
    releases: int = 1  # several are rehearsed, one is written and read back
    together: bool = True  # the attributes of one record move at once; otherwise each is a record of its own
    zeta: Fraction = ZETA
    from_microdata: bool = False
    notices: float = 0.95  # noise of this part of its size is found nearly for certain
    spend: Decimal | None = None  # by individual accounting

    @property
    def policy(self) -> Policy:
        """With a budget that allows everything."""
        return Policy({attribute.name: attribute for attribute in self.attributes}, Decimal(1000), spend=self.spend)

    @property
    def promised(self) -> float:
        """The total of the price list; if attributes are records of their own, that of one."""
        prices = price(Spec(DATA, self.policy, self.queries))
        return (prices.total if self.together else prices.of_attribute(self.attributes[0].name)).mu

    @property
    def establishments(self) -> int:
        """Of one group."""
        return 1 if self.others is None else 3


@dataclass(frozen=True)
class Finding:
    """What the attacker reached."""

    case: Case
    promised: float
    attainable: float  # by the worlds and the noise as published; nan if no likelihood was computed
    effective: float
    error: float  # standard error of the effective μ

    @property
    def excess(self) -> float:
        """The effective μ beyond the promise, in standard errors."""
        return (self.effective - self.promised) / self.error

    @property
    def is_broken(self) -> bool:
        """Whether chance does not explain that the promise was exceeded."""
        return self.excess > critical()

    def power(self) -> float:
        """The chance that noise of the part `notices` would be found."""
        reached = (self.effective if np.isnan(self.attainable) else self.attainable) / self.case.notices
        return float(ndtr((reached - self.promised) / self.error - critical()))


def critical() -> float:
    """The excess in standard errors beyond which the promise counts as broken."""
    return float(-ndtri(FALSE_ALARM / len(CASES)))


def effective_mu(zeros: FloatArray, ones: FloatArray) -> tuple[float, float]:
    """√2·Φ⁻¹(area under the ROC curve) of a statistic in both worlds, and its standard error (DeLong's)."""
    among_all = rankdata(np.concatenate([zeros, ones]))
    below = (among_all[len(zeros) :] - rankdata(ones)) / len(zeros)  # for each of the ones: the part of zeros below it
    above = 1 - (among_all[: len(zeros)] - rankdata(zeros)) / len(ones)
    area = float(below.mean())
    error = np.sqrt(below.var(ddof=1) / len(ones) + above.var(ddof=1) / len(zeros))
    z = float(ndtri(area))
    return np.sqrt(2) * z, float(np.sqrt(2) * error / norm.pdf(z))


def attainable_mu(squared: FloatArray) -> float:
    """What the likelihood ratio reaches in groups where the worlds are this far apart, in squared units of noise.

    A ratio is N(±d²/2, d²), so one of the second world exceeds one of the first with probability Φ(½√(d² + d'²)).
    """
    others = np.random.default_rng(1).permutation(squared)
    return float(np.sqrt(2) * ndtri(ndtr(np.sqrt(squared + others) / 2).mean()))


def edge_pair(attribute: Attribute, size: int) -> tuple[int, int]:
    """Two whole numbers of units, near this size, as far apart as closeness allows."""
    unit, protection = float(attribute.unit), attribute.protection
    lower = size + np.arange(min(abs(size) // 10 + 1, 10_000))
    upper = np.floor(protection.interval(lower * unit).high / unit * (1 + 1e-15)).astype(np.int64)
    distance = protection.psi.distance(lower * unit, upper * unit)
    distance = np.where(np.abs(distance) <= protection.gamma * (1 + 1e-12), np.abs(distance), 0)
    best = int(distance.argmax())
    return int(lower[best]), int(upper[best])


def worlds_of(case: Case) -> tuple[World, World]:
    """The two worlds: in each group another of the pairs, the others equal."""
    worlds: tuple[dict[str, IntArray], dict[str, IntArray]] = ({}, {})
    for attribute in case.attributes:
        pairs = np.array([edge_pair(attribute, size) for size in case.sizes])
        for side, world in enumerate(worlds):
            values = np.full((case.groups, case.establishments), case.others or 0, dtype=np.int64)
            values[:, 0] = pairs[np.arange(case.groups) % len(pairs), side]
            world[attribute.name] = values
    return worlds


def table_of(case: Case, world: World) -> ConfidentialTable:
    """A world as a confidential table."""
    group, place = np.divmod(np.arange(case.groups * case.establishments), case.establishments)
    columns = {
        "id": [f"{number:08}" for number in range(len(group))],
        "area": [f"{number:06}" for number in group],
        "plot": [f"{number:06}{'b' if second else 'a'}" for number, second in zip(group, place == 2, strict=True)],
        **{
            name: values.ravel() if case.policy.attributes[name].unit == 1 else _amounts(case, name, values.ravel())
            for name, values in world.items()
        },
    }
    return open_table(LocalEngine(pa.table(columns)), DATA, case.policy.attributes)


def releases_of(case: Case, world: World, folder: Path) -> Iterator[ProtectedAnswers]:
    """Through the public door, with the system's entropy."""
    table = table_of(case, world)
    if case.releases == 1:
        measured(table, case.policy, case.queries, out=folder, zeta=case.zeta, replace=True)
        yield read_release(folder)
    else:
        for _ in range(case.releases):
            yield rehearsed(table, case.policy, case.queries, zeta=case.zeta)


def _amounts(case: Case, name: str, units: IntArray) -> FloatArray:
    unit = exact(case.policy.attributes[name].unit)
    return units * unit.numerator / unit.denominator


@dataclass(frozen=True)
class Attacker:
    """Knows both worlds and the published release, and nothing else."""

    case: Case
    worlds: tuple[World, World]
    release: ProtectedAnswers

    def likelihood_ratios(self) -> tuple[FloatArray, FloatArray]:
        """Of each record: the logarithm of the ratio, and how far apart the worlds are, in squared units of noise."""
        of_attributes = [
            np.sum([self._of_answers(query, name) for query in self.case.queries if name in query.attributes], axis=0)
            for name in self.case.policy.attributes
        ]
        if self.case.together:
            ratios, squared = np.sum(of_attributes, axis=0)
        else:
            ratios, squared = np.concatenate(of_attributes, axis=1)
        return ratios, squared

    def fitted(self) -> FloatArray:
        """Of each record: the sum of ψ of its values in the fitted microdata, in units of γ."""
        fitted = fit_microdata(self.release).table().sort_by("id")
        parts = []
        for name, attribute in self.case.policy.attributes.items():
            values = fitted[name].to_numpy().reshape(self.case.groups, -1)[:, 0]
            psi = attribute.protection.psi
            parts.append(psi(values if attribute.signed else np.maximum(values, 0)) / attribute.protection.gamma)
        total: FloatArray = np.sum(parts, axis=0)
        return total

    def _of_answers(self, query: Query, name: str) -> tuple[FloatArray, FloatArray]:
        psi, unit = self._psi(name), float(self.case.policy.attributes[name].unit)
        if query.is_identity:
            sigma = self._sigma(query.name, name)
            first, second = (psi(world[name][:, 0] * unit) for world in self.worlds)
            ratios = _log_ratio(self._identity(name)[:, 0], first, second, sigma)
            if not query.is_individual:
                return ratios
            again = self._identity(name, "psi2")[:, 0], first, second, self._identity(name, "sigma2")[:, 0]
            both: tuple[FloatArray, FloatArray] = tuple(np.add(ratios, _log_ratio(*again)))
            return both
        members = slice(2 if query.by == CELL else None)
        values = [world[name][:, members] for world in self.worlds]
        answers = self.release.answers(query.name)
        answers = answers.take(np.flatnonzero(answers["attribute"].to_numpy() == name))
        if query.by:
            answers = answers.sort_by(query.by[0])
        if query.by == CELL and self.case.establishments > 1:
            answers = answers.take(np.arange(0, len(answers), 2))
        is_clipped = answers["mechanism"].to_numpy() == "pnc"
        by_psi = self._of_psi(query, name, values, answers)
        if not is_clipped.any():
            return by_psi
        clipped = self._of_clipped(query, name, values, answers)
        ratios, squared = np.where(is_clipped, clipped, by_psi)
        return ratios, squared

    def _of_psi(
        self, query: Query, name: str, values: Sequence[IntArray], answers: pa.Table
    ) -> tuple[FloatArray, FloatArray]:
        """From the upper end of the interval, which has ω without a correction."""
        psi, unit = self._psi(name), float(self.case.policy.attributes[name].unit)
        sigma = answers["noise"].to_numpy() if query.is_individual else self._sigma(query.name, name)
        omega = psi(np.maximum(answers["ci_high"].to_numpy(), psi.inverse(psi.lowest))) - float(ndtri(0.975)) * sigma
        first, second = (psi(of_world.sum(axis=1) * unit) for of_world in values)
        return _log_ratio(omega, first, second, sigma)

    def _of_clipped(
        self, query: Query, name: str, values: Sequence[IntArray], answers: pa.Table
    ) -> tuple[FloatArray, FloatArray]:
        """The bounds follow from the identity answers; given those, noise of the published variance is all there is."""
        attribute, identity = self.case.policy.attributes[name], self._identity(name)[:, : values[0].shape[1]]
        if query.is_individual:
            return self._of_own_bounds(name, values, answers)
        signed = isinstance(self._psi(name), Signed)
        of_all = next(query for query in self.case.queries if query.is_identity)
        manifest = self.release.manifest
        assert manifest.zeta is not None
        tau = no_clipping_tau(manifest.establishments, len(of_all.attributes), manifest.zeta, signed=signed)
        sigma = self._sigma(of_all.name, name)
        upper = PsiAnswers(self._psi(name), identity.max(axis=1), sigma).upper_bounds(tau)
        if signed:
            upper = np.maximum(upper, PsiAnswers(self._psi(name), identity.min(axis=1), sigma).upper_bounds(tau))
        most, least = pnc_range(exact(query.mu[name]))
        bounds = clipping_bounds(attribute, upper, most=most, least=least).bounds[:, None]
        first, second = (np.clip(of_world, -bounds, bounds).sum(axis=1) * float(attribute.unit) for of_world in values)
        return _log_ratio(answers["estimate"].to_numpy(), first, second, np.sqrt(answers["variance"].to_numpy()))

    def _of_own_bounds(self, name: str, values: Sequence[IntArray], answers: pa.Table) -> tuple[FloatArray, FloatArray]:
        """Of clipped sums by individual accounting: each establishment has a bound of its own."""
        attribute, manifest = self.case.policy.attributes[name], self.release.manifest
        chosen = manifest.individual[name]
        sigma = attribute.protection.gamma / float(chosen.mu)
        omega = self._identity(name)[:, : values[0].shape[1]]
        upper = PsiAnswers(self._psi(name), omega, sigma).upper_bounds(chosen.tau)
        rest = price(manifest.spec).of_attribute(name).mu_squared - exact(chosen.mu) ** 2
        most, least = clipping_range(attribute, rest)
        bounds = clipping_bounds(attribute, upper, most=most, least=least).bounds
        first, second = (np.clip(of_world, -bounds, bounds).sum(axis=1) * float(attribute.unit) for of_world in values)
        return _log_ratio(answers["estimate"].to_numpy(), first, second, np.sqrt(answers["variance"].to_numpy()))

    def _identity(self, name: str, column: str = "psi") -> FloatArray:
        answers = self.release.identity(["id", f"{name}__{column}"]).sort_by("id")
        found: FloatArray = answers[f"{name}__{column}"].to_numpy().reshape(self.case.groups, -1)
        return found

    def _psi(self, name: str) -> NeighborFunction:
        return self.case.policy.attributes[name].protection.psi

    def _sigma(self, query: str, name: str) -> float:
        answered = self.release.manifest.query(query)
        assert answered is not None
        return answered.noise[name].sigma


def _log_ratio(
    answer: FloatArray, first: FloatArray, second: FloatArray, sigma: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """log p(answer | second world) − log p(answer | first), and the squared distance of the worlds."""
    ratio: FloatArray = ((answer - first) ** 2 - (answer - second) ** 2) / (2 * np.square(sigma))
    return ratio, ((second - first) / sigma) ** 2


def audit(case: Case) -> Finding:
    """Releases of both worlds, and how well the attacker tells them apart."""
    worlds = worlds_of(case)
    statistics: list[FloatArray] = []
    distances: list[FloatArray] = []
    with tempfile.TemporaryDirectory() as folder:
        for world in worlds:
            found = []
            for release in releases_of(case, world, Path(folder) / "release"):
                attacker = Attacker(case, worlds, release)
                if case.from_microdata:
                    found.append(attacker.fitted())
                else:
                    ratios, squared = attacker.likelihood_ratios()
                    found.append(ratios)
                    distances.append(squared)
            statistics.append(np.concatenate(found))
    attainable = attainable_mu(np.concatenate(distances)) if distances else float("nan")
    return Finding(case, case.promised, attainable, *effective_mu(*statistics))


@contextmanager
def noise_of(part: float) -> Iterator[None]:
    """Everything drawn has this part of its size, and nothing says so."""

    def scaled(n: int, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
        draws: Steps = np.rint(scaled_gaussian(n, scale, entropy) * part).astype(np.int64)
        return draws

    with (
        patch.object(gedp.noise.grid, "scaled_gaussian", scaled),
        patch.object(gedp.noise.sums, "scaled_gaussian", scaled),
        patch.object(gedp.noise.varied, "scaled_gaussian", scaled),
    ):
        yield


def _attribute(psi: str, gamma: str, shift: str = "0", unit: str = "1", name: str = "x") -> Attribute:
    return Attribute(name, Closeness(psi, Decimal(gamma), Decimal(shift)), Decimal(unit))


def _query(by: tuple[str, ...], mu: str, mechanism: str = "auto", names: Sequence[str] = ("x",)) -> Query:
    return Query("-".join(by) or "total", by, dict.fromkeys(names, Decimal(mu)), mechanism)


SQRT, LOG, LINEAR = _attribute("sqrt", "1"), _attribute("log", "0.1", "1"), _attribute("linear", "10")
WIDENED = replace(_attribute("sqrt", "0.5"), at_least=(Closeness("linear", Decimal(20)),))
CENTS = _attribute("sqrt", "5", unit="0.01")
SIGNED = replace(SQRT, signed=True)
FINE_LOG = _attribute("log", "0.0005", "1")

PSI = (_query(CELL, "2", "psi"),)
TWO_LEVELS = (_query(CELL, "1.5", "psi"), _query(AREA, "1.2", "psi"))
IDENTITY = (_query(ESTABLISHMENTS, "2"),)
PNC = (_query(ESTABLISHMENTS, "0.8"), _query(CELL, "1.8", "pnc"))
AUTO = (_query(ESTABLISHMENTS, "1"), _query(CELL, "1.2"), _query(AREA, "1.2"))

OWN = tuple(
    Query("-".join(by), by, importance={"x": Decimal(by != ESTABLISHMENTS)}) for by in (ESTABLISHMENTS, CELL, AREA)
)

EMPLOYMENT, WAGE = _attribute("sqrt", "1", name="emp"), _attribute("log", "0.01", "1", "0.01", "wage")
PAIR = ("emp", "wage")
CHAIN = (
    _query(ESTABLISHMENTS, "0.9", names=PAIR),
    _query(CELL, "0.8", names=PAIR),
    _query(AREA, "0.7", "psi", names=PAIR),
)
MANY = tuple(_attribute("sqrt", "1", name=f"a{number}") for number in range(40))
NAMES = tuple(attribute.name for attribute in MANY)
TOTAL_PSI = (_query(TOTAL, "2", "psi", NAMES),)
TOTAL_PNC = (_query(ESTABLISHMENTS, "0.8", names=NAMES), _query(TOTAL, "1.8", "pnc", NAMES))

CASES: tuple[Case, ...] = (
    Case("psi: sqrt", (SQRT,), PSI, (0, 100, 10_000, 10**8)),
    Case("psi: log, shift 1", (LOG,), PSI, (1_000, 10**6)),
    Case("psi: linear", (LINEAR,), PSI, (0, 1_000), others=500),
    Case("psi: widened", (WIDENED,), PSI, (0, 300, 10_000, 10**7)),
    Case("psi: sqrt in cents", (CENTS,), PSI, (0, 10**6, 10**10)),
    Case("psi: two levels", (SQRT,), TWO_LEVELS, (100, 10**6)),
    Case("identity: sqrt", (SQRT,), IDENTITY, (0, 100, 10**8), others=None),
    Case("identity: signed", (SIGNED,), IDENTITY, (100, -10_000, -(10**8))),
    Case("pnc: sqrt", (SQRT,), PNC, (10**8,), others=10**6),
    Case("pnc: log", (FINE_LOG,), PNC, (10**7,), others=1_000),
    Case("pnc: linear", (LINEAR,), PNC, (0, 1_000), others=50),
    Case("pnc: widened", (WIDENED,), PNC, (10**8,), others=10),
    Case("pnc: sqrt in cents", (CENTS,), PNC, (10**10,), others=10**6),
    Case("pnc: signed", (SIGNED,), PNC, (10**8, -(10**8)), others=-1_000),
    Case("pnc: clipped", (SQRT,), PNC, (10**4, 10**8), None, 200, 100, zeta=CLIPPING, notices=0.8),
    Case("pnc: signed, clipped", (SIGNED,), PNC, (-1, 10**6), None, 200, 100, zeta=CLIPPING, notices=0.6),
    Case("auto: sqrt", (SQRT,), AUTO, (10**4, 10**8)),
    Case("auto: log", (FINE_LOG,), AUTO, (10**5, 10**7)),
    Case("individual: a giant", (SQRT,), OWN, (10**9,), 10**5, 20_000, spend=Decimal(2)),
    Case("individual: middling", (SQRT,), OWN, (10**7,), 10**7, 20_000, spend=Decimal(2)),
    Case("individual: small", (SQRT,), OWN, (10**6,), 10**9, 20_000, spend=Decimal(2)),
    Case("individual: signed", (SIGNED,), OWN, (10**8, -(10**8)), -(10**4), 20_000, spend=Decimal(2)),
    Case("individual: linear", (LINEAR,), OWN, (0, 1_000), 50, 20_000, spend=Decimal(2)),
    Case("total: psi", MANY, TOTAL_PSI, (10**4,), 0, 1, 60, together=False, notices=0.8),
    Case("total: pnc", MANY, TOTAL_PNC, (10**8,), 10**6, 1, 60, together=False, notices=0.8),
    Case("chain", (EMPLOYMENT, WAGE), CHAIN, (10**7,)),
    Case("chain: microdata", (EMPLOYMENT, WAGE), CHAIN, (10**7,), from_microdata=True),
    Case("chain: microdata, alone", (EMPLOYMENT, WAGE), CHAIN, (10**7,), others=None, from_microdata=True),
)


def print_cases(noise: float) -> bool:
    """The figures of all cases; whether none is broken."""
    print(f"{'case':26}{'promised':>9}{'attainable':>11}{'effective':>10}  {'error':6}{'excess':>7}  verdict")
    broken = []
    for case in CASES:
        with noise_of(noise) if noise != 1 else nullcontext():
            found = audit(case)
        attainable = "" if np.isnan(found.attainable) else f"{found.attainable:.4f}"
        print(
            f"{case.name:26}{found.promised:9.4f}{attainable:>11}{found.effective:10.4f} ±{found.error:.4f}"
            f"{found.excess:+7.1f}  {'BROKEN' if found.is_broken else 'kept'}",
            f"(power {found.power():.4f} at noise {case.notices:g})" if noise == 1 else "",
            flush=True,
        )
        broken += [case] if found.is_broken else []
    print(f"An excess of {critical():.2f} standard errors breaks the promise.\n")
    return not broken


def print_layouts() -> bool:
    """What tells the worlds apart in each layout; whether nothing does."""
    silent = True
    for layout in LAYOUTS:
        found = audit_layout(layout)
        print(f"{layout.name:45} {len(found):3} features tell the worlds apart", flush=True)
        for channel in found[:8]:
            print(f"    {channel.feature} (p = {channel.p_value:.0e})")
        silent = silent and not found
    return silent


def main() -> None:
    """Prints the audit; exits with 1 if a promise is broken or there is a channel."""
    parser = argparse.ArgumentParser(description="Audit whole releases: is every promise kept?")
    parser.add_argument("--noise", type=float, default=1.0, help="draw noise of this part of its size, to see it found")
    parser.add_argument("--no-channels", action="store_true", help="audit the noise alone")
    chosen = parser.parse_args()
    kept = print_cases(chosen.noise)
    silent = chosen.no_channels or print_layouts()
    sys.exit(0 if kept and silent else 1)


if __name__ == "__main__":
    main()
