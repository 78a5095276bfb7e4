"""The page for a policy meeting: the spec's promise, and controls to see what other settings would promise."""

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from gedp import web
from gedp.accounting.semantics import RecordDistance
from gedp.explain.expected import CELLS, error_lines, errors_sentence, table_mu, typical_error
from gedp.explain.facts import (
    ProtectionGroup,
    Record,
    Sizes,
    between_records,
    existence_rows,
    importance_table,
    interval_rows,
    other_accounting,
    person_table,
    power_rows,
    price_table,
    protection_groups,
    titled,
    warnings,
)
from gedp.explain.over_periods import explained_series
from gedp.explain.released import explained_promise
from gedp.explain.wording import (
    existence_sentences,
    missing_sentences,
    most_on_a_period,
    other_accounting_sentences,
    pool_sentence,
    record_sentence,
)
from gedp.folding import named
from gedp.markup import html_table
from gedp.numbers import fixed, size
from gedp.policy import PriceList, Spec, price
from gedp.release import Labels, Manifest
from gedp.release.words import Words, in_titles

CURVE_POINTS = 80


def explain_page(
    spec: Spec,
    title: str,
    sizes: Sizes = (),
    records: tuple[Record, Record] | None = None,
    released: Manifest | None = None,
) -> str:
    """The whole page as HTML; `sizes` replaces our choice of values to show, `records` are two to tell apart.

    Of a release the page also says what it promises together with all others from the same data.
    """
    prices = price(spec)
    labels = Labels(spec)
    title_of, words = labels.title, in_titles(labels)
    own = protection_groups(spec.policy, sizes)
    groups = tuple(titled(group, title_of) for group in own)
    mu = prices.total.mu
    body = web.fill(
        "explain.html",
        title=escape(title),
        promise="</p><p>".join(map(escape, explained_promise(spec, released))),
        warnings=web.warnings(warnings(spec, prices.total)),
        mu_most=f"{max(6.0, 2 * mu):.2f}",
        static="\n".join(
            [
                *_people(groups, prices),
                *([_records(*records, between_records(spec, prices.total, *records), words)] if records else []),
                _existence(groups, prices),
                _section("Missing values", missing_sentences(labels)),
                _section("Over several periods", explained_series(spec, released)),
                _prices(spec, prices, words),
                _errors(spec, words),
                _other(prices),
            ]
        ),
    )
    data = {
        "mu": mu,
        "groups": [{**_group_data(group, spec), "names": list(map(title_of, group.names))} for group in own],
        "changes": [[row.change, row.steps] for row in power_rows(prices.total)],
    }
    return web.page(f"gedp: {title}", body, script=web.asset("numbers.js") + web.asset("explain.js"), data=data)


def _group_data(group: ProtectionGroup, spec: Spec) -> dict[str, object]:
    attribute = spec.policy.attributes[group.names[0]]
    closeness = attribute.closeness
    mu = table_mu(spec, attribute.name)
    errors = [typical_error(attribute, mu, count) for count in CELLS] if mu else []
    first, last = min(group.sizes), max(group.sizes)
    sizes = np.geomspace(first, last if last > first else 10 * first, CURVE_POINTS)
    widths = group.protection.interval(sizes).width
    return {
        "protection": str(group.protection),
        "psi": closeness.psi,
        "gamma": float(closeness.gamma),
        "shift": float(closeness.shift),
        "signed": attribute.signed,
        "person": group.person or 1.0,
        "widened": bool(attribute.at_least),
        "rows": [
            {"size": row.size, "low": row.low, "high": row.high} for row in interval_rows(group.protection, group.sizes)
        ],
        "cells": [[each.total, each.error if math.isfinite(each.error) else None] for each in errors],
        "share": mu / price(spec).total.mu,
        "curve": [[float(x), float(width)] for x, width in zip(sizes, widths, strict=True)],
    }


def _people(groups: tuple[ProtectionGroup, ...], prices: PriceList) -> list[str]:
    tables = []
    for group in groups:
        if group.person is not None:
            layout = person_table(group, prices.total)
            caption = f"A person who contributes {size(group.person)} to {named(group.names)} hides (spec)"
            tables.append(html_table(caption, layout.headings, layout.rows))
    return ["<h2>People inside an establishment</h2>", *tables] if tables else []


def _records(x: Record, y: Record, apart: RecordDistance, words: Words) -> str:
    rows = [
        [words.attribute(name), size(x[name]), size(y[name]), fixed(steps, 0)] for name, steps in apart.steps_of.items()
    ]
    table = html_table("Steps of γ in each attribute (spec)", ["attribute", "record", "against", "steps"], rows)
    return f"<h2>One record against another</h2>{table}<p>{escape(record_sentence(apart))}</p>"


def _existence(groups: tuple[ProtectionGroup, ...], prices: PriceList) -> str:
    return _section("Existence", existence_sentences(groups, existence_rows(groups, prices.total)))


def _section(heading: str, sentences: Sequence[str]) -> str:
    """Sentences under a heading; nothing where there are none."""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f"<h2>{heading}</h2>{said}" if said else ""


def _prices(spec: Spec, prices: PriceList, words: Words) -> str:
    in_all = f"{prices.total.mu:.6g} in all{most_on_a_period(prices)}, of a budget of {prices.budget.mu:.6g}"
    asked, whose = "", "each query and attribute"
    if importance := importance_table(spec, words):
        caption = "Importance of each query and attribute"
        said = escape(pool_sentence(prices, words))
        asked = f"{html_table(caption, importance.headings, importance.rows)}<p>{said}</p>"
        whose = "all answers about each attribute"
    layout = price_table(prices, words)
    costs = html_table(f"μ of {whose}: {in_all}", layout.headings, layout.rows, layout.totals)
    return f"<h2>What it costs</h2>{asked}{costs}"


def _errors(spec: Spec, words: Words) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in error_lines(spec, words))
    return f"<h2>Errors to expect, table by table</h2><p>{escape(errors_sentence(spec))}</p><ul>{lines}</ul>"


def _other(prices: PriceList) -> str:
    sentences = "".join(f"<p>{sentence}</p>" for sentence in other_accounting_sentences(other_accounting(prices)))
    return f"<h2>In other frameworks</h2>{sentences}"
