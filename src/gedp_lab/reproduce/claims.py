"""Sentences about workflows, checked against replicates.

What counts as a difference is settled before anything is drawn: a mean over replicates that is more than two of its
standard errors away. Nothing is tuned until it agrees; where a sentence fails, its evidence says where and by how much.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gedp.arrays import FloatArray
from gedp.numbers import with_minus
from gedp_lab.compare import Comparison
from gedp_lab.reproduce.results import AGREES, DISAGREES, IN_PART, OURS, PAPER, CheckedClaim

CHANCE = 2.0  # standard errors
NEAR = 0.02  # of an oracle
LEAST, MOST = 0.92, 0.98  # coverage of 95% intervals
USELESS = 1.0  # relative error

Comparisons = Mapping[str, Comparison]  # by the name of the state


@dataclass(frozen=True)
class Check:
    """One number that a claim was checked against."""

    where: str
    holds: bool
    number: str


def claim(text: str, checks: Sequence[Check], source: str = PAPER, reason: str = "", drawn: str = "") -> CheckedClaim:
    """Holds where all checks do. The evidence has every number if they are few, else those that fail.

    Checks are many, what was drawn may be little: `drawn` says how many independent draws they are of.
    """
    failed = [check for check in checks if not check.holds]
    outcome = AGREES if not failed else DISAGREES if len(failed) == len(checks) else IN_PART
    shown = checks if len(checks) <= 8 else failed
    numbers = "; ".join(f"{c.where}: {c.number}{'' if c.holds or shown is failed else ' (no)'}" for c in shown)
    count = f"{len(checks) - len(failed)} of {len(checks)} checks hold"
    evidence = f"{count}. {'Not: ' if shown is failed and failed else ''}{numbers}".strip().rstrip(".") + "."
    return CheckedClaim(text, source, outcome, evidence, reason if failed else "", drawn)


def over_releases(comparisons: Comparisons, claims: Sequence[CheckedClaim]) -> list[CheckedClaim]:
    """Claims about comparisons, each with the number of independent releases that it rests on."""
    return [replace(each, drawn=releases_of(comparisons)) for each in claims]


def releases_of(comparisons: Comparisons) -> str:
    """How many independent releases a claim about comparisons rests on."""
    counts = sorted({found.replicates for found in comparisons.values()})
    number = " or ".join(f"{count:,}" for count in counts)
    noun = "independent release" if counts == [1] else "independent releases"
    return f"{number} {noun} of each of {len(comparisons)} states" if len(comparisons) > 1 else f"{number} {noun}"


def more_accurate(comparisons: Comparisons, one: str, other: str, places: Sequence[tuple[str, str]]) -> Iterator[Check]:
    """Whether the mean absolute error of `one` is smaller than that of `other`, beyond chance."""
    for state, found in comparisons.items():
        for attribute, level in places:
            mean, error = found.difference(one, other, attribute, level)
            ratio = _ratio(found, one, other, attribute, level)
            sure = error is not None and mean > CHANCE * error
            note = "" if sure else ", worse beyond chance" if _surely_below(mean, error) else ", no more than chance"
            yield Check(f"{state} {attribute} {level}", sure, f"{one} {ratio:.2f} × {other}{note}")


def no_less_accurate(
    comparisons: Comparisons, one: str, others: Sequence[str], places: Sequence[tuple[str, str]]
) -> Iterator[Check]:
    """Whether no other workflow has a smaller mean absolute error beyond chance."""
    for state, found in comparisons.items():
        for attribute, level in places:
            for other in others:
                mean, error = found.difference(one, other, attribute, level)
                ratio = _ratio(found, one, other, attribute, level)
                off = "" if not error else f" ({mean / error:+.1f} standard errors)"
                yield Check(
                    f"{state} {attribute} {level}", not _surely_below(mean, error), f"{one} {ratio:.3f} × {other}{off}"
                )


def unbiased(comparisons: Comparisons, workflows: Sequence[str], places: Sequence[tuple[str, str]]) -> Iterator[Check]:
    """Whether the mean error is within two standard errors of zero."""
    yield from _biases(comparisons, workflows, places, lambda bias, error: abs(bias) <= CHANCE * error)


def biased_down(
    comparisons: Comparisons, workflows: Sequence[str], places: Sequence[tuple[str, str]]
) -> Iterator[Check]:
    """Whether the mean error is more than two standard errors below zero."""
    yield from _biases(comparisons, workflows, places, lambda bias, error: bias < -CHANCE * error)


def less_biased(comparisons: Comparisons, one: str, other: str, places: Sequence[tuple[str, str]]) -> Iterator[Check]:
    """Whether the mean error of `one` is nearer to zero."""
    for state, found in comparisons.items():
        for attribute, level in places:
            ours, theirs = (found.line(name, attribute, level).bias for name in (one, other))
            text = f"{one} {_signed(ours)}, {other} {_signed(theirs)}"
            yield Check(f"{state} {attribute} {level}", abs(ours) < abs(theirs), text)


def near_oracle(
    comparisons: Comparisons, mechanisms: Sequence[str], places: Sequence[tuple[str, str]]
) -> Iterator[Check]:
    """Whether quasi weights are within 2% of the true variances, in mean absolute error."""
    for state, found in comparisons.items():
        for mechanism in mechanisms:
            quasi = "auto" if mechanism == "auto" else f"{mechanism}+quasi"
            for attribute, level in places:
                ratio = _ratio(found, quasi, f"{mechanism}+oracle", attribute, level)
                where = f"{state} {attribute} {level}"
                yield Check(where, abs(ratio - 1) <= NEAR, f"{quasi} {ratio - 1:+.1%} of its oracle")


def covered(comparisons: Comparisons, workflow: str, places: Sequence[tuple[str, str]]) -> Iterator[Check]:
    """Whether 92% to 98% of the 95% intervals hold the truth."""
    for state, found in comparisons.items():
        for attribute, level in places:
            line = found.line(workflow, attribute, level)
            share = math.nan if line.coverage is None else line.coverage
            number = f"{share:.1%} of {line.groups * line.replicates:,}"
            yield Check(f"{state} {attribute} {level}", LEAST <= share <= MOST, number)


def useless(comparisons: Comparisons, workflow: str, places: Sequence[tuple[str, str]]) -> Iterator[Check]:
    """Whether half of the groups are off by more than all they hold."""
    for state, found in comparisons.items():
        for attribute, level in places:
            off = float(np.median(relative_errors(found, workflow, attribute, level)))
            yield Check(f"{state} {attribute} {level}", off > USELESS, f"median relative error {off:,.0%}")


def relative_errors(
    found: Comparison, workflow: str, attribute: str, level: str, setting: str | None = None
) -> FloatArray:
    """The paper's |x − x̃|/(x + 1) of every group, averaged over replicates."""
    groups = found.groups_of(workflow, attribute, level, setting)
    errors: FloatArray = groups["mean_absolute"].to_numpy() / (np.abs(groups["truth"].to_numpy()) + 1)
    return errors


def places(attributes: Sequence[str], levels: Sequence[str]) -> list[tuple[str, str]]:
    """Every attribute at every level."""
    return [(attribute, level) for attribute in attributes for level in levels]


def ours(text: str, checks: Sequence[Check], reason: str = "", drawn: str = "") -> CheckedClaim:
    """A claim of this project's own."""
    return claim(text, checks, OURS, reason, drawn)


def _biases(
    comparisons: Comparisons,
    workflows: Sequence[str],
    where: Sequence[tuple[str, str]],
    holds: Callable[[float, float], bool],
) -> Iterator[Check]:
    for state, found in comparisons.items():
        for workflow in workflows:
            for attribute, level in where:
                line = found.line(workflow, attribute, level)
                error = math.inf if line.bias_se is None else line.bias_se
                number = f"{workflow} {_signed(line.bias)} ± {error:,.0f}"
                yield Check(f"{state} {attribute} {level}", holds(line.bias, error), number)


def _ratio(found: Comparison, one: str, other: str, attribute: str, level: str) -> float:
    first, second = (found.line(name, attribute, level).mean_absolute for name in (one, other))
    return first / second if second else math.inf


def _surely_below(mean: float, error: float | None) -> bool:
    return error is not None and mean < -CHANCE * error


def _signed(value: float) -> str:
    return with_minus(f"{value:+,.0f}" if abs(value) >= 10 else f"{value:+.2g}")
