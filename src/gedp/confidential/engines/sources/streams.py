"""Rows that DuckDB cannot read itself: an Arrow stream that starts anew for every pass, or a table if it is small."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from gedp.confidential.engines.sources import Ask, TableSource
from gedp.confidential.engines.sources.files import Stamp
from gedp.errors import Fault, FaultsError, GedpError

#: Tables of at most as many bytes are read once and held; larger ones are read again for every pass.
HELD_BYTES = 2**28
#: Rows of such a table that are in memory at a time.
PIECE_ROWS = 100_000
STREAMED = "rows of the source"


class Streamed(TableSource):
    """A table whose rows come as Arrow batches, of texts unless a subclass says otherwise."""

    def __init__(self, name: str, stamps: Mapping[Path, Stamp], names: Sequence[str]) -> None:
        super().__init__(name, stamps)
        self.names = list(names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, from the first on; names of columns do not matter."""
        raise NotImplementedError

    def schema(self) -> pa.Schema:
        """The types of the columns, under names that no two share."""
        return pa.schema([(name, pa.string()) for name in distinct(self.names)])

    def offered(self, connection: duckdb.DuckDBPyConnection) -> str:
        """The rows, held if they are few."""
        self._schema = self.schema()
        held = self._read_once()
        connection.register(STREAMED, _Anew(self._schema, self._named) if held is None else held)
        return f'"{STREAMED}"'

    def headers(self, ask: Ask) -> list[list[str]]:
        """The names as the source has them."""
        return [self.names]

    def _named(self) -> Iterator[pa.RecordBatch]:
        for batch in self.batches():
            yield pa.RecordBatch.from_arrays(batch.columns, schema=self._schema)

    def done(self) -> None:
        """Hears that the rows are held, so that nothing is read any more."""

    def _read_once(self) -> pa.Table | None:
        """All rows, if they are few. Readers' messages can quote rows, so only the kind of an error gets through."""
        try:
            return self._held()
        except GedpError:
            raise
        except Exception as error:
            kind = type(error).__name__
        self.require_unchanged()
        raise FaultsError(self.name, [self.why() or unreadable(kind)])

    def _held(self) -> pa.Table | None:
        kept, size = [], 0
        for batch in self._named():
            kept.append(batch)
            size += batch.nbytes
            if size > HELD_BYTES and self.held_because is None:
                return None
        self.done()
        return pa.Table.from_batches(kept, self._schema)


def unreadable(kind: str) -> Fault:
    """That something went wrong, of which only the kind may be told."""
    return Fault("the table", f"it cannot be read ({kind})", "Check the file")


class _Anew:
    """What DuckDB asks for a stream as often as it wants one."""

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._schema, self._batches = schema, batches

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        stream = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return stream.__arrow_c_stream__(requested_schema)


def distinct(names: Sequence[str]) -> list[str]:
    """Names that no two columns share. Where that changes one, the table is rejected, so it does not matter how."""
    seen: set[str] = set()
    result = []
    for place, name in enumerate(names):
        own = name if name and name.lower() not in seen else f"{name}_{place}"
        seen.add(own.lower())
        result.append(own)
    return result


def chosen(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The columns to read: those that are wanted, or all if one of them is not there, so that all can be named."""
    found = [name for name in names if name in wanted]
    return found if wanted and len(found) == len(set(wanted)) else list(names)


def texts(columns: Sequence[Sequence[Any]], text: Callable[[Any], str | None]) -> pa.RecordBatch:
    """Values of Python as columns of texts."""
    arrays = [pa.array(map(text, column), pa.string()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))])


def text_of(value: Any) -> str | None:
    """A value as a text has it: whole numbers without a point, others with all their digits, nothing for no value."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, int | timedelta):
        return str(value)
    raise TypeError(type(value).__name__)
