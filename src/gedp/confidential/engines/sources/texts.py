"""Texts with a line for every row. Nothing is guessed from their rows, and columns stay texts, so codes keep zeros.

DuckDB reads UTF-8. Other encodings are decoded by Python while pyarrow reads: what DuckDB cannot do, it would download.
"""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, cast

import duckdb
import pyarrow as pa
import pyarrow.csv

from gedp.confidential.engines.sources import Ask, TableSource
from gedp.confidential.engines.sources.files import Stamp
from gedp.confidential.engines.sources.kinds import compression_of
from gedp.confidential.engines.sources.streams import Streamed
from gedp.errors import Fault, FaultsError
from gedp.policy.reading import Reading
from gedp.sql import quoted_path, quoted_text

DELIMITERS = ",;\t|"
LONGEST_LINE = 1_000_000  # of the names
UTF_8 = "utf-8"
_WIDE = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENCODINGS = 'Say which encoding it has, like encoding = "cp1252" or "latin-1" under [data], or save it as UTF-8'


def text_source(name: str, stamps: dict[Path, Stamp], reading: Reading) -> TableSource:
    """Texts as DuckDB reads them or, in another encoding than UTF-8, as pyarrow does."""
    encoding = codecs.lookup(reading.encoding or UTF_8).name
    if encoding in (UTF_8, "utf-8-sig", "ascii"):
        return Texts(name, stamps, delimiter_of(next(iter(stamps)), reading.delimiter, UTF_8))
    return DecodedTexts(name, stamps, reading.delimiter, encoding)


class Texts(TableSource):
    """Texts in UTF-8."""

    has_schema = False

    def __init__(self, name: str, stamps: dict[Path, Stamp], delimiter: str) -> None:
        super().__init__(name, stamps)
        self._delimiter = delimiter

    def offered(self, connection: duckdb.DuckDBPyConnection) -> str:
        """DuckDB's table function for the files."""
        return self._function(self.files(), header=True)

    def headers(self, ask: Ask) -> list[list[str]]:
        """The first line of the first file."""
        first = ask(f"SELECT * FROM {self._function(self.files()[:1], header=False)} LIMIT 1")
        return [[(name or "").strip() for name in line] for line in first]  # as DuckDB takes them

    def why(self) -> Fault | None:
        """The first line that is not as the others."""
        return irregular(self.files(), UTF_8, self._delimiter)

    def _function(self, files: Sequence[Path], *, header: bool) -> str:
        """A guess can drop a line that does not fit, or take it for the header, so DuckDB is to guess nothing."""
        listed = ", ".join(map(quoted_path, files))
        dialect = f"delim = {quoted_text(self._delimiter)}, quote = '\"', escape = '\"', comment = '', skip = 0"
        return f"read_csv([{listed}], all_varchar = true, header = {header}, hive_partitioning = false, {dialect})"


class DecodedTexts(Streamed):
    """Texts in another encoding."""

    has_schema = False

    def __init__(self, name: str, stamps: dict[Path, Stamp], delimiter: str | None, encoding: str) -> None:
        self._encoding, files = encoding, list(stamps)
        self._delimiter = delimiter_of(files[0], delimiter, encoding)
        names = [first_line(path, encoding, self._delimiter) for path in files]
        if not names[0] or any(line != names[0] for line in names):
            problem = "the files have other names of columns" if names[0] else "it has no first line with names"
            fault = self.why_of(files) or Fault("the table", problem, "Give every file the same first line")
            raise FaultsError(name, [fault])
        super().__init__(name, stamps, names[0])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of every file, by names that no two columns share."""
        columns = [f"column {place}" for place in range(len(self.names))]
        named = pyarrow.csv.ReadOptions(encoding=self._encoding, column_names=columns)
        parsed = pyarrow.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        kept = dict.fromkeys(columns, pa.string())
        nulls = pyarrow.csv.ConvertOptions(column_types=kept, strings_can_be_null=True, null_values=[""])
        for path in self.files():
            with pa.input_stream(str(path), compression=compression_of(path)) as file:
                first = 1  # the names
                for batch in pyarrow.csv.open_csv(file, named, parsed, nulls):
                    yield batch.slice(first)
                    first = 0 if batch.num_rows else first

    def why(self) -> Fault | None:
        """The first line that is not as the others."""
        return self.why_of(self.files())

    def why_of(self, files: Sequence[Path]) -> Fault | None:
        """The same of some files."""
        return irregular(files, self._encoding, self._delimiter)


def delimiter_of(path: Path, given: str | None, encoding: str) -> str:
    """The one that is given, or the one of the usual delimiters that the first line has most of."""
    try:
        with opened(path) as file:
            line = codecs.getincrementaldecoder(encoding)("replace").decode(file.readline(LONGEST_LINE))
    except UnicodeError:  # of a decoder that replaces nothing
        line = ""
    return given or max(DELIMITERS, key=line.count)


def first_line(path: Path, encoding: str, delimiter: str) -> list[str]:
    """The names in the first line of a text; none where it cannot be read."""
    try:
        with opened(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            names = next(csv.reader(text, delimiter=delimiter, strict=True), [])
    except (ValueError, csv.Error):
        return []
    return [name.strip().removeprefix("\ufeff") for name in names]


def opened(path: Path) -> IO[bytes]:
    """The bytes of a text, decompressed."""
    return cast(IO[bytes], io.BufferedReader(pa.input_stream(str(path), compression=compression_of(path))))


def irregular(files: Sequence[Path], encoding: str, delimiter: str) -> Fault | None:
    """Why a text cannot be read: the number of the first line at fault, and nothing of what it holds."""
    for path in files:
        place = "the file" if len(files) == 1 else f"the file {path.name}"
        with opened(path) as file:
            fault = _undecodable(place, file, encoding)
        if fault is None:
            with opened(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
                fault = _ragged(place, text, delimiter)
        if fault:
            return fault
    return None


def _undecodable(place: str, file: IO[bytes], encoding: str) -> Fault | None:
    start = file.read(2)
    wide = _WIDE.get(start)
    if wide and not encoding.startswith("utf-16"):
        return Fault(place, "it is in UTF-16", f'Set encoding = "{wide}" under [data], or save it as UTF-8')
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    try:
        text = decoder.decode(start)
        while piece := file.readline(LONGEST_LINE):
            text += decoder.decode(piece)
            line += text.count("\n")
            text = ""
        decoder.decode(b"", final=True)
    except UnicodeError:
        return Fault(place, f"line {line:,} has bytes that are not {encoding}", _ENCODINGS)
    return None


def _ragged(place: str, text: IO[str], delimiter: str) -> Fault | None:
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    columns, line = 0, 1
    try:
        columns = len(next(reader, []))
        while lines := list(islice(reader, 1)):
            if lines[0] and len(lines[0]) != columns:
                than = "more" if len(lines[0]) > columns else "fewer"
                return Fault(place, f"line {line + 1:,} has {than} columns than the first", "Correct the line")
            line = reader.line_num
    except csv.Error:
        at = f"line {line + 1:,} has a quotation mark that is not closed, or inside a value, or a value without end"
        return Fault(place, at, 'Put values with quotation marks in quotation marks, and write "" for each inside')
    return None
