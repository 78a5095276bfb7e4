"""A table as Spark reads it: Parquet and CSV files, or a DataFrame. Its columns and types; errors without rows."""

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from gedp.confidential.engines.part import Part
from gedp.confidential.engines.sources import DELIMITERS, Stamp, is_csv, require_readable, stamps_of, unread
from gedp.confidential.engines.tasks import Task, counting, sealed_task
from gedp.errors import Fault, FaultsError, GedpError, TableChangedError

T = TypeVar("T")
FRAME = "a Spark DataFrame"
_TOLD = re.compile(r"<gedp (\w+)>")
_IRREGULAR = "gedp: a line that is not like the first"


class SparkTable:
    """The rows of files or of a DataFrame, and what is known of them before any is read."""

    _frame: Any

    def __init__(self, source: str | Path | object, session: Any) -> None:
        self._session, self._stamps = session, dict[Path, Stamp]()
        self._is_parquet = True
        if isinstance(source, str | Path):
            self.name = str(source)
            self._read(self.name)
        else:
            self.name, self._frame, self._is_parquet = FRAME, source, False
        self._empty = Part(self.name, arrow_schema(self._frame).empty_table())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def files(self) -> list[Path]:
        """The files that are read, if this machine has them."""
        return list(self._stamps)

    def require_unchanged(self) -> None:
        """Refuses files that are not the ones that were opened."""
        if self._stamps and stamps_of(self.name) != self._stamps:
            raise TableChangedError

    @property
    def has_schema(self) -> bool:
        """Whether names of columns come from a schema: of Parquet files. A DataFrame may have been read from a text."""
        return self._is_parquet

    @property
    def has_own_names(self) -> bool:
        """Whether no two columns have the same name, which Spark takes them by, but for case."""
        return _are_distinct(self.columns())

    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._frame.columns)

    def can_be_public(self, column: str) -> bool:
        """Whether a column of this type is written to a release and read back as the same text on every machine."""
        return self._empty.can_be_public(column)

    def can_be_amount(self, column: str) -> bool:
        """Whether the type of a column is one of numbers or of texts."""
        return self._empty.can_be_amount(column)

    def _read(self, name: str) -> None:
        if "://" in name:
            paths, self._is_parquet = [name], not is_csv(Path(name))
        else:
            self._stamps = stamps_of(name)
            if not self._stamps:
                raise FaultsError(name, [unread(name)])
            require_readable(name, self.files())
            paths, self._is_parquet = [read_at(path) for path in self.files()], not is_csv(self.files()[0])
        self._frame = self._censored(lambda: self._parquet(paths) if self._is_parquet else self._texts(paths))

    def _parquet(self, paths: Sequence[str]) -> Any:
        return self._session.read.option("mergeSchema", len(paths) > 1).parquet(*paths)

    def _texts(self, paths: Sequence[str]) -> Any:
        """CSV files, of which nothing is guessed: all columns are texts, named by the first line."""
        from pyspark.sql.types import StringType, StructField, StructType

        (first,) = self._session.read.text(paths[0]).head(1) or [("",)]
        delimiter = max(DELIMITERS, key=first[0].count)
        names = [name.strip() for name in next(csv.reader([first[0]], delimiter=delimiter), [])]
        if not all(names) or not _are_distinct(names):
            hint = "Give every column a name of its own, not counting case"
            raise FaultsError(self.name, [Fault("the table", "several columns have the same name, or none", hint)])
        named = StructType([StructField(name, StringType()) for name in (*names, _IRREGULAR)])
        dialect = {"sep": delimiter, "quote": '"', "escape": '"', "header": True, "enforceSchema": False}
        read = self._session.read.options(**dialect, mode="PERMISSIVE", columnNameOfCorruptRecord=_IRREGULAR)
        lines = read.schema(named).csv(list(paths))
        irregular = sum(self._counted(lines, [*names, _IRREGULAR], _irregular))
        if irregular:
            problem = f"{irregular:,} of its lines do not have the columns of the first"
            raise FaultsError(self.name, [Fault("the table", problem, "Correct the lines; none may go on in the next")])
        return lines.drop(_IRREGULAR)

    def _counted(self, frame: Any, columns: Sequence[str], question: Callable[[Part], Sequence[int]]) -> list[int]:
        """The answers of all tasks to a question about some columns, added up."""
        answers = self._tasks(frame, columns, counting(question), "counts string")
        found = self._censored(lambda: [list(map(int, row.counts.split())) for row in answers.collect()])
        return [sum(counts) for counts in zip(*found, strict=True)]

    def _tasks(self, frame: Any, columns: Sequence[str], task: Task, schema: object) -> Any:
        """What a task makes of some columns of the rows, once somebody asks for it."""
        return frame.select(*map(quoted, columns)).mapInArrow(sealed_task(task), schema)

    def _censored(self, action: Callable[[], T]) -> T:
        """Does `action`. Messages of Spark can quote rows, so only the kind of an error gets through.

        What is raised here is raised after the error was handled, so that it does not hang on as its context.
        """
        try:
            return action()
        except GedpError:
            raise
        except Exception as error:
            told = _TOLD.search(str(error))
            kind = told[1] if told else type(error).__name__
        self.require_unchanged()
        if kind == TableChangedError.__name__:
            raise TableChangedError
        raise FaultsError(self.name, [Fault("the table", f"it cannot be read ({kind})", "Check the table, and Spark")])


def _are_distinct(names: Sequence[str]) -> bool:
    return len({name.lower() for name in names}) == len(names)


def _irregular(part: Part) -> list[int]:
    return [part.rows() - part.blanks([_IRREGULAR])[_IRREGULAR]]


def arrow_schema(frame: Any) -> pa.Schema:
    """The columns of a DataFrame as workers get them."""
    schema: pa.Schema = frame.limit(0).toArrow().schema
    return schema


def quoted(column: str) -> str:
    """A column in Spark's words, whatever characters its name has."""
    return f"`{column.replace('`', '``')}`"


def read_at(path: Path) -> str:
    """A file or folder in Spark's words, which take some characters for patterns."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))
