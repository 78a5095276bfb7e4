"""Ratios beside attributes: what people call them, what they are counted in, and which figures are differences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gedp.microdata.ratios import Ratio, in_parts
from gedp.policy.labels import Label
from gedp.release import Labels

#: What people call the built-in ratios, and the attribute whose unit they have.
BUILT_IN_TITLES = {
    "weekly-wage": ("Average weekly wage", "wage"),
    "wage-per-job": ("Wages per job", "wage"),
    "change": ("Change in jobs from the first to the third month", "m3emp"),
    "percent-change": ("Change in jobs, in percent", None),
}


def with_ratios(labels: Labels) -> Labels:
    """The labels of a release and those of the built-in ratios; formulas are called by the name that they are given."""
    named = {
        name: Label(title, unit=None if like is None else labels.unit(like))
        for name, (title, like) in BUILT_IN_TITLES.items()
    }
    return replace(labels, of_ratios=named)


def differences(ratios: Sequence[Ratio], wholes: Mapping[str, Mapping[str, int]]) -> set[str]:
    """The figures that may well be 0, so that an error relative to them says nothing: changes, and gain minus loss."""
    return {*wholes, *(ratio.name for ratio in ratios if in_parts(ratio, wholes).is_difference)}
