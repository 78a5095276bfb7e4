"""Whole runs for the tests: a small confidential table, its spec, and `gedp` as a command."""

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.cli import main
from gedp.ledger import Ledger

SPEC = """
[data]
source = "t.parquet"
id = "key"
public = ["cnty", "naics"]

[groupers]
naics2 = { column = "naics", prefix = 2 }

[attributes]
emp = { psi = "sqrt", gamma = 0.5 }
wage = { psi = "log", gamma = 0.1, shift = 1, unit = 0.01 }

[budget]
mu = 1

[[queries]]
name = "identity"
by = "establishment"
mu = 0.1

[[queries]]
name = "county"
by = ["cnty"]
mu = { emp = 0.2, wage = 0.1 }

[[queries]]
name = "naics2 x county"
by = ["naics2", "cnty"]
mu = { emp = 0.1 }
mechanism = "psi"

[output]
dir = "out"
"""

#: mu² of one release of SPEC.
PRICE = Fraction(8, 100)

#: Declares the table synthetic.
SYNTHETIC = ('id = "key"', 'id = "key"\nsynthetic = true')

#: The ledger of a table in t.parquet.
LEDGER = "t.parquet.ledger"

COMMAND = (sys.executable, "-c", "from gedp.cli import main; main()")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def gedp(*arguments: str, folder: Path) -> Ended:
    """The command in this process, which saves the second that starting another takes."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["gedp", *arguments]):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Ended(code, _said(out), _said(err))


def _said(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def start(*arguments: str, folder: Path) -> "subprocess.Popen[str]":
    """The command in a process of its own."""
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def small_table(rows: int = 40) -> pa.Table:
    """Establishments with two public columns and two confidential ones."""
    chance = np.random.default_rng(rows)
    return pa.table(
        {
            "key": [f"k{i:04}" for i in range(rows)],
            "cnty": [("001", "003", "005")[i % 3] for i in range(rows)],
            "naics": [("1111", "1122", "2222", "2361")[i % 4] for i in range(rows)],
            "emp": chance.integers(0, 3000, rows),
            "wage": [int(value) / 100 for value in chance.integers(0, 10**7, rows)],
        }
    )


def write_case(folder: Path, *changes: tuple[str, str], table: pa.Table | None = None) -> Path:
    """The spec, with some of its text changed, as spec.toml, and the table as t.parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(small_table() if table is None else table, folder / "t.parquet")
    return write_spec(folder, *changes)


def write_spec(folder: Path, *changes: tuple[str, str]) -> Path:
    """The spec, with some of its text changed, as spec.toml."""
    path = folder / "spec.toml"
    path.write_text(changed(SPEC, *changes), encoding="utf-8")
    return path


def changed(text: str, *changes: tuple[str, str]) -> str:
    """A text with parts of it, which must be there, replaced."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def spent(folder: Path, ledger: str = LEDGER) -> Fraction:
    """mu² that counts as spent; 0 where there is no ledger."""
    path = folder / ledger
    return Ledger.open(path, create=False).state().total.mu_squared if path.exists() else Fraction(0)


def outcomes(folder: Path) -> list[str]:
    """How the releases in the ledger ended."""
    return [release.outcome for release in Ledger.open(folder / LEDGER, create=False).state().releases]


def one_message(text: str) -> bool:
    """Whether an error is told once, and without a traceback."""
    return text.startswith("gedp: ") and text.count("gedp: ") == 1 and "Traceback" not in text


def spoil(path: Path) -> None:
    """Flips a bit in the middle of a file."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def names(folder: Path) -> list[str]:
    """Everything in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def all_files(folder: Path) -> Sequence[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
