"""Confidential table in, protected answers out: validate → price → record in the ledger → draw → answer → write.

This is the only module in which the truth and the noise meet.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from gedp._version import __version__
from gedp.accounting.composition import exact
from gedp.accounting.ledger import Ledger
from gedp.answers import Answers, answer_table
from gedp.engines import IntArray
from gedp.errors import FaultsError, Refused
from gedp.estimates import PsiAnswers, psi_variance
from gedp.mechanisms import (
    ZETA,
    ClippingBounds,
    PsiMechanism,
    answer_pnc,
    clipping_bounds,
    no_clipping_tau,
    pnc_range,
    psi_mechanism,
)
from gedp.neighbors import Linear, Log, Signed, Sqrt
from gedp.noise.entropy import Entropy, SystemEntropy
from gedp.policy import (
    Microdata,
    Output,
    Policy,
    PriceList,
    Query,
    Spec,
    parse_spec,
    price,
    require_within_budget,
    write_spec,
)
from gedp.recording import Record, record
from gedp.rehearsal import RehearsalWriter
from gedp.release import Release, ReleaseWriter
from gedp.sealing import sealed
from gedp.table import Cells, ConfidentialTable, Groups, find_cells
from gedp.tally import CellTally, Clipping, clipped_excess, scan_cells

Progress = Callable[[str, int, int], None]  # what, done, of how many


@sealed
def measure(
    table: ConfidentialTable,
    policy: Policy,
    queries: Sequence[Query],
    *,
    out: str | Path,
    ledger: Ledger | None = None,
    entropy: Entropy | None = None,
    microdata: Microdata = Microdata(),  # noqa: B008 - frozen
    output: Output = Output(),  # noqa: B008 - frozen
    zeta: Fraction = ZETA,
    replace: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Answers the queries about the table and writes the release to the folder `out`.

    The price is on disk in `ledger` before the first draw. Only a table declared synthetic can do without a ledger or
    with another source of randomness than the system's.
    """
    spec = Spec(table.data, policy, tuple(queries), table.groupers, microdata, output)
    if ledger is None and not table.data.synthetic:
        raise Refused("a confidential table needs a ledger. Give one, or say in the spec that the data is synthetic")
    return _carry_out(table, spec, lambda: ReleaseWriter(Path(out), replace=replace), ledger, entropy, zeta, progress)


@sealed
def rehearse(
    table: ConfidentialTable,
    policy: Policy,
    queries: Sequence[Query],
    *,
    entropy: Entropy | None = None,
    zeta: Fraction = ZETA,
) -> Release:
    """Answers as `measure` would give, to be compared with the truth and thrown away: no ledger knows of them.

    So nothing of it may be published. It stays in memory, and is no release that any reader would take.
    """
    spec = Spec(table.data, policy, tuple(queries), table.groupers, Microdata(), Output())
    name = str(getattr(table.engine, "name", "the table"))
    return _carry_out(table, spec, lambda: RehearsalWriter(name), None, entropy, zeta)


def _carry_out(
    table: ConfidentialTable,
    spec: Spec,
    writing: Callable[[], ReleaseWriter | RehearsalWriter],
    ledger: Ledger | None,
    entropy: Entropy | None,
    zeta: Fraction,
    progress: Progress | None = None,
) -> Release:
    require_sound(spec)
    prices = price(spec)
    require_within_budget(prices)
    if entropy is not None and entropy.kind != "system" and not table.data.synthetic:
        raise Refused("seeded noise protects nothing; it is for tables that the spec declares synthetic")
    entropy = entropy or SystemEntropy()
    mechanisms = psi_mechanisms(spec)
    with writing() as writer:
        for name, grouper in table.groupers.items():
            if grouper.map is not None:  # the lookup of a prefix has the codes that occur, and stays here
                writer.write_map(name, table.lookups[name][1])
        cells = find_cells(table, spec.queries)
        recorded = None if ledger is None else record(ledger, table.engine.files(), spec, prices)
        try:
            job = _Job(table, spec, cells, mechanisms, entropy, zeta, writer, progress or (lambda *_: None))
            with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
                described = job.answer_groups(job.draw_identity())
            manifest = _manifest(job, prices, recorded, described)
            release = writer.finish(manifest)
            if recorded is not None:
                recorded.finish(release.folder)
        except BaseException as failure:
            if recorded is not None:
                recorded.fail(writer.target, failure)
            raise
    return release


def psi_mechanisms(spec: Spec) -> dict[tuple[str, str], PsiMechanism]:
    """For every query and attribute its ψ-mechanism; refuses settings without one, before anything is spent."""
    return {
        (query.name, name): psi_mechanism(spec.policy.attributes[name], exact(mu))
        for query in spec.queries
        for name, mu in query.mu.items()
    }


def require_sound(spec: Spec) -> None:
    """What the reader refuses in a file is refused for queries made in Python too: a release must be read again."""
    try:
        parse_spec(write_spec(spec))
    except FaultsError as error:  # lines of a text that nobody wrote say nothing
        faults = [replace(fault, place=fault.place.partition(", ")[2] or fault.place) for fault in error.faults]
        raise FaultsError("the queries", faults) from None


@dataclass(frozen=True, repr=False)
class _Job:
    """Everything that answering needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: Cells
    mechanisms: Mapping[tuple[str, str], PsiMechanism]
    entropy: Entropy
    zeta: Fraction
    writer: ReleaseWriter | RehearsalWriter
    progress: Progress
    identity: dict[str, PsiMechanism] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for query in self.spec.queries:
            if query.is_identity:
                self.identity.update({name: self.mechanisms[query.name, name] for name in query.mu})

    def draw_identity(self) -> dict[str, CellTally]:
        """Sums over the finest cells, and the identity answers, drawn and written batch by batch."""
        tallies = {name: CellTally(self.cells.count) for name in self.spec.asked}
        data = self.spec.data
        plain = [*([data.id] if data.id else []), *data.public] if self.identity else []
        done, rows = 0, len(self.cells.of_row)
        for of_row, batch in scan_cells(self.table, self.cells, self.spec.asked, plain):
            columns = dict(zip(plain, batch.plain.columns, strict=True))
            for name, tally in tallies.items():
                tally.add(of_row, batch.amounts[name])
                if name in self.identity:
                    answers = self.identity[name].answer(batch.amounts[name], self.entropy)
                    estimates = answers.estimate()
                    tally.add_identity(of_row, answers.omega, estimates)
                    columns[f"{name}__psi"] = pa.array(answers.omega)
                    columns[name] = pa.array(estimates)
            if self.identity:
                self.writer.write_identity(pa.table(columns), data.public)
            done += len(of_row)
            self.progress("establishments", done, rows)
        return tallies

    def answer_groups(self, tallies: Mapping[str, CellTally]) -> list[dict[str, Any]]:
        """Every query but the identity: choose, clip, draw, write. Returns what the manifest says of each."""
        group_queries = [query for query in self.spec.queries if not query.is_identity]
        groups = {query.name: self.cells.groups(query.by) for query in group_queries}
        plans = {
            (query.name, name): self._plan(query, name, groups[query.name], tallies[name])
            for query in group_queries
            for name in query.mu
        }
        excess = self._excess(plans, groups, tallies)
        described = []
        for done, query in enumerate(group_queries, 1):
            answers = {}
            for name in query.mu:
                plan, of_cell = plans[query.name, name], groups[query.name].of_cell
                sums = np.zeros(groups[query.name].count, dtype=np.int64)
                np.add.at(sums, of_cell, tallies[name].sums)
                clipped = sums - excess.get(name, {}).get(query.name, np.zeros_like(sums))
                answers[name] = self._answer(query, name, plan, sums, clipped)
            file = self.writer.write_answers(query.name, answer_table(query, groups[query.name], answers))
            described.append(self._describe(query, groups[query.name], plans, file))
            self.progress("queries", done, len(group_queries))
        return [*self._describe_identity(), *described]

    def _plan(self, query: Query, name: str, groups: Groups, tally: CellTally) -> "_Plan":
        """For every group its mechanism and, for pnc, its bound: from public identity answers alone."""
        attribute = self.spec.policy.attributes[name]
        psi_only = name not in self.identity or query.mechanism == "psi"
        if psi_only:
            return _Plan(np.zeros(groups.count, dtype=bool), None)
        identity = self.identity[name]
        highest, lowest = np.full(groups.count, -np.inf), np.full(groups.count, np.inf)
        np.maximum.at(highest, groups.of_cell, tally.highest)
        np.minimum.at(lowest, groups.of_cell, tally.lowest)
        signed = isinstance(identity.psi, Signed)
        tau = no_clipping_tau(len(self.cells.of_row), len(self.identity), self.zeta, signed=signed)
        upper = PsiAnswers(identity.psi, highest, identity.sigma).upper_bounds(tau)
        if signed:
            upper = np.maximum(upper, PsiAnswers(identity.psi, lowest, identity.sigma).upper_bounds(tau))
        most, least = pnc_range(exact(query.mu[name]))
        bounds = clipping_bounds(attribute, upper, most=most, least=least)
        if query.mechanism == "pnc" or not identity.psi.contracts_in_sums:
            return _Plan(np.ones(groups.count, dtype=bool), bounds)
        expected = np.bincount(groups.of_cell, weights=tally.estimates, minlength=groups.count)
        of_psi = psi_variance(identity.psi, expected, self.mechanisms[query.name, name].sigma)
        of_pnc = (bounds.sigma(exact(query.mu[name])) * float(attribute.unit)) ** 2
        return _Plan((of_pnc < of_psi) & (bounds.bounds < most), bounds)  # a bound that was cut down may bite

    def _excess(
        self,
        plans: Mapping[tuple[str, str], "_Plan"],
        groups: Mapping[str, Groups],
        tallies: Mapping[str, CellTally],
    ) -> dict[str, dict[str, IntArray]]:
        clippings: dict[str, list[Clipping]] = {}
        for (query, name), plan in plans.items():
            if plan.bounds is not None and plan.clip.any():
                of_cell = groups[query].of_cell
                bound = np.where(plan.clip, plan.bounds.bounds, 0)[of_cell]
                clippings.setdefault(name, []).append(Clipping(query, bound, of_cell, groups[query].count))
        if not clippings:
            return {}
        return clipped_excess(self.table, self.cells, clippings, {n: tallies[n].sums for n in clippings})

    def _answer(self, query: Query, name: str, plan: "_Plan", sums: IntArray, clipped: IntArray) -> Answers:
        mu, unit = exact(query.mu[name]), float(self.spec.policy.attributes[name].unit)
        confidence = float(self.spec.output.confidence)
        result = Answers.empty(len(sums))
        by_psi = ~plan.clip
        if by_psi.any():
            answers = self.mechanisms[query.name, name].answer(sums[by_psi], self.entropy)
            kind = "exact" if isinstance(answers.psi, Linear) else "estimated"
            interval = answers.interval(confidence)
            result.put(by_psi, answers.estimate(), answers.variance(), interval, "psi", kind)
        if plan.bounds is not None and plan.clip.any():
            bounds = ClippingBounds(plan.bounds.bounds[plan.clip], plan.bounds.sensitivity[plan.clip])
            noisy, variance = answer_pnc(bounds, clipped[plan.clip], mu, self.entropy)
            estimate, variance = noisy * unit, variance * unit**2
            reach = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
            result.put(plan.clip, estimate, variance, (estimate - reach, estimate + reach), "pnc", "exact")
        return result

    def _describe(
        self, query: Query, groups: Groups, plans: Mapping[tuple[str, str], "_Plan"], file: str
    ) -> dict[str, Any]:
        chosen = {name: int(plans[query.name, name].clip.sum()) for name in query.mu}
        return {
            "name": query.name,
            "by": list(query.by),
            "mechanism": query.mechanism,
            "groups": groups.count,
            "file": file,
            "attributes": {
                name: {
                    "mu": str(mu),
                    "sigma_psi": self.mechanisms[query.name, name].sigma,
                    "groups_psi": groups.count - chosen[name],
                    "groups_pnc": chosen[name],
                }
                for name, mu in query.mu.items()
            },
        }

    def _describe_identity(self) -> list[dict[str, Any]]:
        return [
            {
                "name": query.name,
                "by": list(query.by),
                "mechanism": "psi",
                "groups": len(self.cells.of_row),
                "file": "identity.parquet",
                "attributes": {
                    name: {"mu": str(mu), "sigma_psi": self.identity[name].sigma} for name, mu in query.mu.items()
                },
            }
            for query in self.spec.queries
            if query.is_identity
        ]


@dataclass(frozen=True, repr=False)
class _Plan:
    """Which groups are clipped, and at which bounds."""

    clip: np.ndarray[Any, np.dtype[np.bool_]]
    bounds: ClippingBounds | None


def _manifest(job: _Job, prices: PriceList, recorded: Record | None, described: list[dict[str, Any]]) -> dict[str, Any]:
    """What anybody may know about the release. Nothing in it comes from the confidential columns."""
    spec = job.spec
    return {
        "gedp": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "release": recorded.reservation.release_id if recorded else None,
        "entropy": job.entropy.kind,
        "synthetic": spec.data.synthetic,
        "establishments": len(job.cells.of_row),
        "promise": {
            "mu": prices.total.mu,
            "mu_squared": str(prices.total.mu_squared),
            "budget_mu": str(spec.policy.mu),
            "attributes": {name: str(a.protection) for name, a in spec.policy.attributes.items()},
        },
        "estimates": {
            name: "unbiased"
            if isinstance(spec.policy.attributes[name].protection.psi, Sqrt | Log | Linear)
            else "corrected to the second order of the noise; a bias of higher order remains"
            for name in job.spec.asked
        },
        "clipping": {"zeta": str(job.zeta)} if job.identity else None,
        "prices": [{"query": p.query, "attribute": p.attribute, "mu": str(p.mu)} for p in prices.lines],
        "queries": described,
        "spec": write_spec(spec),
    }


class _CallableModule(ModuleType):
    """The package has a module and a function of this name; `gedp.measure` is both, whichever was imported first."""

    __call__ = staticmethod(measure)


sys.modules[__name__].__class__ = _CallableModule
