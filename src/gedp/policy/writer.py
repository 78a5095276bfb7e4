"""From a Spec back to its file, without loss: reading the text gives an equal Spec."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import tomli_w

from gedp.policy.classes import COUNT, ClassQuery
from gedp.policy.combinations import CombinationQuery
from gedp.policy.labels import labels_content
from gedp.policy.model import CONSTRAINTS, ESTABLISHMENT, PARTS, Attribute, Closeness, Policy, Query, Spec
from gedp.policy.reading import Reading


def write_spec(spec: Spec) -> str:
    """The spec as TOML text, which `read_spec` reads back to an equal spec."""
    data = {
        "source": spec.data.source,
        "id": spec.data.id,
        "public": list(spec.data.public),
        "period": None if spec.data.period is None else str(spec.data.period),
        "synthetic": spec.data.synthetic or None,
        **_reading(spec.data.reading),
    }
    groupers = {
        name: {"columns": list(g.columns)}
        if g.columns
        else _given({"column": g.column, "prefix": g.prefix, "map": g.map})
        for name, g in spec.groupers.items()
    }
    return tomli_w.dumps(
        _given(
            {
                "data": _given(data),
                "groupers": groupers or None,
                "hierarchies": {name: list(levels) for name, levels in spec.hierarchies.items()} or None,
                "attributes": {a.column: _attribute(a) for a in spec.policy.attributes.values()},
                "classes": {
                    name: {"attribute": each.attribute, "edges": [_number(edge) for edge in each.edges]}
                    for name, each in spec.classes.items()
                }
                or None,
                "combinations": {name: each.formula for name, each in spec.combinations.items()} or None,
                "budget": _budget(spec.policy),
                "queries": [
                    *(_query(query, spec) for query in spec.queries),
                    *(_other_query(query) for query in spec.other_queries),
                ],
                "clipping": None if spec.zeta is None else {"zeta": spec.zeta},
                "ledger": None if spec.ledger is None else {"file": spec.ledger},
                "microdata": _given(
                    {
                        "weights": spec.microdata.weights,
                        **{name: getattr(spec.microdata, name) or None for name in CONSTRAINTS},
                    }
                ),
                "output": {"dir": spec.output.dir, "confidence": _number(spec.output.confidence)},
                "labels": labels_content(spec.labels) or None,
                "publication": spec.publication.given() or None,
            }
        )
    )


def _budget(policy: Policy) -> dict[str, Any]:
    budget = {"mu": policy.mu} if policy.rho is None else {"rho": policy.rho}
    further = {"spend": policy.spend, "year": policy.year, "series": policy.series}
    return {key: _number(value) for key, value in _given({**budget, **further}).items()}


def _reading(reading: Reading) -> dict[str, Any]:
    given = reading.given()
    missing = {name: _number(number) for name, number in reading.missing.items()}
    return {**given, "missing": missing} if missing else given


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
                "split": attribute.part is not None or None,
                "at_least": [_closeness(c) for c in attribute.at_least] or None,
                "person": _optional(attribute.person),
                "share": None if attribute.share == 1 else _number(attribute.share),
                "typical": _optional(attribute.typical),
                "of_period": _of_period(attribute),
            }
        ),
    }


def _of_period(attribute: Attribute) -> Any:
    """One period, or a list of them; as a number or by name, as it was given."""
    given = [each if isinstance(each, int) else str(each) for each in attribute.of_period]
    return given if len(given) > 1 else next(iter(given), None)


def _query(query: Query, spec: Spec) -> dict[str, Any]:
    individual = spec.is_individual
    priced = query.mu or not (individual or query.importance)
    return _given(
        {
            "name": query.name,
            "title": query.title,
            "by": ESTABLISHMENT if query.is_identity else list(query.by),
            "mu": _numbers(query.mu, spec) if priced else None,
            "importance": _numbers(query.importance, spec) if query.importance or individual else None,
            "mechanism": None if individual and query.mechanism == "auto" else query.mechanism,
        }
    )


def _names(spec: Spec) -> list[str]:
    """The attributes that one number is for: of a column that is split always both parts."""
    of = (([f"{a.column}_{part}" for part in PARTS] if a.part else [a.name]) for a in spec.policy.attributes.values())
    return list(dict.fromkeys(name for names in of for name in names))


def _other_query(query: ClassQuery | CombinationQuery) -> dict[str, Any]:
    numbers = {name: _number(number) for name, number in (query.mu or query.importance).items()}
    return _given(
        {
            "name": query.name,
            "title": query.title,
            "by": list(query.by),
            "count": COUNT in numbers or None,
            "importance" if query.is_individual else "mu": numbers,
        }
    )


def _numbers(numbers: Mapping[str, Decimal], spec: Spec) -> Any:
    """One number where every attribute has the same, else a table."""
    first, *others = numbers.values() or [None]
    if first is not None and list(numbers) == _names(spec) and all(other == first for other in others):
        return _number(first)
    return {name: _number(number) for name, number in numbers.items()}
