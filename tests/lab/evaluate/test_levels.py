"""Levels: each grouping once, and each with a name of its own."""

from pathlib import Path

import pytest

from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table
from gedp.microdata.cells import PublicRows, read_public_rows
from gedp.policy import read_spec
from gedp_lab.compare import compare
from gedp_lab.evaluate.levels import chosen_levels, default_levels
from tests.helpers.runs import small_table, write_case

SYNTHETIC = ('id = "key"', 'id = "key"\nsynthetic = true')
STATES = ('public = ["cnty", "naics"]', 'public = ["state", "cnty", "naics"]')
SECTORS = ('naics2 = { column = "naics", prefix = 2 }', 'sector = { column = "naics", prefix = 2 }')
BY_SECTOR = ('by = ["naics2", "cnty"]', 'by = ["sector"]')


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """Two states, and a query by sector over both."""
    table = small_table()
    states = [("34", "44")[i % 2] for i in range(table.num_rows)]
    table = table.append_column("state", [states])
    return write_case(tmp_path, SYNTHETIC, STATES, SECTORS, BY_SECTOR, table=table)


@pytest.fixture
def public_rows(case: Path) -> PublicRows:

    spec = read_spec(case)
    table = open_table(LocalEngine(case.with_name("t.parquet")), spec.data, spec.policy.attributes, spec.groupers)
    return read_public_rows(rehearse(table, spec))


def test_a_grouping_over_all_states_is_not_the_level_within_them(public_rows: PublicRows) -> None:
    levels = {level.name: level.by for level in default_levels(public_rows)}
    assert (levels["sector"], levels["sector alone"]) == (("state", "sector"), ("sector",))
    assert len(levels) == len(default_levels(public_rows))
    (level,) = chosen_levels(public_rows, [("sector",)])  # the same name whatever else is chosen
    assert (level.name, level.agglvl) == ("sector alone", None)


def test_the_order_of_keys_makes_no_other_grouping(public_rows: PublicRows) -> None:
    levels = chosen_levels(public_rows, [("naics3", "cnty"), ("cnty", "naics3"), ("state", "cnty"), ("cnty", "state")])
    assert [(level.name, level.by) for level in levels] == [
        ("naics3 x cnty", ("naics3", "cnty")),
        ("county total", ("state", "cnty")),
    ]


def test_a_comparison_keeps_levels_apart(case: Path) -> None:
    found = compare(
        read_spec(case),
        case.with_name("t.parquet"),
        out=case.with_name("out"),
        replicates=1,
        workflows=["psi"],
        attributes=["emp"],
        by=[("state", "sector"), ("sector",), ("sector", "state")],
        workers=1,
    )
    assert [(line.level, line.groups) for line in found.lines] == [("sector", 4), ("sector alone", 3)]
