"""The engine for one machine: DuckDB over whatever source a table has, in batches of bounded size."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.confidential.engines import AnsweredRows, ArrowStream, Draw, Results, RowWriter
from gedp.confidential.engines.ordered import draw_first_in_order, draw_in_order, side_by_side
from gedp.confidential.engines.part import Part
from gedp.confidential.engines.sources import TableSource
from gedp.confidential.engines.sources.in_memory import InMemory
from gedp.confidential.engines.sources.opening import open_files
from gedp.errors import Fault
from gedp.passes import PartialResults, Pass, Rewriting, nothing
from gedp.policy.reading import AS_WRITTEN, Reading


class LocalEngine(Part):
    """A table that DuckDB can read, as one part; its batches are worked on side by side."""

    def __init__(
        self, source: str | Path | ArrowStream | TableSource, reading: Reading = AS_WRITTEN, wanted: Sequence[str] = ()
    ) -> None:
        if isinstance(source, str | Path):
            source = open_files(str(source), reading, wanted)
        elif not isinstance(source, TableSource):
            source = InMemory(source)
        self._source = source
        super().__init__(source.name, amounts=reading)
        offered = self._censored(lambda: source.offered(self._connection))
        self._execute(f"CREATE VIEW source AS SELECT * FROM {offered}")
        self._describe()
        self._has_own_names = all(map(self._are_own, self._censored(lambda: source.headers(self._execute))))

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory."""
        return self._source.files()

    def origins(self) -> list[Path]:
        """The same: a table in memory does not tell what it was read from."""
        return self.files()

    def identities(self) -> list[str]:
        """What the table is called in its database; nothing for files."""
        return self._source.identities()

    @property
    def has_schema(self) -> bool:
        """Whether names of columns come from a schema. A DataFrame may have been read from a text."""
        return self._source.has_schema

    @property
    def has_own_names(self) -> bool:
        """Whether no column got a name from DuckDB that may be another's.

        It renames one whose name, but for case, was there before: of x, X and x_1 it makes x, X_1 and x_1_1. And it
        gives a name to a column without one.
        """
        return self._has_own_names

    def reduce(self, run: Pass) -> PartialResults:
        """The results of a pass, batches side by side."""
        return reduce(or_, side_by_side(run, self.batches(run.reads)), nothing(run))

    def rewrite(self, run: Rewriting, target: Path) -> None:
        """Writes a file, with the rows in their order."""
        with ExitStack() as closing:
            file: pq.ParquetWriter | None = None
            for rows in side_by_side(run, self.batches(run.reads)):
                if file is None:
                    repeated = [name for name in run.kept if not pa.types.is_floating(rows.schema.field(name).type)]
                    made = pq.ParquetWriter(target, rows.schema, compression="zstd", use_dictionary=repeated)
                    file = closing.enter_context(made)
                file.write_table(rows)

    def require_place(self, writer: RowWriter) -> None:
        """Rows are written by the writer, here."""

    def draw(self, asked: Draw) -> Results:
        """Draws batch by batch, in one pass over the table."""
        return draw_in_order(self, asked)

    def require_known_again(self, key: str | None) -> None:
        """Rows have places, by which they are known again."""

    def draw_first(self, asked: Draw) -> AnsweredRows:
        """What is drawn waits in memory, by the places of the rows."""
        return draw_first_in_order(self, asked)

    def require_unchanged(self) -> None:
        """Rejects a table that is not the one that was opened."""
        self._source.require_unchanged()

    def _why(self, kind: str) -> Fault:
        return self._source.why() or super()._why(kind)

    def _are_own(self, names: Sequence[str]) -> bool:
        """Whether columns of these names keep them; of one file among several, as far as its names alone decide."""
        given = [name.lower() for name in names if name]
        moved = len(self.files()) < 2 and any(a and a != b for a, b in zip(names, self._types, strict=False))
        return len(set(given)) == len(given) and not moved
