"""What a policy means for accuracy, before any data: the errors of cells of typical sizes.

A cell is answered by ψ of its sum at the price of its query or, under individual accounting, at an equal share of the
pool. The other answers of a release make errors smaller than that, by how much depends on the data: see planning.
"""

import math
from dataclasses import dataclass

import numpy as np

from gedp.numbers import short, short_share
from gedp.planning.typical import assumed_median
from gedp.policy import Attribute, Query, Spec, pools
from gedp.release.estimates import psi_variance

#: Establishments in a typical cell.
ESTABLISHMENTS = 100
#: The same for the cells whose errors the page shows.
CELLS = (10, 100, 1_000, 10_000)


@dataclass(frozen=True)
class TypicalError:
    """The standard error of a cell of a typical size."""

    total: float
    error: float

    def __str__(self) -> str:
        if not math.isfinite(self.error):
            return f"{short(self.total, 2)}, and noise that drowns everything"
        return f"{short(self.total, 2)} ± {short(self.error, 2)} ({short_share(self.error / self.total)})"


def query_mu(spec: Spec, query: Query, attribute: str) -> float:
    """The price of a query for an attribute, or an equal share of what all answers about it cost."""
    if not spec.is_individual:
        return float(query.mu[attribute])
    asked = sum(not q.is_identity and attribute in q.attributes for q in spec.queries)
    return math.sqrt(pools(spec)[attribute].mu_squared / (asked + 1))


def typical_error(attribute: Attribute, mu: float, establishments: int = ESTABLISHMENTS) -> TypicalError:
    """Of a cell of so many typical establishments; one alone for the identity query."""
    total, protection = establishments * assumed_median(attribute), attribute.protection
    return TypicalError(total, float(np.sqrt(psi_variance(protection.psi, np.array(total), protection.gamma / mu))))


def error_lines(spec: Spec) -> list[str]:
    """A line for every query: the error of a typical cell, attributes that are alike together."""
    lines = []
    for query in spec.queries:
        count = 1 if query.is_identity else ESTABLISHMENTS
        found: dict[str, list[str]] = {}
        for name in query.attributes:
            error = typical_error(spec.policy.attributes[name], query_mu(spec, query, name), count)
            found.setdefault(str(error), []).append(name)
        lines.append(f"{query.name}: " + "; ".join(f"{', '.join(names)} {error}" for error, names in found.items()))
    return lines


def errors_sentence(spec: Spec) -> str:
    """What the lines are, and where to see more."""
    priced = "an equal share of what is spent" if spec.is_individual else "the price of the query"
    return (
        f"Standard errors of a cell with {ESTABLISHMENTS} typical establishments (of one in the identity query), at "
        f"{priced}. All answers together make most errors smaller; `gedp plan` says by how much."
    )


def table_mu(spec: Spec, attribute: str) -> float:
    """The usual price of a table for an attribute: in the middle of all; 0 where nobody asks for it."""
    asked = [query for query in spec.queries if attribute in query.attributes]
    tables = [query for query in asked if not query.is_identity] or asked
    return float(np.median([query_mu(spec, query, attribute) for query in tables])) if tables else 0.0
