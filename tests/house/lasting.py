"""What lasts of a file: the same on every machine, whichever version of a library wrote it.

A Parquet file or a workbook is what its rows or sheets say, not how they are compressed. Numbers that go through linear
algebra, logarithms or exponentials have the last digits of the machine: they are compared by a sum over all of them,
which may differ a little.
"""

import io
import json
import math
import re
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

#: A number with a decimal point or an exponent.
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])")
#: How far the sum may move: as if one number moved by so much of itself or, where it is below `SMALL`, of that.
TOLERANCE = 1e-9
SMALL = 1e-3
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Pin:
    """What a file is compared by: the digest of its text or, of rounded numbers, of its words and a sum of numbers."""

    digest: str
    numbers: float | None = None

    @classmethod
    def exact(cls, text: str) -> "Pin":
        """The pin of a text in which every digit lasts."""
        return cls(_digest(text)[:16])

    @classmethod
    def rounded(cls, text: str) -> "Pin":
        """The pin of a text in which the last digits of numbers may differ."""
        words, numbers = parted(text)
        return cls(_digest(words)[:16], numbers)

    @classmethod
    def read(cls, written: str) -> "Pin":
        """The pin that `str` wrote."""
        digest, *numbers = written.split()
        return cls(digest, *map(float, numbers))

    def __str__(self) -> str:
        return self.digest if self.numbers is None else f"{self.digest} {self.numbers!r}"

    def agrees(self, other: "Pin") -> bool:
        """Whether another pin is of the same file."""
        if self.numbers is None or other.numbers is None:
            return self == other
        return self.digest == other.digest and math.isclose(self.numbers, other.numbers, rel_tol=0, abs_tol=TOLERANCE)


def text_of(path: Path) -> str:
    """All that a file says."""
    return _text(path.suffix, path.read_bytes())


@lru_cache(maxsize=100)  # the program takes the checksum of a file again and again
def _text(suffix: str, content: bytes) -> str:
    if suffix == ".parquet":
        return table_text(pq.read_table(io.BytesIO(content)))
    if suffix == ".xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return "".join(f"{name}\n{file.read(name).decode()}\n" for name in sorted(file.namelist()))
    return content.decode()


def table_text(table: pa.Table) -> str:
    """A table as lines: what it is, what its columns are, then rows."""
    columns = [[field.name, str(field.type), _texts(field.metadata)] for field in table.schema]
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = (_texts(table.schema.metadata), *columns, *rows)
    return "".join(f"{json.dumps(line, ensure_ascii=False, default=str)}\n" for line in lines)


def checksum(path: Path) -> str:
    """A checksum that lasts: numbers go into it with few digits of their sum."""
    words, numbers = parted(text_of(path))
    return _digest(f"{words}{numbers:.3f}")


@lru_cache(maxsize=100)
def parted(text: str) -> tuple[str, float]:
    """A text without its numbers, and a sum over them that moves when one of them does, or when two change places."""
    numbers = (math.asinh(float(number) / SMALL) for number in _NUMBER.findall(text))
    return _NUMBER.sub("#", text), math.fsum((1 + i * _GOLDEN % 1) * each for i, each in enumerate(numbers))


def _texts(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
