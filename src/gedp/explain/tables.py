"""The facts about a spec as tables."""

from gedp import numbers
from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.semantics import RecordDistance
from gedp.documents import PrintedTable
from gedp.explain.facts import (
    PERSON_STEPS,
    SIGNIFICANCES,
    ProtectionGroup,
    Record,
    interval_rows,
    person_rows,
    power_rows,
)
from gedp.explain.wording import most_on_a_period
from gedp.folding import folded, named
from gedp.policy import PriceList, Spec
from gedp.policy.nouns import AS_USUAL, Nouns
from gedp.policy.pricing import ALL_ANSWERS
from gedp.release.words import AS_WRITTEN, Words


def interval_table(group: ProtectionGroup) -> PrintedTable:
    """The uncertainty intervals of one group of attributes, by size."""
    return PrintedTable(
        f"Uncertainty intervals of {', '.join(group.names)} ({group.protection})",
        ("value", "from", "to", "width", "width / value"),
        [
            (numbers.size(row.size), *numbers.interval(row.low, row.high), numbers.percent(row.relative_width))
            for row in interval_rows(group.protection, group.sizes)
        ],
    )


def power_table(loss: PrivacyLoss, unit: str | None, nouns: Nouns = AS_USUAL) -> PrintedTable:
    """An attacker's chance of detecting one establishment, wider intervals, or firms; or all records of a unit."""
    return PrintedTable(
        "The attacker's power: chance of detecting a change, by chance of a false alarm",
        ("what changes", "μ", *(f"at {share:.0%}" for share in SIGNIFICANCES)),
        [
            (row.change, numbers.strength(row.mu), *map(numbers.chance, row.powers))
            for row in power_rows(loss, unit, nouns)
        ],
    )


def person_table(group: ProtectionGroup, loss: PrivacyLoss) -> PrintedTable:
    """What a person inside an establishment is promised: one row per size, one column per number of steps."""
    wider = (f"within {numbers.counted(k, 'step')}, μ = {numbers.strength(loss.group(k).mu)}" for k in PERSON_STEPS)
    rows = []
    for row in person_rows(group, loss):
        texts = (numbers.interval(said.low, said.high) for said in row.within)
        rows.append((numbers.size(row.establishment_size), *(f"{text.low} to {text.high}" for text in texts)))
    caption = f"A person who contributes {numbers.size(group.person or 0)} to {named(group.names)} hides"
    return PrintedTable(caption, ("establishment's value", *wider), rows)


def record_table(x: Record, y: Record, apart: RecordDistance, words: Words = AS_WRITTEN) -> PrintedTable:
    """How far two records are apart in each attribute."""
    return PrintedTable(
        "Steps of γ in each attribute",
        ("attribute", "record", "against", "steps"),
        [
            (words.attribute(name), numbers.size(x[name]), numbers.size(y[name]), numbers.fixed(steps, 0))
            for name, steps in apart.steps_of.items()
        ],
    )


def price_table(prices: PriceList, words: Words = AS_WRITTEN) -> PrintedTable:
    """The price list by query and attribute, or by attribute where all queries share the price."""
    total, share, everything = f"{prices.total.mu:.4g}", "share of μ²", "all attributes"
    verdict = "within" if prices.within_budget else "over"
    most = most_on_a_period(prices)
    note = f"Total μ = {prices.total.mu:.6g}{most}, {verdict} the budget of {prices.budget.mu:.6g}."
    if prices.is_individual:
        of = {line.attribute: (line.mu, f"{float(prices.share(line.loss)):.1%}") for line in prices.lines}
        pooled = [(heading, *of[name]) for heading, name in folded(of, words.attribute).items()]
        return PrintedTable(
            "μ of all answers about each attribute",
            ("attribute", ALL_ANSWERS, share),
            pooled,
            note,
            footer=(everything, total, "100.0%"),
        )
    queries = list(dict.fromkeys(line.query for line in prices.lines))
    cells = {(line.query, line.attribute): line.mu for line in prices.lines}
    attributes = dict.fromkeys(line.attribute for line in prices.lines)
    columns = folded(
        {name: tuple(cells.get((query, name), "") for query in queries) for name in attributes}, words.attribute
    )
    rows = []
    for query in queries:
        cost = prices.of_query(query)
        by_attribute = [cells.get((query, name), "") for name in columns.values()]
        rows.append((words.query(query), *by_attribute, f"{cost.mu:.4g}", f"{float(prices.share(cost)):.1%}"))
    of_attributes = [f"{prices.of_attribute(name).mu:.4g}" for name in columns.values()]
    return PrintedTable(
        "μ of each query and attribute",
        ("query", *columns, everything, share),
        rows,
        note,
        footer=("all queries", *of_attributes, total, "100.0%"),
    )


def importance_table(spec: Spec, words: Words = AS_WRITTEN) -> PrintedTable:
    """How much each query and what it asks for counts: attributes, establishments by classes and combinations."""
    asked = dict.fromkeys([*spec.asked, *(each for query in spec.queries for each in query.asked)])
    of = {name: tuple(str(query.importance.get(name, "")) for query in spec.queries) for name in asked}
    columns = folded(of, words.attribute)
    rows = [
        (words.query(query.name), *(of[name][place] for name in columns.values()))
        for place, query in enumerate(spec.queries)
    ]
    return PrintedTable("Importance of each query and attribute", ("query", *columns), rows)
