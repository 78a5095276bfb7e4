"""Sentences that the terminal, the page and the report share, so that all of them say the same."""

import math
from collections.abc import Sequence
from decimal import Decimal

from gedp.accounting.composition import power
from gedp.accounting.sampling import SampleAlike
from gedp.accounting.semantics import RecordDistance
from gedp.explain.facts import (
    ExistenceRow,
    OtherAccounting,
    ProtectionGroup,
    sample_alike,
    without_existence,
)
from gedp.folding import listed, named
from gedp.neighbors import Signed
from gedp.numbers import bound, chance, percent, short_share, size, strength
from gedp.policy import PriceList
from gedp.policy.nouns import AS_USUAL, Nouns
from gedp.release import Labels
from gedp.release.words import AS_WRITTEN, Words


def promise_sentence(mu: float, unit: str | None = None, nouns: Nouns = AS_USUAL, *, is_alone: bool = False) -> str:
    """What μ means to an attacker: the promise in one sentence. `is_alone` says that there are other releases.

    `unit` is the column of units of which all records are hidden at once.
    """
    nobody = "From this release alone, nobody" if is_alone else "Nobody"
    whose, its = nouns.whose(unit)
    return (
        f"{nobody} can tell the true values of {whose} from any other values inside {its} uncertainty intervals "
        f"better than one can tell N(0,1) from N({strength(mu)},1) by a single draw: an attacker who accepts 5% false "
        f"alarms detects a true difference with a chance of {bound(float(power(mu, 0.05)))}."
    )


def pool_sentence(prices: PriceList, words: Words = AS_WRITTEN) -> str:
    """What individual accounting holds every establishment to: a pool for each attribute, which all answers share."""
    pooled = listed({line.attribute: f"μ = {line.mu}" for line in prices.lines}, words.attribute)
    return (
        f"Each establishment pays at most this much for all answers about an attribute together: {pooled}. What an "
        "answer gets of it follows from its importance and from the noisy answers before it."
    )


def combined_sentences(labels: Labels) -> list[str]:
    """How combinations differ from other figures; empty where no query asks for one."""
    spec = labels.spec
    titles = "; ".join(f"{labels.title(name)} = {spec.combinations[name].formula}" for name in spec.asked_combinations)
    said = (
        f"These figures were also measured as numbers of their own: {titles}. This makes them more precise than what "
        "the formula gives, so they can differ from it, and totals of them need not add up exactly."
    )
    return [said] if titles else []


def missing_sentences(labels: Labels) -> list[str]:
    """What nulls count as, where the spec says it. Their number is as confidential as every value."""
    alike: dict[Decimal, list[str]] = {}
    for column, number in labels.spec.missing.items():
        alike.setdefault(number, []).append(labels.title(column))
    return [
        f"Missing values of {named(columns)} are counted as {size(float(number))}, before figures are protected. How "
        "many there are is confidential and not published; errors are about the noise alone and do not allow for them."
        for number, columns in alike.items()
    ]


def most_on_a_period(prices: PriceList) -> str:
    """After the total: what counts against the budget of one period, where columns hold values of others."""
    worst = next((period for period, loss in prices.of_period.items() if loss == prices.most), None)
    return "" if worst is None else f" (at most {strength(prices.most.mu)} on one period: {worst})"


def existence_sentences(groups: Sequence[ProtectionGroup], rows: Sequence[ExistenceRow]) -> list[str]:
    """How well it is hidden that an establishment has anything; one that has nothing is 0 in all attributes at once."""
    public = "That an establishment is in the table is not protected: a release may list it, or a group it is alone in."
    if unprotected := without_existence(groups):
        return [
            f"Whether it has anything at all is not protected: at 0, ψ has no value for {named(unprotected)}.",
            public,
        ]
    return [*(existence_sentence(groups, row) for row in rows), public]


def existence_sentence(groups: Sequence[ProtectionGroup], row: ExistenceRow) -> str:
    """One row of `existence_rows` in words."""
    *values, last = [_at_most(group, most) for group, most in zip(groups, row.most, strict=True)]
    has = f"{', '.join(values)}, and {last}" if values else last
    return (
        f"An establishment with {has} can be told from one with nothing at all with a chance of "
        f"{bound(row.power)} at 5% false alarms (μ = {strength(row.mu)})."
    )


def _at_most(group: ProtectionGroup, most: float) -> str:
    amount = f"{size(-most)} to {size(most)}" if isinstance(group.protection.psi, Signed) else f"at most {size(most)}"
    return f"{named(group.names)} of {amount}{' each' if len(group.names) > 1 else ''}"


def sampling_sentences(groups: Sequence[ProtectionGroup]) -> list[str]:
    """For each group with a square root, which survey would tell an attacker as much as its intervals leave open."""
    alike = [(group, sample_alike(group)) for group in groups]
    return [_sampling_sentence(group, sample) for group, sample in alike if sample is not None]


def _sampling_sentence(group: ProtectionGroup, sample: SampleAlike) -> str:
    counted = "" if group.person in (None, 1) else f", each contributing {size(group.person or 1)}"
    beyond = (
        f"more of the region's people than there are ({short_share(sample.with_replacement)})"
        if sample.with_replacement > 1
        else f"{short_share(sample.with_replacement)} of the region's people"
    )
    return (
        f"{named(group.names)}: to estimate a value with a standard deviation as large as the interval reaches to "
        f"each side, an attacker would have to ask {beyond} if they may be asked twice, and "
        f"{short_share(sample.without_replacement)} if not. "
        f"(For values that count people{counted}, estimated by asking where they work.)"
    )


def record_sentence(apart: RecordDistance) -> str:
    """How well the promise hides which of two records is the true one."""
    if not apart.steps:
        return "The two records are the same."
    decided = f"by {', '.join(apart.furthest)}"
    if math.isinf(apart.mu):
        return f"Nothing is promised between the two records, {decided}: ψ has no value at 0."
    steps = "1 step" if apart.steps == 1 else f"{apart.steps:,.0f} steps"
    close = "They are close" if apart.is_close else "They are not close"
    return (
        f"{close}: {steps} apart, {decided}. An attacker tells one from the other with a chance of "
        f"{bound(float(power(apart.mu, 0.05)))} at 5% false alarms (μ = {strength(apart.mu)})."
    )


def other_accounting_sentences(other: OtherAccounting) -> list[str]:
    """The same promise in the terms of other frameworks, and what ρ-zCDP and ε-DP would cost."""
    said = list(other.translated.sentences)
    if other.variance_ratios is None:
        said.append("At this μ an attacker all but succeeds, so a comparison with ρ-zCDP and ε-DP says nothing.")
    else:
        zcdp, pure = other.variance_ratios
        said.append(
            f"To hold an attacker to {chance(other.power)} at {percent(other.significance)} false alarms over the "
            f"{other.queries} sums published, ρ-zCDP would need {zcdp:.3g} times our variance, "
            f"ε-DP {pure:.3g} times."
        )
    return said
