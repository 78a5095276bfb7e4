"""Tables that are one file or, where many machines wrote them, a folder of parts."""

import glob
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.files import WriteError, is_ledger, regular, sha256, swap, writing

PARTS = "part-*.parquet"


def files_of(table: Path) -> list[Path]:
    """The file of a table, or those of its parts."""
    return sorted(table.glob(PARTS)) if table.is_dir() else [table]


def pattern_of(table: Path) -> str:
    """What names exactly these files, for those who take patterns."""
    return f"{glob.escape(str(table))}/{PARTS}" if table.is_dir() else str(table)


def digest(table: Path) -> str:
    """The SHA-256 checksum of a file; of a folder, that of the list of its parts that sha256sum would print."""
    if not table.is_dir():
        return sha256(table)
    lines = [f"{sha256(path)}  {path.name}\n" for path in files_of(table)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_columns(table: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a table, or some columns of them."""
    wanted = None if columns is None else list(columns)
    return pa.concat_tables([pq.read_table(regular(f), columns=wanted, partitioning=None) for f in files_of(table)])


@contextmanager
def replacing_table(path: Path) -> Iterator[Path]:
    """Where a table is to be made that takes the place of `path` at the end, or is removed if anything goes wrong."""
    if path.exists() and not path.is_file() and (not path.is_dir() or set(path.iterdir()) - set(files_of(path))):
        raise WriteError(f"cannot write {path}: it is neither a file nor a folder of the parts of a table")
    if is_ledger(path):
        raise WriteError(f"cannot write {path}: it is a ledger, and what was spent is never replaced")
    with writing(path):
        private = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"))
        made = private / path.name
        try:
            yield made
            if path.is_file():
                made.chmod(path.stat().st_mode | (0o111 if made.is_dir() else 0))
            if path.is_dir() or (path.exists() and made.is_dir()):
                swap(made, path)
            else:
                made.replace(path)
        finally:
            shutil.rmtree(private, ignore_errors=True)
