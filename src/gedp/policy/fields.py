"""Fields: keys of a spec with all that is known of each, from which reading, writing and the reference follow."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from gedp.policy.section import Section
from gedp.policy.values import Shape

#: The default of a key that has to be there.
REQUIRED = object()


@dataclass(frozen=True)
class Field:
    """One key: what can be written under it, what it means, an example as in TOML, and what holds without it."""

    key: str
    shape: Shape
    about: str
    example: str
    default: Any = REQUIRED
    always: bool = False  # written also where it is the default, as specs always were: their digests are in ledgers


Fields = tuple[Field, ...]


def read_fields(section: Section, fields: Fields, required: dict[str, bool] | None = None) -> dict[str, Any]:
    """The value of every field: that of its key, or its default. Unknown keys and values that do not fit are faults.

    `required` says of some keys whether they have to be there, where that depends on more than the field. An absent
    section needs none.
    """
    needed = {field.key: field.default is REQUIRED and not section.absent for field in fields} | (required or {})
    section.known += needed
    values = {field.key: _value(section, field, needed[field.key]) for field in fields}
    section.finish()
    return values


def _value(section: Section, field: Field, is_needed: bool) -> Any:
    if is_needed or field.key in section.content:
        return field.shape.read(section, field.key)
    return None if field.default is REQUIRED else copy(field.default)


def part(fields: Fields, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these fields."""
    return {field.key: values[field.key] for field in fields}


def given(fields: Fields, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that say more than the defaults."""
    return {field.key: values[field.key] for field in fields if values[field.key] != field.default}


def written(fields: Fields, values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys as a spec has them: those of fields that have a value, in the order of the fields."""
    return {
        field.key: field.shape.write(value)
        for field in fields
        if (value := values.get(field.key)) is not None and (field.always or value != field.default)
    }
