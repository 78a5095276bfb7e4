"""Tables that Python users hand over: of any library that gives its rows as Arrow."""

import duckdb
import pyarrow as pa

from gedp.confidential.engines import ArrowStream
from gedp.confidential.engines.sources import Ask, TableSource
from gedp.errors import Fault, FaultsError

IN_MEMORY = "a table in memory"


class InMemory(TableSource):
    """A table in memory, which may have been read from a text."""

    has_schema = False

    def __init__(self, table: object) -> None:
        super().__init__(IN_MEMORY, {})
        self._table = _arrow_table(table)

    def offered(self, connection: duckdb.DuckDBPyConnection) -> str:
        """The table, as it is."""
        connection.register(IN_MEMORY, self._table)
        return f'"{IN_MEMORY}"'

    def headers(self, ask: Ask) -> list[list[str]]:
        """Its names."""
        return [self._table.column_names]


def _arrow_table(source: object) -> pa.Table:
    """Rows of another library; its messages can quote them, so only the kind of an error gets through."""
    if not isinstance(source, ArrowStream):
        hint = "Give a path, or a DataFrame or table of pandas, polars, pyarrow or DuckDB"
        raise FaultsError(IN_MEMORY, [Fault("the table", f"{type(source).__name__} is not a table", hint)])
    try:
        table = pa.table(source)
    except Exception as error:
        problem = f"its columns cannot be read ({type(error).__name__})"
    else:
        return table
    raise FaultsError(IN_MEMORY, [Fault("the table", problem, "Give every column a name of its own, and one type")])
