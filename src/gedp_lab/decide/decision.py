"""From a comparison to the page for a decision."""

from pathlib import Path

from gedp.progress import Progress, silent
from gedp.release import Labels
from gedp_lab.compare import Comparison
from gedp_lab.compare.plan import ComparisonPlan
from gedp_lab.decide.gather import decision_workflows, gather_facts
from gedp_lab.decide.page import PAGE, decision_page
from gedp_lab.suppress.study import StudyOptions

__all__ = ["decision_workflows", "with_decision"]


def with_decision(
    plan: ComparisonPlan, comparison: Comparison, rule: str, progress: Progress = silent
) -> dict[str, str]:
    """The page by its name, for the folder of the comparison, where other programs get their files too."""
    facts = gather_facts(plan, Path(comparison.folder), StudyOptions(rule), progress=progress)
    return {PAGE: decision_page(comparison, facts, Labels(plan.settings[0].spec).title)}
