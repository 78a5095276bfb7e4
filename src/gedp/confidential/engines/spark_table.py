"""A table as Spark reads it: Parquet and CSV files, or a DataFrame. Its columns and types; errors without rows."""

import csv
import errno
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from gedp.confidential.engines.part import Part
from gedp.confidential.engines.sources.files import Stamp, stamps_of, unread
from gedp.confidential.engines.sources.kinds import PARQUET, TEXT, is_csv, kind_of, require_readable
from gedp.confidential.engines.sources.texts import DELIMITERS
from gedp.confidential.engines.spark_rows import SparkRows, quoted, rows_of
from gedp.confidential.engines.tasks import counting
from gedp.errors import Fault, FaultsError, GedpError, Refused, TableChangedError

T = TypeVar("T")
FRAME = "a Spark DataFrame"
_TOLD = re.compile(r"<gedp (\w+)>")
_IRREGULAR = "gedp: a line that is not like the first"
_NOT_UTF_8 = "\ufffd"  # what Spark reads in the place of bytes that are none
#: What file systems say of writing, in words that hold no record.
_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.EIO)


class SparkTable:
    """The rows of files or of a DataFrame, and what is known of them before any is read."""

    _frame: Any

    def __init__(self, source: str | Path | object, session: Any) -> None:
        if type(session).__module__.startswith("pyspark.sql.connect"):
            raise Refused("this is a session of Spark Connect, and nothing was spent. Give a classic one")
        self._session, self._stamps = session, dict[Path, Stamp]()
        self._is_parquet = True
        if isinstance(source, str | Path):
            self.name = str(source)
            self._read(self.name)
        else:
            self.name, self._frame, self._is_parquet = FRAME, source, False
            self._require_lasting()
        self._inputs = sorted(set(self._censored(self._frame.inputFiles)))
        self._require_all_files()
        read = self.files() if self._is_parquet else []
        self._rows: SparkRows = self._censored(lambda: rows_of(self._frame, read))
        self._empty = Part(self.name, self._rows.schema.empty_table())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def files(self) -> list[Path]:
        """The files that are read, if this machine has them."""
        return list(self._stamps)

    def origins(self) -> list[Path]:
        """The files behind the rows that this machine has: of a DataFrame those that Spark would read for it."""
        here = (_path_here(address) for address in self._inputs)
        return self.files() or [path for path in here if path is not None and path.is_file()]

    def identities(self) -> list[str]:
        """The files behind the rows that are elsewhere, by their full addresses."""
        return [address for address in self._inputs if _path_here(address) is None]

    def require_unchanged(self) -> None:
        """Rejects files that are not the ones that were opened."""
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
            if _path_here(name) is not None:  # its ledger is found by its path
                raise FaultsError(name, [Fault("the file", "it is on this machine", "Give its path, without file://")])
            paths, self._is_parquet = [name], not is_csv(Path(name))
        else:
            self._stamps = stamps_of(name)
            if not self._stamps:
                raise FaultsError(name, [unread(name)])
            require_readable(name, self.files())
            _require_of_spark(name, self.files()[0])
            paths, self._is_parquet = [read_at(path) for path in self.files()], not is_csv(self.files()[0])
        self._frame = self._censored(lambda: self._parquet(paths) if self._is_parquet else self._texts(paths))

    def _require_all_files(self) -> None:
        """Rejects files some of which Spark would pass over."""
        if self._stamps and len(self._inputs) != len(self._stamps):
            problem = f"Spark reads {len(self._inputs):,} of the {len(self._stamps):,} files"
            hint = "Rename those that begin with _ or a dot: Spark takes them for its own"
            raise FaultsError(self.name, [Fault("the table", problem, hint)])

    def _require_lasting(self) -> None:
        """Rejects a DataFrame that says of itself that it differs each time it is computed."""
        plan = self._censored(lambda: self._frame.select("*")._jdf.queryExecution().withCachedData())
        if not plan.deterministic():
            problem = "it may have other rows or values each time Spark computes it, as with rand()"
            raise FaultsError(self.name, [Fault("the table", problem, "Write it to a file, or persist it, first")])

    def _parquet(self, paths: Sequence[str]) -> Any:
        return self._session.read.option("mergeSchema", len(paths) > 1).parquet(*paths)

    def _texts(self, paths: Sequence[str]) -> Any:
        """CSV files, of which nothing is guessed: all columns are texts, named by the first line."""
        from pyspark.sql import functions as sql
        from pyspark.sql.types import StringType, StructField, StructType

        (first,) = self._session.read.text(paths[0]).head(1) or [("",)]
        delimiter = max(DELIMITERS, key=first[0].count)
        written = next(csv.reader([first[0]], delimiter=delimiter), [])
        names = [name.strip() for name in written]
        if not all(names) or not _are_distinct(names):
            hint = "Give every column a name of its own, not counting case"
            raise FaultsError(self.name, [Fault("the table", "several columns have the same name, or none", hint)])
        schema = StructType([StructField(name, StringType()) for name in (*written, _IRREGULAR)])
        dialect = {"sep": delimiter, "quote": '"', "escape": '"', "header": True, "enforceSchema": False}
        read = self._session.read.options(**dialect, mode="PERMISSIVE", columnNameOfCorruptRecord=_IRREGULAR)
        lines = read.schema(schema).csv(list(paths))
        columns = [sql.col(quoted(name)) for name in schema.names]
        garbled = sql.concat_ws("", *columns).contains(_NOT_UTF_8)
        irregular, undecoded = lines.agg(sql.count_if(columns[-1].isNotNull()), sql.count_if(garbled)).first()
        faults = []
        if irregular:
            problem = f"{irregular:,} of its lines do not have the columns of the first"
            faults.append(Fault("the table", problem, "Correct the lines; none may go on in the next"))
        if undecoded:
            problem = f"{undecoded:,} of its lines are not UTF-8"
            faults.append(Fault("the table", problem, "Save the file in UTF-8"))
        if faults:
            raise FaultsError(self.name, faults)
        return lines.drop(_IRREGULAR).toDF(*names)

    def _counted(self, columns: Sequence[str], question: Callable[[Part], Sequence[int]]) -> list[int]:
        """The answers of all tasks to a question about some columns, added up."""
        answers = self._rows.tasks(columns, counting(question), "counts string")
        found = self._censored(lambda: [list(map(int, row.counts.split())) for row in answers.collect()])
        return [sum(counts) for counts in zip(*found, strict=True)]

    def _censored(self, action: Callable[[], T], failed: Callable[[str], GedpError] | None = None) -> T:
        """Does `action`. Messages of Spark can quote rows, so only the kind of an error gets through.

        What tasks of ours tell is about the table. Of other errors, `failed` makes one out of a reason.
        What is raised here is raised after the error was handled, so that it does not hang on as its context.
        """
        try:
            return action()
        except GedpError:
            raise
        except Exception as error:
            said = str(error)
            told = _TOLD.search(said)
            kind = told[1] if told else type(error).__name__
            refusals = [os.strerror(code).lower() for code in _REFUSALS if os.strerror(code) in said]
            del said
        self.require_unchanged()
        if kind == TableChangedError.__name__:
            raise TableChangedError
        if failed and not told:
            raise failed(refusals[0] if refusals else f"Spark failed ({kind})")
        reason = kind if told or not refusals else refusals[0]
        hint = "Check the table, and Spark with its local folders (spark.local.dir)"
        raise FaultsError(self.name, [Fault("the table", f"it cannot be read ({reason})", hint)])


def _require_of_spark(name: str, first: Path) -> None:
    """Rejects what workers of Spark have no reader for."""
    if kind_of(first) not in (PARQUET, TEXT) or first.suffix.lower() == ".zst":
        problem = f"Spark does not read {kind_of(first)}" + (" compressed with zstd" if is_csv(first) else "")
        raise FaultsError(name, [Fault("the file", problem, "Use the local engine, or save the table as Parquet")])


def _path_here(address: str) -> Path | None:
    """The path of a file on this machine; None for an address elsewhere."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _are_distinct(names: Sequence[str]) -> bool:
    return len({name.lower() for name in names}) == len(names)


def read_at(path: Path) -> str:
    """A file or folder in Spark's words, which take some characters for patterns."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))
