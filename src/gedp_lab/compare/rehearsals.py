"""One replicate: the table rehearsed under every workflow, and how far every group is from the truth."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.accounting.composition import exact
from gedp.confidential.engines import in_order
from gedp.confidential.limits import psi_mechanisms
from gedp.confidential.measure import rehearse
from gedp.confidential.pools import Shares
from gedp.confidential.preparing import require_sound
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable
from gedp.errors import DomainError, Fault, FaultsError
from gedp.microdata.cells import Cells, PublicRows, read_public_rows
from gedp.microdata.constraints.apply import Constraints, constrain
from gedp.microdata.problem import AttributeProblem, attribute_problem
from gedp.microdata.weights import fit_at, fit_attribute
from gedp.noise.entropy import Entropy, SeededEntropy, SystemEntropy
from gedp.normal import normal_reach
from gedp.passes import Reads
from gedp.policy import Spec
from gedp.release.rehearsal import Rehearsal
from gedp_lab.baselines.workflows import BASELINES, FITTED, BaselineDraw, Truths, require_affordable
from gedp_lab.compare.accounts import shares_of
from gedp_lab.compare.estimates import FittedEstimates, GroupEstimates, RowEstimates
from gedp_lab.compare.plan import ComparisonPlan
from gedp_lab.compare.sweeps import Setting
from gedp_lab.compare.workflows import FLOORS, GDP, ORACLE, Workflow, spec_for
from gedp_lab.evaluate.levels import Level, chosen_levels, default_levels
from gedp_lab.evaluate.truth import Truth, truth_of


@dataclass(frozen=True, repr=False)
class Preparation:
    """What all replicates share: rows, levels, true values, and the specs of all workflows."""

    public_rows: PublicRows
    levels: tuple[Level, ...]
    truth: Truth
    specs: Mapping[tuple[str, str], Spec]  # by setting and mechanism
    shares: Mapping[str, Shares]  # by setting: what `floors` sets aside
    level_of_group: pa.DictionaryArray  # of all levels, one after the other
    group: pa.Array  # numbers from 0 in every level

    def cells(self) -> Iterator[tuple[Level, Cells]]:
        """Every level with its groups."""
        for level in self.levels:
            yield level, self.public_rows.cells(level.by)

    def labels(self) -> pa.Array:
        """The keys of every group, all levels one after the other."""
        return pa.concat_arrays([_codes(self.public_rows, level, cells) for level, cells in self.cells()])

    def described(self, attributes: tuple[str, ...]) -> pa.Table:
        """Every group with its keys and its true value."""
        codes, parts = self.labels(), []
        for name in attributes:
            truth = np.concatenate([self.truth.sums(name, cells) for _, cells in self.cells()])
            columns = {"level": self.level_of_group, "group": self.group, "keys": codes, "truth": pa.array(truth)}
            parts.append(pa.table({"attribute": pa.repeat(name, len(truth)), **columns}))
        return pa.concat_tables(parts)


@sealed
def prepare_replicates(plan: ComparisonPlan, table: ConfidentialTable) -> Preparation:
    """Rehearses once to know the rows; rejects what some setting or workflow could not answer."""
    largest = _largest(table) if GDP in plan.mechanisms else {}
    specs = {(s.name, m): spec_for(s.spec, m, largest) for s in plan.settings for m in plan.mechanisms}
    shares = {s.name: shares_of(s.spec) for s in plan.settings if FLOORS in plan.mechanisms}
    _require_possible(plan, specs)
    first = next(iter(specs.values()))
    public_rows = read_public_rows(_rehearsed(plan, table, first, 0))
    levels = default_levels(public_rows) if plan.by is None else chosen_levels(public_rows, plan.by)
    counts = [public_rows.cells(level.by).count for level in levels]
    names = pa.array([level.name for level in levels], pa.string())
    of_group = pa.array(np.repeat(np.arange(len(levels), dtype=np.int32), counts))
    return Preparation(
        public_rows,
        tuple(levels),
        truth_of(public_rows, table, plan.attributes),
        specs,
        shares,
        pa.DictionaryArray.from_arrays(of_group, names),
        pa.array(np.concatenate([np.arange(count, dtype=np.int32) for count in counts])),
    )


@sealed
def replicate(plan: ComparisonPlan, table: ConfidentialTable, prepared: Preparation, number: int) -> pa.Table:
    """The errors of all groups: setting, workflow, attribute, level, group, error, whether the interval covered."""
    parts = []
    for setting in plan.settings:
        for mechanism in plan.mechanisms:
            parts += list(_compared(plan, table, prepared, setting, mechanism, number))
    return pa.concat_tables(parts)


def _require_possible(plan: ComparisonPlan, specs: Mapping[tuple[str, str], Spec]) -> None:
    """Rejects workflows that cannot answer the queries, and names those that can."""
    faults: dict[Fault, str] = {}
    for (_, mechanism), spec in specs.items():
        place = f"workflow {', '.join(w.name for w in plan.workflows if w.mechanism == mechanism)}"
        try:
            require_sound(spec)
            _require_grids(mechanism, spec)
            if mechanism in BASELINES:
                for attribute in plan.attributes:
                    require_affordable(mechanism, spec, attribute)
        except FaultsError as error:
            faults.update({Fault(place, each.problem, each.suggestion): mechanism for each in error.faults})
        except DomainError as error:
            faults[Fault(place, str(error), "Leave it out, or spend more")] = mechanism
    if not faults:
        return
    refusal = FaultsError("the comparison", list(faults))
    possible = [f"--workflow {w.name}" for w in plan.workflows if w.mechanism not in faults.values()]
    if possible:
        refusal.add_note(f"Or compare those that work: {' '.join(possible)}")
    raise refusal


def _require_grids(mechanism: str, spec: Spec) -> None:
    """Rejects noise that no grid carries; in words alone where it follows from the largest establishment."""
    try:
        psi_mechanisms(spec)
    except FaultsError:
        if mechanism != GDP:
            raise
        raise DomainError("no grid carries the noise that hides the largest establishment at this price") from None


def _compared(
    plan: ComparisonPlan, table: ConfidentialTable, prepared: Preparation, setting: Setting, mechanism: str, number: int
) -> Iterator[pa.Table]:
    """One rehearsal, fitted with the weights of each workflow that has this mechanism."""
    spec = prepared.specs[setting.name, mechanism]
    if mechanism in BASELINES:
        yield from _beside(plan, prepared, setting, mechanism, number)
        return
    started = time.perf_counter()
    shares = prepared.shares[setting.name] if mechanism == FLOORS else None
    source = _rehearsed(plan, table, spec, number, shares)
    public_rows = prepared.public_rows.answered_by(source, spec)
    drawn = (time.perf_counter() - started) / len(plan.attributes)
    for attribute in plan.attributes:
        for workflow in plan.workflows:
            if workflow.mechanism == mechanism:
                started = time.perf_counter()
                estimates = _fitted(prepared, attribute_problem(public_rows, attribute), public_rows, workflow)
                seconds = drawn + time.perf_counter() - started
                yield _errors(prepared, estimates, setting, workflow, attribute, seconds)


def _beside(
    plan: ComparisonPlan, prepared: Preparation, setting: Setting, mechanism: str, number: int
) -> Iterator[pa.Table]:
    """One drawing of a baseline, for all attributes."""
    spec = prepared.specs[setting.name, mechanism]
    public_rows = replace(prepared.public_rows, spec=spec)
    values = {name: prepared.truth.values(name) for name in plan.attributes}
    drawing = BaselineDraw(mechanism, Truths(public_rows, spec, values), entropy_of(plan, number) or SystemEntropy())
    for attribute in plan.attributes:
        started = time.perf_counter()
        found = drawing.problem(attribute) if mechanism in FITTED else RowEstimates(drawing.rows(attribute))
        drawn = time.perf_counter() - started
        for workflow in plan.workflows:
            if workflow.mechanism == mechanism:
                started = time.perf_counter()
                estimates = (
                    found if isinstance(found, RowEstimates) else _fitted(prepared, found, public_rows, workflow)
                )
                seconds = drawn + time.perf_counter() - started
                yield _errors(prepared, estimates, setting, workflow, attribute, seconds)


def _fitted(
    prepared: Preparation, problem: AttributeProblem, public_rows: PublicRows, workflow: Workflow
) -> FittedEstimates:
    """As the microdata of a release, with the constraints of the spec. The variances are those without them."""
    said, attribute = public_rows.spec.microdata, problem.name
    if workflow.weights == ORACLE:
        best = fit_at(problem, prepared.truth.values(attribute))
    else:
        best = fit_attribute(problem, workflow.weights)
    best = constrain(problem, public_rows.spec.policy.attributes[attribute], best, Constraints.of(said))
    return FittedEstimates(best, public_rows.cells_of(attribute))


def _errors(
    prepared: Preparation,
    estimates: GroupEstimates,
    setting: Setting,
    workflow: Workflow,
    attribute: str,
    seconds: float,
) -> pa.Table:
    errors, variances = [], []
    for _, groups in prepared.cells():
        found, variance = estimates.of(groups)
        errors.append(found - prepared.truth.sums(attribute, groups))
        variances.append(variance)
    error, variance = np.concatenate(errors), np.concatenate(variances)
    reach = normal_reach(float(setting.spec.output.confidence)) * np.sqrt(variance)
    names = {"setting": setting.name, "workflow": workflow.name, "attribute": attribute}
    return pa.table(
        {
            **{column: pa.repeat(text, len(error)) for column, text in names.items()},
            "level": prepared.level_of_group,
            "group": prepared.group,
            "error": pa.array(error),
            "covered": pa.array(np.abs(error) <= reach, mask=np.isnan(variance)),
            "seconds": pa.repeat(seconds, len(error)),
        }
    )


def _rehearsed(
    plan: ComparisonPlan, table: ConfidentialTable, spec: Spec, number: int, shares: Shares | None = None
) -> Rehearsal:
    """With a seed, all workflows of a replicate share the noise of their establishments: it cancels when compared."""
    return rehearse(table, spec, entropy=entropy_of(plan, number), zeta=plan.zeta, shares=shares)


def entropy_of(plan: ComparisonPlan, number: int) -> Entropy | None:
    """What a replicate is drawn from, where the plan has a seed; None: the system's."""
    return None if plan.seed is None else SeededEntropy(plan.seed * 1_000_003 + number)


def _largest(table: ConfidentialTable) -> dict[str, Fraction]:
    """The reach of one establishment in each attribute, from 0 or below to the largest: Gaussian DP has to hide it."""
    units = {name: exact(attribute.unit) for name, attribute in table.attributes.items()}
    ends = dict.fromkeys(units, (0, 0))
    for batch in in_order(table.engine).batches(Reads(amounts=units)):
        for name, amounts in batch.amounts.items():
            low, high = ends[name]
            ends[name] = int(amounts.min(initial=low)), int(amounts.max(initial=high))
    return {name: (high - low) * units[name] for name, (low, high) in ends.items()}


def _codes(public_rows: PublicRows, level: Level, cells: Cells) -> pa.Array:
    """The keys of every group with commas between them."""
    if not level.by:
        return pa.repeat("", cells.count)
    labels = [pa.array(public_rows.key(key)[1], pa.string()).take(pa.array(cells.codes[key])) for key in level.by]
    return pa.compute.binary_join_element_wise(*labels, ",")
