"""Files of SAS, SPSS and Stata, by pyreadstat, a piece at a time. What they call missing is null."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gedp.confidential.engines.sources import kinds
from gedp.confidential.engines.sources.extras import needed
from gedp.confidential.engines.sources.files import Stamp
from gedp.confidential.engines.sources.streams import PIECE_ROWS, Streamed, chosen, text_of, texts
from gedp.errors import Fault, FaultsError

_READERS = {
    kinds.SAS: "read_sas7bdat",
    kinds.SAS_TRANSPORT: "read_xport",
    kinds.SPSS: "read_sav",
    kinds.SPSS_PORTABLE: "read_por",
    kinds.STATA: "read_dta",
}


class StatisticalFile(Streamed):
    """A file of a statistical package, of which the wanted columns are read where all of them are there."""

    def __init__(self, name: str, stamps: Mapping[Path, Stamp], kind: kinds.Kind, wanted: Sequence[str]) -> None:
        library = needed(lambda: import_module("pyreadstat"), "pyreadstat", name, str(kind))
        (path,) = stamps
        self._read, self._kind = partial(getattr(library, _READERS[kind]), str(path), output_format="dict"), kind
        try:
            _, about = self._read(metadataonly=True)
        except Exception:
            about = None
        if about is None:
            raise FaultsError(name, [self.why()])
        super().__init__(name, stamps, chosen(about.column_names, wanted))
        self._single = {column for column, of in about.readstat_variable_types.items() if of == "float"}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, read from where the last piece ended."""
        start = 0
        while True:
            found, _ = self._read(usecols=self.names, row_offset=start, row_limit=PIECE_ROWS)
            rows = len(found[self.names[0]]) if self.names else 0
            if not rows:
                return
            columns = [found[column] for column in self.names]
            yield texts([self._exact(name, column) for name, column in zip(self.names, columns, strict=True)], text_of)
            start += rows
            if rows < PIECE_ROWS:
                return

    def why(self) -> Fault:
        """Readers say no more than that they cannot."""
        return Fault("the file", f"it is damaged, or not {self._kind}", "Get a complete copy, or save it again")

    def _exact(self, name: str, column: Sequence[Any]) -> Sequence[Any]:
        """Numbers of single precision have the digits that are theirs, and not those of the double nearest to them."""
        if name not in self._single:
            return column
        return [value if value is None else float(str(np.float32(value))) for value in column]
