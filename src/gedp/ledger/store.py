"""The SQLite file of a ledger: making it, reading all of it, appending to it, durably or not at all.

Nothing stays open between calls. A ledger that was moved away is then missed, not written to unseen, and no lock or
connection is carried across a fork.

The rollback journal with synchronous = EXTRA survives a power failure right after a commit: FULL alone does not sync
the folder once the journal is deleted, and a journal that comes back would undo a reservation.
"""

import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import GedpError, Refused
from gedp.files import LEDGER_MARK
from gedp.ledger.amounts import loss_text
from gedp.ledger.chain import Head, Row, Stored
from gedp.ledger.contents import ContentMark
from gedp.ledger.entries import Entry, canonical, entry_text
from gedp.sql import quoted_name

APPLICATION_ID = LEDGER_MARK
FORMAT = 6  # the first of a released version; 1 to 5 were never part of one
SYNCHRONOUS = "EXTRA"

TABLES = {
    "identity": "CREATE TABLE identity (id TEXT NOT NULL, created TEXT NOT NULL, fingerprint_key BLOB NOT NULL)",
    "entries": "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, hash TEXT NOT NULL, body TEXT NOT NULL)",
    "head": "CREATE TABLE head (sequence INTEGER NOT NULL, hash TEXT NOT NULL, total TEXT NOT NULL)",
}
#: What tables are known again by. Without it a ledger can still be read.
CONTENTS = "CREATE TABLE contents (digest TEXT NOT NULL, body TEXT NOT NULL)"


def _forbid(name: str, what: str, when: str = "") -> tuple[str, str]:
    condition = f" WHEN {when}" if when else ""
    return name, f"CREATE TRIGGER {name} BEFORE {what}{condition} BEGIN SELECT RAISE(ABORT, 'append-only'); END"


TRIGGERS = dict(
    (
        _forbid("entries_update", "UPDATE ON entries"),
        _forbid("entries_delete", "DELETE ON entries"),
        # Also what stops INSERT OR REPLACE, which fires no DELETE trigger.
        _forbid(
            "entries_insert",
            "INSERT ON entries",
            "NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entries)",
        ),
        _forbid("head_update", "UPDATE ON head", "NEW.sequence IS NOT OLD.sequence + 1"),
        _forbid("head_delete", "DELETE ON head"),
        _forbid("head_insert", "INSERT ON head", "(SELECT count(*) FROM head) > 0"),
        _forbid("identity_update", "UPDATE ON identity"),
        _forbid("identity_delete", "DELETE ON identity"),
        _forbid("identity_insert", "INSERT ON identity", "(SELECT count(*) FROM identity) > 0"),
        _forbid("contents_update", "UPDATE ON contents"),
        _forbid("contents_delete", "DELETE ON contents"),
    )
)


SCHEMA = {**TABLES, "contents": CONTENTS, **TRIGGERS}


class LedgerError(GedpError):
    """The file cannot be used as a ledger."""


class NotALedgerError(LedgerError):
    """The file is not a ledger: it lacks the mark of one, or is not an SQLite file."""


class LedgerLockedError(Refused):
    """Another process held the ledger for too long."""


class LedgerBrokenError(Refused):
    """The ledger is not as it was written, and nobody has decided about it yet."""


def create(path: Path) -> None:
    """Makes an empty ledger at `path`, whole or not at all; if another process is first, its ledger stands."""
    with _explained_file(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
        os.close(descriptor)  # mode 0600 from the start
    temporary = Path(name)
    try:
        with explained(path, 0), closing(_connect(temporary, 0)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in SCHEMA.values():
                connection.execute(statement)
            identity = (uuid4().hex, datetime.now(UTC).isoformat(timespec="seconds"), secrets.token_bytes(32))
            connection.execute("INSERT INTO identity VALUES (?, ?, ?)", identity)
            _write_head(connection, 0, _genesis(connection), "0/1")
            connection.execute("COMMIT")
        with _explained_file(path), suppress(FileExistsError):
            os.link(temporary, path)  # unlike a rename, never takes the place of a ledger that is there
    finally:
        for left in (temporary, Path(f"{temporary}-journal")):  # the latter if the disk failed in the middle
            with suppress(OSError):
                left.unlink()
    _sync_folder(path.parent)


@contextmanager
def transaction(path: Path, wait: float, *, write: bool) -> Iterator[sqlite3.Connection]:
    """One transaction on the ledger: all of it is on disk when this ends, or nothing is, and then an error says why.

    If the disk fails at the very end, nobody knows; the error then says that it may count.
    """
    if not path.is_file():
        raise LedgerError(f"there is no ledger at {path}")
    if write:
        _keep_private(path)
    committing = False
    try:
        with explained(path, wait), closing(_connect(path, wait)) as connection:
            _require_ledger(connection, path)
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield connection
                committing = write
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
    except GedpError as error:
        if committing:  # the entry is in the file once its journal is gone, even if the folder could not be synced
            error.add_note(f"What was to be recorded may count already: gedp ledger show {path}")
        raise


def read_stored(connection: sqlite3.Connection) -> Stored:
    """Everything the chain is made of, as it lies in the file, of whatever type somebody made it."""
    rows = connection.execute(
        "SELECT CAST(sequence AS INTEGER), CAST(hash AS BLOB), CAST(body AS BLOB) FROM entries ORDER BY 1"
    )
    stored = tuple(Row(sequence or 0, hash_ or b"", body or b"") for sequence, hash_, body in rows)
    heads = connection.execute(
        "SELECT CAST(sequence AS INTEGER), CAST(hash AS BLOB), CAST(total AS BLOB) FROM head"
    ).fetchall()
    head = Head(heads[0][0] or 0, heads[0][1] or b"", heads[0][2] or b"") if len(heads) == 1 else None
    return Stored(_genesis(connection), stored, head, _schema_changes(connection), _contents(connection))


def append(connection: sqlite3.Connection, entry: Entry) -> None:
    """Writes the entry after the last one, and notes it as the head; rejects a file in which that harms others."""
    before = read_stored(connection).rows
    connection.execute(
        "INSERT INTO entries (sequence, hash, body) VALUES (?, ?, ?)", (entry.sequence, entry.hash, entry_text(entry))
    )
    connection.execute(
        "UPDATE head SET sequence = ?, hash = ?, total = ?", (entry.sequence, entry.hash, loss_text(entry.total))
    )
    *others, last = read_stored(connection).rows  # a damaged page may hand out the place of another entry
    if tuple(others) != before or last.body.decode(errors="replace") != entry_text(entry):
        raise LedgerBrokenError("the ledger's file is damaged, so nothing was written. Restore it from a backup")


def keep_content(connection: sqlite3.Connection, mark: ContentMark) -> None:
    """Writes what a table is known again by, once."""
    if mark.digest not in _contents(connection):
        connection.execute("INSERT INTO contents (digest, body) VALUES (?, ?)", (mark.digest, mark.text))


def repair(connection: sqlite3.Connection, sequence: int, link: str, total: PrivacyLoss) -> None:
    """After a decision: our triggers, and a head that fits the last entry as it stands. No entry is touched."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for (name,) in found:
        connection.execute(f"DROP TRIGGER {quoted_name(name)}")
    connection.execute("DELETE FROM head")
    _write_head(connection, sequence, link, loss_text(total))
    kept = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    for name, statement in SCHEMA.items():
        if name not in kept:
            connection.execute(statement)


def ledger_id(connection: sqlite3.Connection) -> str:
    """The ledger's own name, given when it was made."""
    return str(_identity(connection)[0])


def fingerprint_key(connection: sqlite3.Connection) -> bytes:
    """The key of the fingerprints of data files: random, and kept in the ledger alone."""
    key = _identity(connection)[2]
    if not isinstance(key, bytes) or len(key) != 32:
        raise LedgerBrokenError("the ledger's key was changed. Restore the ledger from a backup")
    return key


@contextmanager
def explained(path: Path, wait: float) -> Iterator[None]:
    """Turns SQLite's errors into ours, with a reason and without what SQLite quotes from the file."""
    try:
        yield
    except UnicodeDecodeError:  # of SQLite's message, which quotes a damaged schema
        raise _damaged(path) from None
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise LedgerLockedError(
                f"the ledger {path} is in use by another process and did not become free within {wait:g} s. "
                "Nothing was recorded. Try again once the other process has written to it"
            ) from None
        if name == "SQLITE_NOTADB":
            raise NotALedgerError(f"{path} is not a ledger") from None
        undecoded = isinstance(error, sqlite3.OperationalError) and not name  # a text in the file, found by Python
        if undecoded or name.startswith("SQLITE_CORRUPT") or name in ("SQLITE_ERROR", "SQLITE_TOOBIG"):
            raise _damaged(path) from None  # our own statements fail only on other tables
        reasons = {
            "SQLITE_READONLY": "the file or its folder is read-only",
            "SQLITE_CANTOPEN": "the file or its folder cannot be opened",
            "SQLITE_PERM": "access is denied",
            "SQLITE_FULL": "the disk is full",
            "SQLITE_IOERR": "the disk reports an error",
            "SQLITE_CONSTRAINT": "it is append-only",
        }
        reason = next((text for code, text in reasons.items() if name.startswith(code)), "SQLite refused")
        raise LedgerError(f"cannot use the ledger {path}: {reason}") from None


def _damaged(path: Path) -> LedgerBrokenError:
    return LedgerBrokenError(
        f"the ledger {path} is damaged and cannot be read. Restore it from a backup; then add what was released since "
        f"with: gedp ledger decide {path} --add-mu MU --note TEXT"
    )


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    # mode=rw even to read: only so can what a killed process left half-written be rolled back first.
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=wait, isolation_level=None)
    try:
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _require_ledger(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        empty = " (the file is empty: was it cut off?)" if not path.stat().st_size else ""
        raise NotALedgerError(f"{path} is not a ledger{empty}")
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > FORMAT:
        raise LedgerError(
            f"{path} was written by a newer gedp (format {version}; this one knows {FORMAT}). Upgrade gedp"
        )
    if version < FORMAT:
        raise LedgerError(f"{path} has no known format ({version})")


def _identity(connection: sqlite3.Connection) -> tuple[object, object, object]:
    rows = connection.execute("SELECT id, created, fingerprint_key FROM identity").fetchall()
    return rows[0] if len(rows) == 1 else (None, None, None)


def _genesis(connection: sqlite3.Connection) -> str:
    """The hash that the first entry names as its previous: it seals who the ledger is, as it was made."""
    content = [part.hex() if isinstance(part, bytes) else str(part) for part in _identity(connection)]
    return sha256(canonical([FORMAT, *content]).encode()).hexdigest()


def _write_head(connection: sqlite3.Connection, sequence: int, link: str, total: str) -> None:
    connection.execute("INSERT INTO head (sequence, hash, total) VALUES (?, ?, ?)", (sequence, link, total))


def _contents(connection: sqlite3.Connection) -> dict[str, bytes]:
    """What tables are known again by, as it lies in the file; nothing where somebody removed it."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'contents'").fetchone():
        return {}
    found = connection.execute("SELECT CAST(digest AS TEXT), CAST(body AS BLOB) FROM contents")
    return {str(digest): body or b"" for digest, body in found}


def _schema_changes(connection: sqlite3.Connection) -> str:
    found = {str(name): sql for name, sql in connection.execute("SELECT name, sql FROM sqlite_master").fetchall()}
    return ", ".join(sorted(name for name in {*found, *SCHEMA} if found.get(name) != SCHEMA.get(name)))


def _keep_private(path: Path) -> None:
    """For its owner alone: whoever can write the file can write history, and the key in it is nobody else's business.

    Rights are taken away, and none are given: a ledger that its owner made read-only stays so.
    """
    with suppress(OSError):
        if os.name == "posix" and (mode := path.stat().st_mode) & 0o077:
            path.chmod(mode & 0o700)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained_file(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, FileExistsError):
            raise
        raise LedgerError(f"cannot make the ledger {path}: {(error.strerror or 'refused').lower()}") from None
