"""The ledger: one append-only, hash-chained file per dataset, in which every release is recorded before its noise is
drawn.

    amounts      exact numbers as text
    digests      fingerprints of data and specs
    entries      what is written down
    chain        whether it still is what was written
    state        what it says: releases, total, the promise over all of them
    export       its entries as files for other programs
    store        the SQLite file
    ledger       reserve, commit, abandon, decide
"""

from gedp.accounting.ledger.chain import Verification
from gedp.accounting.ledger.digests import fingerprint, spec_digest
from gedp.accounting.ledger.entries import Abandon, Break, Commit, Decision, Entry, Reserve
from gedp.accounting.ledger.ledger import Ledger, Reservation
from gedp.accounting.ledger.state import CombinedPromise, LedgerState, Release
from gedp.accounting.ledger.store import LedgerBrokenError, LedgerError, LedgerLockedError

__all__ = [
    "Abandon",
    "Break",
    "CombinedPromise",
    "Commit",
    "Decision",
    "Entry",
    "Ledger",
    "LedgerBrokenError",
    "LedgerError",
    "LedgerLockedError",
    "LedgerState",
    "Release",
    "Reservation",
    "Reserve",
    "Verification",
    "fingerprint",
    "spec_digest",
]
