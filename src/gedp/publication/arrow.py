"""Tables as streams of Arrow, for programs."""

from collections.abc import Sequence
from typing import IO

import pyarrow as pa
import pyarrow.ipc

from gedp.publication.format import AsFile, Format


def _write(table: pa.Table, file: IO[bytes], notes: Sequence[str]) -> None:
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


ARROW = Format("arrow", "Arrow", AsFile(".arrows", "application/vnd.apache.arrow.stream", _write))
