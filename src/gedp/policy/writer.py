"""From a Spec back to its file, without loss: reading the text gives an equal Spec."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import tomli_w

from gedp.policy.model import CONSTRAINTS, ESTABLISHMENT, Attribute, Closeness, Policy, Query, Spec


def write_spec(spec: Spec) -> str:
    """The spec as TOML text, which `read_spec` reads back to an equal spec."""
    data = {
        "source": spec.data.source,
        "id": spec.data.id,
        "public": list(spec.data.public),
        "synthetic": spec.data.synthetic or None,
    }
    groupers = {
        name: _given({"column": g.column, "prefix": g.prefix, "map": g.map}) for name, g in spec.groupers.items()
    }
    return tomli_w.dumps(
        _given(
            {
                "data": _given(data),
                "groupers": groupers or None,
                "attributes": {name: _attribute(a) for name, a in spec.policy.attributes.items()},
                "budget": _budget(spec.policy),
                "queries": [_query(query, spec) for query in spec.queries],
                "clipping": None if spec.zeta is None else {"zeta": spec.zeta},
                "microdata": _given(
                    {
                        "weights": spec.microdata.weights,
                        **{name: getattr(spec.microdata, name) or None for name in CONSTRAINTS},
                    }
                ),
                "output": {"dir": spec.output.dir, "confidence": _number(spec.output.confidence)},
            }
        )
    )


def _budget(policy: Policy) -> dict[str, Any]:
    budget = {"mu": policy.mu} if policy.rho is None else {"rho": policy.rho}
    return {key: _number(value) for key, value in _given({**budget, "spend": policy.spend}).items()}


def _given(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def _number(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value


def _optional(value: Decimal | None) -> int | Decimal | None:
    return None if value is None else _number(value)


def _closeness(closeness: Closeness) -> dict[str, Any]:
    shift = _number(closeness.shift) if closeness.shift else None
    return _given({"psi": closeness.psi, "gamma": _number(closeness.gamma), "shift": shift})


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        **_closeness(attribute.closeness),
        **_given(
            {
                "unit": _number(attribute.unit),
                "signed": attribute.signed or None,
                "at_least": [_closeness(c) for c in attribute.at_least] or None,
                "person": _optional(attribute.person),
                "share": None if attribute.share == 1 else _number(attribute.share),
                "typical": _optional(attribute.typical),
            }
        ),
    }


def _query(query: Query, spec: Spec) -> dict[str, Any]:
    individual = spec.is_individual
    priced = query.mu or not (individual or query.importance)
    return _given(
        {
            "name": query.name,
            "by": ESTABLISHMENT if query.is_identity else list(query.by),
            "mu": _numbers(query.mu, spec) if priced else None,
            "importance": _numbers(query.importance, spec) if query.importance or individual else None,
            "mechanism": None if individual and query.mechanism == "auto" else query.mechanism,
        }
    )


def _numbers(numbers: Mapping[str, Decimal], spec: Spec) -> Any:
    """One number where every attribute has the same, else a table."""
    first, *others = numbers.values() or [None]
    if first is not None and list(numbers) == list(spec.policy.attributes) and all(other == first for other in others):
        return _number(first)
    return {name: _number(number) for name, number in numbers.items()}
