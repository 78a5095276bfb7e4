"""Attributes of which the same is to be expected: they are planned for once, and told of together."""

from collections.abc import Mapping
from dataclasses import replace

from gedp.planning.establishments import Sizes
from gedp.policy import Spec, pools


def alike(spec: Spec, sizes: Mapping[str, Sizes]) -> tuple[tuple[str, ...], ...]:
    """The attributes that are asked for, those with the same protection, queries, prices and sizes together.

    Nothing else of an attribute decides about its errors.
    """
    pooled = pools(spec)
    found: dict[object, list[list[str]]] = {}
    for name in spec.asked:
        attribute = replace(spec.policy.attributes[name], name="", part=None)
        asked = tuple(
            (query.numbers.get(name), name in query.attributes, name in query.classed) for query in spec.queries
        )
        groups = found.setdefault((attribute, pooled.get(name), asked), [])
        group = next((group for group in groups if sizes[group[0]].are(sizes[name])), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    by_first = sorted((group for groups in found.values() for group in groups), key=lambda g: spec.asked.index(g[0]))
    return tuple(map(tuple, by_first))
