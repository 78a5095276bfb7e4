"""Whatever is done to the file by hand shows, blocks releases, and never lowers what counts as spent."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import DomainError, Refused
from gedp.ledger import Ledger, LedgerBrokenError, LedgerError, Verification
from gedp.ledger.chain import Row, Stored, verify
from gedp.ledger.store import TABLES, TRIGGERS
from tests.helpers.ledgers import MANIFEST, bodies, edit, history, rewrite, rewrite_all, sealed, spend

pytestmark = pytest.mark.usefixtures("no_disk_waits")
ENTRIES = 7
SPENT = PrivacyLoss(Fraction(9125, 10**4))  # of `history`, after the release given up before noise was given back
EVER = SPENT + PrivacyLoss.of("0.5")  # with it


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, no_disk_waits: None) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "original"
    assert history(path).total() == SPENT
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "ledger"))


def leaves(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value in a JSON document."""
    if isinstance(content, dict | list) and content:
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from leaves(content[key], (*place, key))
    else:
        yield place


def changed_at(content: Any, place: tuple[Any, ...]) -> Any:
    content = deepcopy(content)
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    old = inner[place[-1]]
    match old:
        case bool():
            inner[place[-1]] = not old
        case int():
            inner[place[-1]] = old + 1
        case str() if old:
            inner[place[-1]] = ("1" if old[0] != "1" else "2") + old[1:]  # digits stay digits, so most stay readable
        case str():
            inner[place[-1]] = "x"
        case _:
            inner[place[-1]] = [{"psi": "sqrt", "gamma": "1", "shift": "0"}]
    return content


def broken(path: Path) -> Verification:
    """The ledger fails verification, refuses every entry, and counts no less than before."""
    ledger = Ledger.open(path, create=False)
    state = ledger.state()
    assert not state.verification.ok
    assert state.total >= SPENT
    for attempt in (
        lambda: spend(ledger, "99", "0.1"),
        lambda: ledger.commit(state.releases[-1].reserve.release if state.releases else "0" * 32, MANIFEST),
        ledger.total,
        ledger.promise,
    ):
        with pytest.raises(LedgerBrokenError, match="gedp ledger decide") as refused:
            attempt()
        assert refused.value.exit_code == 1
    return state.verification


@pytest.mark.parametrize("sequence", range(1, ENTRIES + 1))
@pytest.mark.parametrize("hash_too", [False, True])
def test_a_change_of_any_field_shows(original: Path, tmp_path: Path, sequence: int, hash_too: bool) -> None:
    content = bodies(original)[sequence - 1]
    places = list(leaves(content))
    assert len(places) >= 8
    rows = stored_rows(original)
    for place in places:
        text, digest = sealed(changed_at(content, place))
        forged = list(rows.rows)
        row = forged[sequence - 1]
        forged[sequence - 1] = Row(sequence, digest.encode() if hash_too else row.hash, text.encode())
        verification = verify(Stored(rows.genesis, tuple(forged), rows.head))
        numbers = [b.sequence for b in verification.breaks]
        assert numbers, place
        assert sequence in numbers or sequence + 1 in numbers, place
    path = Path(shutil.copy(original, tmp_path / "ledger"))
    rewrite(path, sequence, changed_at(content, places[0]), hash_too=hash_too)
    assert {b.sequence for b in broken(path).breaks} & {sequence, sequence + 1}


def stored_rows(path: Path) -> Stored:
    from gedp.ledger.store import read_stored, transaction

    with transaction(path, 1, write=False) as connection:
        return read_stored(connection)


def test_a_changed_price_is_named_with_its_number(path: Path) -> None:
    content = bodies(path)[4]
    content["prices"][0]["mu_squared"] = "1/100"
    rewrite(path, 5, content, hash_too=False)
    assert [str(b) for b in broken(path).breaks] == ["entry 5: its content does not match its hash"]
    rewrite(path, 5, content, hash_too=True)
    assert [str(b) for b in broken(path).breaks] == ["entry 6: it does not follow from what stands before it"]


@pytest.mark.parametrize(
    "garbage", ["", "{}", "[]", "null", "[" * 100_000, '{"sequence": 1e999}', "\udce4", b"\xff\x00", None]
)
def test_garbage_in_an_entry_shows(path: Path, garbage: object) -> None:
    def change(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'entries'")
        connection.execute("PRAGMA writable_schema = RESET")
        value = garbage.encode("utf-8", "surrogateescape") if isinstance(garbage, str) else garbage
        connection.execute("UPDATE entries SET body = CAST(? AS TEXT) WHERE sequence = 5", (value,))

    edit(path, change)
    assert "entry 5: its content does not match its hash, and it cannot be read" in map(str, broken(path).breaks)


@pytest.mark.parametrize("sequence", range(1, ENTRIES + 1))
def test_a_deletion_shows(path: Path, sequence: int) -> None:
    edit(path, lambda connection: connection.execute("DELETE FROM entries WHERE sequence = ?", (sequence,)))
    said = str(broken(path).breaks[0])
    if sequence == ENTRIES:
        assert said == "entry 6: the ledger went on to entry 7, and what came after entry 6 is missing"
    else:
        assert said == f"entry {sequence}: it is missing"


@pytest.mark.parametrize("kept", range(ENTRIES))
def test_a_cut_off_end_shows(path: Path, kept: int) -> None:
    edit(path, lambda connection: connection.execute("DELETE FROM entries WHERE sequence > ?", (kept,)))
    assert "the ledger went on to entry 7" in str(broken(path).breaks[-1])


@pytest.mark.parametrize(("a", "b"), [(i, j) for i in range(1, ENTRIES) for j in range(i + 1, ENTRIES + 1)])
def test_a_change_of_order_shows(path: Path, a: int, b: int) -> None:
    def swap(connection: sqlite3.Connection) -> None:
        for old, new in ((a, 100), (b, a), (100, b)):
            connection.execute("UPDATE entries SET sequence = ? WHERE sequence = ?", (new, old))

    edit(path, swap)
    assert {a, b} <= {found.sequence for found in broken(path).breaks}


@pytest.mark.parametrize("number", [0, -3, 8, 9])
def test_an_entry_too_many_shows(path: Path, number: int) -> None:
    text, digest = sealed({**bodies(path)[-1], "sequence": number})
    edit(path, lambda connection: connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, digest, text)))
    assert not broken(path).ok


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE identity SET id = 'x'",
        "UPDATE identity SET created = 'x'",
        "UPDATE identity SET fingerprint_key = zeroblob(32)",
        "DELETE FROM identity",
        "INSERT INTO identity SELECT * FROM identity",
        "UPDATE head SET sequence = 6",
        "UPDATE head SET sequence = 8",
        "UPDATE head SET sequence = 'x'",
        "UPDATE head SET hash = 'x'",
        "UPDATE head SET total = '0/1'",
        "UPDATE head SET total = 'x'",
        "DELETE FROM head",
        "INSERT INTO head SELECT * FROM head",
        "UPDATE entries SET hash = upper(hash) WHERE sequence = 2",
        "CREATE TRIGGER mine AFTER INSERT ON entries BEGIN UPDATE head SET total = '0/1'; END",
        "CREATE VIEW releases AS SELECT * FROM entries",
    ],
)
def test_a_change_around_the_entries_shows(path: Path, change: str) -> None:
    edit(path, lambda connection: connection.execute(change))
    broken(path)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_removed_trigger_shows(path: Path, trigger: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"DROP TRIGGER {trigger}")
    assert [str(b) for b in broken(path).breaks] == [f"the file: its tables and triggers were changed ({trigger})"]


@pytest.mark.parametrize("table", TABLES)
def test_a_removed_table_is_damage(path: Path, table: str) -> None:
    edit(path, lambda connection: connection.execute(f"DROP TABLE {table}"), restore_triggers=False)
    with pytest.raises(LedgerBrokenError, match="damaged and cannot be read"):
        Ledger.open(path).verify()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = body",
        "UPDATE entries SET sequence = 99 WHERE sequence = 7",
        "DELETE FROM entries WHERE sequence = 7",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries VALUES (7, 'x', 'x')",
        "REPLACE INTO entries SELECT sequence, 'x', body FROM entries WHERE sequence = 3",
        "INSERT INTO entries (hash, body) VALUES ('x', 'x')",
        "INSERT INTO entries VALUES (9, 'x', 'x')",
        "UPDATE head SET sequence = 6",
        "UPDATE head SET total = '0/1'",
        "DELETE FROM head",
        "INSERT INTO head VALUES (1, 'x', 'x')",
        "UPDATE identity SET fingerprint_key = zeroblob(32)",
        "DELETE FROM identity",
        "INSERT INTO identity VALUES ('x', 'x', 'x')",
    ],
)
def test_sqlite_itself_refuses_all_but_appending(path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(change)
    assert Ledger.open(path).verify().ok


def test_a_byte_changed_on_disk_shows(path: Path) -> None:
    raw = path.read_bytes()
    place = raw.index(b'"mu_squared":"9/25"') + len(b'"mu_squared":"')
    path.write_bytes(raw[:place] + b"1" + raw[place + 1 :])
    assert [b.sequence for b in broken(path).breaks] == [5]


def test_half_a_file_is_damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(LedgerBrokenError, match="damaged"):
        Ledger.open(path).verify()


def test_a_forged_chain_shows_by_its_head(path: Path) -> None:
    contents = bodies(path)
    contents[0]["prices"][0]["mu_squared"] = "1/100"
    rewrite_all(path, contents, head_too=False)
    assert "entry 7: it is not the last entry that was written" in map(str, broken(path).breaks)


def test_a_wholly_forged_or_older_ledger_shows_only_by_a_noted_head(path: Path, tmp_path: Path) -> None:
    """The limit of what one file can say about itself."""
    older = Path(shutil.copy(path, tmp_path / "older"))
    ledger = Ledger.open(path)
    noted = ledger.verify().head
    assert ledger.verify().knows(noted)
    spend(ledger, "9", "0.5")
    assert ledger.verify().knows(noted), "it has only grown"
    later = ledger.verify().head
    shutil.copy(older, path)
    assert ledger.verify().ok
    assert not ledger.verify().knows(later)
    forged = bodies(path)[:2]
    rewrite_all(path, forged, head_too=True)
    assert ledger.verify().ok
    assert not ledger.verify().knows(noted)


def test_a_forged_chain_must_still_make_sense(path: Path) -> None:
    reserve, commit, *_ = bodies(path)
    rewrite_all(path, [reserve, commit, commit], head_too=True)
    assert [str(b) for b in Ledger.open(path).verify().breaks] == ["entry 3: it ends a release that is not open"]
    rewrite_all(path, [reserve, {**reserve, "total": "41/40"}], head_too=True)
    assert "reserved before" in str(Ledger.open(path).verify().breaks[0])
    rewrite_all(path, [{**reserve, "total": "1/100"}, {**commit, "total": "1/100"}], head_too=True)
    assert str(Ledger.open(path).verify().breaks[0]) == "entry 1: its total does not add up"


def break_it(path: Path) -> None:
    content = bodies(path)[4]
    content["prices"][0]["mu_squared"] = "1/100"
    rewrite(path, 5, content, hash_too=False)


def test_a_decision_names_the_break_and_lets_work_go_on(path: Path) -> None:
    break_it(path)
    ledger = Ledger.open(path)
    decision = ledger.decide("the registrar: restored by hand, memo 12")
    verification = ledger.verify()
    assert verification.ok
    assert [str(b) for b in verification.decided] == ["entry 5: its content does not match its hash"]
    assert decision.total == EVER, "nothing is given back that was recorded before a break"
    assert ledger.total() == EVER
    assert "rests on what they say" in ledger.promise().statement
    made = spend(ledger, "9", "0.5")
    assert made.total == EVER + PrivacyLoss.of("0.5")
    ledger.abandon(made.release_id, "after all not", before_noise=True)
    assert ledger.total() == EVER, "what was reserved after the break can be given back"
    assert ledger.verify().ok


def test_a_decision_is_about_what_was_found_and_nothing_else(path: Path) -> None:
    break_it(path)
    ledger = Ledger.open(path)
    ledger.decide("looked at")
    content = bodies(path)[4]
    content["prices"][0]["mu_squared"] = "1/25"
    rewrite(path, 5, content, hash_too=False)
    assert [b.sequence for b in broken(path).breaks] == [5], "the same place, changed again"
    ledger.decide("looked at again")
    assert ledger.verify().ok
    content = bodies(path)[1]
    rewrite(path, 2, {**content, "who": "somebody"}, hash_too=True)
    assert [b.sequence for b in broken(path).breaks] == [3], "another place"


def test_a_changed_decision_decides_nothing(path: Path) -> None:
    break_it(path)
    Ledger.open(path).decide("looked at")
    rewrite(path, 8, {**bodies(path)[7], "note": "it was nothing"}, hash_too=False)
    assert [b.sequence for b in broken(path).breaks] == [5, 8]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM entries WHERE sequence = 3",
        "DELETE FROM entries WHERE sequence IN (1, 2)",
        "DELETE FROM entries WHERE sequence > 4",
        "DELETE FROM entries",
        "DELETE FROM head",
        "UPDATE entries SET body = 'x', hash = 'y' WHERE sequence = 7",
        "UPDATE entries SET body = 'x' WHERE sequence = 1",
        "UPDATE identity SET created = 'x'",
        "CREATE TRIGGER mine AFTER INSERT ON entries BEGIN UPDATE head SET total = '0/1'; END",
        "CREATE VIEW releases AS SELECT * FROM entries",
        "INSERT INTO entries SELECT 0, hash, body FROM entries WHERE sequence = 4",
    ],
)
def test_after_any_break_a_decision_goes_on_without_forgetting(path: Path, change: str) -> None:
    edit(path, lambda connection: connection.execute(change))
    broken(path)
    ledger = Ledger.open(path)
    ledger.decide("looked at")
    assert ledger.verify().ok, ledger.verify().breaks
    assert ledger.verify().decided
    before = ledger.total()
    assert before >= SPENT
    assert spend(ledger, "99", "0.5").total == before + PrivacyLoss.of("0.5")
    assert Ledger.open(path).verify().ok
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM entries")


def test_a_decision_can_count_what_the_ledger_no_longer_shows(path: Path) -> None:
    ledger = Ledger.open(path)
    with pytest.raises(Refused, match="nothing to decide"):
        ledger.decide("all well")
    with pytest.raises(DomainError, match="needs a note"):
        ledger.decide("  ", add=PrivacyLoss.of(1))
    ledger.decide("back to Monday's copy; one release lost", add=PrivacyLoss.of("0.7"))
    assert ledger.total() == SPENT + PrivacyLoss.of("0.7")
    assert ledger.verify().ok
    assert not ledger.verify().decided


def test_a_lost_key_is_named(path: Path) -> None:
    edit(path, lambda connection: connection.execute("UPDATE identity SET fingerprint_key = 'short'"))
    with pytest.raises(LedgerBrokenError, match="key was changed"):
        Ledger.open(path).key()


def test_an_unknown_format_is_no_ledger(path: Path) -> None:
    edit(path, lambda connection: connection.execute("PRAGMA user_version = 0"))
    with pytest.raises(LedgerError, match="no known format"):
        Ledger.open(path)


def test_an_entry_with_an_impossible_number_is_named(original: Path) -> None:
    rows = stored_rows(original)
    first = rows.rows[0]
    forged = (Row(0, first.hash, first.body), *rows.rows)
    assert "it has an impossible number" in str(verify(Stored(rows.genesis, forged, rows.head)).breaks[0])
