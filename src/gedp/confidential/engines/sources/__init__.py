"""Where tables come from. Whatever it is, DuckDB reads it in passes, several times, with the same rows every time.

files       files on disk: which they are, and whether they are still the same
kinds       what kind of file it is, by its name and by its first bytes, and what is wrong with it as a whole
texts       CSV and other texts; why one cannot be read
streams     rows that only Python can read, in an Arrow stream that starts anew for every pass; held if they are few
workbooks   Excel, OpenDocument, of which another process reads `sheets`
statistical SAS, SPSS, Stata
databases   DuckDB and SQLite files, and databases by ADBC
opening     which of these reads a source
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from gedp.confidential.engines.sources.files import Stamp, stamps_of
from gedp.errors import Fault, TableChangedError

Ask = Callable[[str], Sequence[tuple[Any, ...]]]


class TableSource:
    """A table that can be read again and again, with the same rows in the same order every time."""

    #: Whether names of columns come from a schema. Those of a text are its first line, which may hold a record.
    has_schema = True
    #: Why all of it is held in memory; None where it is read in pieces.
    held_because: str | None = None

    def __init__(self, name: str, stamps: Mapping[Path, Stamp]) -> None:
        self.name = name
        self._stamps = dict(stamps)

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory or in a database."""
        return list(self._stamps)

    def identities(self) -> list[str]:
        """What a table is called in its database, however it was spelled; none for files."""
        return []

    def require_unchanged(self) -> None:
        """Rejects files that are not the ones that were opened."""
        if self._stamps and stamps_of(self.name) != self._stamps:
            raise TableChangedError

    def offered(self, connection: duckdb.DuckDBPyConnection) -> str:
        """What follows FROM in DuckDB's SQL, once it is registered there."""
        raise NotImplementedError

    def headers(self, ask: Ask) -> list[list[str]]:
        """The names of columns as the source has them, of each file where they may differ; `ask` asks DuckDB."""
        raise NotImplementedError

    def why(self) -> Fault | None:
        """Why it could not be read, if that can be told without quoting it."""
        return None
