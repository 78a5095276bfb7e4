"""The table of keys: what the reader, the writer, the classes and the page of keys make of it agree."""

import tomllib
from dataclasses import MISSING, fields
from decimal import Decimal
from typing import Any

import pytest

from gedp.policy import Attribute, Classes, Closeness, Data, Grouper, MicrodataOptions, Output, keys
from gedp.policy.fields import REQUIRED, Field, Fields, given, read_fields, written
from gedp.policy.labels import Label, Publication
from gedp.policy.reading import Reading
from gedp.policy.section import Faults, Section
from tools import spec_keys

TABLES: dict[str, Fields] = {
    name: table
    for name, table in vars(keys).items()
    if isinstance(table, tuple) and table and isinstance(table[0], Field)
}
EVERY = pytest.mark.parametrize(("name", "field"), [(name, field) for name in TABLES for field in TABLES[name]])
#: The class that holds a section; keys that become something else in it are left out.
HELD = [
    (keys.TABLE, Data, ()),
    (keys.READING, Reading, ()),
    (keys.DERIVED, Grouper, ()),
    (keys.CLOSENESS, Closeness, ()),
    (keys.ATTRIBUTE, Attribute, ("split",)),
    (keys.CLASSES, Classes, ()),
    (keys.MICRODATA, MicrodataOptions, ()),
    (keys.OUTPUT, Output, ()),
    (keys.ATTRIBUTE_LABEL + keys.COLUMN_LABEL, Label, ()),
    (keys.PUBLICATION, Publication, ()),
]


def read(content: dict[str, Any], table: Fields) -> tuple[dict[str, Any], list[str]]:
    faults = Faults({})
    return read_fields(Section(faults, (), content), table), [str(fault) for fault in faults.found]


def example_of(field: Field) -> dict[str, Any]:
    return tomllib.loads(f"{field.key} = {field.example}", parse_float=Decimal)


@EVERY
def test_every_example_is_accepted_says_something_and_is_written_as_it_was_read(name: str, field: Field) -> None:
    content = example_of(field)
    values, faults = read(content, (field,))
    assert faults == []
    assert values[field.key] != field.default
    assert given((field,), values) == values
    if field.key != "at_least":  # it has tables of its own, which the reader makes something of
        assert read(written((field,), values), (field,)) == (values, [])


@EVERY
def test_a_value_that_cannot_be_read_is_one_fault_at_its_key(name: str, field: Field) -> None:
    is_for_later = field.shape.words.endswith("per attribute") and name == "QUERY"
    faults = read({field.key: [[]]}, (field,))[1]
    assert [fault.partition(":")[0] for fault in faults] == ([] if is_for_later else [field.key])


@pytest.mark.parametrize("name", TABLES)
def test_a_key_that_is_missing_is_a_fault_exactly_if_it_is_required(name: str) -> None:
    values, faults = read({}, TABLES[name])
    required = [field.key for field in TABLES[name] if field.default is REQUIRED]
    assert [fault.partition(":")[0] for fault in faults] == required
    assert all(values[field.key] == field.default for field in TABLES[name] if field.key not in required)


@EVERY
def test_a_misspelt_key_is_one_fault_that_names_the_key(name: str, field: Field) -> None:
    table = [each for each in TABLES[name] if each is field or each.default is not REQUIRED]
    (fault,) = read({f"{field.key}{field.key[-1]}": 1}, tuple(table))[1]
    assert "this key is not known" in fault
    assert f"Did you mean {field.key!r}?" in fault


def test_defaults_are_written_only_where_specs_always_had_them() -> None:
    defaults = {name: {each.key: each.default for each in table} for name, table in TABLES.items()}
    optional = {name: tuple(each for each in table if each.default is not REQUIRED) for name, table in TABLES.items()}
    found = {name: [*written(table, defaults[name])] for name, table in optional.items()}
    assert {name: listed for name, listed in found.items() if listed} == {
        "ATTRIBUTE": ["unit"],
        "QUERY": ["mechanism"],
        "MICRODATA": ["weights"],
        "OUTPUT": ["dir", "confidence"],
    }


def test_nobody_can_change_a_default_by_changing_what_was_read() -> None:
    read({}, keys.READING)[0]["missing"]["emp"] = Decimal(0)
    assert read({}, keys.READING)[0]["missing"] == {}


@pytest.mark.parametrize(("table", "holder", "left_out"), HELD)
def test_classes_have_the_keys_as_fields_with_the_same_defaults(
    table: Fields, holder: type[Any], left_out: tuple[str, ...]
) -> None:
    of_class = {
        each.name: each.default_factory() if each.default_factory is not MISSING else each.default
        for each in fields(holder)
    }
    for field in (field for field in table if field.key not in left_out and field.default is not REQUIRED):
        assert of_class[field.key] == field.default, field.key


def test_the_page_of_keys_is_up_to_date() -> None:
    text = spec_keys.PAGE.read_text(encoding="utf-8")
    assert spec_keys.updated(text) == text, "run: python -m tools.spec_keys"


def test_the_page_has_every_key() -> None:
    page = spec_keys.PAGE.read_text(encoding="utf-8")
    shown = {field for name in spec_keys.TABLE.findall(page) for field in map(id, TABLES[name])}
    assert {id(field) for table in TABLES.values() for field in table} == shown


def test_a_table_of_the_page_follows_from_its_fields() -> None:
    comment = "<!-- keys: OUTPUT -->\n"
    lines = spec_keys.updated(f"Before\n\n{comment}\nAfter\n").splitlines()
    assert lines[:3] == ["Before", "", comment.strip()]
    assert '| `dir` | The folder of the release | text | `"out"` | `dir = "release"` |' in lines
    assert lines[-2:] == ["", "After"]
    assert spec_keys.updated("\n".join([*lines, ""])) == "\n".join([*lines, ""])
