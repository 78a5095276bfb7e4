"""Every item by name, in the order of the page. A new one is a module in `items/` and a line here."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gedp.lab.reproduce.results import Item

#: The module is the name with underscores.
SUMMARIES = {
    "intervals": "The table of uncertainty intervals.",
    "semantics": "What intervals mean to a person.",
    "frameworks": "The variance that other frameworks need.",
    "estimators": "Errors of the sqrt and log estimators by size.",
    "bias": "What estimated variances do to fitted totals.",
    "coverage": "Intervals and bias of the psi-mechanism.",
    "budgets": "The two budget tables.",
    "summaries": "The synthetic states by aggregation level.",
    "differences": "Quartiles of signed differences by level.",
    "comparison": "Mechanisms and weights compared over replicates.",
    "thousands": "The same for wages in thousands.",
    "scatter": "Protected against true, with a band of 3%.",
    "relative": "Relative error against size.",
    "sweeps": "Error against the budget and a query's share.",
    "suppression": "What the published QCEW leaves blank.",
    "elsewhere": "What public data does not allow.",
}


def item(name: str) -> "Item":
    """The item of that name, imported now."""
    found: Item = import_module(f"gedp.lab.reproduce.items.{name.replace('-', '_')}").ITEM
    return found
