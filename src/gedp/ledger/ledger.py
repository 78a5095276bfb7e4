"""The ledger of a dataset: what has been spent on it, by whom, on what. Budget is recorded before noise is drawn."""

import getpass
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from gedp.accounting.composition import NOTHING, PrivacyLoss
from gedp.errors import DomainError, Refused
from gedp.ledger import store
from gedp.ledger.amounts import left_of
from gedp.ledger.chain import Stored, Verification, verify
from gedp.ledger.contents import UNKNOWN, ContentMark, Doubt, KnownBy
from gedp.ledger.digests import combined_digest, file_digest, text_digest
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
    entry_text,
    read_entry,
    recorded,
)
from gedp.ledger.judging import DecidedBy, Request, judge, left_after, require_line
from gedp.ledger.limits import limits_of
from gedp.ledger.series_rules import require_one_period
from gedp.ledger.state import CombinedPromise, LedgerState, RecordedRelease, state_of
from gedp.ledger.store import LedgerBrokenError, LedgerError

WAIT = 30.0  # seconds to wait for another process


@dataclass(frozen=True)
class Reservation:
    """Budget set aside for one release, on disk: noise may be drawn now."""

    release_id: str
    entry: Entry
    loss: PrivacyLoss
    total: PrivacyLoss
    remaining: PrivacyLoss
    state: LedgerState  # of the ledger once this is in it


@dataclass(frozen=True)
class Ledger:
    """The ledger in one file. All entries compose, so one dataset, however often corrected, has one ledger.

    Nothing is held open between calls: `with` only marks the span of use.
    """

    path: Path
    id: str
    wait: float = WAIT

    @classmethod
    def open(cls, path: str | Path, *, create: bool = True, wait: float = WAIT) -> "Ledger":
        """The ledger at `path`, made if there is none and `create` allows it."""
        path = Path(path)
        if create and not os.path.lexists(path):
            store.create(path)
        with store.transaction(path, wait, write=False) as connection:
            return cls(path, store.ledger_id(connection), wait)

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def prepare(
        self,
        request: Request,
        data: KnownBy = UNKNOWN,
        *,
        spec_digest: str,
        note: str = "",
        decided_by: DecidedBy | None = None,
        doubts: Sequence[Doubt] = (),
    ) -> "PreparedReservation":
        """A release that is judged by everything counted so far, with all that reads its data done, or a refusal.

        Nothing is recorded until `reserve`. A release that promises less than those before it is refused unless
        somebody has decided so, by name; the decision is an entry of its own; `doubts` are more that a person has to
        decide. In a series, data that were released as one period are refused as another.
        """
        state = self._sound_state()
        marks, mark = self._marks(data), self._content_mark(data)
        event = Reserve(
            uuid4().hex,
            combined_digest([mark.digest for mark in marks], self.key()),
            spec_digest,
            {name: recorded(attribute) for name, attribute in request.priced.items()},
            request.lines,
            request.prices.budget,
            note,
            tuple(marks),
            request.synthetic,
            request.seeded,
            request.public,
            request.nulls,
            request.series,
            None if mark is None else mark.digest,
            request.unit,
        )
        prepared = PreparedReservation(self, request, event, decided_by, mark, tuple(doubts))
        prepared.judge(state)
        return prepared

    def require_possible(
        self,
        request: Request,
        data: KnownBy = UNKNOWN,
        *,
        decided_by: DecidedBy | None = None,
        doubts: Sequence[Doubt] = (),
    ) -> PrivacyLoss:
        """Rejects what `prepare` would refuse now, and returns what would remain of the budget."""
        state = self._sound_state()
        left = left_after(request, state, decided_by, doubts)
        if request.series is not None:
            self._require_one_period(request, self._marks(data), self._content_mark(data), state)
        return left

    def commit(self, release_id: str, manifest_digest: str) -> Entry:
        """Records that the release is finished."""
        with self._writing() as book:
            book.require_open(release_id)
            return book.append(Commit(release_id, manifest_digest), book.state.total)

    def abandon(self, release_id: str, reason: str, *, before_noise: bool = False) -> Entry:
        """Records that the release will not be finished.

        Its budget stays spent, unless the caller states that none of its noise was drawn. That is the caller's word:
        nothing in the ledger can check it.
        """
        with self._writing() as book:
            release = book.require_open(release_id)
            total = book.state.total
            if before_noise and release.sequence > book.state.verification.last_break:
                total = left_of(total, release.reserve.loss)
            return book.append(Abandon(release_id, before_noise, reason), total)

    def decide(self, note: str, *, add: PrivacyLoss = NOTHING) -> Entry:
        """A person's decision that work goes on although the ledger is broken: it names every break as found.

        `add` counts as spent from here on, for releases that the ledger no longer shows; it may also be given when
        nothing is broken, as after a return to a backup. What was counted stays counted.
        """
        if not note.strip():
            raise DomainError("a decision needs a note that says who looked and what was found")
        require_line(note)
        with self._writing(broken=True) as book:
            breaks = book.state.verification.breaks
            if not breaks and add == NOTHING:
                raise Refused("there is nothing to decide: the ledger is intact")
            if breaks:
                breaks = (*breaks, *book.repaired())
            return book.append(Decision(note, tuple(dict.fromkeys(breaks)), add), book.state.total + add)

    def state(self) -> LedgerState:
        """Everything the ledger shows, broken or not."""
        with self._transaction(write=False) as connection:
            return _state(store.read_stored(connection))

    def verify(self) -> Verification:
        """Whether the ledger is as it was written, and where it is not."""
        return self.state().verification

    def total(self) -> PrivacyLoss:
        """What counts as spent over all releases; rejected while the ledger is broken."""
        return self._sound_state().total

    def remaining(self, budget: PrivacyLoss) -> PrivacyLoss:
        """What may still be spent of `budget`; rejected while the ledger is broken."""
        return self._sound_state().remaining(budget)

    def promise(self) -> CombinedPromise:
        """What holds for all releases together; rejected while the ledger is broken."""
        return self._sound_state().combined

    def key(self) -> bytes:
        """The key of the digests of data files. It stays with the ledger."""
        with self._transaction(write=False) as connection:
            return store.fingerprint_key(connection)

    def marks(self) -> set[FileMark]:
        """Every data file that a release was made from; rejected while the ledger is broken."""
        return {mark for release in self._sound_state().releases for mark in release.reserve.files}

    def contents(self) -> list[tuple[Reserve, ContentMark]]:
        """The releases whose tables are known by what they hold; rejected while the ledger is broken."""
        state = self._sound_state()
        marked = ((release.reserve, state.content_of(release.reserve)) for release in state.releases)
        return [(reserve, mark) for reserve, mark in marked if mark is not None]

    def _marks(self, data: KnownBy) -> list[FileMark]:
        """Files, and tables of a database, which are known by their names alone."""
        key, folder = self.key(), self.path.resolve().parent
        files = [FileMark(seen_from(folder, each), each.stat().st_size, file_digest(each, key)) for each in data.files]
        return [*files, *(FileMark(table, 0, text_digest(table, key)) for table in data.tables)]

    def _content_mark(self, data: KnownBy) -> ContentMark | None:
        return None if data.content is None else data.content().mark(self.key())

    def _require_one_period(
        self, request: Request, marks: Sequence[FileMark], content: ContentMark | None, state: LedgerState
    ) -> None:
        if request.series is not None:
            require_one_period(request.series, marks, content, state, self.path.resolve().parent)

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        with store.transaction(self.path, self.wait, write=write) as connection:
            if store.ledger_id(connection) != self.id:
                raise LedgerBrokenError(f"the ledger {self.path} was replaced by another one since it was opened")
            yield connection

    @contextmanager
    def _writing(self, *, broken: bool = False) -> Iterator["_Book"]:
        with self._transaction(write=True) as connection:
            stored = store.read_stored(connection)
            state = _state(stored)
            if not broken:
                _require_sound(state, self.path)
            yield _Book(connection, stored, state)

    def _sound_state(self) -> LedgerState:
        state = self.state()
        _require_sound(state, self.path)
        return state


@dataclass(frozen=True)
class PreparedReservation:
    """A release that the ledger would have recorded when it was asked; nothing is set aside yet."""

    ledger: Ledger
    request: Request
    event: Reserve
    decided_by: DecidedBy | None
    mark: ContentMark | None
    doubts: tuple[Doubt, ...]

    def judge(self, state: LedgerState) -> tuple[str, ...]:
        """Rejects it, or returns in which ways it promises less than those before it, as somebody decided."""
        less = judge(self.request, state, self.decided_by, self.doubts)
        self.ledger._require_one_period(self.request, self.event.files, self.mark, state)
        return less

    def reserve(self) -> Reservation:
        """Records it before any of its noise is drawn, or rejects it. From here on it counts.

        In one transaction: the whole chain is verified, the request is judged again by everything counted by now, and
        the entry is on disk when this returns. A process that dies afterwards leaves its reservation behind.
        """
        event = self.event
        with self.ledger._writing() as book:
            less = self.judge(book.state)
            if self.mark is not None:
                store.keep_content(book.connection, self.mark)
            if less and self.decided_by:
                book.append(Permit(self.decided_by.name, self.decided_by.reason, less), book.state.total)
            total = book.state.total + event.loss
            entry = book.append(event, total)
            left = limits_of(event.budget, event.series, book.state, event.loss)[0].left_after
            state = _state(store.read_stored(book.connection))
        return Reservation(event.release, entry, event.loss, total, left, state)


@dataclass
class _Book:
    """The ledger while a write transaction holds it. `state` is as it was found."""

    connection: sqlite3.Connection
    stored: Stored
    state: LedgerState
    last: int = field(init=False)
    head: str = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.stored.rows[-1].sequence if self.stored.rows else 0
        self.head = self.state.verification.head

    def append(self, event: Event, total: PrivacyLoss) -> Entry:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = Entry(self.last + 1, self.head, now, _who(), event, total)
        try:
            read_entry(entry_text(entry))  # what is written can be read again
        except ValueError as error:
            raise DomainError(f"this cannot be recorded: {error}") from None
        store.append(self.connection, entry)
        self.last, self.head = entry.sequence, entry.hash
        return entry

    def require_open(self, release_id: str) -> RecordedRelease:
        for release in self.state.releases:
            if release.reserve.release == release_id and release.outcome == "reserved":
                return release
            if release.reserve.release == release_id:
                raise LedgerError(f"the release {release_id} is already {release.outcome}")
        raise LedgerError(f"the ledger has no release {release_id}")

    def repaired(self) -> tuple[Break, ...]:
        """Mends what is not an entry, and returns the breaks that show only then."""
        last = self.stored.rows[-1].entry if self.stored.rows else None
        total = last.total if last else NOTHING
        store.repair(self.connection, self.last, self.state.verification.head, total)
        return verify(store.read_stored(self.connection)).breaks


def _state(stored: Stored) -> LedgerState:
    return state_of(verify(stored), stored.head)


def _require_sound(state: LedgerState, path: Path) -> None:
    breaks = state.verification.breaks
    if breaks:
        raise LedgerBrokenError(
            "\n  ".join(
                [
                    f"the ledger {path} is not as it was written, so nothing can be released:",
                    *map(str, breaks),
                    f"Find out what happened. To go on from here: gedp ledger decide {path} --note TEXT",
                ]
            )
        )


def seen_from(folder: Path, file: Path) -> str:
    """The path of a file, relative where that is possible: a folder that is moved takes its ledger along."""
    try:
        return Path(os.path.relpath(file.resolve(), folder)).as_posix()
    except ValueError:  # another drive
        return file.resolve().as_posix()


def _who() -> str:
    """The name of the user, as the operating system has it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"
