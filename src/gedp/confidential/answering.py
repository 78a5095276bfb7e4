"""Where the truth and the noise meet: every answer is drawn here, after its price was recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from gedp._version import __version__
from gedp.accounting.composition import exact
from gedp.arrays import BoolArray, IntArray
from gedp.confidential.answers import Answers, AnswerWriter, answer_table
from gedp.confidential.by_group import GroupRule
from gedp.confidential.engines import Drawn
from gedp.confidential.individual import IndividualJob
from gedp.confidential.individual_rows import WORDS_FOR_TIES
from gedp.confidential.measures import Measure, units_of
from gedp.confidential.mechanisms import (
    PsiMechanism,
    answer_pnc,
    pnc_range,
    upper_bounds,
)
from gedp.confidential.preparing import Prepared
from gedp.confidential.recording import Record, released_at
from gedp.confidential.table import ConfidentialTable, FinestCells, Groups
from gedp.confidential.tally import ROWS, CellSums, CellTally, ClippedCells, Clipping, DrawnCells
from gedp.errors import TableChangedError
from gedp.individual.bounds import ClippingBounds, clipping_bounds
from gedp.neighbors.estimates import psi_variance
from gedp.noise.entropy import Entropy
from gedp.passes import Batch, ByPlace, Joined, Key, Reads
from gedp.policy import Query, Spec
from gedp.policy.model import PSI_SUFFIX
from gedp.progress import Progress, silent
from gedp.release import Answered, AttributeNoise, Individual, Manifest
from gedp.release.classes import ClassesAnswered
from gedp.release.combinations import CombinationsAnswered


def write_maps(table: ConfidentialTable, writer: AnswerWriter) -> None:
    """Hands over the map files of a table. The lookup of a prefix has the codes that occur, and stays here."""
    for name, known in table.maps.items():
        writer.write_map(name, known)


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
            answered, individual, measured = IndividualJob(
                prepared.table,
                prepared.spec,
                prepared.cells,
                prepared.measures,
                prepared.pools,
                entropy,
                zeta,
                writer,
                progress or silent,
                prepared.shares,
            ).draw()
            return _manifest(prepared, entropy, None, recorded, answered, measured, individual)
        job = _Job(
            prepared.table,
            prepared.spec,
            prepared.cells,
            prepared.measures,
            prepared.mechanisms,
            entropy,
            zeta,
            writer,
            progress or silent,
        )
        tallies, drawn = job.draw_identity()
        answered = job.answer_groups(tallies)
        measured = job.rule.answer(tallies, drawn, writer, entropy)
    return _manifest(prepared, entropy, zeta if job.identity else None, recorded, answered, measured)


@dataclass(frozen=True, repr=False)
class _Job:
    """Everything that answering needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: FinestCells
    measures: Sequence[Measure]
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

    @property
    def rule(self) -> GroupRule:
        """What answers the measures."""
        return GroupRule(self.table, self.spec, self.cells, self.measures, self.identity, self.zeta)

    def draw_identity(self) -> tuple[dict[str, CellTally], dict[str, ByPlace]]:
        """Sums over the finest cells, the identity answers, drawn and written, and what they say by class."""
        data, engine, lookup = self.spec.data, self.table.engine, self.cells.lookup
        units = units_of(self.spec, self.spec.concerned)
        mechanisms = {name: self.identity[name] for name in self.spec.asked if name in self.identity}
        sums, drawn, by_class = CellSums(lookup, units), ByPlace(), dict[str, ByPlace]()
        if mechanisms:
            drawing = IdentityAnswers(mechanisms, units, data.public, data.id)
            of_classes = self.rule.of_drawn()
            of_drawn = Joined([DrawnCells(lookup, units_of(self.spec, mechanisms)), *of_classes.values()])
            rows, found = engine.draw(drawing, self.entropy, sums, of_drawn, self.writer, self._drew)
            drawn, *others = of_drawn.parted(found)
            by_class = dict(zip(of_classes, others, strict=True))
        else:
            rows = engine.reduce(sums)
        for found in (rows, drawn):
            if not np.array_equal(found.added.get(ROWS, self.cells.counts), self.cells.counts):
                raise TableChangedError
        return {name: CellTally.of(name, rows, drawn) for name in self.spec.concerned}, by_class

    def _drew(self, rows: int) -> None:
        self.progress("establishments", rows, self.cells.rows)

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
                clipped = sums.copy()
                np.subtract.at(clipped, of_cell, excess.get((name, query.name), np.zeros_like(tallies[name].sums)))
                answers[name] = self._answer(query, name, plan, sums, clipped)
            self.writer.write_answers(query.name, answer_table(query, groups[query.name].keys, answers))
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
        upper = upper_bounds(identity, tally, groups, self.cells.rows, len(self.identity), self.zeta)
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
    ) -> Mapping[Key, IntArray]:
        """By attribute and query what clipping takes off the sum of every cell, where it takes off anything.

        Bounds are probably above everything. Then the rows need not be read again, but must still be the same.
        """
        clippings: dict[str, list[Clipping]] = {}
        for (query, name), plan in plans.items():
            if plan.bounds is not None and plan.clip.any():
                bound = np.where(plan.clip, plan.bounds.bounds, 0)[groups[query].of_cell]
                clipping = Clipping(query, bound)
                if clipping.may_change(tallies[name].largest):
                    clippings.setdefault(name, []).append(clipping)
        if not clippings:
            self.table.engine.require_unchanged()
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
                self.cells.rows,
                {name: AttributeNoise(self.identity[name].sigma) for name in query.attributes},
            )
            for query in self.spec.queries
            if query.is_identity
        ]


@dataclass(frozen=True, repr=False)
class IdentityAnswers:
    """The drawing of identity answers: public columns of establishments, ψ of their values with noise, estimates."""

    mechanisms: Mapping[str, PsiMechanism]
    units: Mapping[str, Fraction]
    public: Sequence[str]
    id: str | None

    @property
    def keys(self) -> Sequence[str]:
        """What establishments are ordered by."""
        return [self.id] if self.id else self.public

    @property
    def columns(self) -> Sequence[str]:
        """Those that are published as they are, and two for each attribute."""
        return [*self.reads.plain, *(name + end for name in self.mechanisms for end in (PSI_SUFFIX, ""))]

    @property
    def ties(self) -> int:
        """Where ids order the establishments, none are equal."""
        return 0 if self.id else WORDS_FOR_TIES

    @property
    def reads(self) -> Reads:
        """What is published as it is, and what is answered."""
        plain = (*([self.id] if self.id else []), *self.public)
        return Reads({name: self.units[name] for name in self.mechanisms}, plain)

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """The answers for some establishments."""
        columns = list(batch.plain.columns)
        with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
            for name, mechanism in self.mechanisms.items():
                answers = mechanism.answer(batch.amounts[name], entropy)
                columns += [pa.array(answers.omega), pa.array(answers.estimate())]
        ties = [entropy.words(batch.rows) for _ in range(self.ties)]
        return Drawn(pa.Table.from_arrays(columns, self.columns), ties)


@dataclass(frozen=True, repr=False)
class _Plan:
    """Which groups are clipped, and at which bounds."""

    clip: BoolArray
    bounds: ClippingBounds | None


def clipped_excess(
    table: ConfidentialTable,
    cells: FinestCells,
    clippings: Mapping[str, Sequence[Clipping]],
    unclipped: Mapping[str, IntArray],
) -> Mapping[Key, IntArray]:
    """By attribute and query what clipping takes off every cell; refuses a table whose sums are no longer the same."""
    units = {name: exact(table.attributes[name].unit) for name in clippings}
    found = table.engine.reduce(ClippedCells(cells.lookup, units, clippings)).added
    if any(not np.array_equal(found[name], unclipped[name]) for name in clippings):
        raise TableChangedError
    return found


def _manifest(
    prepared: Prepared,
    entropy: Entropy,
    zeta: Fraction | None,
    recorded: Record | None,
    answered: Sequence[Answered],
    measured: Sequence[ClassesAnswered | CombinationsAnswered],
    individual: Mapping[str, Individual] | None = None,
) -> Manifest:
    """What anybody may know about the release. Nothing in it comes from the confidential columns but through noise."""
    spec = prepared.spec
    attributes = spec.policy.attributes
    return Manifest(
        gedp=__version__,
        created=released_at(),
        release=recorded.release if recorded else None,
        entropy=entropy.kind,
        establishments=prepared.cells.rows,
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
        class_tables=tuple(each for each in measured if isinstance(each, ClassesAnswered)),
        combination_tables=tuple(each for each in measured if isinstance(each, CombinationsAnswered)),
    )
