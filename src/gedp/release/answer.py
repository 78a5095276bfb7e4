"""The answer to a query of one's own: one JSON file, with all that anybody may know about it.

It has a format number of its own and follows the rules for manifests (docs/evolution.md): every key must be there, and
no other.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import Fault, FaultsError, Refused
from gedp.files import regular, writing
from gedp.policy.section import Faults, Section
from gedp.release.checks import finite, is_null, positive, positive_decimal, texts
from gedp.release.cumulative import CumulativePromise, cumulative_content, read_cumulative
from gedp.release.manifest import ENTROPIES
from gedp.tables import Table

FORMAT = 4  # the first of a released version; 1 to 3 were never part of one
ANSWER = "answer.json"  # in its private folder
KIND = "answer to a query of one's own"


@dataclass(frozen=True, repr=False)
class Answer:
    """The noisy answer to a query of one's own. It is protected as far as the stated sensitivity is true."""

    gedp: str
    created: datetime
    release: str | None  # its name in the ledger; None where there is no ledger
    entropy: str
    query: str
    attributes: Mapping[str, str]  # with the protection of each
    mu: Decimal
    sensitivity: Decimal  # as stated by whoever asked
    largest: Decimal  # as stated: entries are cut off there
    std_error: float  # of every entry
    labels: tuple[str, ...]
    values: tuple[float, ...]
    together: CumulativePromise | None = None

    @property
    def is_seeded(self) -> bool:
        """Whether the noise can be drawn again by whoever knows the seed, so that nothing is protected."""
        return self.entropy != "system"

    @property
    def loss(self) -> PrivacyLoss:
        """What it cost, in μ and in other terms."""
        return PrivacyLoss.of(self.mu)

    def table(self) -> Table:
        """The entries with their labels and standard errors."""
        errors = [self.std_error] * len(self.values)
        return Table(pa.table({"label": list(self.labels), "estimate": list(self.values), "std_error": errors}))

    def __repr__(self) -> str:
        warning = ", NOT PROTECTED: seeded" if self.is_seeded else ""
        entries = "1 entry" if len(self.values) == 1 else f"{len(self.values)} entries"
        return f"Answer({self.query}: {entries}; mu = {self.mu}, stated sensitivity {self.sensitivity}{warning})"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def answer_text(answer: Answer) -> str:
    """The answer as the JSON text that `read_answer` reads."""
    content = {
        "format": FORMAT,
        "kind": KIND,
        "gedp": answer.gedp,
        "created": answer.created.isoformat(timespec="seconds"),
        "release": answer.release,
        "entropy": answer.entropy,
        "query": answer.query,
        "attributes": dict(answer.attributes),
        "mu": str(answer.mu),
        "stated": {"sensitivity": str(answer.sensitivity), "largest": str(answer.largest)},
        "std_error": answer.std_error,
        "entries": [{"label": label, "value": v} for label, v in zip(answer.labels, answer.values, strict=True)],
        "together": None if answer.together is None else cumulative_content(answer.together),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write_answer(answer: Answer, folder: Path) -> None:
    """Writes an answer into a private folder, where `name_answer` takes it from."""
    (folder / ANSWER).write_text(answer_text(answer), encoding="utf-8")


def name_answer(folder: Path, target: Path) -> None:
    """Gives an answer that is in a private folder its name; rejected where there is anything."""
    with writing(target):
        try:
            os.link(folder / ANSWER, target)  # unlike a rename, never takes the place of a file that is there
        except FileExistsError:
            raise Refused(f"{target} already exists. Move it away; then the answer can get its name") from None
        (folder / ANSWER).unlink()


def read_answer(path: str | Path) -> Answer:
    """The answer to a query of one's own in a file; every fault in one error."""
    try:
        content = json.loads(regular(Path(path)).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise ValueError
    except (OSError, ValueError, RecursionError):
        problem = Fault("the file", "it is missing or not an answer", "Name a file that `gedp.ask` wrote")
        raise FaultsError(str(path), [problem]) from None
    if content.get("format") != FORMAT:
        raise FaultsError(str(path), [Fault("format", "it is another one", f"This version reads format {FORMAT}")])
    faults = Faults({})
    answer = _read(Section(faults, (), content))
    if answer is None or faults.found:
        raise FaultsError(str(path), faults.found)
    return answer


def _read(root: Section) -> Answer | None:
    for name in ("format", "kind"):
        root.has(name)
    version, query = root.text("gedp"), root.text("query")
    entropy = root.text("entropy", choices=ENTROPIES)
    created = root.converted("created", datetime.fromisoformat, "a date and time")
    release = None if is_null(root, "release") else root.text("release")
    attributes = texts(root.table("attributes"))
    mu = root.converted("mu", positive_decimal, "a number above 0")
    stated = root.table("stated")
    sensitivity = stated.converted("sensitivity", positive_decimal, "a number above 0")
    largest = stated.converted("largest", positive_decimal, "a number above 0")
    stated.finish()
    std_error = root.converted("std_error", positive, "a number above 0")
    labels, values = [], []
    for entry in root.tables("entries"):
        labels.append(entry.text("label"))
        values.append(entry.converted("value", finite, "a number"))
        entry.finish()
    together = None if is_null(root, "together") else read_cumulative(root.table("together"))
    root.finish()
    if created is None or mu is None or sensitivity is None or largest is None or std_error is None:
        return None
    return Answer(
        version,
        created,
        release,
        entropy,
        query,
        attributes,
        mu,
        sensitivity,
        largest,
        std_error,
        tuple(labels),
        tuple(value for value in values if value is not None),
        together,
    )
