"""Rows in cells: which combinations occur, which cells are inside groups, and texts that are read as codes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.known_codes import TREE_OF_LEVEL, CodeTree
from gedp.microdata import fit_microdata
from gedp.microdata.cells import read_public_rows
from gedp.microdata.combining import combinations
from gedp.partitions import Partition
from tests.microdata.test_fit import IDENTITY, query, release_of, some_rows

codes_of_rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 2)), max_size=40)


@given(codes_of_rows, st.sampled_from([10**6, 150, 1]))
@settings(max_examples=40)
def test_combinations_are_those_that_occur_in_order(rows: list[tuple[int, int, int]], in_a_table: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gedp.microdata.combining.MOST_JOINED_CELLS", in_a_table)
        columns = [np.array([row[place] for row in rows], dtype=np.int32) for place in range(3)]
        of_row, found = combinations(columns, len(rows))
    present = sorted(set(rows))
    assert list(zip(*(codes.tolist() for codes in found), strict=True)) == present
    assert of_row.tolist() == [present.index(row) for row in rows]


def test_cells_answer_for_the_groups_that_they_are_asked_about() -> None:
    """Whatever groups they were asked about before."""
    cells = Partition(np.array([0, 0, 1, 2], dtype=np.int32), 3)
    whole, cutting, other = (
        Partition(np.array(codes, dtype=np.int32), 2) for codes in ([1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1])
    )
    for _ in range(2):
        for groups, expected in ((whole, [1, 0, 0]), (cutting, None), (whole, [1, 0, 0]), (other, [0, 1, 1])):
            found = cells.inside(groups)
            assert (None if found is None else found.group_of.tolist()) == expected


def test_texts_that_are_read_as_codes_are_the_same_texts(tmp_path: Path) -> None:
    release = release_of(some_rows(30), [IDENTITY, query("county", ["cnty"])], tmp_path)
    plain = release.identity()
    coded = release.identity(coded=["cnty", "naics", "floor"])  # floors are numbers, which have no codes
    assert pa.types.is_dictionary(coded.schema.field("cnty").type)
    assert coded.cast(plain.schema).equals(plain)
    public_rows = read_public_rows(release)
    codes, texts = public_rows.key("cnty")
    assert [texts[code] for code in codes] == plain["cnty"].to_pylist()
    assert texts == sorted(set(plain["cnty"].to_pylist()))
    kept = ["key", "cnty", "naics", "floor"]
    assert fit_microdata(release).table().select(kept).equals(plain.select(kept))


def test_every_classification_in_the_registry_gives_its_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the registry says which columns have levels."""
    release = release_of(some_rows(30), [IDENTITY, query("county", ["cnty"])], tmp_path)
    assert not read_public_rows(release).knows("coast")
    coasts = CodeTree("place", "cnty", "digits", {"coast": 1}, lambda code, _: code[-1], decisive=3, prefixes=())
    monkeypatch.setitem(TREE_OF_LEVEL, "coast", coasts)
    public_rows = read_public_rows(release)
    codes, texts = public_rows.key("coast")
    assert [texts[code] for code in codes] == [code[-1] for code in public_rows.table["cnty"].to_pylist()]
