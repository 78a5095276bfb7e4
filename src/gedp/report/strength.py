"""What a release promises, for readers who never heard of it."""

from html import escape

from gedp.accounting.composition import power
from gedp.explain.facts import (
    SIGNIFICANCES,
    ProtectionGroup,
    interval_rows,
    person_rows,
    power_rows,
    protection_groups,
)
from gedp.explain.wording import at_most, promise_sentence, size_shown
from gedp.policy import PriceList, Spec
from gedp.report.numbers import interval
from gedp.web import table

FALSE_ALARMS = 0.05
MOST_SIZES = 6
TELLING = 1 / 3  # width of the interval relative to the value, in examples


def attacker_chance(prices: PriceList) -> str:
    """What an attacker can achieve at 5% false alarms."""
    return at_most(float(power(prices.total.mu, FALSE_ALARMS)))


def texts(spec: Spec, prices: PriceList, lists_establishments: bool) -> dict[str, str]:
    """The parts of the page about the promise, as HTML."""
    groups = protection_groups(spec.policy)
    mu = prices.total.mu
    return {
        "public": _public(spec, lists_establishments),
        "examples": "".join(f"<li>{escape(example(group))}</li>" for group in groups),
        "intervals": "".join(map(_intervals, groups)),
        "people": "".join(f"<p>{escape(person)}</p>" for group in groups if (person := _person(group, prices))),
        "attacker": escape(_attacker(attacker_chance(prices))),
        "powers": _powers(prices),
        "promise": escape(promise_sentence(mu, float(power(mu, FALSE_ALARMS)))),
        "spent": escape(
            f"This release spent μ = {mu:.6g} of {prices.budget.mu:.6g}, the most that everything ever published from "
            "these data may spend together."
        ),
    }


def example(group: ProtectionGroup) -> str:
    """One interval in words: that of a size where it is neither all nor nothing."""
    rows = interval_rows(group.protection, group.sizes)
    row = min(rows, key=lambda row: abs(row.relative_width - TELLING))
    low, high = interval(row.low, row.high)
    return (
        f"{_listed(group.names)}: nobody can tell an establishment with {size_shown(row.size)} from one with {low} to "
        f"{high} better than the chances below allow."
    )


def _public(spec: Spec, lists_establishments: bool) -> str:
    public, secret = _listed(spec.data.public), _listed(tuple(spec.policy.attributes))
    known = (
        f"that an establishment is in the data, and its {public}"
        if lists_establishments
        else f"which groups of {public} there are; no establishment is listed"
    )
    return (
        f"<p><strong>Protected:</strong> {escape(secret)} of every establishment. <strong>Not protected, because it is "
        f"public:</strong> {escape(known)}.</p>"
    )


def _intervals(group: ProtectionGroup) -> str:
    step = max(1, -(-len(group.sizes) // MOST_SIZES))
    rows = [
        [size_shown(row.size), *interval(row.low, row.high)]
        for row in interval_rows(group.protection, group.sizes[::step])
    ]
    return table(f"Uncertainty intervals: {', '.join(group.names)}", ["value", "from", "to"], rows)


def _person(group: ProtectionGroup, prices: PriceList) -> str:
    rows = person_rows(group, prices.total)
    if not rows or group.person is None:
        return ""
    alone, larger = (interval(row.low, row.high) for row in (rows[0], rows[len(rows) // 2]))
    return (
        f"One person who adds {size_shown(group.person)} to {_listed(group.names)} is hidden in the same way: among "
        f"{' to '.join(alone)} where the person is alone, among {' to '.join(larger)} in an establishment with "
        f"{size_shown(rows[len(rows) // 2].establishment_size)}."
    )


def _attacker(chance: str) -> str:
    return (
        "Whoever accepts to mistake the first for the second in 5 of 100 cases recognises the second, when it is true, "
        f"with a chance of at most {chance}. Without these figures it is 5%; with the true values it would be 100%."
    )


def _powers(prices: PriceList) -> str:
    simple = [row for row in power_rows(prices.total) if "steps" not in row.change]
    rows = [[row.change, *map(at_most, row.powers)] for row in simple]
    headings = ["what is to be noticed", *(f"{share:.0%} false alarms" for share in SIGNIFICANCES)]
    return table("The attacker’s chance to notice a true difference, at most", headings, rows)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
