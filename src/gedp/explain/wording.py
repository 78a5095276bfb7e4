"""Sentences that the terminal, the page and the report share, so that all of them say the same."""

from collections.abc import Sequence

from gedp.explain.facts import ExistenceRow, OtherAccounting, ProtectionGroup, without_existence
from gedp.neighbors import Signed
from gedp.numbers import bound, chance, percent, size, strength


def promise_sentence(mu: float, power_at_5: float) -> str:
    """What μ means to an attacker: the promise in one sentence."""
    return (
        "Nobody can tell the true values of an establishment from any other values inside its uncertainty intervals "
        f"better than one can tell N(0,1) from N({strength(mu)},1) by a single draw: an attacker who accepts 5% false "
        f"alarms detects a true difference with a chance of {bound(power_at_5)}."
    )


def existence_sentences(groups: Sequence[ProtectionGroup], rows: Sequence[ExistenceRow]) -> list[str]:
    """How well it is hidden that an establishment has anything; one that has nothing is 0 in all attributes at once."""
    public = "That an establishment is in the table is not protected: a release may list it, or a group it is alone in."
    if unprotected := without_existence(groups):
        listed = ", ".join(unprotected)
        return [f"Whether it has anything at all is not protected: at 0, ψ has no value for {listed}.", public]
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
    return f"{', '.join(group.names)} of {amount}{' each' if len(group.names) > 1 else ''}"


def other_accounting_sentences(other: OtherAccounting) -> list[str]:
    """The same promise in the terms of other frameworks: (ε, δ), ρ-zCDP and ε-DP."""
    epsilons = "; ".join(f"ε = {epsilon:.4g} at δ = {delta:g}" for delta, epsilon in other.epsilons)
    said = [f"Between close records the promise is (ε, δ)-indistinguishability with {epsilons}."]
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
