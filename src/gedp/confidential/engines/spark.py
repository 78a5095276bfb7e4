"""The engine for many machines: Spark divides the rows, reads them and adds up; its workers do the tasks.

Passes can be run again by whoever lost their outcome. Drawn rows cannot: another try has other noise. So these are
written first, by tasks of which Spark commits one attempt each, and whatever comes after reads what was written.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.arrays import IntArray
from gedp.confidential.engines import ByPlace, ColumnCounts, Drawing, Pass, Reads, RowWriter, nothing
from gedp.confidential.engines.part import Part
from gedp.confidential.engines.spark_table import SparkTable, arrow_schema, quoted, read_at
from gedp.confidential.engines.tasks import (
    PLACE,
    ROWS,
    Records,
    Task,
    combined_names,
    combining,
    drawing_rows,
    received,
    reducing,
    sealed_task,
    travelling,
)
from gedp.errors import Refused, TableChangedError
from gedp.files import writing
from gedp.noise.entropy import Entropy
from gedp.release.manifest import part_name
from gedp.release.rows import ROWS_A_GROUP

#: How results of tasks are put together, in Spark's words.
REDUCTIONS = {"added": "sum", "highest": "max", "lowest": "min"}
#: What a task wrote comes to the folder when Spark commits the whole job, and only then.
COMMITTED = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}
TYPES = {"added": "long", "highest": "double", "lowest": "double"}


class SparkEngine(SparkTable):
    """A table that Spark can read. Its repr names the source and no content."""

    def rows(self) -> int:
        """The number of rows."""
        return int(self._censored(self._frame.count))

    def blanks(self, columns: Sequence[str]) -> dict[str, int]:
        """The number of nulls and empty texts in each column."""
        counts = self._asked(columns, lambda part: list(part.blanks(columns).values()))
        return dict(zip(columns, counts, strict=True))

    def duplicates(self, column: str) -> int:
        """Rows beyond the first of each value."""
        from pyspark.sql import functions as sql

        values = sql.col(quoted(column))
        ((known, distinct),) = self._censored(
            lambda: self._frame.agg(sql.count(values), sql.count_distinct(values)).collect()
        )
        return int(known - distinct)

    def count_faults(self, units: Mapping[str, Fraction]) -> dict[str, ColumnCounts]:
        """What is wrong with each column."""

        def question(part: Part) -> list[int]:
            return [count for counts in part.count_faults(units).values() for count in astuple(counts)]

        counts = iter(self._asked(list(units), question))
        return {column: ColumnCounts(*islice(counts, len(fields(ColumnCounts)))) for column in units}

    def distinct(self, column: str) -> list[str]:
        """The distinct texts, sorted."""
        return sorted(self.combinations([column])[0][column])

    def combinations(self, columns: Sequence[str]) -> tuple[dict[str, list[str]], IntArray]:
        """The combinations of texts that occur, and the number of rows of each."""
        from pyspark.sql import functions as sql

        if not columns:
            return {}, np.array([self.rows()])
        names = combined_names(columns)
        schema = ", ".join([*(f"{name} string" for name in names), f"{ROWS} long"])
        parts = self._tasks(self._frame, columns, combining(columns), schema)
        table: pa.Table = self._censored(lambda: parts.groupBy(*names).agg(sql.sum(ROWS).alias(ROWS)).toArrow())
        return {c: table[name].to_pylist() for c, name in zip(columns, names, strict=True)}, table[ROWS].to_numpy()

    def reduce(self, run: Pass) -> ByPlace:
        """The results of a pass, put together by Spark: as many rows as there are places come here."""
        return self._reduced(self._frame, run)

    def require_place(self, writer: RowWriter) -> None:
        """Refuses a folder that the workers do not see: what they draw must come to one place."""
        mark = writer.identity_parts().with_name(f"seen-{uuid4().hex}")
        with writing(mark):
            mark.touch()

        def task(records: Records) -> Any:
            for _ in records:
                yield pa.RecordBatch.from_arrays([pa.array([mark.exists()])], ["seen"])

        session, tasks = self._session, max(int(self._session.sparkContext.defaultParallelism), 1)
        rows = session.range(0, tasks, 1, tasks).mapInArrow(sealed_task(task), "seen boolean")
        seen = self._censored(lambda: [row.seen for row in rows.collect()])
        mark.unlink()
        if not all(seen):
            raise Refused(
                f"the workers of Spark do not see {mark.parent.parent}, so nothing was spent. Choose a folder for the "
                "release that is on a file system which this machine and all workers share"
            )

    def draw(
        self,
        drawing: Drawing,
        entropy: Entropy,
        of_rows: Pass,
        of_drawn: Pass,
        writer: RowWriter,
        progress: Callable[[int], None],
    ) -> tuple[ByPlace, ByPlace]:
        """Draws in the workers, each from a source of its own; a seed takes one worker, and the order of its rows."""
        of_table, target = self.reduce(of_rows), writer.identity_parts()
        waiting = target.with_name("rows")
        ties = [f"tie{'_' * max(map(len, drawing.columns))}{number}" for number in range(drawing.ties)]
        schema = self._layout(drawing, ties)
        task = drawing_rows(drawing, entropy.elsewhere(), arrow_schema(self._session.createDataFrame([], schema)))
        frame = self._frame if entropy.kind == "system" else self._frame.coalesce(1)
        self._write(self._mapped(frame, drawing.reads, task, schema), waiting)
        drawn = self._censored(lambda: self._session.read.schema(schema).parquet(read_at(waiting)))
        of_published, count = self._reduced(drawn, of_drawn), self._censored(drawn.count)
        # Which part a row goes to, and its place there, follow from public columns and from words that were drawn.
        order = [quoted(name) for name in (*drawing.keys, *ties)]
        ordered = drawn.repartition(count // ROWS_A_GROUP + 1, *order).sortWithinPartitions(*order)
        self._write(ordered.select(*map(quoted, drawing.columns)), target)
        with writing(target):
            shutil.rmtree(waiting)
            if _tidied(target) != count:
                raise TableChangedError
        progress(count)
        return of_table, of_published

    def _layout(self, drawing: Drawing, ties: Sequence[str]) -> Any:
        """The columns of drawn rows, in Spark's words."""
        from pyspark.sql.types import DoubleType, LongType, StructField, StructType

        kept = {field.name: field for field in self._frame.schema.fields if field.name in drawing.reads.plain}
        table = [kept.get(name) or StructField(name, DoubleType()) for name in drawing.columns]
        return StructType([*table, *(StructField(name, LongType()) for name in ties)])

    def _write(self, frame: Any, folder: Path) -> None:
        """Computes rows once and writes them, one attempt of every task."""
        self._censored(lambda: frame.write.options(**COMMITTED).parquet(f"file:{folder}", compression="zstd"))

    def _reduced(self, frame: Any, run: Pass) -> ByPlace:
        from pyspark.sql import functions as sql

        empty = nothing(run)
        columns = [(f"{kind}{number}", kind) for kind, number in travelling(empty)]
        schema = ", ".join([f"{PLACE} long", *(f"{name} {TYPES[kind]}" for name, kind in columns)])
        parts = self._mapped(frame, run.reads, reducing(run), schema).groupBy(PLACE)
        whole = parts.agg(*(getattr(sql, REDUCTIONS[kind])(name).alias(name) for name, kind in columns))
        return received(self._censored(whole.toArrow), empty)

    def _asked(self, columns: Sequence[str], question: Callable[[Part], Sequence[int]]) -> list[int]:
        return self._counted(self._frame, columns, question) if columns else []

    def _mapped(self, frame: Any, reads: Reads, task: Task, schema: object) -> Any:
        """What a task makes of rows with all that is read of them."""
        columns = (*reads.amounts, *reads.plain, *(reads.cells.texts if reads.cells else ()))
        return self._tasks(frame, list(dict.fromkeys(columns)), task, schema)


def _tidied(folder: Path) -> int:
    """Leaves the parts alone, under names that say nothing; returns the number of their rows."""
    parts = sorted(folder.glob("part-*.parquet"))
    for path in set(folder.iterdir()) - set(parts):
        path.unlink()
    named = [path.rename(folder / part_name(number)) for number, path in enumerate(parts)]
    return sum(pq.ParquetFile(path).metadata.num_rows for path in named)
