"""In-memory databases for joins and sums."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from gedp.sql import draw_no_progress


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that lives for the block and does not draw progress bars of its own."""
    with duckdb.connect() as connection:
        draw_no_progress(connection)
        yield connection
