"""How a release with individual accounting shared what establishments pay, and the errors that it predicted."""

import math
from html import escape

from gedp.margins import significant
from gedp.markup import html_table
from gedp.release import Labels, Manifest

HEADINGS = ("attribute", "table", "standard error, as predicted", "with equal shares", "less by")


def shared_budget(manifest: Manifest, labels: Labels) -> str:
    """A section for the public: who paid at most how much, what was chosen, and what it was chosen for."""
    if not manifest.individual:
        return ""
    titles = {query.name: labels.of_query(query) for query in manifest.spec.queries}
    rows = [
        (
            labels.title(name),
            titles[query],
            significant(error),
            significant(chosen.floor[query]) if query in chosen.floor else "",
            _less(error, chosen.floor.get(query)),
        )
        for name, chosen in manifest.individual.items()
        for query, error in chosen.errors.items()
    ]
    most = max(chosen.largest_share for chosen in manifest.individual.values())
    said = (
        "Every establishment pays for a figure by what it could change in it: a small one hardly shows in a sum with "
        "large ones, so it pays little there and more for figures about small groups. How precise each figure is was "
        "chosen from noisy first answers about establishments, so that the errors of all tables, weighted by their "
        "importance, are small. Before any further noise was drawn it was checked, establishment by establishment, "
        f"that none pays more than promised: the largest bill is {_share(most)} of it."
    )
    predicted = (
        "Mean standard errors of the tables of the microdata, predicted when the noise was chosen, and what they would "
        "be if every establishment paid alike for everything"
    )
    shown = html_table(predicted, HEADINGS, rows, texts=HEADINGS[:2])
    return f"<h3>How the budget was shared</h3><p>{escape(said)}</p>{shown}"


def _share(most: float) -> str:
    """A share of what was promised, rounded up; never above all of it."""
    hundredths = min(math.ceil(most * 10_000), 10_000)
    return f"{hundredths / 100:g}%"


def _less(error: float, floor: float | None) -> str:
    return "" if not floor else f"{max(1 - error / floor, 0.0):.0%}"
