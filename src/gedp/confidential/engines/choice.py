"""Which engine reads which table."""

from pathlib import Path

from gedp.confidential.engines import ArrowStream, Engine
from gedp.confidential.engines.local import LocalEngine


def engine_for(source: str | Path | ArrowStream) -> Engine:
    """The engine that reads a file, or a table in memory."""
    return LocalEngine(source)
