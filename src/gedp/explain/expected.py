"""What a policy means for accuracy, before any data: the errors of cells of typical sizes.

A cell is answered by ψ of its sum at the price of its query or, under individual accounting, at an equal share of the
pool. The other answers of a release make errors smaller than that, by how much depends on the data: see planning.
"""

import math
from dataclasses import dataclass

import numpy as np

from gedp.explain.combined import combination_error_lines
from gedp.folding import named
from gedp.individual.classes import ClassTable, class_table
from gedp.neighbors.estimates import psi_variance
from gedp.numbers import short_share
from gedp.planning.typical import assumed_median
from gedp.policy import COUNT, Attribute, Query, Spec, measured_mu, pools
from gedp.release.words import AS_WRITTEN, Words

#: Establishments in a typical cell.
ESTABLISHMENTS = 100
#: The same for the cells whose errors the page shows.
CELLS = (10, 100, 1_000, 10_000)


@dataclass(frozen=True)
class TypicalError:
    """The standard error of a cell of a typical size."""

    total: float
    error: float

    def said(self, words: Words) -> str:
        """The total, its error, and how large that is beside it."""
        if not math.isfinite(self.error):
            return f"{words.number(self.total, 2)}, and noise that is too large to be useful"
        number = words.number
        return f"{number(self.total, 2)} ± {number(self.error, 2)} ({short_share(self.error / self.total)})"


def query_mu(spec: Spec, query: Query, attribute: str) -> float:
    """The price of a query for an attribute, or an equal share of what all answers about it cost."""
    if not spec.is_individual:
        return float(query.mu[attribute])
    return math.sqrt(pools(spec)[attribute].mu_squared / (len(spec.sums_of(attribute)) + 1))


def typical_error(attribute: Attribute, mu: float, establishments: int = ESTABLISHMENTS) -> TypicalError:
    """Of a cell of so many typical establishments; one alone for the identity query."""
    total, protection = establishments * assumed_median(attribute), attribute.protection
    return TypicalError(total, float(np.sqrt(psi_variance(protection.psi, np.array(total), protection.gamma / mu))))


def error_lines(spec: Spec, words: Words = AS_WRITTEN) -> list[str]:
    """A line for every query: the error of a typical cell, attributes that are alike together."""
    lines = []
    for query in spec.plain:
        count = 1 if query.is_identity else ESTABLISHMENTS
        found: dict[str, list[str]] = {}
        for name in query.attributes:
            error = typical_error(spec.policy.attributes[name], query_mu(spec, query, name), count)
            found.setdefault(error.said(words), []).append(words.attribute(name))
        said = "; ".join(f"{named(names)} {error}" for error, names in found.items())
        lines.append(f"{words.query(query.name)}: {said}")
    return lines + class_error_lines(spec, words) + combination_error_lines(spec, words)


def class_error_lines(spec: Spec, words: Words = AS_WRITTEN) -> list[str]:
    """A line for every query by classes: what noise alone does to an entry, as far as it is known before any data."""
    lines = []
    for query in spec.by_classes:
        table = class_table(query.classes, spec.policy.attributes)
        said = []
        for asked in query.asked:
            mu = measured_mu(spec, query, asked)
            if asked == COUNT:
                said.append(f"{COUNT} ± {words.number(math.sqrt(2) / mu, 2)} in every class that is possible")
            elif table.of_itself(asked):
                said.append(f"{words.attribute(asked)} {_by_class(spec.policy.attributes[asked], table, mu, words)}")
            else:
                times = words.number(math.sqrt(2) / mu, 2)
                said.append(f"{words.attribute(asked)}: ± {times} times what one establishment has at most")
        lines.append(f"{words.query(query.name)}: " + "; ".join(said))
    return lines


def _by_class(attribute: Attribute, table: ClassTable, mu: float, words: Words) -> str:
    """The errors of sums in the lowest and in the last class but one, whose edges bound what can leave them."""
    labels, tops = table.labels[0], table.top(attribute.name) * float(attribute.unit) * math.sqrt(2) / mu
    return " to ".join(f"± {words.number(float(tops[place]), 2)} ({labels[place]})" for place in (0, len(labels) - 2))


def errors_sentence(spec: Spec) -> str:
    """What the lines are, and where to see more."""
    priced = "an equal share of what is spent" if spec.is_individual else "the price of the query"
    return (
        f"Standard errors of a cell with {ESTABLISHMENTS} typical establishments (of one where they are asked "
        f"for one by one), at {priced}. All answers together make most errors smaller; gedp plan says by how much."
    )


def table_mu(spec: Spec, attribute: str) -> float:
    """The usual price of a table for an attribute: in the middle of all; 0 where nobody asks for it."""
    tables = spec.sums_of(attribute) or [query for query in spec.identities if attribute in query.asked]
    return float(np.median([query_mu(spec, query, attribute) for query in tables])) if tables else 0.0
