"""Which engine reads which table."""

from pathlib import Path
from typing import Any

from gedp.confidential.engines import ArrowStream, Engine
from gedp.confidential.engines.local import LocalEngine


def engine_for(source: str | Path | ArrowStream, session: Any = None) -> Engine:
    """The engine that reads a file or a table in memory: Spark for a DataFrame of its own, or if there is a session."""
    if session is None and not is_of_spark(source):
        return LocalEngine(source)
    from gedp.confidential.engines.spark import SparkEngine

    return SparkEngine(source, session if session is not None else getattr(source, "sparkSession", None))


def is_of_spark(source: object) -> bool:
    """Whether something is a DataFrame of Spark; told without importing Spark, which takes long."""
    return type(source).__module__.startswith("pyspark.sql")
