"""Whether the rows of a ledger are what was written: every break in the chain, found in one pass.

Pure functions over what was read from the file, so that they can be tested, and trusted, without a database.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256

from gedp.accounting.composition import PrivacyLoss
from gedp.ledger.amounts import loss_of
from gedp.ledger.contents import ContentMark, read_mark
from gedp.ledger.entries import (
    Abandon,
    Break,
    Commit,
    Decision,
    Entry,
    Permit,
    Reserve,
    canonical,
    read_entry,
)

_HASH = re.compile(rb"[0-9a-f]{64}")


@dataclass(frozen=True)
class Row:
    """An entry as it lies in the file, which may be anything if somebody edited it."""

    sequence: int
    hash: bytes
    body: bytes

    @property
    def link(self) -> str:
        """What the next entry must name as its previous hash."""
        return self.hash.decode() if _HASH.fullmatch(self.hash) else sha256(self.hash).hexdigest()

    @property
    def entry(self) -> Entry | None:
        """The entry it holds, if it can still be read."""
        try:
            return read_entry(self.body.decode("ascii"))
        except ValueError:
            return None


@dataclass(frozen=True)
class Head:
    """The last entry's number, hash and total, kept apart from the entries so that a cut-off end shows."""

    sequence: int
    hash: bytes
    total: bytes

    @property
    def loss(self) -> PrivacyLoss | None:
        """The total, if it can still be read."""
        try:
            return loss_of(self.total.decode("ascii"))
        except ValueError:
            return None


@dataclass(frozen=True)
class Stored:
    """Everything in the file that the chain is made of.

    `genesis` is the hash of the ledger's identity, which the first entry names as its previous; `schema` says how the
    tables and triggers differ from ours, or nothing; `contents` are the texts that entries name by their digests.
    """

    genesis: str
    rows: tuple[Row, ...]
    head: Head | None
    schema: str = ""
    contents: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Verification:
    """The entries that can be read, and every place where the ledger is not as it was written."""

    entries: tuple[Entry, ...]
    hashes: tuple[str, ...]  # the genesis and the hash of every row: what a noted head may be
    breaks: tuple[Break, ...]
    decided: tuple[Break, ...]
    contents: Mapping[str, ContentMark] = field(default_factory=dict)  # that can be read, by their digests

    @property
    def ok(self) -> bool:
        """Whether nothing is broken but what a person has decided about."""
        return not self.breaks

    @property
    def head(self) -> str:
        """The hash to write down: it stands for everything up to here."""
        return self.hashes[-1]

    @property
    def last_break(self) -> int:
        """The number of the last entry about which there is or was any doubt; 0 if none."""
        return max((b.sequence for b in (*self.breaks, *self.decided)), default=0)

    def knows(self, head: str) -> bool:
        """Whether the ledger once ended with this hash, so that it has only grown since."""
        return head in self.hashes


def verify(stored: Stored) -> Verification:
    """Checks all of it. A break that an intact decision names, and that still looks the same, counts as decided."""
    read = [(row, row.entry) for row in stored.rows]
    entries = tuple(entry for _, entry in read if entry)
    found = [*_schema_breaks(stored), *_row_breaks(stored.genesis, read), *_meaning_breaks(entries)]
    contents = {digest: mark for digest, text in stored.contents.items() if (mark := _content(digest, text))}
    found += [*_content_breaks(entries, stored, contents), *_head_breaks(stored)]
    broken = {b.sequence for b in found}
    decisions = [e for e in entries if isinstance(e.event, Decision) and e.sequence not in broken]
    decided = {(b.sequence, b.found): b for e in decisions for b in _breaks_of(e)}
    open_breaks = [b for b in found if (b.sequence, b.found) not in decided]
    if not open_breaks:
        open_breaks += _total_breaks(entries, decided.values())
    hashes = (stored.genesis, *(row.link for row in stored.rows))
    open_breaks.sort(key=lambda b: b.sequence)
    return Verification(entries, hashes, tuple(open_breaks), tuple(decided.values()), contents)


@dataclass(frozen=True)
class Counted:
    """An entry, the total it should state, and the total that counts: never less than what is stated anywhere."""

    entry: Entry
    expected: PrivacyLoss
    total: PrivacyLoss


def running_totals(entries: Iterable[Entry], last_break: int) -> Iterator[Counted]:
    """What counts as spent after each entry. Without breaks, the stated, the expected and the counted are one.

    With breaks, every step counts as the larger of what the entry says it costs and what the stated totals rose by. An
    abandonment before noise gives its budget back only if the reservation lies after every break, because what stands
    before one may have been made up.
    """
    total = stated = Fraction(0)
    refundable: dict[str, Fraction] = {}
    for entry in entries:
        step = Fraction(0)
        match entry.event:
            case Reserve(release=release, loss=loss):
                step = loss.mu_squared
                if entry.sequence > last_break:
                    refundable[release] = step
            case Abandon(release=release, before_noise=True):
                step = -refundable.pop(release, Fraction(0))
            case Decision(added=added):
                step = added.mu_squared
            case _:
                pass
        expected = total + step
        if isinstance(entry.event, Decision):  # states what was counted when it was made, breaks and all
            total = max(expected, entry.total.mu_squared)
        else:
            total += max(step, entry.total.mu_squared - stated)
        stated = entry.total.mu_squared
        yield Counted(entry, PrivacyLoss(expected), PrivacyLoss(total))


def _breaks_of(entry: Entry) -> Iterator[Break]:
    if isinstance(entry.event, Decision):
        yield from (b for b in entry.event.breaks if b.sequence < entry.sequence)


def _break(sequence: int, problem: str, *evidence: object) -> Break:
    return Break(sequence, problem, sha256(canonical([sequence, *evidence]).encode()).hexdigest())


def _schema_breaks(stored: Stored) -> Iterator[Break]:
    if stored.schema:
        yield _break(0, f"its tables and triggers were changed ({stored.schema})", "schema", stored.schema)


def _row_breaks(genesis: str, read: Sequence[tuple[Row, Entry | None]]) -> Iterator[Break]:
    link, expected = genesis, 1
    for row, entry in read:
        missing = row.sequence > expected
        if missing:
            problem = f"missing, and so is all up to entry {row.sequence}" if row.sequence > expected + 1 else "missing"
            yield _break(expected, f"it is {problem}", "missing", row.sequence, link)
        problems = []
        if row.sequence < expected:
            problems.append("it has an impossible number")
        if sha256(row.body).hexdigest().encode() != row.hash:
            problems.append("its content does not match its hash")
        if entry is None:
            problems.append("it cannot be read")
        elif entry.sequence != row.sequence:
            problems.append(f"it was written as entry {entry.sequence}")
        elif entry.previous != link and not missing:
            problems.append("it does not follow from what stands before it")
        if problems:
            yield _break(row.sequence, ", and ".join(problems), link, row.hash.hex(), row.body.hex())
        link, expected = row.link, max(row.sequence + 1, expected)


def _head_breaks(stored: Stored) -> Iterator[Break]:
    last = stored.rows[-1] if stored.rows else None
    number, link = (last.sequence, last.link) if last else (0, stored.genesis)
    head = stored.head
    if head is None:
        yield _break(number, "the record of the last entry is gone", "no head", link)
    elif head.sequence > number:
        problem = f"the ledger went on to entry {head.sequence}, and what came after entry {number} is missing"
        yield _break(number, problem, "short", head.sequence, head.hash.hex(), head.total.hex(), link)
    elif (head.sequence, head.hash) != (number, link.encode()):
        problem = "it is not the last entry that was written"
        yield _break(number, problem, "head", head.sequence, head.hash.hex(), head.total.hex(), link)
    elif head.loss != (last.entry.total if last and last.entry else PrivacyLoss(Fraction(0))):
        problem = "the total beside it is not its own"
        yield _break(number, problem, "head", head.sequence, head.hash.hex(), head.total.hex(), link)


def _content(digest: str, text: bytes) -> ContentMark | None:
    """What a table is known again by, if it still is what the digest says."""
    try:
        return read_mark(text.decode("ascii")) if sha256(text).hexdigest() == digest else None
    except ValueError:
        return None


def _content_breaks(entries: Iterable[Entry], stored: Stored, sound: Mapping[str, ContentMark]) -> Iterator[Break]:
    for entry in entries:
        digest = entry.event.content if isinstance(entry.event, Reserve) else None
        if digest is not None and digest not in sound:
            problem = "what its table is known by is missing or was changed"
            yield _break(entry.sequence, problem, "content", stored.contents.get(digest, b"").hex())


def _meaning_breaks(entries: Iterable[Entry]) -> Iterator[Break]:
    """A release is reserved once, and then finished or abandoned once."""
    open_releases: dict[str, bool] = {}
    for entry in entries:
        problem = ""
        match entry.event:
            case Reserve(release=release):
                if release in open_releases:
                    problem = "it reserves a release that was reserved before"
                open_releases[release] = True
            case Commit(release=release) | Abandon(release=release):
                if not open_releases.get(release):
                    problem = "it ends a release that is not open"
                open_releases[release] = False
            case Decision() | Permit():
                pass
        if problem:
            yield _break(entry.sequence, problem, "meaning", problem, entry.hash)


def _total_breaks(entries: Sequence[Entry], decided: Iterable[Break]) -> Iterator[Break]:
    """Every total is the one before and what the entry adds, from the last decision about breaks on."""
    last_break = max((b.sequence for b in decided), default=0)
    resumed = max((e.sequence for e in entries if isinstance(e.event, Decision) and e.event.breaks), default=0)
    for counted in running_totals(entries, last_break):
        entry = counted.entry
        if entry.sequence > resumed and entry.total != counted.expected:
            yield _break(entry.sequence, "its total does not add up", "total", entry.hash)
