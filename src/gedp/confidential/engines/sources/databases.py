"""A table or query of a DuckDB or SQLite file, opened so that nothing can be written.

All passes read one state of the database. A table has an order of its own, which stays; the rows of a view or of a
query are ordered by all columns that are read, so that rows that tie are the same. The id and public columns come
first, since nobody who sees the order should see who has more.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import quote
from weakref import finalize

import duckdb
import pyarrow as pa

from gedp.confidential.engines.sources import kinds
from gedp.confidential.engines.sources.files import JOURNALS, Stamp, stamps_of
from gedp.confidential.engines.sources.streams import PIECE_ROWS, Streamed, chosen, distinct, text_of, texts
from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.policy.reading import Reading
from gedp.policy.section import did_you_mean
from gedp.sql import quoted_name

SECONDS_TO_WAIT = 2.0  # for somebody who writes


#: What a query raises that the database does not understand, or that reaches for other files or settings.
_MISUNDERSTOOD = (
    sqlite3.OperationalError,
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.PermissionException,
)

T = TypeVar("T")


class Database(Protocol):
    """A database in a file, in one state."""

    def tables(self) -> dict[str, tuple[str, bool]]:
        """Tables and views as people name them: the name in SQL, and whether it is a table."""

    def schema(self, sql: str) -> pa.Schema:
        """The columns of a query."""

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query."""

    def close(self) -> None:
        """Lets go of the file."""


class FileDatabase(Streamed):
    """A table, view or query of a database in a file."""

    def __init__(
        self, name: str, stamps: Mapping[Path, Stamp], kind: kinds.Kind, reading: Reading, wanted: Sequence[str]
    ) -> None:
        (self._path,) = stamps
        self._kind = kind
        self._database = self._opened(name)
        finalize(self, self._database.close)
        self._journals = self._journals_now()
        rows, is_table = _rows_of(name, self._database, reading)
        everything = self._tried(name, lambda: self._database.schema(f"SELECT * FROM {rows}"))
        columns = as_wanted(chosen(everything.names, wanted), wanted)
        super().__init__(name, stamps, columns)
        self._sql = select(rows, columns, ordered=not is_table)
        self._types = [everything.field(column).type for column in columns]

    def schema(self) -> pa.Schema:
        """The types that the database has, or texts."""
        return pa.schema(list(zip(distinct(self.names), self._types, strict=True)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, always of the same state."""
        return self._database.batches(self._sql)

    def done(self) -> None:
        """Others may write to the file again."""
        self._database.close()

    def require_unchanged(self) -> None:
        """Rejects a file that is not the one that was opened, or that somebody wrote to."""
        super().require_unchanged()
        if self._journals_now() != self._journals:
            raise TableChangedError

    def _journals_now(self) -> list[Mapping[Path, Stamp]]:
        return [stamps_of(f"{self._path}{suffix}") for suffix in JOURNALS]

    def _opened(self, name: str) -> Database:
        return self._tried(
            name, lambda: _SqliteFile(self._path) if self._kind is kinds.SQLITE else _DuckdbFile(self._path)
        )

    def _tried(self, name: str, action: Callable[[], T]) -> T:
        """Does something with the database; its messages can quote values."""
        try:
            return action()
        except (sqlite3.Error, duckdb.Error) as error:
            is_locked = "lock" in str(error).lower()
            is_sql = isinstance(error, _MISUNDERSTOOD)
            kind = type(error).__name__
        if is_locked:
            raise FaultsError(
                name, [Fault("the file", "somebody is writing to it (locked)", "Run again once it is free")]
            )
        if is_sql:
            hint = "Try it in the database; only SELECT from its own tables can be asked"
            raise FaultsError(name, [Fault("data.query", f"the database does not carry it out ({kind})", hint)])
        raise FaultsError(
            name, [Fault("the file", f"it is damaged, or not {self._kind} ({kind})", "Get a complete copy")]
        )


class _SqliteFile:
    """SQLite has types for values, not for columns, so columns are texts."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=SECONDS_TO_WAIT,
        )
        self._connection.execute("BEGIN")
        self.tables()  # from here on, others' changes are not seen

    def tables(self) -> dict[str, tuple[str, bool]]:
        rows = self._connection.execute(
            "SELECT name, type = 'table' FROM sqlite_master "
            "WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        return {name: (quoted_name(name), bool(is_table)) for name, is_table in rows}

    def schema(self, sql: str) -> pa.Schema:
        described = self._connection.execute(f"SELECT * FROM ({sql}) LIMIT 0").description
        return pa.schema([(column[0], pa.string()) for column in described])

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        cursor = self._connection.execute(sql)
        while rows := cursor.fetchmany(PIECE_ROWS):
            yield texts([*zip(*rows, strict=True)], text_of)

    def close(self) -> None:
        self._connection.close()


class _DuckdbFile:
    """A connection of its own, which reaches no other file."""

    def __init__(self, path: Path) -> None:
        config: dict[str, str | bool | int | float | list[str]] = {
            "enable_external_access": "false",
            "temp_directory": "",
            "preserve_insertion_order": "true",
        }
        self._connection = duckdb.connect(str(path.absolute()), read_only=True, config=config)

    def tables(self) -> dict[str, tuple[str, bool]]:
        rows = self._connection.execute(
            "SELECT table_schema, table_name, table_type = 'BASE TABLE' FROM information_schema.tables "
            "ORDER BY table_schema = 'main'"  # of two that people name alike, the one that needs no schema
        ).fetchall()
        return {
            table if schema == "main" else f"{schema}.{table}": (
                f"{quoted_name(schema)}.{quoted_name(table)}",
                bool(is_table),
            )
            for schema, table, is_table in rows
        }

    def schema(self, sql: str) -> pa.Schema:
        schema: pa.Schema = self._connection.sql(f"SELECT * FROM ({sql}) LIMIT 0").to_arrow_table().schema
        return schema

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        yield from self._connection.cursor().sql(sql).to_arrow_reader(PIECE_ROWS)

    def close(self) -> None:
        self._connection.close()


def select(rows: str, columns: Sequence[str], *, ordered: bool) -> str:
    """SQL for columns of rows, ordered by all of them if their own order is not certain."""
    order = f" ORDER BY {', '.join(map(str, range(1, len(columns) + 1)))}" if ordered else ""
    return f"SELECT {', '.join(map(quoted_name, columns))} FROM {rows}{order}"


def as_wanted(columns: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Columns in the order in which they are wanted, then the others."""
    places = {name: place for place, name in enumerate(wanted)}
    return sorted(columns, key=lambda name: places.get(name, len(places)))


def asked(query: str) -> str:
    """A query as what follows FROM."""
    return f"({query.strip().rstrip(';')}\n) AS asked"


def _rows_of(name: str, database: Database, reading: Reading) -> tuple[str, bool]:
    """What follows FROM, and whether it is a table."""
    if reading.query is not None:
        return asked(reading.query), False
    tables = database.tables()
    if reading.table is None and len(tables) != 1:
        fault = Fault("data.table", f"it is missing, and there are {len(tables)} tables", did_you_mean("", tables))
        raise FaultsError(name, [fault])
    table = reading.table or next(iter(tables))
    alike = {known.lower(): known for known in tables}
    known = table if table in tables else alike.get(table.lower().removeprefix("main."))
    if known is None:
        raise FaultsError(name, [Fault("data.table", f"there is no table {table!r}", did_you_mean(table, tables))])
    return tables[known]
