"""What people call things: `[labels]` and `[publication]` of a spec. Public, and published with every release."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gedp.policy.names import FILE_NAME_HINT, folded, is_file_name
from gedp.policy.section import Section, did_you_mean

#: What figures can be shown in, besides single units, and its name.
SCALES = {1: "", 1_000: "thousand", 1_000_000: "million", 1_000_000_000: "billion"}
MOST_CHARACTERS = 200  # of a title


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
        return {key: text for key, text in vars(self).items() if text is not None}


def read_labels(section: Section, attributes: Collection[str], columns: Collection[str] | None) -> dict[str, Label]:
    """A label for each name: a title alone, or a table. `columns` are what tables are by, None if unknown."""
    labels = {}
    for name, value in section.content.items():
        if columns is not None and name not in attributes and name not in columns:
            hint = did_you_mean(name, [*attributes, *sorted(columns)])
            problem = "there is no attribute, combination, public column, grouping or class of this name"
            section.fault(name, problem, hint)
        labels[name] = Label(read_title(section, name)) if isinstance(value, str) else _label(section, name, attributes)
    _check_files(section, labels)
    return labels


def read_publication(section: Section) -> Publication:
    """What is said about the publication."""
    keys = ("title", "publisher", "contact", "licence")
    said = Publication(*(read_title(section, key) if section.has(key) else None for key in keys))
    section.finish()
    return said


def read_title(section: Section, key: str = "title") -> str:
    """A text for people, on one line."""
    text = section.text(key)
    if not text.isprintable() or len(text) > MOST_CHARACTERS or text != text.strip():
        problem = f"it is not one line of at most {MOST_CHARACTERS} characters without spaces around it"
        section.fault(key, problem, "Shorten it, or write it on one line")
    return text


def labels_content(labels: Mapping[str, Label]) -> dict[str, Any]:
    """The labels as a spec has them."""
    return {name: _content(label) for name, label in labels.items()}


def _content(label: Label) -> str | dict[str, Any]:
    scale = None if label.scale == 1 else label.scale
    keys = {"title": label.title, "unit": label.unit, "scale": scale, "codes": label.codes}
    given = {key: value for key, value in keys.items() if value is not None}
    return label.title if label.title is not None and len(given) == 1 else given


def _label(section: Section, name: str, attributes: Collection[str]) -> Label:
    entry = section.table(name)
    if entry.absent:
        return Label()
    title, unit = (read_title(entry, key) if entry.has(key) else None for key in ("title", "unit"))
    scale = _scale(entry) if name in attributes and entry.has("scale") else 1
    codes = entry.text("codes") if entry.has("codes") else None
    if name in attributes and codes is not None:
        entry.fault("codes", "an attribute has numbers, not codes", "Give the codes to a public column or a grouping")
    for key in ("unit", "scale"):
        if name not in attributes and entry.has(key):
            entry.fault(key, "only attributes have one", "Remove it")
    if codes and not is_file_name(name):
        section.fault(name, f"{name!r} cannot be a file name", FILE_NAME_HINT)
    entry.finish()
    return Label(title, unit, scale, codes)


def _scale(entry: Section) -> int:
    scale = entry.content["scale"]
    if type(scale) is not int or scale not in SCALES:
        entry.fault("scale", "figures cannot be shown in it", f"Give one of: {', '.join(map(str, SCALES))}")
        return 1
    return scale


def _check_files(section: Section, labels: Mapping[str, Label]) -> None:
    """Each code list is a file of the release under the name of its column."""
    first: dict[str, str] = {}
    for name, label in labels.items():
        if label.codes and (other := first.setdefault(folded(name), name)) != name:
            section.fault(name, f"{other!r} is almost this name", "Choose names that two files can have")
