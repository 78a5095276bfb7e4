"""The constraints that were asked for, checked all at once, and applied to the finished fit of one attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

from gedp.arrays import BoolArray, FloatArray, multiples
from gedp.errors import Fault, FaultsError
from gedp.microdata.cells import PublicRows
from gedp.microdata.constraints.equalities import Fixed, hold, independent
from gedp.microdata.constraints.fixed import Given, read_fixed, read_totals
from gedp.microdata.constraints.nonnegative import NonnegativeFit, fit_nonnegative
from gedp.microdata.constraints.reduced import Reduced, reduced
from gedp.microdata.constraints.rounding import Kept, round_rows
from gedp.microdata.problem import AttributeProblem
from gedp.microdata.solve import CellFit, ConvergenceError, Measurement, incidence
from gedp.microdata.variances import group_variances
from gedp.microdata.weights import AttributeFit, Division
from gedp.policy import Attribute, MicrodataOptions
from gedp.policy.keys import CONSTRAINTS

NEARLY_WHOLE = 1e-6  # of a unit


@dataclass(frozen=True, repr=False)
class Held:
    """Fixed totals of one grouping, and which of them do not follow from others."""

    fixed: Fixed
    independent: BoolArray


@dataclass(frozen=True, repr=False)
class Constraints:
    """What the microdata must meet, besides fitting the answers."""

    nonnegative: bool = False
    whole: bool = False
    fixed: Mapping[str, tuple[Held, ...]] = field(default_factory=dict)  # by attribute
    totals: tuple[pa.Table, ...] = ()  # the fixed totals as they were given, all columns as text

    @classmethod
    def of(cls, options: MicrodataOptions, **chosen: bool | None) -> "Constraints":
        """Those that a spec asks for, but for what is chosen otherwise."""
        said: dict[str, Any] = {name: getattr(options, name) for name in CONSTRAINTS}
        return cls(**said | {name: value for name, value in chosen.items() if value is not None})

    @property
    def named(self) -> tuple[str, ...]:
        """Those that took no more than their name: they change the values of a fit, but not its errors."""
        return tuple(name for name in CONSTRAINTS if getattr(self, name))

    def described(self) -> dict[str, Any]:
        """Which constraints hold, for the file beside the microdata."""
        groupings = {held.fixed.by for every in self.fixed.values() for held in every}
        return {
            **{name: getattr(self, name) for name in CONSTRAINTS},
            "fixed": [list(by) for by in sorted(groupings)],
        }


def read_constraints(
    public_rows: PublicRows,
    names: Sequence[str],
    asked: Constraints,
    given: Sequence[Given],
    without: Sequence[str] = (),
) -> Constraints:
    """What is asked of some attributes, with the totals that are given, or everything that speaks against it.

    Attributes `without` microdata can be held to nothing.
    """
    if not names:
        if given:
            raise FaultsError("constraints", [_nothing_to_hold(without)])
        return Constraints()
    attributes = public_rows.spec.policy.attributes
    tables, faults = read_totals(given)
    found, more = read_fixed(tables, public_rows, [*names, *without])
    faults += more
    if held_in_vain := [name for name in without if found.pop(name)]:
        faults.append(_nothing_to_hold(held_in_vain))
    signed = [name for name in names if attributes[name].signed]
    if asked.nonnegative and signed:
        problem = f"the values of {', '.join(signed)} have both signs"
        faults.append(Fault("nonnegative", problem, "Fit the other attributes, or allow negative values"))
    fixed: dict[str, tuple[Held, ...]] = {}
    for name, totals in found.items():
        below = sum(int((each.totals < 0).sum()) for each in totals)
        if below and not attributes[name].signed:
            problem = f"negative totals of {name}, whose values cannot be negative: {below}"
            faults.append(Fault("fixed", problem, "Correct them"))
        held, contradictions = independent(totals, float(attributes[name].unit))
        faults += contradictions
        fixed[name] = tuple(Held(each, mask) for each, mask in zip(totals, held, strict=True))
    if faults:
        raise FaultsError("constraints", faults)
    stated = {name: held for name, held in fixed.items() if held}
    return replace(asked, fixed=stated, totals=tuple(tables.values()) if stated else ())


def _nothing_to_hold(names: Sequence[str]) -> Fault:
    problem = f"{', '.join(names)}: the answers determine no microdata that could be held to totals"
    return Fault("fixed", problem, "Leave these totals out")


def constrain(
    problem: AttributeProblem,
    attribute: Attribute,
    fit: AttributeFit,
    constraints: Constraints,
    row_weights: FloatArray | None = None,
) -> AttributeFit:
    """The fit that meets the constraints, at the variances of the fit without them.

    Its covariance is that of the fit with the fixed totals. What non-negativity and rounding do is not in it.
    """
    held = constraints.fixed.get(attribute.name, ())
    if not (held or constraints.named):
        return fit
    division = Division(problem.cells, row_weights)
    base = reduced(problem, fit, division)
    fixed = [each.fixed.measurement(each.independent, base.cells.sums(base.variances)) for each in held]
    shares = None if fit.row_variances is not None else division.shares
    said: dict[str, Any] = {}
    furthest = _furthest(problem, fit, held)
    if held:
        fit = _held(problem, fit, hold(base, fit.totals, fixed), shares)
    if constraints.nonnegative:
        found = _nonnegative(base, fixed, held)
        totals = base.cells.sums(found.values)
        said["nonnegative"] = {
            "steps": found.steps,
            "violation": found.violation,
            "zeros": int((found.values == 0).sum()),
            "change_of_total": float(totals.sum() - fit.totals.sum()),
        }
        values = found.values if shares is None else totals[problem.cells.group_of] * shares
        fit = replace(fit, values=values, totals=totals)
    if constraints.whole:
        unit = float(attribute.unit)
        groupings = [Kept(group.groups) for group in problem.groups]
        groupings += [_exact(each.fixed, unit) for each in held]
        rounded = round_rows(fit.values / unit, problem.cells, groupings)
        said["whole"] = {
            "unit": str(attribute.unit),
            "largest_deviation": rounded.deviation,
            "groupings": len(groupings),
            "groupings_sure": rounded.sure,
            "fixed_totals_missed": rounded.missed,
        }
        values = multiples(rounded.values * unit, attribute.unit)
        fit = replace(fit, values=values, totals=problem.cells.sums(values))
    if held:
        gaps = [np.abs(each.fixed.sums(fit.totals) - each.fixed.totals) for each in held]
        said["fixed"] = {
            "groupings": [list(each.fixed.by) for each in held],
            "totals": sum(len(each.independent) for each in held),
            "redundant": sum(int((~each.independent).sum()) for each in held),
            "largest_gap": max(float(gap.max()) for gap in gaps),
            "furthest": furthest,
        }
    return replace(fit, constrained=said)


def _furthest(problem: AttributeProblem, fit: AttributeFit, held: Sequence[Held]) -> dict[str, Any] | None:
    """The fixed total that is most standard errors away from the fit without it; None where no error is known."""
    found: dict[str, Any] | None = None
    for each in held if fit.cell_fit is not None and fit.cell_fit.system.is_direct else ():
        fixed, groups = each.fixed, problem.cells.of_groups(each.fixed.groups)
        variances = group_variances(fit, problem.cells, groups)[groups.asked_for]
        known = np.flatnonzero(variances > 0)
        away = np.abs(fixed.sums(fit.totals) - fixed.totals)[known] / np.sqrt(variances[known])
        if known.size and (found is None or away.max() > found["standard_errors"]):
            found = {"total": fixed.names[known[away.argmax()]], "standard_errors": float(away.max())}
    return found


def _held(problem: AttributeProblem, fit: AttributeFit, cells: CellFit, shares: FloatArray | None) -> AttributeFit:
    """The cell totals with the fixed ones, divided among the rows as the fit divides them."""
    of_row = problem.cells.group_of
    if fit.row_variances is not None and fit.cell_variances is not None:
        values = fit.values + fit.row_variances * ((cells.totals - fit.totals) / fit.cell_variances)[of_row]
    else:
        values = cells.totals[of_row] * (1.0 if shares is None else shares)
    return replace(fit, values=values, totals=cells.totals, cell_fit=None if fit.cell_fit is None else cells)


def _nonnegative(base: Reduced, fixed: Sequence[Measurement], held: Sequence[Held]) -> NonnegativeFit:
    try:
        return fit_nonnegative(base, fixed)
    except ConvergenceError:
        if held and not _is_possible(base.cells.count, held):
            problem = "no values of 0 or more can have all these totals"
            raise FaultsError(
                "constraints", [Fault("fixed", problem, "Correct them, or allow negative values")]
            ) from None
        raise


def _is_possible(cells: int, held: Sequence[Held]) -> bool:
    """Whether some cells of 0 or more have the totals."""
    blocks = [incidence(groups)[groups.asked_for] for groups in (each.fixed.groups for each in held)]
    totals = np.concatenate([each.fixed.totals for each in held])
    held_exactly = LinearConstraint(sparse.vstack(blocks, format="csr"), totals, totals)
    return bool(milp(np.zeros(cells), constraints=held_exactly).status != 2)


def _exact(fixed: Fixed, unit: float) -> Kept:
    """Fixed totals as whole numbers of units, where they are."""
    units = np.append(fixed.totals / unit, [np.nan] * fixed.groups.has_rest)
    nearest = np.rint(units)
    exact = np.where(np.abs(units - nearest) <= NEARLY_WHOLE, nearest, np.nan)
    return Kept(fixed.groups, exact)
