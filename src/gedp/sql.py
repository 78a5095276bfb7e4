"""Names, texts and paths inside SQL."""

import glob
from pathlib import Path

import duckdb


def quoted_name(name: str) -> str:
    """The name of a column or table, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_path(path: Path) -> str:
    """A path as DuckDB takes it: absolute, lest DuckDB expands what pathlib does not."""
    return quoted_text(glob.escape(str(path.absolute())))


def draw_no_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Has DuckDB draw no progress bar. In Jupyter turning it off needs another library, so it must be on first."""
    ((is_on,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if is_on:
        connection.execute("SET enable_progress_bar = false")
