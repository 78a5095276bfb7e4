from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from pyarrow import DataType, RecordBatch, RecordBatchReader, Schema, Table, _File

class InvalidRow(NamedTuple):
    expected_columns: int
    actual_columns: int
    number: int | None  # None where the reader uses threads
    text: str

class ReadOptions:
    def __init__(
        self,
        *,
        use_threads: bool | None = None,
        block_size: int | None = None,
        skip_rows: int | None = None,
        column_names: Sequence[str] | None = None,
        encoding: str = "utf8",
    ) -> None: ...

class ParseOptions:
    def __init__(
        self,
        *,
        delimiter: str | None = None,
        newlines_in_values: bool | None = None,
        invalid_row_handler: Callable[[InvalidRow], Literal["skip", "error"]] | None = None,
    ) -> None: ...

class ConvertOptions:
    def __init__(
        self,
        *,
        column_types: Mapping[str, DataType] | Schema | None = None,
        null_values: Sequence[str] | None = None,
        strings_can_be_null: bool | None = None,
        include_columns: Sequence[str] | None = None,
    ) -> None: ...

class WriteOptions:
    def __init__(
        self,
        *,
        delimiter: str | None = None,
        quoting_style: Literal["needed", "all_valid", "none"] | None = None,
    ) -> None: ...

class CSVStreamingReader(RecordBatchReader): ...

def open_csv(
    input_file: _File,
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    convert_options: ConvertOptions | None = None,
) -> CSVStreamingReader: ...
def read_csv(
    input_file: _File,
    read_options: ReadOptions | None = None,
    parse_options: ParseOptions | None = None,
    convert_options: ConvertOptions | None = None,
) -> Table: ...
def write_csv(data: Table | RecordBatch, output_file: _File, write_options: WriteOptions | None = None) -> None: ...
