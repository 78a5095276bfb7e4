"""What people call things: `[labels]` and `[publication]` of a spec. Public, and published with every release."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gedp.policy.fields import given, read_fields, written
from gedp.policy.keys import ATTRIBUTE_LABEL, COLUMN_LABEL, NOUNS, PUBLICATION
from gedp.policy.nouns import BAR, Nouns
from gedp.policy.section import Section, check_file_names, did_you_mean
from gedp.policy.values import TITLE


@dataclass(frozen=True)
class Label:
    """What people call an attribute, a public column, a grouping or classes."""

    title: str | None = None
    unit: str | None = None  # of an attribute, such as US dollars
    scale: int = 1  # pages show figures in so many units; files always in single ones
    codes: str | None = None  # the file with the names of a column's codes


@dataclass(frozen=True)
class Publication:
    """What is said about a publication as a whole."""

    title: str | None = None
    publisher: str | None = None
    contact: str | None = None
    licence: str | None = None

    def given(self) -> dict[str, str]:
        """The keys that say something, as a spec has them."""
        return given(PUBLICATION, vars(self))


def read_nouns(section: Section, columns: Collection[str] | None) -> Nouns:
    """What records and units are called. `columns` are all names that can have a label, None if unknown."""
    fields = [field for field in NOUNS if _is_noun(section, field.key, columns)]
    return Nouns(**{field.key: field.shape.read(section, field.key) or field.default for field in fields})


def _is_noun(section: Section, key: str, columns: Collection[str] | None) -> bool:
    """Whether a key names records or units. Where a column is called `unit` too, a text without a bar is its title."""
    given = section.content.get(key)
    return isinstance(given, str) and (BAR in given or (columns is not None and key not in columns))


def read_labels(section: Section, attributes: Collection[str], columns: Collection[str] | None) -> dict[str, Label]:
    """A label for each name: a title alone, or a table. `columns` are what tables are by, None if unknown."""
    labels = {}
    known = None if columns is None else {*attributes, *columns}
    nouns = [field.key for field in NOUNS if _is_noun(section, field.key, known)]
    for name, value in section.content.items():
        if name in nouns:
            continue
        if columns is not None and name not in attributes and name not in columns:
            hint = did_you_mean(name, [*attributes, *sorted(columns)])
            problem = "there is no attribute, combination, public column, grouping or class of this name"
            section.fault(name, problem, hint)
        if isinstance(value, str):
            labels[name] = Label(TITLE.read(section, name))
        else:
            fields = ATTRIBUTE_LABEL if name in attributes else COLUMN_LABEL
            labels[name] = Label(**read_fields(section.table(name), fields))
    check_file_names(section, [name for name, label in labels.items() if label.codes])
    return labels


def label_content(label: Label) -> str | dict[str, Any]:
    """A label as a spec has it: a title alone, or a table."""
    content = written(ATTRIBUTE_LABEL + COLUMN_LABEL, vars(label))
    return label.title if label.title is not None and len(content) == 1 else content
