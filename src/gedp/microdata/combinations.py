"""Tables of combinations: what was measured as one query, and the combination of the fitted totals of its parts.

The noise of the two is independent, and so are their errors. So every figure is the mean of all that says something
about it, weighted by inverse variances: the combination of the fitted totals, and the answers of every query whose
groups make up the group.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gedp.arrays import FloatArray
from gedp.estimates import Estimates
from gedp.microdata.answers import read_answers
from gedp.microdata.cells import PublicRows
from gedp.microdata.ratios import Ratio, in_parts, weighted_sum
from gedp.partitions import Partition
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


def combination_totals(
    public_rows: PublicRows, name: str, groups: Partition, of_parts: Mapping[str, Estimates]
) -> Estimates:
    """A combination for every group, from the fitted totals of its parts and from all answers about it."""
    found = weighted_sum(_parts(public_rows.spec)[name], of_parts)
    estimate, variance = found.estimate, found.variance
    for answer, of_answer in _answered(public_rows, name, groups):
        share = np.divide(variance, variance + of_answer, out=np.zeros_like(variance), where=of_answer > 0)
        estimate, variance = estimate + share * (answer - estimate), (1 - share) * variance
    return Estimates(estimate, variance, found.kind)


def _answered(public_rows: PublicRows, name: str, groups: Partition) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Sums of answers about a combination, with their variances, where those of a query make up all the groups."""
    for query in (query for query in public_rows.spec.queries if name in query.combinations):
        measured = public_rows.cells(query.by)
        of_measured = measured.inside(groups)
        if of_measured is not None:
            found = read_answers(public_rows, query, name, measured)
            of_cells = (each[found.groups.group_of] for each in (found.answers, found.variances))
            answers, variances = (of_measured.sums(each)[groups.asked_for] for each in of_cells)
            yield answers, variances


def _parts(spec: Spec) -> dict[str, dict[str, float]]:
    """The attributes of every combination, with their coefficients."""
    return {name: {part: float(c) for part, c in each.coefficients.items()} for name, each in spec.combinations.items()}
