"""The ledger of a dataset: what has been spent on it, by whom, on what. Budget is recorded before noise is drawn."""

import getpass
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.ledger import store
from gedp.accounting.ledger.amounts import factor_within, left_of, mu_down, mu_up
from gedp.accounting.ledger.chain import Stored, Verification, verify
from gedp.accounting.ledger.digests import fingerprint
from gedp.accounting.ledger.entries import (
    Abandon,
    Break,
    Commit,
    Decision,
    Entry,
    Event,
    Reserve,
    entry_text,
    read_entry,
    recorded,
)
from gedp.accounting.ledger.state import NOTHING, CombinedPromise, LedgerState, Release, state_of
from gedp.accounting.ledger.store import LedgerBrokenError, LedgerError
from gedp.errors import BudgetExceededError, DomainError, Refused
from gedp.policy.model import Attribute
from gedp.policy.price import PriceList

WAIT = 30.0  # seconds to wait for another process


@dataclass(frozen=True)
class Reservation:
    """Budget set aside for one release, on disk: noise may be drawn now."""

    release_id: str
    entry: Entry
    loss: PrivacyLoss
    total: PrivacyLoss
    remaining: PrivacyLoss


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

    def reserve(
        self,
        prices: PriceList,
        attributes: Mapping[str, Attribute],
        *,
        fingerprint: str,
        spec_digest: str,
        note: str = "",
    ) -> Reservation:
        """Records a release before any of its noise is drawn, or refuses it.

        In one transaction: the whole chain is verified, everything counted so far and this release are held against
        `prices.budget` (equal passes), and the entry is on disk when this returns. A process that dies afterwards
        leaves its reservation behind, which counts for ever.
        """
        if not prices.lines:
            raise DomainError("a release answers at least one query")
        priced = {line.attribute for line in prices.lines}
        if unknown := sorted(priced - attributes.keys()):
            raise DomainError(f"priced, but not among the attributes: {', '.join(unknown)}")
        kept = {name: recorded(attribute) for name, attribute in attributes.items() if name in priced}
        event = Reserve(uuid4().hex, fingerprint, spec_digest, kept, prices.lines, prices.budget, note)
        with self._writing() as book:
            total = book.state.total + event.loss
            if total > prices.budget:
                raise BudgetExceededError(_refusal(book.state, event))
            entry = book.append(event, total)
        return Reservation(event.release, entry, event.loss, total, left_of(prices.budget, total))

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
        with self._writing(broken=True) as book:
            breaks = book.state.verification.breaks
            if not breaks and add == NOTHING:
                raise Refused("there is nothing to decide: the ledger verifies")
            if breaks:
                breaks = (*breaks, *book.repaired())
            return book.append(Decision(note, tuple(dict.fromkeys(breaks)), add), book.state.total + add)

    def state(self) -> LedgerState:
        """Everything the ledger shows, broken or not."""
        with self._transaction(write=False) as connection:
            return _state(store.read_stored(connection))

    def verify(self) -> Verification:
        """Whether the ledger is what was written, and where not."""
        return self.state().verification

    def total(self) -> PrivacyLoss:
        """What counts as spent over all releases; refused while the ledger is broken."""
        return self._sound_state().total

    def remaining(self, budget: PrivacyLoss) -> PrivacyLoss:
        """What may still be spent of `budget`; refused while the ledger is broken."""
        return self._sound_state().remaining(budget)

    def promise(self) -> CombinedPromise:
        """What holds for all releases together; refused while the ledger is broken."""
        return self._sound_state().combined

    def fingerprint(self, paths: Iterable[str | Path]) -> str:
        """The keyed digest of the data files that `reserve` wants."""
        with self._transaction(write=False) as connection:
            key = store.fingerprint_key(connection)
        return fingerprint([Path(path) for path in paths], key)

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
class _Book:
    """The ledger while a write transaction holds it."""

    connection: sqlite3.Connection
    stored: Stored
    state: LedgerState

    @property
    def last(self) -> int:
        return self.stored.rows[-1].sequence if self.stored.rows else 0

    def append(self, event: Event, total: PrivacyLoss) -> Entry:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = Entry(self.last + 1, self.state.verification.head, now, _who(), event, total)
        try:
            read_entry(entry_text(entry))  # what is written can be read again
        except ValueError as error:
            raise DomainError(f"this cannot be recorded: {error}") from None
        store.append(self.connection, entry)
        return entry

    def require_open(self, release_id: str) -> Release:
        for release in self.state.releases:
            if release.reserve.release == release_id and release.outcome == "reserved":
                return release
            if release.reserve.release == release_id:
                raise LedgerError(f"the release {release_id} is {release.outcome} already")
        raise LedgerError(f"the ledger knows no release {release_id}")

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
                    f"the ledger {path} is not what was written, so nothing can be released:",
                    *map(str, breaks),
                    "Find out what happened. To go on from here: gedp ledger decide --note '...'",
                ]
            )
        )


def _refusal(state: LedgerState, event: Reserve) -> str:
    left = left_of(event.budget, state.total)
    advice = "Have the budget raised"
    if left != NOTHING:
        advice = f"Multiply every query's mu by {factor_within(left, event.loss)}, drop a query, or have it raised"
    return (
        f"over budget: mu = {mu_up(state.total)} is spent on this dataset and the release asks for mu = "
        f"{mu_up(event.loss)}, together {mu_up(state.total + event.loss)}. The budget is {mu_down(event.budget)}, so "
        f"mu = {mu_down(left)} remains. {advice}"
    )


def _who() -> str:
    """The user's name as the operating system has it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"
