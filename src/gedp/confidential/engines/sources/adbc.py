"""Tables in databases, by ADBC. How to connect is up to the environment; a spec has the name of a driver alone.

PostgreSQL shows one state of the database to all passes, in one transaction. Rows have no order there, so they are
ordered by all columns that are read, the id and public ones first: rows that tie are the same. Of other databases
neither is known, so their rows are read once, by one query, and held.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit
from weakref import finalize

import pyarrow as pa

from gedp.confidential.engines.sources.databases import as_wanted, asked, select
from gedp.confidential.engines.sources.extras import needed
from gedp.confidential.engines.sources.streams import Streamed, chosen, distinct
from gedp.errors import Fault, FaultsError, GedpError
from gedp.policy.reading import Reading
from gedp.policy.values import DATABASE
from gedp.sql import quoted_name, quoted_text

#: Where the address of the database is, if the client's own settings (PGHOST, PGSERVICE, …) do not say it.
ADDRESS = "GEDP_DATABASE"
POSTGRESQL = "postgresql"
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
#: The tables that hold rows and that this transaction has read, with the cluster and the database.
_LOCKED = """
SELECT DISTINCT concat_ws('/', system_identifier, current_database(), nspname || '.' || relname) AS name
FROM pg_locks JOIN pg_class ON pg_class.oid = relation JOIN pg_namespace ON pg_namespace.oid = relnamespace,
     pg_control_system()
WHERE pid = pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND relkind IN ('r', 'm', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY name
"""
_CONNECT = f"Check {ADDRESS} and the settings of the database's client, such as PGHOST, PGDATABASE, PGUSER, ~/.pgpass"
_BENT = ("money", "oid")
_FORBIDDEN, _NO_TABLE = "42501", "42P01"


T = TypeVar("T")


def adbc_source(source: str, reading: Reading, wanted: Sequence[str]) -> "AdbcTable":
    """The table or query of a database, by the driver that is named."""
    if (reading.table is None) == (reading.query is None):
        raise FaultsError(
            "the spec", [Fault("data.table", "a database needs a table or a query", "Give one of the two")]
        )
    faults = [
        Fault(f"data.{key}", "it says nothing about a database", "Remove it")
        for key in ("sheet", "encoding", "delimiter")
        if key in reading.given()
    ]
    if faults:
        raise FaultsError("the spec", faults)
    return driver_of(source)(source.removeprefix(DATABASE), reading, wanted)


def driver_of(source: str) -> type["AdbcTable"]:
    """How a database is read, by what is known of it."""
    return PostgresqlTable if source == f"{DATABASE}{POSTGRESQL}" else AdbcTable


class AdbcTable(Streamed):
    """A table or query of any database that has a driver."""

    held_because: str | None = "this database is not known to show one state of a table to several queries"
    is_one_state = False

    def __init__(self, driver: str, reading: Reading, wanted: Sequence[str]) -> None:
        self._driver, self.name = driver, f"{DATABASE}{driver}"
        self._connection = self._connected()
        self._cursors: list[Any] = []
        self._close = finalize(self, _let_go, self._connection, self._cursors)
        self._rows = self._tried(lambda: asked(reading.query) if reading.query else self._table(str(reading.table)))
        everything = self._tried(lambda: self._query(f"SELECT * FROM {self._rows} WHERE 1 = 0").schema)
        columns = as_wanted(chosen(everything.names, wanted), wanted)
        super().__init__(self.name, {}, columns)
        self._sql = select(self._rows, columns, ordered=self.is_one_state)
        self._types = [_plain(everything.field(column).type) for column in columns]
        self._identities = self._tried(lambda: self._read(reading))

    def schema(self) -> pa.Schema:
        """The types that the driver gives; decimals are texts, digit by digit."""
        return pa.schema(list(zip(distinct(self.names), self._types, strict=True)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, by a query that starts anew."""
        for batch in self._query(self._sql):
            columns = [column.storage if isinstance(column, pa.ExtensionArray) else column for column in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, [str(place) for place in range(len(columns))])

    def identities(self) -> list[str]:
        """The tables that are read, as the database calls them."""
        return self._identities

    def done(self) -> None:
        """Lets go of the database."""
        self._close()

    def _table(self, table: str) -> str:
        return ".".join(map(quoted_name, table.split(".")))

    def _read(self, reading: Reading) -> list[str]:
        """Names alone cannot be resolved without knowing the database: however they are spelled, one is enough."""
        return [f"{self._driver}:{(reading.table or reading.query or '').casefold()}"]

    def _connected(self) -> Any:
        try:
            return self._connect(os.environ.get(ADDRESS))
        except GedpError:
            raise
        except Exception as error:  # its message can hold the address
            kind = type(error).__name__
        raise FaultsError(
            self.name, [Fault("the database", f"it cannot be reached, or refuses you ({kind})", _CONNECT)]
        )

    def _connect(self, address: str | None) -> Any:
        """By a driver that the manager of drivers finds by its name; not to a file, beside which its ledger may lie."""
        if address and Path(unquote(urlsplit(address).path)).is_file():
            hint = "Name the file as the source, so that its ledger is found"
            raise FaultsError(self.name, [Fault(ADDRESS, "it leads to a file", hint)])
        load = partial(import_module, "adbc_driver_manager.dbapi")
        manager = needed(load, "adbc-driver-manager", self.name, "a table in a database")
        return manager.connect(driver=self._driver, db_kwargs={} if address is None else {"uri": address})

    def _query(self, sql: str) -> pa.RecordBatchReader:
        """The rows of a query; what is left of the one before is dropped."""
        while self._cursors:
            self._cursors.pop().close()
        cursor = self._connection.cursor()
        self._cursors.append(cursor)
        cursor.execute(sql)
        reader: pa.RecordBatchReader = cursor.fetch_record_batch()
        return reader

    def _tried(self, action: Callable[[], T]) -> T:
        """Asks the database; its messages can quote values, so only the code of an error gets through."""
        try:
            return action()
        except GedpError:
            raise
        except Exception as error:
            code = getattr(error, "sqlstate", None) or type(error).__name__
        self._close()
        raise FaultsError(self.name, [_fault(code)])


def _let_go(connection: Any, cursors: list[Any]) -> None:
    """Closes what is open, in the order that drivers want."""
    for opened in (*cursors, connection):
        with suppress(Exception):
            opened.close()


class PostgresqlTable(AdbcTable):
    """A table, view or query of PostgreSQL: all passes read one snapshot of the database."""

    held_because = None
    is_one_state = True

    def _connect(self, address: str | None) -> Any:
        load = partial(import_module, "adbc_driver_postgresql.dbapi")
        driver = needed(load, "adbc-driver-postgresql", self.name, "a table in PostgreSQL")
        connection = driver.connect(address or "postgresql://")
        with connection.cursor() as cursor:
            cursor.execute(_SNAPSHOT)
        return connection

    def _table(self, table: str) -> str:
        """The table by the name that PostgreSQL gives it: spelled as in SQL, looked up where the client looks."""
        (found,) = self._query(f"SELECT to_regclass({quoted_text(table)})::text AS found").read_all()["found"]
        if not found.as_py():
            hint = "Check the name as in SQL: the schema before a point, other than lower case in quotation marks"
            raise FaultsError(self.name, [Fault("data.table", f"there is no table {table!r}", hint)])
        return str(found.as_py())

    def _read(self, reading: Reading) -> list[str]:
        """The tables that PostgreSQL would read, however a table, view or query is spelled and the database reached.

        A transaction keeps a lock on every table that it has read, be it inside of a view or of a function. The number
        of the cluster stays the same whatever host or port leads to it.
        """
        self._require_as_it_is(self._types_of_first_row())
        tables = self._query(_LOCKED).read_all()["name"].to_pylist()
        if not tables:
            hint = "Ask for rows of a table. A ledger knows data by the tables that they are in"
            raise FaultsError(self.name, [Fault("data.query", "it reads no table", hint)])
        return [f"{POSTGRESQL}:{table}" for table in tables]

    def _types_of_first_row(self) -> dict[str, str]:
        """What PostgreSQL calls the types of the columns that are read; nothing where there are no rows."""
        kinds = ", ".join(f"pg_typeof({quoted_name(name)})::text AS {quoted_name(name)}" for name in self.names)
        rows = self._query(f"SELECT {kinds} FROM {self._rows} LIMIT 1").read_all().to_pylist()
        return dict(rows[0]) if rows else {}

    def _require_as_it_is(self, types: Mapping[str, str]) -> None:
        """Rejects types that the driver gives as other numbers: money in cents."""
        hint = "Ask for it as a number, like wage::numeric, by a query or a view"
        faults = [
            Fault(f"column {name}", f"it is of type {kind}, which would be read as another number", hint)
            for name, kind in types.items()
            if kind in _BENT
        ]
        if faults:
            raise FaultsError(self.name, faults)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _fault(code: str) -> Fault:
    if code == _FORBIDDEN:
        return Fault("the table", "you may not read it (permission denied)", "Ask for the right to SELECT from it")
    if code == _NO_TABLE:
        return Fault("the table", "there is no such table", "Check the names of schemas and tables")
    return Fault("data.query", f"the database does not carry it out ({code})", "Try it in the database, as a SELECT")
