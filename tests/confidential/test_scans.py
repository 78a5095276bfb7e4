"""How often a table is gone over before the first draw: a large text is read again every time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gedp.confidential.engines.sources.streams import Streamed
from gedp.confidential.run import plan_run, run
from gedp.noise.entropy import SystemEntropy
from tests.helpers.builder import spec_of, table_of


class Counted(Streamed):
    """A table whose rows come as a stream of texts, as often as somebody asks for them."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__("rows", {}, table.column_names)
        self.table, self.scans = table.cast(pa.schema([(name, pa.string()) for name in table.column_names])), 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        self.scans += 1
        yield from self.table.to_batches()

    def _read_once(self) -> None:
        """Too large to be held."""


#: A confidential table with groupings of one column and of two, and with a hierarchy.
SECTIONS: dict[str, Any] = {
    "data": {"synthetic": False},
    "groupers": {"naics2": {"column": "naics", "prefix": 2}, "place": {"columns": ["cnty", "naics"]}},
    "hierarchies": {"industry": ["naics2", "naics"]},
}


@pytest.mark.parametrize(("is_sorted", "scans"), [(True, 4), (False, 5)])
def test_a_table_is_read_four_times_before_the_first_draw(
    is_sorted: bool, scans: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To count rows and faults, to compare ids, for the codes that occur, and for what the ledger knows it by.

    Where ids do not increase, the first of them show that, and then all are compared.
    """
    table = table_of(200).sort_by([("key", "ascending" if is_sorted else "descending")])
    source, before = Counted(table), list[int]()
    words = SystemEntropy.words

    def counted(self: SystemEntropy, n: int) -> Any:
        before.append(source.scans)
        return words(self, n)

    monkeypatch.setattr(SystemEntropy, "words", counted)
    spec = spec_of(**SECTIONS)
    plan = plan_run(spec, table=source, out=tmp_path / "out", ledger=tmp_path / "t.ledger")  # type: ignore[arg-type]
    run(plan)
    assert before[0] == scans + 1  # the first batch is drawn while the table is read once more
