"""Where the truth and the noise meet: every answer is drawn here, after its price was recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from gedp._version import __version__
from gedp.accounting.composition import exact
from gedp.arrays import BoolArray, IntArray
from gedp.confidential.answers import Answers, AnswerWriter, answer_table
from gedp.confidential.individual import WORDS_FOR_TIES, IndividualJob
from gedp.confidential.mechanisms import (
    PsiMechanism,
    answer_pnc,
    pnc_range,
)
from gedp.confidential.preparing import Prepared
from gedp.confidential.recording import Record
from gedp.confidential.table import ConfidentialTable, FinestCells, Groups
from gedp.confidential.tally import CellTally, Clipping, clipped_excess, scan_cells
from gedp.individual.bounds import ClippingBounds, clipping_bounds
from gedp.neighbors import Signed
from gedp.noise.entropy import Entropy
from gedp.policy import Query, Spec
from gedp.progress import Progress, silent
from gedp.release import Answered, AttributeNoise, Individual, Manifest
from gedp.release.estimates import PsiAnswers, no_clipping_tau, psi_variance


def write_maps(table: ConfidentialTable, writer: AnswerWriter) -> None:
    """Hands over the map files of a table. The lookup of a prefix has the codes that occur, and stays here."""
    for name, grouper in table.groupers.items():
        if grouper.map is not None:
            writer.write_map(name, table.lookups[name][1])


def draw_answers(
    prepared: Prepared,
    writer: AnswerWriter,
    entropy: Entropy,
    zeta: Fraction,
    progress: Progress | None = None,
    recorded: Record | None = None,
) -> Manifest:
    """Draws every answer into the writer, and says what anybody may know about them."""
    with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
        if prepared.spec.is_individual:
            answered, individual = IndividualJob(
                prepared.table,
                prepared.spec,
                prepared.cells,
                prepared.pools,
                entropy,
                zeta,
                writer,
                progress or silent,
                prepared.shares,
            ).draw()
            return _manifest(prepared, entropy, None, recorded, answered, individual)
        job = _Job(
            prepared.table,
            prepared.spec,
            prepared.cells,
            prepared.mechanisms,
            entropy,
            zeta,
            writer,
            progress or silent,
        )
        answered = job.answer_groups(job.draw_identity())
    return _manifest(prepared, entropy, zeta if job.identity else None, recorded, answered)


@dataclass(frozen=True, repr=False)
class _Job:
    """Everything that answering needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: FinestCells
    mechanisms: Mapping[tuple[str, str], PsiMechanism]
    entropy: Entropy
    zeta: Fraction
    writer: AnswerWriter
    progress: Progress
    identity: dict[str, PsiMechanism] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for query in self.spec.queries:
            if query.is_identity:
                self.identity.update({name: self.mechanisms[query.name, name] for name in query.attributes})

    def draw_identity(self) -> dict[str, CellTally]:
        """Sums over the finest cells, and the identity answers, drawn and written batch by batch."""
        tallies = {name: CellTally(self.cells.count) for name in self.spec.asked}
        data = self.spec.data
        plain = [*([data.id] if data.id else []), *data.public] if self.identity else []
        keys = [data.id] if data.id else data.public
        done, rows = 0, len(self.cells.of_row)
        for of_row, batch in scan_cells(self.table, self.cells, self.spec.asked, plain):
            columns = dict(zip(plain, batch.plain.columns, strict=True))
            for name, tally in tallies.items():
                tally.add(of_row, batch.amounts[name])
                if name in self.identity:
                    answers = self.identity[name].answer(batch.amounts[name], self.entropy)
                    estimates = answers.estimate()
                    tally.add_identity(of_row, answers.omega, estimates / float(self.spec.policy.attributes[name].unit))
                    columns[f"{name}__psi"] = pa.array(answers.omega)
                    columns[name] = pa.array(estimates)
            if self.identity:
                ties = [] if data.id else [self.entropy.words(len(of_row)) for _ in range(WORDS_FOR_TIES)]
                self.writer.write_identity(pa.table(columns), data.public, keys, ties)
            done += len(of_row)
            self.progress("establishments", done, rows)
        self.writer.finish_identity()
        return tallies

    def answer_groups(self, tallies: Mapping[str, CellTally]) -> list[Answered]:
        """Every query but the identity: choose, clip, draw, write. Returns what the manifest says of all queries."""
        group_queries = [query for query in self.spec.queries if not query.is_identity]
        groups = {query.name: self.cells.groups(query.by) for query in group_queries}
        plans = {
            (query.name, name): self._plan(query, name, groups[query.name], tallies[name])
            for query in group_queries
            for name in query.attributes
        }
        excess = self._excess(plans, groups, tallies)
        answered = []
        for done, query in enumerate(group_queries, 1):
            answers = {}
            for name in query.attributes:
                plan, of_cell = plans[query.name, name], groups[query.name].of_cell
                sums = np.zeros(groups[query.name].count, dtype=np.int64)
                np.add.at(sums, of_cell, tallies[name].sums)
                clipped = sums - excess.get(name, {}).get(query.name, np.zeros_like(sums))
                answers[name] = self._answer(query, name, plan, sums, clipped)
            self.writer.write_answers(query.name, answer_table(query, groups[query.name], answers))
            answered.append(self._answered(query, groups[query.name], plans))
            self.progress("queries", done, len(group_queries))
        return [*self._identity_answered(), *answered]

    def _plan(self, query: Query, name: str, groups: Groups, tally: CellTally) -> "_Plan":
        """Each group's mechanism and, for pnc (probably no clipping), its bound: from public identity answers alone."""
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
        expected = np.bincount(groups.of_cell, weights=tally.estimates, minlength=groups.count) * float(attribute.unit)
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
            kind = "exact" if answers.psi.has_constant_variance else "estimated"
            interval = answers.interval(confidence)
            result.put(by_psi, answers.estimate(), answers.variance(), interval, "psi", kind)
        if plan.bounds is not None and plan.clip.any():
            bounds = ClippingBounds(plan.bounds.bounds[plan.clip], plan.bounds.sensitivity[plan.clip])
            noisy, variance = answer_pnc(bounds, clipped[plan.clip], mu, self.entropy)
            estimate, variance = noisy * unit, variance * unit**2
            reach = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
            result.put(plan.clip, estimate, variance, (estimate - reach, estimate + reach), "pnc", "exact")
        return result

    def _answered(self, query: Query, groups: Groups, plans: Mapping[tuple[str, str], "_Plan"]) -> Answered:
        noise = {}
        for name in query.attributes:
            clipped = int(plans[query.name, name].clip.sum())
            sigma = self.mechanisms[query.name, name].sigma
            noise[name] = AttributeNoise(sigma, {"psi": groups.count - clipped, "pnc": clipped})
        return Answered(query, groups.count, noise)

    def _identity_answered(self) -> list[Answered]:
        return [
            Answered(
                query,
                len(self.cells.of_row),
                {name: AttributeNoise(self.identity[name].sigma) for name in query.attributes},
            )
            for query in self.spec.queries
            if query.is_identity
        ]


@dataclass(frozen=True, repr=False)
class _Plan:
    """Which groups are clipped, and at which bounds."""

    clip: BoolArray
    bounds: ClippingBounds | None


def _manifest(
    prepared: Prepared,
    entropy: Entropy,
    zeta: Fraction | None,
    recorded: Record | None,
    answered: Sequence[Answered],
    individual: Mapping[str, Individual] | None = None,
) -> Manifest:
    """What anybody may know about the release. Nothing in it comes from the confidential columns but through noise."""
    spec = prepared.spec
    attributes = spec.policy.attributes
    return Manifest(
        gedp=__version__,
        created=datetime.now(UTC).replace(microsecond=0),
        release=recorded.reservation.release_id if recorded else None,
        entropy=entropy.kind,
        establishments=len(prepared.cells.of_row),
        spec=spec,
        queries=tuple(answered),
        zeta=zeta,
        estimates={
            name: "unbiased"
            if attributes[name].protection.psi.is_unbiased
            else "corrected to the second order of the noise; a bias of higher order remains"
            for name in spec.asked
        },
        together=recorded.together if recorded else None,
        individual=individual or {},
    )
