"""How a ledger keeps what a table is known by: keyed, apart from its entries, sealed by them, and in no export."""

import json
import sqlite3
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from gedp.ledger import DecidedBy, KnownBy, Ledger, Request
from gedp.ledger.contents import (
    PLACES,
    ContentMark,
    Doubt,
    TableContent,
    read_mark,
    same_period,
    same_rows,
    share_in_common,
)
from gedp.ledger.export import csv_text, json_lines
from tests.helpers.ledgers import EMP, SPEC, bodies, edit, price_list, spend
from tests.helpers.runs import gedp

pytestmark = pytest.mark.usefixtures("no_disk_waits")

REQUEST = Request(price_list("1", "0.1"), {"emp": EMP})


def content(name: str = "a", ids: range = range(10_000), **columns: str) -> TableContent:
    """A table with these ids; columns that are called alike hold the same."""
    least: list[int | None] = [None] * PLACES
    for number in ids:
        hashed = int.from_bytes(sha256(f"{number}".encode()).digest()[:6], "big")
        place, value = hashed % PLACES, hashed // PLACES
        least[place] = min(value, least[place] or value)
    held = {column: text.encode() for column, text in (columns or {"emp": name}).items()}
    return TableContent(len(ids), name.encode(), held, least, has_ids=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "t.ledger")


def record(ledger: Ledger, held: TableContent) -> None:
    ledger.prepare(REQUEST, KnownBy(content=lambda: held), spec_digest=SPEC).reserve()


def test_marks_of_two_ledgers_have_nothing_in_common() -> None:
    one, other = (content().mark(key * 32) for key in (b"a", b"b"))
    assert one.whole != other.whole
    assert not one.telling & other.telling
    assert not set(one.sketch) & set(other.sketch) - {"-"}


def test_the_rule_of_the_same_rows() -> None:
    def mark(name: str, rows: int = 100, **columns: str) -> ContentMark:
        return replace(content(name, range(rows), **columns), rows=rows).mark(b"k" * 32)

    known = mark("a", jobs="1", pay="2", flag="")
    assert same_rows(known, mark("b", other_name="1"))
    assert not same_rows(known, mark("b", jobs="1", rows=101)), "another number of rows"
    assert not same_rows(known, mark("b", jobs="3", flag="")), "flags tell nothing"
    assert same_rows(known, mark("a", jobs="3")), "the same whole"
    assert same_period(known, mark("b", jobs="1"))
    assert same_period(known, mark("b", jobs="1", pay="2", more="3"))
    assert not same_period(known, mark("b", jobs="1", pay="3")), "one kept its values, another did not"


@pytest.mark.parametrize(
    ("ids", "share"),
    [
        (range(10_000), 1),
        (range(5_000), 1),  # all of the smaller one
        (range(100), 1),
        (range(5_000, 15_000), 0.5),
        (range(9_000, 19_000), 0.1),
        (range(10_000, 20_000), 0),
    ],
)
def test_the_share_of_establishments_in_common_is_estimated(ids: range, share: float) -> None:
    """From 256 classes: within 3 standard errors of about 0.03, or of 0.6 where one in a hundred is left."""
    one, other = content().mark(b"k"), content(ids=ids).mark(b"k")
    error = 0.6 if len(ids) == 100 else 0.1
    assert share_in_common(one, other) == pytest.approx(share, abs=error)
    assert share_in_common(one, other) == share_in_common(other, one)


def test_what_a_table_is_known_by_is_kept_once(ledger: Ledger) -> None:
    spend(ledger, "1", "0.1")
    record(ledger, content())
    record(ledger, content())
    assert ledger.verify().ok
    first, second, third = bodies(ledger.path)
    assert "content" not in first
    assert second["content"] == third["content"]
    assert [mark for _, mark in ledger.contents()] == [content().mark(ledger.key())] * 2
    with sqlite3.connect(ledger.path) as connection:
        assert connection.execute("SELECT count(*) FROM contents").fetchone() == (1,)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE contents SET body = replace(body, '\"rows\":10000', '\"rows\":10001')",
        "DELETE FROM contents",
        "UPDATE contents SET body = x'00ff'",
    ],
)
def test_what_a_table_is_known_by_is_not_altered_unnoticed(harm: str, ledger: Ledger) -> None:
    record(ledger, content())

    edit(ledger.path, lambda connection: connection.execute(harm))
    (found,) = ledger.verify().breaks
    assert str(found) == "entry 1: what its table is known by is missing or was changed"
    ledger.decide("the registrar: see memo 12")
    assert ledger.verify().ok
    assert ledger.contents() == []


def test_contents_are_append_only_and_come_back_with_a_decision(ledger: Ledger) -> None:
    record(ledger, content())
    with sqlite3.connect(ledger.path) as connection:
        for statement in ("UPDATE contents SET body = ''", "DELETE FROM contents"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
    edit(ledger.path, lambda connection: connection.execute("DROP TABLE contents"), restore_triggers=False)
    assert not ledger.verify().ok
    ledger.decide("the registrar: see memo 12")
    assert ledger.verify().ok
    ledger.prepare(
        REQUEST, KnownBy(content=content), spec_digest=SPEC, decided_by=DecidedBy("the registrar", "memo 12")
    ).reserve()
    assert len(ledger.contents()) == 2, "the first is known again by the same rows"


def test_nothing_of_what_a_table_is_known_by_is_exported_or_shown(ledger: Ledger, tmp_path: Path) -> None:
    record(ledger, content())
    ((_, mark),) = ledger.contents()
    entries = ledger.verify().entries
    texts = [json_lines(entries), csv_text(entries), gedp("ledger", "show", "t.ledger", folder=tmp_path).out]
    for text in texts:
        assert not any(secret in text for secret in (mark.whole, *mark.telling, *mark.sketch))
    exported = json.loads(texts[0])
    assert exported["content"] == mark.digest
    sealed = exported.pop("hash")
    canonical = json.dumps(exported, sort_keys=True, separators=(",", ":"))
    assert sha256(canonical.encode()).hexdigest() == sealed, "it can still be checked by anybody"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"columns":{},"rows":1,"sketch":[],"whole":""}', '{"columns":1,"rows":1,"sketch":2}']
)
def test_what_is_not_a_mark_is_not_read_as_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a mark|Expecting value"):
        read_mark(text)


def test_a_doubt_is_recorded_with_the_decision_about_it(ledger: Ledger) -> None:
    doubt = Doubt("these count as other data", "Record it there.")
    decided = DecidedBy("the registrar", "memo 12")
    ledger.require_possible(REQUEST, decided_by=decided, doubts=[doubt])
    ledger.prepare(REQUEST, spec_digest=SPEC, decided_by=decided, doubts=[doubt]).reserve()
    assert bodies(ledger.path)[0]["what"] == ["these count as other data"]
