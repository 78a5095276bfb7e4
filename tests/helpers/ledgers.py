"""Ledgers for the tests: how to make one, spend from it, and edit it by hand as nobody should."""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from gedp.accounting.composition import PrivacyLoss
from gedp.ledger import DecidedBy, Ledger, LessPromisedError, Request, Reservation
from gedp.ledger.store import TRIGGERS
from gedp.policy import Attribute, Closeness, PriceLine, PriceList

EMP = Attribute("emp", Closeness("sqrt", Decimal("0.5")))
WAGE = Attribute(
    "wage",
    Closeness("log", Decimal("0.1"), shift=Decimal(1)),
    signed=True,
    at_least=(Closeness("sqrt", Decimal(50)),),
)
SPEC, MANIFEST = "5" * 64, "a" * 64


def price_list(budget: str | Decimal, *mus: str | Decimal) -> PriceList:
    """One query of emp for every mu."""
    lines = (PriceLine(f"query {i}", "emp", PrivacyLoss.of(mu)) for i, mu in enumerate(mus))
    return PriceList(tuple(lines), PrivacyLoss.of(budget))


def spend(ledger: Ledger, budget: str | Decimal, *mus: str | Decimal, attribute: Attribute = EMP) -> Reservation:
    """Reserves a release; where it promises less than those before, somebody has decided so."""
    request = Request(price_list(budget, *mus), {"emp": attribute})
    try:
        return ledger.prepare(request, spec_digest=SPEC).reserve()
    except LessPromisedError:
        return ledger.prepare(request, spec_digest=SPEC, decided_by=DecidedBy("the registrar", "memo 12")).reserve()


def history(path: Path) -> Ledger:
    """A ledger with an entry of every kind but a decision."""
    ledger = Ledger.open(path)
    prices = PriceList(
        (PriceLine("identity", "emp", PrivacyLoss.of("0.7")), PriceLine("county", "wage", PrivacyLoss.of("0.15"))),
        PrivacyLoss.of("2.31"),
    )
    attributes = {"emp": EMP, "wage": WAGE}
    first = ledger.prepare(Request(prices, attributes), spec_digest=SPEC, note="first").reserve()
    ledger.commit(first.release_id, MANIFEST)
    second = spend(ledger, "2.31", "0.3", "0.4")
    ledger.abandon(second.release_id, "no such column", before_noise=True)
    third = spend(ledger, "2.31", "0.6")
    ledger.abandon(third.release_id, "disk full")
    spend(ledger, "2.31", "0.2")
    return ledger


def edit(path: Path, change: Callable[[sqlite3.Connection], object], *, restore_triggers: bool = True) -> None:
    """Changes the file behind the ledger's back: triggers off, change, triggers on."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        change(connection)
        if restore_triggers:
            for statement in TRIGGERS.values():
                connection.execute(statement)


def bodies(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return [json.loads(body) for (body,) in connection.execute("SELECT body FROM entries ORDER BY sequence")]


def sealed(content: object) -> tuple[str, str]:
    """The text of an entry and its hash, in a few lines of our own."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return text, hashlib.sha256(text.encode()).hexdigest()


def rewrite(path: Path, sequence: int, content: object, *, hash_too: bool) -> None:
    """Puts other content into an entry, with or without the hash that goes with it."""
    text, digest = sealed(content)

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE entries SET body = ? WHERE sequence = ?", (text, sequence))
        if hash_too:
            connection.execute("UPDATE entries SET hash = ? WHERE sequence = ?", (digest, sequence))

    edit(path, change)


def rewrite_all(path: Path, contents: list[dict[str, Any]], *, head_too: bool) -> None:
    """A forged ledger whose chain is right again; with its head, nothing inside the file can tell."""
    previous = contents[0]["previous"]
    rows = []
    for number, content in enumerate(contents, start=1):
        text, digest = sealed({**content, "sequence": number, "previous": previous})
        rows.append((number, digest, text))
        previous = digest

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM entries")
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        if head_too:
            head = (rows[-1][0], rows[-1][1], contents[-1]["total"])
            connection.execute("UPDATE head SET sequence = ?, hash = ?, total = ?", head)

    edit(path, change)
