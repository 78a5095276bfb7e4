"""What a release promises, for readers who never heard of it."""

from dataclasses import replace
from html import escape

from gedp.accounting.composition import power
from gedp.explain.facts import (
    SIGNIFICANCES,
    ProtectionGroup,
    existence_rows,
    interval_rows,
    person_rows,
    power_rows,
    protection_groups,
    titled,
    warnings,
    without_existence,
)
from gedp.explain.released import FALSE_ALARMS, released_promise
from gedp.explain.wording import existence_sentence, most_on_a_period, pool_sentence
from gedp.markup import html_table
from gedp.numbers import bound, chance, interval, size, strength
from gedp.policy import PriceList, Spec
from gedp.release import Labels, Manifest
from gedp.release.words import in_titles
from gedp.web import warnings as html_warnings

MOST_SIZES = 6
TELLING = 1 / 3  # width of the interval relative to the value, in examples


def attacker_chance(prices: PriceList) -> str:
    """The attacker's chance of noticing a true difference at 5% false alarms, as it stands in a sentence."""
    return bound(_power(prices))


def texts(labels: Labels, manifest: Manifest, lists_establishments: bool) -> dict[str, str]:
    """The parts of the page about the promise, as HTML."""
    spec, prices = labels.spec, manifest.prices
    promise, *all_together = released_promise(manifest)
    asked = replace(spec.policy, attributes={name: spec.policy.attributes[name] for name in spec.concerned})
    spec = replace(spec, policy=asked)  # of the others nothing was released, and nothing is promised
    groups = titled_groups(labels)
    mu = prices.total.mu
    return {
        "warnings": html_warnings(warnings(spec, prices.total)),
        "public": _public(labels, lists_establishments),
        "examples": "".join(f"<li>{escape(example(group))}</li>" for group in groups),
        "intervals": "".join(map(_intervals, groups)),
        "people": "".join(f"<p>{escape(person)}</p>" for group in groups if (person := _person(group, prices))),
        "existence": escape(_existence(groups, prices)),
        "attacker": escape(_attacker(attacker_chance(prices))),
        "powers": _powers(prices, spec),
        "promise": escape(promise),
        "together": "".join(f'<p class="note">{escape(part)}</p>' for part in all_together),
        "spent": escape(
            f"This release spent μ = {strength(mu)}{most_on_a_period(prices)} of a budget of {prices.budget.mu:.6g}, "
            "which is for everything ever published from these data."
            + (f" {pool_sentence(prices, in_titles(labels))}" if prices.is_individual else "")
        ),
    }


def example(group: ProtectionGroup) -> str:
    """One interval in words: that of a size where it is neither all nor nothing."""
    rows = interval_rows(group.protection, group.sizes)
    row = min(rows, key=lambda row: abs(row.relative_width - TELLING))
    low, high, _ = interval(row.low, row.high)
    return (
        f"{_listed(group.names)}: nobody can tell an establishment with {size(row.size)} from one with {low} to "
        f"{high} better than the chances below allow."
    )


def titled_groups(labels: Labels) -> tuple[ProtectionGroup, ...]:
    """What is protected alike, of what was asked for, by the names that people know."""
    policy = labels.spec.policy
    asked = replace(policy, attributes={name: policy.attributes[name] for name in labels.spec.asked})
    return tuple(titled(group, labels.title) for group in protection_groups(asked))


def protected_and_public(labels: Labels, lists_establishments: bool) -> tuple[str, str]:
    """What is protected, and what is not because it is public, as both stand in a sentence."""
    data = labels.spec.data
    titles = tuple(map(labels.title, data.public))
    own = _listed((*((f"identifier ({data.id})",) if data.id else ()), *titles))
    known = (
        f"that an establishment is in the data, and its {own}"
        if lists_establishments
        else f"how many establishments there are, and which groups of {_listed(titles)} have any; no establishment is "
        "listed"
    )
    return f"{_listed(tuple(map(labels.title, labels.spec.asked)))} of every establishment", known


def _public(labels: Labels, lists_establishments: bool) -> str:
    secret, known = map(escape, protected_and_public(labels, lists_establishments))
    return (
        f"<p><strong>Protected:</strong> {secret}. <strong>Not protected, because it is public:</strong> {known}.</p>"
    )


def _intervals(group: ProtectionGroup) -> str:
    step = max(1, -(-len(group.sizes) // MOST_SIZES))
    rows = [
        [size(row.size), *interval(row.low, row.high)[:2]]
        for row in interval_rows(group.protection, group.sizes[::step])
    ]
    return html_table(f"Uncertainty intervals: {', '.join(group.names)}", ["value", "from", "to"], rows)


def _person(group: ProtectionGroup, prices: PriceList) -> str:
    rows = person_rows(group, prices.total)
    if not rows or group.person is None:
        return ""
    alone, larger = (interval(row.within[0].low, row.within[0].high)[:2] for row in (rows[0], rows[len(rows) // 2]))
    return (
        f"A person who contributes {size(group.person)} to {_listed(group.names)} is hidden in the same way: between "
        f"{' and '.join(alone)} if alone, between {' and '.join(larger)} in an establishment with "
        f"{size(rows[len(rows) // 2].establishment_size)}."
    )


def _existence(groups: tuple[ProtectionGroup, ...], prices: PriceList) -> str:
    """How well it is hidden that an establishment has anything: the fewest steps that hide the smallest of all."""
    if unprotected := without_existence(groups):
        listed = _listed(unprotected)
        return f"Whether an establishment has anything at all is not hidden: at 0, ψ has no value for {listed}."
    rows = existence_rows(groups, prices.total)
    return existence_sentence(groups, next((row for row in rows if all(row.most)), rows[-1]))


def _power(prices: PriceList) -> float:
    return float(power(prices.total.mu, FALSE_ALARMS))


def _attacker(reached: str) -> str:
    return (
        "If they accept mistaking the first for the second in 5 of 100 cases, they recognise the second, when it is "
        f"true, with a chance of {reached}. Without these figures it is 5%; with the true values it would be 100%."
    )


def _powers(prices: PriceList, spec: Spec) -> str:
    rows_of_all = power_rows(prices.total, spec.policy.unit, spec.nouns)
    simple = [row for row in rows_of_all if not row.change.endswith(" steps")]
    rows = [[row.change, *map(chance, row.powers)] for row in simple]
    headings = ["what is to be noticed", *(f"{share:.0%} false alarms" for share in SIGNIFICANCES)]
    return html_table("The attacker’s best chance of noticing a true difference", headings, rows)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
