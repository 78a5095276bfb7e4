"""What a decision needs beside the comparison of workflows: suppression, flags, attacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gedp.arrays import FloatArray
from gedp.confidential.sealing import sealed
from gedp.errors import DomainError, GedpError
from gedp.noise.entropy import SystemEntropy
from gedp.policy import Spec
from gedp.progress import Progress, silent
from gedp_lab.baselines.ezs import Ezs, PermanentFactorAttack, attack_permanent, flags
from gedp_lab.baselines.strength import strength
from gedp_lab.baselines.translation import Reference
from gedp_lab.baselines.workflows import (
    BASELINES,
    EZS,
    EZS_BALANCED,
    BaselineDraw,
    Truths,
    reference_of,
    require_affordable,
)
from gedp_lab.compare.accounts import with_prices
from gedp_lab.compare.plan import ComparisonPlan
from gedp_lab.compare.rehearsals import Preparation, entropy_of, prepare_replicates
from gedp_lab.compare.workflows import GDP, INDIVIDUAL
from gedp_lab.suppress.study import StudyOptions, SuppressionStudy, study_suppression

SIZES = (0.1, 1.0, 10.0, 100.0)  # times the reference
APART = 1.1  # of two values that an attacker wants to tell apart
DRAWS = 100_000


@dataclass(frozen=True, repr=False)
class EzsOutcome:
    """What the flags withhold at each level, and what attacks on bounded, permanent noise find. One draw."""

    withheld: Mapping[str, float]  # share of the cells of each level
    all_withheld: float  # share of all cells
    told_apart: float  # how often two values 10% apart are told apart with certainty
    attack: PermanentFactorAttack | None  # None where there is only one attribute
    known: str = ""  # the attribute that the attacker knows
    found: str = ""  # and the one that follows


@dataclass(frozen=True, repr=False)
class AttributeFacts:
    """All that is beside the comparison, for one attribute."""

    reference: Reference
    sizes: Sequence[float]  # of establishments
    strengths: Mapping[str, FloatArray]  # by workflow: μ between such an establishment and one `alpha` larger
    ezs: Mapping[str, EzsOutcome]
    suppression: SuppressionStudy | None
    left_out: str = ""  # why there is no suppression


def decision_workflows(spec: Spec, attributes: Sequence[str] | None = None) -> list[str]:
    """Ours, Gaussian DP, and every baseline that can answer at the prices of the spec; ours alone for both signs."""
    priced, asked = with_prices(spec), attributes or spec.asked
    if any(name in asked and said.signed for name, said in spec.policy.attributes.items()):
        return ["auto"]
    found = ["auto", *([INDIVIDUAL] if spec.is_individual else []), GDP]
    for name in BASELINES:
        try:
            for attribute in asked:
                require_affordable(name, priced, attribute)
        except DomainError:
            continue
        found.append(name)
    return found


@sealed
def gather_facts(
    plan: ComparisonPlan,
    folder: Path,
    options: StudyOptions | None = None,
    progress: Progress = silent,
) -> dict[str, AttributeFacts]:
    """Suppresses and attacks every attribute of a plan. `folder` is closed."""
    prepared = prepare_replicates(plan, plan.open_table())
    options = options or StudyOptions()
    return {name: _facts(plan, prepared, name, folder, options, progress) for name in plan.attributes}


def _facts(
    plan: ComparisonPlan, prepared: Preparation, attribute: str, folder: Path, options: StudyOptions, progress: Progress
) -> AttributeFacts:
    setting = plan.settings[0]
    priced = with_prices(setting.spec)
    reference = reference_of(priced, attribute)
    sizes = np.array([reference.size * factor for factor in SIZES])
    strengths = {
        workflow.name: strength(
            workflow.mechanism, prepared.specs[setting.name, workflow.mechanism], attribute, sizes, reference.alpha
        )
        for workflow in plan.workflows
    }
    study, left_out = None, ""
    try:
        rows, levels, truth = prepared.public_rows, prepared.levels, prepared.truth
        study = study_suppression(rows, levels, truth, attribute, folder, options, progress)
    except GedpError as error:
        left_out = str(error)
    used = [w.mechanism for w in plan.workflows if w.mechanism in (EZS, EZS_BALANCED)]
    ezs = {name: _ezs(plan, prepared, priced, name, attribute) for name in used}
    return AttributeFacts(reference, sizes.tolist(), strengths, ezs, study, left_out)


def _ezs(plan: ComparisonPlan, prepared: Preparation, spec: Spec, name: str, attribute: str) -> EzsOutcome:
    entropy = entropy_of(plan, 0) or SystemEntropy()
    values = {each: prepared.truth.values(each) for each in plan.attributes}
    noisy = BaselineDraw(name, Truths(prepared.public_rows, spec, values), entropy).rows(attribute)
    flagged = {}
    for level, cells in prepared.cells():
        true, found = map(cells.sums, (values[attribute], noisy))
        flagged[level.name] = flags(true, found) == 2
    withheld = {name: float(each.mean()) for name, each in flagged.items()}
    of_all = float(np.concatenate(list(flagged.values())).mean())
    told = Ezs().told_apart(APART, Ezs().factors(DRAWS, entropy))
    others = [each for each in plan.attributes if each != attribute]
    if not others:
        return EzsOutcome(withheld, of_all, told, None)
    finest = max((cells for _, cells in prepared.cells()), key=lambda cells: cells.count)
    alone = finest.sizes[finest.group_of] == 1
    with np.errstate(invalid="ignore", divide="ignore"):
        factors = np.where(values[attribute] > 0, noisy / values[attribute], 1.0)[alone]
    names = (others[-1], attribute)
    known, other = (values[each][alone] for each in names)
    unit, other_unit = (float(spec.policy.attributes[each].unit) for each in names)
    attack = attack_permanent(known, other, factors, (unit, other_unit))
    return EzsOutcome(withheld, of_all, told, attack, *names)
