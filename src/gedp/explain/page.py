"""The page for a policy meeting: the spec's promise, and controls to see what other settings would promise."""

import math
from collections.abc import Mapping

import numpy as np

from gedp import web
from gedp.documents import to_html
from gedp.explain.document import explain_document
from gedp.explain.expected import CELLS, table_mu, typical_error
from gedp.explain.facts import ProtectionGroup, Record, Sizes, interval_rows, power_rows, protection_groups
from gedp.policy import Spec, price
from gedp.release import Labels, Manifest
from gedp.release.words import in_titles

CURVE_POINTS = 80


def explain_page(
    spec: Spec,
    title: str,
    sizes: Sizes = (),
    records: tuple[Record, Record] | None = None,
    released: Manifest | None = None,
    others: Mapping[str, Spec] | None = None,
) -> str:
    """The document that explains a spec, as HTML with controls."""
    words, loss = in_titles(Labels(spec)), price(spec).total
    data = {
        "mu": loss.mu,
        "groups": [
            {**_group_data(group, spec), "names": [*map(words.attribute, group.names)]}
            for group in protection_groups(spec.policy, sizes)
        ],
        "changes": [[row.change, row.steps] for row in power_rows(loss, spec.policy.unit, spec.nouns)],
    }
    document = explain_document(spec, title, sizes, records, released, others, words)
    script = web.asset("numbers.js") + web.asset("explain.js")
    return to_html(document, name=f"gedp: {title}", script=script, data=data)


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
