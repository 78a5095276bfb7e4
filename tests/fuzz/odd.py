"""Odd values, and how to change documents, texts and bytes with them."""

import datetime
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

NUMBERS: tuple[int | float, ...] = (
    *(0, 1, -1, 2, 3, 7, 100, 255, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, 10**30, 10**400),
    *(0.0, -0.0, 0.1, 0.5, 1.5, 1e-9, 1e-300, 5e-324, 1e300, 1.7976931348623157e308, -1.0),
    *(float("inf"), float("-inf"), float("nan")),
)
TEXTS = (
    *("", " ", "a", "x" * 300, "x" * 5000, "é", "\u202ework", "\ud7ff", "名前", "a\u0301", "\ufeffa", "I\u0307", "ß"),
    *("..", ".", "../../up", "a/b", "/dev/null", "/dev/full", "~", "*", "?", "[ab]", "out", "tables", "-", "--force"),
    *("emp", "wage", "cnty", "naics", "naics2", "key", "secret", "identity", "establishment", "estimate", "attribute"),
    *(
        "null",
        "NaN",
        "inf",
        "1e5",
        "0x10",
        "1_000",
        "007",
        "1,5",
        "true",
        "[red]x[/red]",
        "{x}",
        "%s",
        "$(id)",
        "'; --",
    ),
    *("line\nbreak", "tab\tstop", 'quo"te', "back\\slash", "sqrt", "log", "linear", "psi", "pnc", "auto", "quasi"),
    *("manifest", "manifest.json", "con", "a b", "a.b", "A", "EMP", "t.parquet", "t.csv", "map.csv", "spec.toml"),
)


def scalar(chance: random.Random) -> Any:
    """A number, a text, or something else that a document can hold."""
    return chance.choice(
        (
            lambda: chance.choice(NUMBERS),
            lambda: chance.choice(TEXTS),
            lambda: chance.choice((True, False)),
            lambda: chance.uniform(-2, 5),
            lambda: chance.choice(([], {}, [[]], ["emp"], [1, "a"], {"emp": 1}, [{}], ["cnty", "cnty"])),
            lambda: datetime.date(2016, 1, 1),
        )
    )()


def places(document: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every value of a document is, the inner ones too."""
    found = [at] if at else []
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            found += places(document[key], (*at, key))
    return found


def change_document(chance: random.Random, document: Any, value: Callable[[random.Random], Any] = scalar) -> Any:
    """One change: a value replaced, removed, doubled, renamed, nested, swapped with another, or a bit larger."""
    document = deepcopy(document)
    known = places(document)
    if not known:
        return value(chance)
    *way, last = chance.choice(known)
    inner = document
    for key in way:
        inner = inner[key]
    old = inner[last]
    match chance.randrange(8):
        case 0 | 1:
            inner[last] = value(chance)
        case 2:
            del inner[last]
        case 3 if isinstance(inner, list):
            inner.insert(last, deepcopy(old))
        case 3 | 4 if isinstance(inner, dict):
            inner[str(chance.choice(TEXTS))] = inner.pop(last) if chance.random() < 0.5 else deepcopy(old)
        case 5 if isinstance(old, int | float) and not isinstance(old, bool):
            inner[last] = old * chance.choice((-1, 0.5, 2, 10, 1e6, 1e-6))
        case 5 if isinstance(old, str):
            inner[last] = change_text(chance, old)
        case 6:
            inner[last] = chance.choice(([old], {"a": old}, str(old), [old] * 3))
        case _:
            *other_way, other = chance.choice(known)
            source = document
            for key in other_way:
                source = source[key]
            inner[last] = deepcopy(source[other])
    return document


def change_text(chance: random.Random, text: str) -> str:
    """A few characters or a line are gone, doubled, or others."""
    at = chance.randrange(len(text) + 1)
    to = min(len(text), at + chance.choice((1, 1, 2, 10, 80)))
    lines = text.splitlines(keepends=True)
    match chance.randrange(6):
        case 0:
            return text[:at] + text[to:]
        case 1:
            return text[:at] + text[at:to] * 2 + text[to:]
        case 2:
            return text[:at] + str(chance.choice((*TEXTS, *map(str, NUMBERS)))) + text[to:]
        case 3 if lines:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
            return "".join(lines)
        case 4 if lines:
            lines.pop(chance.randrange(len(lines)))
            return "".join(lines)
        case _:
            return text[:at] + chance.choice("\"'[]{}=,#\n\t\r\0é\u2028-+.0") + text[at:]


def change_bytes(chance: random.Random, content: bytes) -> bytes:
    """Bits flipped, pieces removed, doubled, zeroed or moved, or the end cut off."""
    if not content:
        return chance.randbytes(20)
    at = chance.randrange(len(content))
    to = min(len(content), at + chance.choice((1, 2, 4, 8, 64, 500)))
    match chance.randrange(7):
        case 0 | 1:
            changed = bytearray(content)
            for _ in range(chance.choice((1, 1, 2, 10))):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            return bytes(changed)
        case 2:
            return content[:at]
        case 3:
            return content[:at] + content[to:]
        case 4:
            return content[:at] + content[at:to] * 2 + content[to:]
        case 5:
            return content[:at] + bytes(to - at) + content[to:]
        case _:
            return content[:at] + chance.randbytes(to - at) + content[to:]
