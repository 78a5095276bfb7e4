"""Which engine reads which table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gedp.confidential.engines import ArrowStream, Engine
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.engines.sources.adbc import adbc_source, driver_of
from gedp.confidential.engines.sources.kinds import WORKBOOK, kind_by_name
from gedp.confidential.engines.sources.opening import fitting
from gedp.confidential.engines.sources.workbooks import Workbook
from gedp.errors import Fault, FaultsError
from gedp.passes import OnFile
from gedp.policy import Spec
from gedp.policy.reading import is_address
from gedp.release.parts import pattern_of


def engine_for(source: str | Path | ArrowStream, session: Any = None) -> Engine:
    """The engine that reads a file or a table in memory: Spark for a DataFrame of its own, or if there is a session."""
    if session is None and not is_of_spark(source):
        return LocalEngine(source)
    from gedp.confidential.engines.spark import SparkEngine

    return SparkEngine(source, session if session is not None else getattr(source, "sparkSession", None))


def engine_of(
    spec: Spec,
    table: str | Path | ArrowStream | None = None,
    session: Any = None,
    columns: Sequence[str] | None = None,
) -> Engine:
    """The engine that reads the table of a spec: the one that is handed over, or the source that the spec names.

    Where a source can leave columns out, only those of the spec are read, or only these `columns`.
    """
    if session is not None or is_of_spark(table):
        _require_plain(spec)
        source = spec.data.source or ""
        return engine_for((source if is_address(source) else spec.source_path()) if table is None else table, session)
    if table is not None:
        return engine_like(spec, table)
    if spec.data.source and is_address(spec.data.source):
        hint = 'Name a file or, with --engine spark, an address that Spark reads; for a database give "adbc:postgresql"'
        raise FaultsError("the spec", [Fault("data.source", "it is an address, and not a file", hint)])
    reading, wanted = spec.data.reading, _wanted(spec) if columns is None else columns
    if spec.data.source and spec.data.is_database:
        return LocalEngine(adbc_source(spec.data.source, reading, wanted), reading)
    return LocalEngine(spec.source_path(), reading, wanted)


def engine_like(spec: Spec, table: str | Path | ArrowStream) -> Engine:
    """The engine that reads another table with the columns of a spec, as far as the spec says how."""
    reading = fitting(spec.data.reading, Path(table) if isinstance(table, str | Path) else None)
    return LocalEngine(table, reading, _wanted(spec))


def held_note(spec: Spec) -> str | None:
    """That all of a table has to be held in memory, told before anything of it is read; None where it need not be."""
    source = spec.data.source or ""
    if spec.data.is_database:
        because = driver_of(source).held_because
    else:
        because = Workbook.held_because if kind_by_name(Path(source)) is WORKBOOK else None
    return because and f"{source} is held in memory as a whole: {because}."


def on_file(session: Any = None) -> OnFile:
    """What opens public tables: this machine if they are large, or Spark."""
    return OnFile(lambda table: engine_for(pattern_of(table), session), always=session is not None)


def is_of_spark(source: object) -> bool:
    """Whether something is a DataFrame of Spark; told without importing Spark, which takes long."""
    return type(source).__module__.startswith("pyspark.sql")


def _wanted(spec: Spec) -> list[str]:
    """The columns of a spec, in the order that rows are put in where they have none: who has more comes last."""
    return [*([spec.data.id] if spec.data.id else []), *spec.data.public, *_columns(spec)]


def _columns(spec: Spec) -> list[str]:
    """The confidential ones, each once."""
    return list(dict.fromkeys(attribute.column for attribute in spec.policy.attributes.values()))


def _require_plain(spec: Spec) -> None:
    """Rejects for Spark what only the local engine can do."""
    hint = "Use the local engine, or let Spark read a file in which it is not needed"
    keys = [f"data.{key}" for key in spec.data.reading.given()]
    keys += [f"groupers.{name}.columns" for name in spec.data.reading.joined]
    keys += [f"attributes.{name}.split" for name in spec.policy.split_columns]
    faults = [Fault(key, "workers of Spark do not know it", hint) for key in keys]
    if spec.data.is_database:
        faults.append(Fault("data.source", "workers of Spark would each connect to the database anew", hint))
    if faults:
        raise FaultsError("the spec", faults)
