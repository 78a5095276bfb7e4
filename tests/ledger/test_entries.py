"""An entry has one text and a text one entry; whatever else stands in a ledger is refused, field by field."""

import json
from typing import Any

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.ledger.entries import (
    Abandon,
    Break,
    Commit,
    Decision,
    Entry,
    Event,
    FileMark,
    Permit,
    Reserve,
    canonical,
    entry_text,
    read_entry,
)
from gedp.policy import PriceLine
from tests.helpers.ledgers import EMP, MANIFEST, SPEC, WAGE

RELEASE = "0123456789abcdef" * 2
EVENTS: dict[str, Event] = {
    "reserve": Reserve(
        RELEASE,
        "f" * 64,
        SPEC,
        {"emp": EMP, "wage": WAGE},
        (PriceLine("county", "emp", PrivacyLoss.of("0.7")), PriceLine("county", "wage", PrivacyLoss.of("0.15"))),
        PrivacyLoss.of("2.31"),
        "a note",
        (FileMark("t.parquet", 12, "d" * 64),),
        public=("cnty",),
    ),
    "commit": Commit(RELEASE, MANIFEST),
    "abandon": Abandon(RELEASE, before_noise=False, note="disk full"),
    "decision": Decision("memo 12", (Break(2, "its text was changed", "b" * 64),), PrivacyLoss.of("0.1")),
    "permit": Permit("the registrar", "memo 13", ("emp: intervals narrowed",)),
}


def text_of(kind: str) -> str:
    return entry_text(Entry(7, "e" * 64, "2026-01-02T03:04:05Z", "someone", EVENTS[kind], PrivacyLoss.of("0.5")))


@pytest.mark.parametrize("kind", EVENTS)
def test_an_entry_comes_back_from_its_text(kind: str) -> None:
    entry = read_entry(text_of(kind))
    assert (entry.kind, entry.event, entry.sequence) == (kind, EVENTS[kind], 7)
    assert entry_text(entry) == text_of(kind)


@pytest.mark.parametrize("kind", EVENTS)
def test_the_same_content_in_another_text_is_no_entry(kind: str) -> None:
    for other in (json.dumps(json.loads(text_of(kind))), text_of(kind) + " "):
        with pytest.raises(ValueError, match="not the text of an entry"):
            read_entry(other)


@pytest.mark.parametrize("kind", EVENTS)
def test_an_entry_without_one_of_its_fields_or_with_one_more_is_refused(kind: str) -> None:
    content = json.loads(text_of(kind))
    for field in content:
        with pytest.raises(ValueError, match="not "):
            read_entry(canonical({name: value for name, value in content.items() if name != field}))
    with pytest.raises(ValueError, match="not the text"):
        read_entry(canonical({**content, "more": 1}))


@pytest.mark.parametrize(
    ("kind", "place", "wrong"),
    [
        ("commit", "sequence", "7"),
        ("commit", "sequence", True),
        ("commit", "previous", "E" * 64),
        ("commit", "time", 2026),
        ("commit", "who", None),
        ("commit", "kind", "refund"),
        ("commit", "total", "1/0"),
        ("commit", "total", "0.25"),
        ("commit", "release", "../out"),
        ("commit", "manifest_digest", "a" * 63),
        ("abandon", "before_noise", 1),
        ("decision", "added", "-1/4"),
        ("decision", "breaks.0.found", ""),
        ("permit", "what.0", 1),
        ("reserve", "seeded", "false"),
        ("reserve", "budget", None),
        ("reserve", "files.0.size", -1),
        ("reserve", "files.0.size", True),
        ("reserve", "files.0.digest", "t.parquet"),
        ("reserve", "prices.0.mu_squared", "0.49"),
        ("reserve", "prices.0.mu_squared", "98/200"),
        ("reserve", "prices.0.attribute", "wage"),
        ("reserve", "attributes.emp.psi", "cube"),
        ("reserve", "attributes.emp.gamma", "0"),
        ("reserve", "attributes.emp.gamma", "9" * 399),
        ("reserve", "attributes.wage.shift", "0"),
        ("reserve", "attributes.wage.signed", None),
    ],
)
def test_a_field_that_holds_something_else_is_refused(kind: str, place: str, wrong: object) -> None:
    content: Any = json.loads(text_of(kind))
    *above, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    inner = content
    for part in above:
        inner = inner[part]
    assert inner[last] != wrong
    inner[last] = wrong
    with pytest.raises(ValueError, match=r"not |differ"):
        read_entry(canonical(content))


@pytest.mark.parametrize("text", ["", "null", "[]", "7", '"commit"', "[" * 100_000])
def test_what_is_no_entry_at_all_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an entry|Expecting value"):
        read_entry(text)
