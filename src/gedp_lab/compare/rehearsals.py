"""One replicate: the table rehearsed under every workflow, and how far every group is from the truth."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa

from gedp.accounting.composition import exact
from gedp.confidential.engines import in_order
from gedp.confidential.limits import psi_mechanisms
from gedp.confidential.measure import rehearse
from gedp.confidential.pools import Shares
from gedp.confidential.preparing import require_sound
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable
from gedp.errors import DomainError, Fault, FaultsError
from gedp.microdata import Microdata
from gedp.microdata.cells import Cells, PublicRows, read_public_rows
from gedp.microdata.constraints.apply import Constraints, constrain
from gedp.microdata.problem import AttributeProblem, attribute_problem
from gedp.microdata.weights import fit_at, fit_attribute
from gedp.noise.entropy import Entropy, SeededEntropy, SystemEntropy
from gedp.passes import Reads
from gedp.policy import Spec
from gedp.release.rehearsal import Rehearsal
from gedp_lab.baselines.workflows import BASELINES, FITTED, BaselineDraw, Truths, require_affordable
from gedp_lab.compare.accounts import shares_of
from gedp_lab.compare.estimates import RowEstimates
from gedp_lab.compare.plan import ComparisonPlan
from gedp_lab.compare.workflows import FLOORS, GDP, ORACLE, Workflow, spec_for
from gedp_lab.evaluate.groups import ComparedGroups, compare_microdata
from gedp_lab.evaluate.levels import (
    Level,
    attributes_behind,
    chosen_levels,
    default_levels,
    figures_at,
    nothing_determined,
)
from gedp_lab.evaluate.metrics import covered
from gedp_lab.evaluate.truth import Truth, truth_of


@dataclass(frozen=True, repr=False)
class Preparation:
    """What all replicates share: rows, levels, true values, and the specs of all workflows."""

    public_rows: PublicRows
    levels: tuple[Level, ...]
    truth: Truth
    specs: Mapping[tuple[str, str], Spec]  # by setting and mechanism
    shares: Mapping[str, Shares]  # by setting: what `floors` sets aside

    def cells(self) -> Iterator[tuple[Level, Cells]]:
        """Every level with its groups; of public keys alone."""
        for level in self.levels:
            yield level, self.public_rows.cells(level.by)


@sealed
def prepare_replicates(plan: ComparisonPlan, table: ConfidentialTable) -> Preparation:
    """Rehearses once to know the rows; rejects what some setting or workflow could not answer."""
    largest = _largest(table) if GDP in plan.mechanisms else {}
    specs = {(s.name, m): spec_for(s.spec, m, largest) for s in plan.settings for m in plan.mechanisms}
    shares = {s.name: shares_of(s.spec) for s in plan.settings if FLOORS in plan.mechanisms}
    _require_possible(plan, specs)
    answering_all = [spec for (_, mechanism), spec in specs.items() if mechanism not in BASELINES]
    first = next(iter((*answering_all, *specs.values())))
    public_rows = read_public_rows(_rehearsed(plan, table, first, 0))
    levels = default_levels(public_rows) if plan.by is None else chosen_levels(public_rows, plan.by)
    truth = truth_of(public_rows, table, attributes_behind(first, plan.figures, levels))
    return Preparation(public_rows, tuple(levels), truth, specs, shares)


@sealed
def true_groups(plan: ComparisonPlan, prepared: Preparation) -> pa.Table:
    """Every group of every figure and level with its keys and its true value: one rehearsal has them all."""
    microdata = _fitted(plan, prepared, prepared.public_rows, "plug-in")
    parts = []
    for level in prepared.levels:
        figures = figures_at(microdata, level, plan.figures)
        for each in compare_microdata(microdata, prepared.truth, level, figures):
            found = {"group": _numbered(each), "keys": each.codes(), "truth": pa.array(each.truth)}
            parts.append(pa.table({**_names(each), **found}))
    if not parts:
        raise nothing_determined("the comparison", plan.figures, prepared.levels)
    return pa.concat_tables(parts)


@sealed
def replicate(plan: ComparisonPlan, table: ConfidentialTable, prepared: Preparation, number: int) -> pa.Table:
    """The errors of all groups: setting, workflow, attribute, level, group, error, whether the interval covered."""
    parts = []
    for setting in plan.settings:
        for mechanism in plan.mechanisms:
            for workflow, found, seconds in _drawn(plan, table, prepared, setting.name, mechanism, number):
                names = {"setting": setting.name, "workflow": workflow.name}
                for level in prepared.levels:
                    parts += [_errors(each, names, seconds) for each in _beside(plan, prepared, found, level)]
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


Found = Microdata | RowEstimates
Fit = Callable[[str], Found]  # what was drawn, fitted with weights of this name


def _drawn(
    plan: ComparisonPlan, table: ConfidentialTable, prepared: Preparation, setting: str, mechanism: str, number: int
) -> Iterator[tuple[Workflow, Found, float]]:
    """One draw of a mechanism, fitted with the weights of each workflow that has it, and the seconds that both took."""
    started = time.perf_counter()
    if mechanism in BASELINES:
        fit = _draw_baseline(plan, prepared, setting, mechanism, number)
    else:
        spec, shares = prepared.specs[setting, mechanism], prepared.shares[setting] if mechanism == FLOORS else None
        rehearsal = _rehearsed(plan, table, spec, number, shares)
        fit = partial(_fitted, plan, prepared, prepared.public_rows.answered_by(rehearsal, spec))
    drawn = time.perf_counter() - started
    for workflow in plan.workflows:
        if workflow.mechanism == mechanism:
            started = time.perf_counter()
            yield workflow, fit(workflow.weights), drawn + time.perf_counter() - started


def _draw_baseline(plan: ComparisonPlan, prepared: Preparation, setting: str, mechanism: str, number: int) -> Fit:
    """One drawing of a baseline, for all attributes."""
    spec = prepared.specs[setting, mechanism]
    public_rows = replace(prepared.public_rows, spec=spec)
    values = {name: prepared.truth.values(name) for name in plan.attributes}
    drawing = BaselineDraw(mechanism, Truths(public_rows, spec, values), entropy_of(plan, number) or SystemEntropy())
    if mechanism in FITTED:
        problems = {name: drawing.problem(name) for name in values}
        return partial(_fitted, plan, prepared, public_rows, problems=problems)
    rows = RowEstimates(public_rows, {name: drawing.rows(name) for name in values})
    return lambda _weights: rows


def _fitted(
    plan: ComparisonPlan,
    prepared: Preparation,
    public_rows: PublicRows,
    weights: str,
    problems: Mapping[str, AttributeProblem] | None = None,
) -> Microdata:
    """As the microdata of a release, with the constraints of the spec."""
    spec, fits = public_rows.spec, {}
    constraints = Constraints.of(spec.microdata)
    for name in plan.attributes:
        problem = attribute_problem(public_rows, name) if problems is None else problems[name]
        is_oracle = weights == ORACLE
        best = fit_at(problem, prepared.truth.values(name)) if is_oracle else fit_attribute(problem, weights)
        fits[name] = constrain(problem, spec.policy.attributes[name], best, constraints)
    return Microdata(public_rows, weights, fits, None, constraints)


def _beside(plan: ComparisonPlan, prepared: Preparation, found: Found, level: Level) -> Iterator[ComparedGroups]:
    """What a workflow says of the groups of a level, beside the truth; nothing of figures that it cannot answer."""
    if isinstance(found, RowEstimates):
        return found.beside(prepared.truth, level, plan.figures)
    return compare_microdata(found, prepared.truth, level, figures_at(found, level, plan.figures))


def _errors(each: ComparedGroups, names: Mapping[str, str], seconds: float) -> pa.Table:
    has_interval = np.isfinite(each.low) & np.isfinite(each.high)
    return pa.table(
        {
            **{column: pa.repeat(text, each.groups) for column, text in names.items()},
            **_names(each),
            "group": _numbered(each),
            "error": pa.array(each.protected - each.truth),
            "covered": pa.array(covered(each.truth, each.low, each.high), mask=~has_interval),
            "seconds": pa.repeat(seconds, each.groups),
        }
    )


def _names(each: ComparedGroups) -> dict[str, pa.Array]:
    return {"attribute": pa.repeat(each.attribute, each.groups), "level": pa.repeat(each.level.name, each.groups)}


def _numbered(each: ComparedGroups) -> pa.Array:
    """Numbers from 0 in every level."""
    return pa.array(np.arange(each.groups, dtype=np.int32))


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
    for batch in in_order(table.engine).batches(Reads(units)):
        for name, amounts in batch.amounts.items():
            low, high = ends[name]
            ends[name] = int(amounts.min(initial=low)), int(amounts.max(initial=high))
    return {name: (high - low) * units[name] for name, (low, high) in ends.items()}
