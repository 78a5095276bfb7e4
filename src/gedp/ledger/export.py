"""Entries as files that other programs read."""

import csv
import io
import json
from collections.abc import Iterable

from gedp.csvfiles import guarded
from gedp.ledger.amounts import loss_text
from gedp.ledger.entries import Entry, Reserve, entry_text

_COLUMNS = (
    "sequence",
    "time",
    "who",
    "kind",
    "release",
    "mu_squared",
    "total",
    "budget",
    "fingerprint",
    "spec_digest",
    "attributes",
    "prices",
    "manifest_digest",
    "before_noise",
    "breaks",
    "added",
    "note",
    "files",
    "synthetic",
    "seeded",
    "public",
    "missing",
    "period",
    "year_budget",
    "series_budget",
    "charged",
    "content",
    "unit",
    "by",
    "reason",
    "what",
    "previous",
    "hash",
)


def json_lines(entries: Iterable[Entry]) -> str:
    """One JSON object per entry: its fields and its hash, which is SHA-256 over the canonical text of the fields."""
    return "".join(f"{json.dumps({**json.loads(entry_text(e)), 'hash': e.hash})}\n" for e in entries)


def csv_text(entries: Iterable[Entry]) -> str:
    """One row per entry; lists and tables as JSON inside their cells; mu_squared is what a reservation costs."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, _COLUMNS, restval="")
    writer.writeheader()
    for entry in entries:
        content = {**json.loads(entry_text(entry)), "hash": entry.hash}
        if isinstance(entry.event, Reserve):
            content["mu_squared"] = loss_text(entry.event.loss)
            content |= content.pop("series", {})
        writer.writerow(
            {name: guarded(value if isinstance(value, str) else json.dumps(value)) for name, value in content.items()}
        )
    return buffer.getvalue()
