"""From a Spec back to its file, without loss: reading the text gives an equal Spec."""

from decimal import Decimal
from typing import Any

import tomli_w

from gedp.policy.model import CONSTRAINTS, ESTABLISHMENT, Attribute, Closeness, Query, Spec


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
                "budget": {"mu": _number(spec.policy.mu)},
                "queries": [_query(query, spec) for query in spec.queries],
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


def _given(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def _number(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value


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
                "person": None if attribute.person is None else _number(attribute.person),
            }
        ),
    }


def _query(query: Query, spec: Spec) -> dict[str, Any]:
    prices = [query.mu.get(name) for name in spec.policy.attributes]
    same = prices[0] if prices[0] is not None and all(mu == prices[0] for mu in prices) else None
    return {
        "name": query.name,
        "by": ESTABLISHMENT if query.is_identity else list(query.by),
        "mu": _number(same) if same is not None else {name: _number(mu) for name, mu in query.mu.items()},
        "mechanism": query.mechanism,
    }
