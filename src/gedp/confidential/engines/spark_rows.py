"""Rows that tasks are done with: of a DataFrame or, where workers can do without Spark, of Parquet files.

Spark hands rows to Python one by one, turned from its own form into Arrow. That takes most of the time of a pass. Files
that Spark would read by their paths are files that every worker can open, and pyarrow reads their columns as they are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.confidential.engines.tasks import RowGroup, Task, from_files, named, sealed_task

ROWS_A_TASK = 2**22
_CODED = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, repr=False)
class SparkRows:
    """The rows of a DataFrame; and where they lie, if the columns that a task reads can be read from there."""

    frame: Any
    schema: pa.Schema  # as workers get the rows
    groups: Sequence[RowGroup] = ()
    stored: pa.Schema | None = None  # as the files have them
    by_one_worker: bool = False

    def by_one(self) -> "SparkRows":
        """The same for one worker, in one order."""
        return replace(self, frame=self.frame.coalesce(1), by_one_worker=True)

    def tasks(self, columns: Sequence[str], task: Task, schema: object, repeated: Collection[str] = ()) -> Any:
        """What a task makes of some columns, once somebody asks for it; those that repeat their texts come as codes."""
        if self._can_be_read(columns):
            fields = (self.schema.field(name) for name in columns)
            wanted = pa.schema(
                [pa.field(f.name, _CODED) if f.name in repeated and _is_text(f.type) else f for f in fields]
            )
            return self._numbers().mapInArrow(sealed_task(from_files(self.groups, wanted, task)), schema)
        from pyspark.sql import functions as sql

        plain = [sql.col(quoted(column)).alias(f"column{place}") for place, column in enumerate(columns)]
        return self.frame.select(*plain).mapInArrow(sealed_task(named(columns, task)), schema)

    def _can_be_read(self, columns: Sequence[str]) -> bool:
        """Whether pyarrow reads these as Spark does: the types are the same, or both are texts."""
        if self.stored is None or not columns or not self.groups:
            return False
        pairs = ((self.stored.field(name).type, self.schema.field(name).type) for name in columns)
        return all(here == there or (_is_text(here) and _is_text(there)) for here, there in pairs)

    def _numbers(self) -> Any:
        """The numbers of the row groups, divided among as many tasks as there are workers, or more."""
        session, rows = self.frame.sparkSession, sum(group.rows for group in self.groups)
        most = max(int(session.sparkContext.defaultParallelism), rows // ROWS_A_TASK + 1)
        parts = 1 if self.by_one_worker else min(most, len(self.groups))
        return session.range(0, len(self.groups), 1, parts)


def rows_of(frame: Any, files: Sequence[Path] = ()) -> SparkRows:
    """The rows of a DataFrame that reads these Parquet files, if any; they are looked at only if all are alike."""
    schema, groups = arrow_schema(frame.sparkSession, frame.schema), list[RowGroup]()
    stored: pa.Schema | None = None
    for path in files:
        with pq.ParquetFile(path) as file:
            found, metadata = file.schema_arrow, file.metadata
            if stored is not None and not stored.equals(found):
                return SparkRows(frame, schema)
            stored = found
            groups += (
                RowGroup(str(path.absolute()), place, metadata.row_group(place).num_rows)
                for place in range(metadata.num_row_groups)
            )
    return SparkRows(frame, schema, groups, stored if stored and _are_named(stored, schema) else None)


def arrow_schema(session: Any, schema: Any) -> pa.Schema:
    """Columns of Spark as workers get them; those that have no Arrow type, and so cannot be used, as bytes."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    def of(*fields: Any) -> pa.Schema:
        found: pa.Schema = session.createDataFrame([], StructType(list(fields))).toArrow().schema
        return found

    def alone(field: Any) -> pa.Field:
        try:
            return of(field).field(0)
        except PySparkException:
            return pa.field(field.name, pa.binary())

    try:
        return of(*schema.fields)
    except PySparkException:
        return pa.schema([alone(field) for field in schema.fields])


def quoted(column: str) -> str:
    """A column in Spark's words, whatever characters its name has."""
    return f"`{column.replace('`', '``')}`"


def _are_named(stored: pa.Schema, schema: pa.Schema) -> bool:
    """Whether the files have these columns and no others, each once."""
    return len(set(stored.names)) == len(stored) and set(stored.names) == set(schema.names)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
