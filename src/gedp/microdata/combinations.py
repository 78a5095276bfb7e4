"""Tables of combinations: what was measured as one query, and the combination of the fitted totals of its parts.

The noise of the two is independent, and so are their errors. So every figure is the mean of all that says something
about it, weighted by inverse variances: the combination of the fitted totals, and the answers of every query whose
groups make up the group.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gedp.arrays import FloatArray, sum_by
from gedp.microdata.cells import Cells, PublicRows
from gedp.microdata.ratios import KINDS, Ratio, Totals, in_parts, weighted_sum
from gedp.policy import Spec


def figures_of(names: Sequence[str], spec: Spec) -> list[str]:
    """Attributes, what was split into them, and the combinations of them that queries ask for."""
    combined = [name for name in spec.asked_combinations if spec.combinations[name].coefficients.keys() <= set(names)]
    return [*with_split_columns(names, spec), *combined]


def with_split_columns(names: Sequence[str], spec: Spec) -> list[str]:
    """Attributes, and what was split into them after both of its parts."""
    split_columns = spec.policy.split_columns.items()
    ends = {max(parts, key=names.index): whole for whole, parts in split_columns if parts.keys() <= set(names)}
    return [line for name in names for line in (name, ends.get(name)) if line is not None]


def parts_of(spec: Spec, names: Sequence[str]) -> list[str]:
    """These attributes, and in the place of combinations the attributes that they are made of."""
    found = (part for name in names for part in _parts(spec).get(name, (name,)))
    return list(dict.fromkeys(found))


def over_attributes(ratio: Ratio, spec: Spec) -> Ratio:
    """The ratio over attributes alone: of gain and loss where one was split, and of the parts of combinations."""
    return in_parts(in_parts(ratio, _parts(spec)), spec.policy.split_columns)


def combination_totals(public_rows: PublicRows, name: str, groups: Cells, of_parts: Mapping[str, Totals]) -> Totals:
    """A combination for every group, from the fitted totals of its parts and from all answers about it."""
    coefficients = _parts(public_rows.spec)[name]
    estimate, variance = weighted_sum(coefficients, of_parts)
    for answer, of_answer in _answered(public_rows, name, groups):
        share = np.divide(variance, variance + of_answer, out=np.zeros_like(variance), where=of_answer > 0)
        estimate, variance = estimate + share * (answer - estimate), (1 - share) * variance
    return Totals(estimate, variance, max((of_parts[part].kind for part in coefficients), key=KINDS.index))


def _answered(public_rows: PublicRows, name: str, groups: Cells) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Sums of answers about a combination, with their variances, where those of a query make up all the groups."""
    for query in (query for query in public_rows.spec.queries if name in query.combinations):
        measured = public_rows.cells(query.by)
        of_measured = measured.inside(groups)
        if of_measured is not None:
            table = public_rows.answered(query, name)
            places = public_rows.placed(table, query.name, query.by, measured)
            answers, variances = (
                sum_by(of_measured, table[column].to_numpy()[places], groups.count)[groups.asked_for]
                for column in ("estimate", "variance")
            )
            yield answers, variances


def _parts(spec: Spec) -> dict[str, dict[str, float]]:
    """The attributes of every combination, with their coefficients."""
    return {name: {part: float(c) for part, c in each.coefficients.items()} for name, each in spec.combinations.items()}
