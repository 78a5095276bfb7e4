"""The ledger: one append-only, hash-chained file per dataset, in which every release is recorded before its noise is
drawn.

    amounts      exact numbers as text
    digests      fingerprints of data and specs
    contents     what a table is known again by, whatever its file
    entries      what is written down
    chain        whether it still is what was written
    state        what it says: releases, total, the promise over all of them
    export       its entries as files for other programs
    store        the SQLite file
    limits       the budgets that a release has to keep
    series_rules whether it fits the periods that the ledger holds
    judging      whether a release may be recorded
    ledger       reserve, commit, abandon, decide
    finding      which ledger is a dataset's
    running      releases that are being made, and where they go
    finishing    releases that were interrupted: finished, or recorded as lost
"""

from gedp.ledger.chain import Verification
from gedp.ledger.contents import KnownBy
from gedp.ledger.digests import fingerprint, spec_digest
from gedp.ledger.entries import Abandon, Break, Commit, Decision, Entry, InSeries, Permit, Reserve
from gedp.ledger.finding import (
    doubts_about,
    find_ledger,
    ledgers_of,
    new_ledger,
    require_one_series,
    require_own_ledger,
)
from gedp.ledger.judging import DecidedBy, LessPromisedError, Request, left_after
from gedp.ledger.ledger import Ledger, PreparedReservation, Reservation
from gedp.ledger.state import EMPTY, CombinedPromise, LedgerState, RecordedRelease
from gedp.ledger.store import LedgerBrokenError, LedgerError, LedgerLockedError, NotALedgerError

__all__ = [
    "EMPTY",
    "Abandon",
    "Break",
    "CombinedPromise",
    "Commit",
    "DecidedBy",
    "Decision",
    "Entry",
    "InSeries",
    "KnownBy",
    "Ledger",
    "LedgerBrokenError",
    "LedgerError",
    "LedgerLockedError",
    "LedgerState",
    "LessPromisedError",
    "NotALedgerError",
    "Permit",
    "PreparedReservation",
    "RecordedRelease",
    "Request",
    "Reservation",
    "Reserve",
    "Verification",
    "doubts_about",
    "find_ledger",
    "fingerprint",
    "ledgers_of",
    "left_after",
    "new_ledger",
    "require_one_series",
    "require_own_ledger",
    "spec_digest",
]
