"""From a Spec back to its file, without loss: reading the text gives an equal Spec."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import tomli_w

from gedp.policy import keys
from gedp.policy.fields import written
from gedp.policy.labels import label_content
from gedp.policy.measures import Query
from gedp.policy.model import PARTS, Attribute, Policy, Spec
from gedp.policy.values import plain_number


def write_spec(spec: Spec) -> str:
    """The spec as TOML text, which `read_spec` reads back to an equal spec."""
    return tomli_w.dumps(spec_content(spec))


def spec_content(spec: Spec) -> dict[str, Any]:
    """The spec as the parser of its text gives it; sections that say nothing are left out."""
    content = {
        "data": written(keys.DATA, {**vars(spec.data), **vars(spec.data.reading)}),
        "protect": written(keys.PROTECT, {"unit": spec.policy.unit}),
        "groupers": {
            name: written(keys.JOINED if g.columns else keys.DERIVED, vars(g)) for name, g in spec.groupers.items()
        },
        "hierarchies": {name: list(levels) for name, levels in spec.hierarchies.items()},
        "attributes": {a.column: _attribute(a) for a in spec.policy.attributes.values()},
        "classes": {name: written(keys.CLASSES, vars(each)) for name, each in spec.classes.items()},
        "combinations": {name: each.formula for name, each in spec.combinations.items()},
        "budget": _budget(spec.policy),
        "queries": [_query(query, spec) for query in spec.queries],
        "clipping": written(keys.CLIPPING, {"zeta": spec.zeta}),
        "ledger": written(keys.LEDGER, {"file": spec.ledger}),
        "microdata": written(keys.MICRODATA, vars(spec.microdata)),
        "output": written(keys.OUTPUT, vars(spec.output)),
        "labels": {
            **written(keys.NOUNS, vars(spec.nouns)),
            **{name: label_content(label) for name, label in spec.labels.items()},
        },
        "publication": written(keys.PUBLICATION, vars(spec.publication)),
    }
    return {name: section for name, section in content.items() if section or name in ("attributes", "queries")}


def _budget(policy: Policy) -> dict[str, Any]:
    return written(keys.BUDGET, {**vars(policy), "mu": policy.mu if policy.rho is None else None})


def _attribute(attribute: Attribute) -> dict[str, Any]:
    values = {**vars(attribute.closeness), **vars(attribute), "split": attribute.part is not None}
    return written(keys.CLOSENESS + keys.ATTRIBUTE, values)


def _query(query: Query, spec: Spec) -> dict[str, Any]:
    individual = spec.is_individual
    priced = query.mu or not (individual or query.importance)
    names = _names(spec) if query.is_plain else None
    asked = {
        "count": any(not measure.weights for measure in query.measures.values()),
        "mu": _numbers(query.mu, names) if priced else None,
        "importance": _numbers(query.importance, names) if query.importance or individual else None,
        "mechanism": None if query.mechanism == "auto" and (individual or not query.is_plain) else query.mechanism,
    }
    return written(keys.QUERY, {**vars(query), **asked})


def _names(spec: Spec) -> list[str]:
    """The attributes that one number is for: of a column that is split always both parts."""
    of = (([f"{a.column}_{part}" for part in PARTS] if a.part else [a.name]) for a in spec.policy.attributes.values())
    return list(dict.fromkeys(name for names in of for name in names))


def _numbers(numbers: Mapping[str, Decimal], names: list[str] | None) -> Any:
    """One number where all of these names have the same, else a table."""
    first, *others = numbers.values() or [None]
    if first is not None and list(numbers) == names and all(other == first for other in others):
        return plain_number(first)
    return {name: plain_number(number) for name, number in numbers.items()}
