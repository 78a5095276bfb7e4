"""What a table holds, by which a ledger knows it again whatever its file, its format, its order and its names.

**The rule.** Two tables are the same rows if they have as many rows and

- the digest over all their rows, of every column that the spec uses, is the same; or
- a confidential attribute has the same values: the digest over its column is the same, and the column is telling. One
  is telling if it has at least 8 different values, or, in a table of fewer rows, a different one in every row. Others,
  such as flags and columns of zeros, could be the same by chance.

The same rows take the same ledger. In a series an attribute may keep its values for a quarter, so a table is taken for
that of another period only if one of the two has no telling attribute that the other lacks. (Nobody is asked about
others: a decision is published, and would tell that no value of an attribute has changed.) A person decides about a
table that would get another ledger than one of which at least half of the establishments are the same and an attribute
has the same name, or than one with the same columns in the same folder.

Numbers are the exact ones that the table holds, whatever their type and unit; texts are compared without blanks around
them and without leading zeros. Names of columns and the order of rows and columns do not matter.

**What is stored.** Digests over whole columns and whole tables, keyed with the ledger's key; never over one value or
one row. Of the establishments, whose ids and public columns are public, there is a sketch: of each of 256 classes by
hash the smallest hash, keyed. The share of classes with the same one estimates the share of establishments that two
tables have in common. All of it lies in the ledger and leaves it in no export.
"""

import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

PLACES = 256
TELLING = 8
MOST_PART = 0.5  # of the establishments of the smaller table

_DIGEST = re.compile(r"[0-9a-f]{64}|")
_TOKEN = re.compile(r"[0-9a-f]{12}|-")


@dataclass(frozen=True, repr=False)
class TableContent:
    """What one pass over the rows of a table found. It is confidential: only what `mark` makes of it is stored."""

    rows: int
    whole: bytes  # a sum of hashes over all rows
    columns: Mapping[str, bytes]  # of the attributes; empty where a column is not telling
    sketch: Sequence[int | None]  # the smallest hash of each class of establishments, None where there is none
    has_ids: bool  # what tells establishments apart: their ids, or all public columns

    def mark(self, key: bytes) -> "ContentMark":
        """How the ledger with this key knows the table again."""

        def digest(what: str, content: bytes) -> str:
            return hmac.new(key, what.encode() + content, sha256).hexdigest()

        def token(place: int, least: int | None) -> str:
            what = f"{'id' if self.has_ids else 'public'} {place} {least}"
            return "-" if least is None else digest(what, b"")[:12]

        return ContentMark(
            self.rows,
            digest("rows", self.whole) if self.rows > 1 else "",  # of one row it would be the digest of a value
            {name: digest("column", content) if content else "" for name, content in self.columns.items()},
            tuple(token(place, least) for place, least in enumerate(self.sketch)),
        )


#: Goes over the rows when it is first called.
Contents = Callable[[], TableContent]


@dataclass(frozen=True)
class KnownBy:
    """What the data of a release are known again by: files, names of tables in a database, and what they hold."""

    files: Sequence[Path] = ()
    tables: Sequence[str] = ()
    content: Contents | None = None


#: Of data that nothing tells from others.
UNKNOWN = KnownBy()


@dataclass(frozen=True)
class ContentMark:
    """How a ledger knows a table again: keyed digests over all its rows and over each telling attribute; a sketch."""

    rows: int
    whole: str  # "" for a table of one row
    columns: Mapping[str, str]  # "" for a column that is not telling
    sketch: tuple[str, ...]

    @property
    def text(self) -> str:
        """The canonical text: JSON in one way only."""
        content = {"rows": self.rows, "whole": self.whole, "columns": dict(self.columns), "sketch": list(self.sketch)}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the text, by which an entry names it. The text holds nothing but the number that is not keyed."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def telling(self) -> frozenset[str]:
        """The digests of its telling columns."""
        return frozenset(filter(None, self.columns.values()))

    def shares_a_name_with(self, other: "ContentMark") -> bool:
        """Whether both have an attribute of the same name."""
        return not self.columns.keys().isdisjoint(other.columns)


@dataclass(frozen=True)
class Doubt:
    """What a person has to decide before a release: what is recorded if they allow it, and what else they can do."""

    what: str
    fix: str


def read_mark(text: str) -> ContentMark:
    """The mark with this text; ValueError if there is none."""
    try:
        content = json.loads(text)
        rows, whole, columns, sketch = (content[key] for key in ("rows", "whole", "columns", "sketch"))
        sound = type(rows) is int and rows >= 0 and all(map(_DIGEST.fullmatch, [whole, *columns.values()]))
        mark = ContentMark(rows, whole, columns, tuple(sketch))
        if sound and len(sketch) == PLACES and all(map(_TOKEN.fullmatch, sketch)) and mark.text == text:
            return mark
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a mark") from error
    raise ValueError("not a mark")


def same_rows(one: ContentMark, other: ContentMark) -> bool:
    """Whether two tables are the same rows, by the rule above."""
    if one.rows != other.rows:
        return False
    return bool(one.whole and one.whole == other.whole) or bool(one.telling & other.telling)


def same_period(one: ContentMark, other: ContentMark) -> bool:
    """Whether two tables of a series can only be those of one period, by the rule above."""
    if not same_rows(one, other):
        return False
    return one.whole == other.whole or one.telling <= other.telling or other.telling <= one.telling


def share_in_common(one: ContentMark, other: ContentMark) -> float:
    """Which part of the establishments of the smaller table the other one has too, about."""
    pairs = [(a, b) for a, b in zip(one.sketch, other.sketch, strict=True) if (a, b) != ("-", "-")]
    alike = sum(a == b for a, b in pairs) / max(len(pairs), 1)
    in_both = alike * (one.rows + other.rows) / (1 + alike)
    return min(in_both / max(min(one.rows, other.rows), 1), 1.0)
