"""What the model found, in words."""

from collections.abc import Iterator

from gedp.numbers import short_share
from gedp.sharpening.model import LEAST_GROUPS, Step
from gedp.sharpening.table import MODEL, Sharpened


def describe_steps(found: Sharpened) -> Iterator[str]:
    """For every attribute, how many lines are model-based and how far groups were found to change of their own."""
    lines = list(zip(found.table["attribute"], found.table["method"], strict=True))
    for name, steps in found.steps.items():
        methods = [method for attribute, method in lines if attribute == name]
        changes = "; ".join(map(_described, steps))
        share = f"{methods.count(MODEL):,} of {len(methods):,} lines are model-based"
        yield f"{name}: {share}. From quarter to quarter: {changes}."


def _described(step: Step | None) -> str:
    if step is None:
        return f"fewer than {LEAST_GROUPS} groups were there before, so nothing is said"
    own = f"groups change by about {short_share(step.typical)} of their own"
    return f"{own}, and {step.contradicted:,} of {step.predicted:,} changed unlike the others"
