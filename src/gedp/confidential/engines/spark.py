"""The engine for many machines: Spark divides the rows, reads them and adds up; its workers do the tasks.

Passes can be run again by whoever lost their outcome. Drawn rows cannot: another try has other noise. So these are
written first, by tasks of which Spark commits one attempt each, and whatever comes after reads what was written.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.arrays import IntArray
from gedp.confidential.engines import AnsweredRows, Draw, Drawing, Results, RowWriter, TableCounts
from gedp.confidential.engines.spark_rows import SparkRows, arrow_schema, quoted, rows_of
from gedp.confidential.engines.spark_table import SparkTable, read_at
from gedp.confidential.engines.tasks import (
    MESSAGE,
    ROWS,
    Keyed,
    Records,
    Task,
    combined_names,
    combining,
    drawing_rows,
    merging,
    received,
    reducing,
    rewriting_rows,
    sealed_task,
)
from gedp.errors import Refused, TableChangedError
from gedp.files import WriteError, writing
from gedp.noise.entropy import Entropy
from gedp.passes import PartialResults, Pass, Reads, Rewriting, nothing
from gedp.release.manifest import part_name
from gedp.release.rows import ROWS_PER_GROUP

#: What a task wrote comes to the folder when Spark commits the whole job, and only then.
COMMITTED = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}


class SparkEngine(SparkTable):
    """A table that Spark can read. Its repr names the source and no content."""

    def rows(self) -> int:
        """The number of rows."""
        return int(self._censored(self._frame.count))

    def duplicates(self, column: str, rows: int) -> int:
        """Rows beyond the first of each value."""
        from pyspark.sql import functions as sql

        values = sql.col(quoted(column))
        ((known, distinct),) = self._censored(
            lambda: self._frame.agg(sql.count(values), sql.count_distinct(values)).collect()
        )
        return int(known - distinct)

    def count_faults(self, units: Mapping[str, Fraction], public: Sequence[str] = ()) -> TableCounts:
        """What is wrong with each column, in one pass; of no rows, where no task has any."""
        columns = list(dict.fromkeys((*units, *public)))
        if not columns:
            return TableCounts(self.rows(), {}, {})
        counts = self._counted(columns, lambda part: part.counts(units, public)) or self._empty.counts(units, public)
        return TableCounts.of(counts, public, units)

    def distinct(self, column: str) -> list[str]:
        """The distinct texts, sorted."""
        return sorted(self.combinations([column])[0][column])

    def repeated(self, column: str) -> list[str]:
        """The texts that several rows have, sorted."""
        texts, rows = self.combinations([column])
        return sorted(text for text, count in zip(texts[column], rows, strict=True) if count > 1)

    def combinations(
        self, columns: Sequence[str], listed: Mapping[str, list[str]] | None = None
    ) -> tuple[dict[str, list[str]], IntArray]:
        """The combinations of texts that occur, and the number of rows of each; "" for a text that is not `listed`."""
        from pyspark.sql import functions as sql

        if not columns:
            return {}, np.array([self.rows()])
        names = combined_names(columns)
        schema = ", ".join([*(f"{name} string" for name in names), f"{ROWS} long"])
        parts = self._rows.tasks(columns, combining(columns, listed), schema)
        table: pa.Table = self._censored(lambda: parts.groupBy(*names).agg(sql.sum(ROWS).alias(ROWS)).toArrow())
        return {c: table[name].to_pylist() for c, name in zip(columns, names, strict=True)}, table[ROWS].to_numpy()

    def reduce(self, run: Pass) -> PartialResults:
        """The results of a pass, put together by Spark: as many rows as there are places come here."""
        return self.reduced(self._rows, run)

    def rewrite(self, run: Rewriting, target: Path) -> None:
        """Writes a folder of parts."""
        schema = self._schema(run.kept, run.numbers)
        task = rewriting_rows(run, arrow_schema(self._session, schema))
        self._write(_mapped(self._rows, run.reads, task, schema), target)
        with writing(target):
            _tidied(target)

    def require_place(self, writer: RowWriter) -> None:
        """Rejects a folder in which the workers cannot write: what they draw must come to one place."""
        marks = writer.identity_parts().with_name(f"seen-{uuid4().hex}")
        with writing(marks):
            marks.mkdir()

        def task(records: Records) -> Any:
            for _ in records:
                with suppress(OSError):
                    (marks / uuid4().hex).touch()
                yield pa.RecordBatch.from_arrays([pa.array([True])], ["done"])

        session, tasks = self._session, max(int(self._session.sparkContext.defaultParallelism), 1)
        rows = session.range(0, tasks, 1, tasks).mapInArrow(sealed_task(task), "done boolean")
        self._censored(rows.collect)
        seen = len(list(marks.iterdir())) if marks.exists() else 0
        shutil.rmtree(marks, ignore_errors=True)
        if seen < tasks:
            raise Refused(
                f"the workers of Spark do not see {marks.parent.parent}, or may not write there, so nothing was spent. "
                "Choose a folder for the release that is on a file system which this machine and all workers share"
            )

    def draw(self, asked: Draw) -> Results:
        """Draws in the workers, each from a source of its own; a seed takes one worker, and the order of its rows."""
        return self.drawn(self._rows, asked)

    def require_known_again(self, key: str | None) -> None:
        """Rows come in no order, so they are known again by their ids."""
        if key is None:
            raise Refused(
                "with Spark, individual accounting knows establishments again by their ids, and the spec names none. "
                "Nothing was spent. Name an id, use the local engine or, in the spec, give every query its mu"
            )

    def draw_first(self, asked: Draw) -> AnsweredRows:
        """What is drawn is written with the ids of the rows, by which they are known again."""
        of_rows, cells, (key,) = self.reduce(asked.of_rows), asked.of_rows.reads.cells, asked.drawing.keys
        known_by = (key, *(cells.texts if cells else ()))
        folder = asked.writer.identity_parts().with_name("first")
        answered = self._written(self._rows, Keyed(asked.drawing, known_by), asked.entropy, folder)
        asked.progress(self._censored(answered.frame.count))
        return _FirstOnFile(self, folder, answered, self._beside(answered, key, asked.drawing.columns), of_rows)

    def drawn(self, rows: SparkRows, asked: Draw) -> Results:
        """Draws rows of the table, perhaps with more columns, and publishes what is drawn."""
        of_rows, target = self.reduced(rows, asked.of_rows), asked.writer.identity_parts()
        drawn = self._written(rows, asked.drawing, asked.entropy, target.with_name("rows"))
        of_drawn = PartialResults() if asked.of_drawn is None else self.reduced(drawn, asked.of_drawn)
        asked.progress(self._publish(drawn, asked.drawing, target))
        return Results(of_rows, of_drawn)

    def _beside(self, answered: SparkRows, key: str, columns: Sequence[str]) -> SparkRows:
        """The rows of the table, each with what was drawn for its id."""
        from pyspark.sql import functions as sql

        other = f"{key} of the first answer"
        answers = answered.frame.select(sql.col(quoted(key)).alias(other), *map(quoted, columns))
        return rows_of(self._frame.join(answers, sql.col(quoted(key)) == sql.col(quoted(other))))

    def _written(self, rows: SparkRows, drawing: Drawing, entropy: Entropy, folder: Path) -> SparkRows:
        """Draws every row, writes what came out, and returns that: nothing after this draws it again."""
        schema = self._layout(drawing)
        task = drawing_rows(drawing, entropy.for_worker(), arrow_schema(self._session, schema))
        drawn = _mapped(rows if entropy.kind == "system" else rows.by_one(), drawing.reads, task, schema)
        self._write(drawn, folder)
        written = self._censored(lambda: self._session.read.schema(schema).parquet(read_at(folder)))
        return self._censored(lambda: rows_of(written, _parts(folder)))

    def _publish(self, drawn: SparkRows, drawing: Drawing, target: Path) -> int:
        """Writes drawn rows as parts of the release, and gives up the place where they waited; returns their number.

        Which part a row goes to, and its place there, follow from public columns and from words that were drawn.
        """
        count = int(self._censored(drawn.frame.count))
        order = [quoted(name) for name in (*drawing.keys, *_ties(drawing))]
        ordered = drawn.frame.repartition(count // ROWS_PER_GROUP + 1, *order).sortWithinPartitions(*order)
        self._write(ordered.select(*map(quoted, drawing.columns)), target)
        with writing(target):
            shutil.rmtree(target.with_name("rows"))
            if _tidied(target) != count:
                raise TableChangedError
        return count

    def _layout(self, drawing: Drawing) -> Any:
        """The columns of drawn rows, in Spark's words."""
        from pyspark.sql.types import LongType, StructField, StructType

        own = set(self._frame.columns)
        kept = [name for name in drawing.columns if name in drawing.reads.plain and name in own]
        table = self._schema(kept, [name for name in drawing.columns if name not in kept])
        return StructType([*table.fields, *(StructField(name, LongType()) for name in _ties(drawing))])

    def _schema(self, kept: Sequence[str], numbers: Sequence[str]) -> Any:
        """Columns of the table, then numbers, in Spark's words."""
        from pyspark.sql.types import DoubleType, StringType, StructField, StructType

        types = {field.name: field.dataType for field in self._frame.schema.fields}  # without comments and collations
        types = {name: StringType() if isinstance(kind, StringType) else kind for name, kind in types.items()}
        return StructType(
            [*(StructField(n, types[n]) for n in kept), *(StructField(name, DoubleType()) for name in numbers)]
        )

    def _write(self, frame: Any, folder: Path) -> None:
        """Computes rows once and writes them, one attempt of every task."""
        self._censored(
            lambda: frame.write.options(**COMMITTED).parquet(f"file:{folder.absolute()}", compression="zstd"),
            lambda reason: WriteError(f"cannot write the rows of the release: {reason}"),
        )

    def reduced(self, rows: SparkRows, run: Pass) -> PartialResults:
        """The results of all tasks of a pass, put together by workers, until few messages are left."""
        messages = _mapped(rows, run.reads, reducing(run), f"{MESSAGE} binary")
        few = math.isqrt(int(self._session.sparkContext.defaultParallelism)) + 1
        merged = messages.repartition(few).mapInArrow(sealed_task(merging(run)), messages.schema)
        found, empty = self._censored(merged.toArrow)[MESSAGE].to_pylist(), nothing(run)
        return reduce(or_, (received(text, empty) for text in found), empty)


@dataclass(frozen=True, repr=False)
class _FirstOnFile:
    """What was drawn first, as it was written."""

    engine: SparkEngine
    folder: Path
    answered: SparkRows
    beside: SparkRows  # the rows of the table, each with what was drawn for its id
    of_rows: PartialResults

    def reduce(self, run: Pass) -> PartialResults:
        """The results of a pass over what was drawn."""
        return self.engine.reduced(self.answered, run)

    def draw(self, asked: Draw) -> Results:
        """The second drawing, after which nothing is left of the first."""
        results = self.engine.drawn(self.beside, asked)
        with writing(self.folder):
            shutil.rmtree(self.folder)
        return results


def _mapped(rows: SparkRows, reads: Reads, task: Task, schema: object) -> Any:
    """What a task makes of rows with all that is read of them."""
    keys = tuple(reads.cells.texts) if reads.cells else ()
    return rows.tasks(list(dict.fromkeys((*reads.amounts, *reads.plain, *keys))), task, schema, repeated=keys)


def _ties(drawing: Drawing) -> list[str]:
    """What the columns of random words are called: as no other column is."""
    return [f"tie{'_' * max(map(len, drawing.columns))}{number}" for number in range(drawing.ties)]


def _tidied(folder: Path) -> int:
    """Leaves the parts alone, under names that say nothing; returns the number of their rows."""
    parts = _parts(folder)
    for path in set(folder.iterdir()) - set(parts):
        path.unlink()
    named = [path.rename(folder / part_name(number)) for number, path in enumerate(parts)]
    return sum(pq.ParquetFile(path).metadata.num_rows for path in named)


def _parts(folder: Path) -> list[Path]:
    """What Spark wrote to a folder."""
    return sorted(folder.glob("part-*.parquet"))
