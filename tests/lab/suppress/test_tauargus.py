"""The files for tau-Argus, with the real program where it is installed."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from gedp_lab.suppress import tauargus
from gedp_lab.suppress.audit import audit
from gedp_lab.suppress.linked import LinkedTables, link
from gedp_lab.suppress.outside import LeftOutError, ProgramCall
from gedp_lab.suppress.rules import parse_rule

KEYS: list[tuple[str, ...]] = [(), ("area",), ("sector",), ("naics",), ("area", "sector"), ("area", "naics")]


def world(rows: int = 400) -> tuple[LinkedTables, dict[str, np.ndarray], np.ndarray]:
    chance = np.random.default_rng(3)
    naics = chance.integers(0, 12, rows).astype(np.int32)
    codes = {"area": chance.integers(0, 4, rows).astype(np.int32), "sector": naics // 3, "naics": naics}
    values = np.rint(np.exp(chance.normal(2, 1.5, rows))) + 1
    levels = {}
    for by in KEYS:
        joined = np.zeros(rows, dtype=np.int64)
        for key in by:
            joined = joined * 100 + codes[key]
        levels[" x ".join(by)] = np.unique(joined, return_inverse=True)[1].astype(np.int32)
    return link(levels, values, parse_rule("p:25")), codes, values


def test_keys_that_refine_each_other_are_one_side() -> None:
    _, codes, _ = world()
    assert [side.keys for side in tauargus.make_sides(codes)] == [("area",), ("sector", "naics")]


def test_a_part_that_is_alone_in_its_whole_is_left_out_of_the_hierarchy() -> None:
    codes = {"sector": np.array([0, 0, 1], dtype=np.int32), "naics": np.array([0, 1, 2], dtype=np.int32)}
    (side,) = tauargus.make_sides(codes)
    assert list(side.lines()) == ["T1", "@T3", "@T4", "T2"]
    assert side.node[2].tolist() == [3, 4, 2]


def test_without_the_program_a_line_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(LeftOutError, match="pip install pytauargus"):
        tauargus.suppress(*_given(), ProgramCall(tmp_path, "no-such-program"))


def test_a_program_that_fails_is_named_without_its_words(tmp_path: Path) -> None:
    failing = tmp_path / "failing"
    failing.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('a value: 4711')\n")
    failing.chmod(0o700)
    with pytest.raises(LeftOutError, match="exit code 1") as failure:
        tauargus.suppress(*_given(), ProgramCall(tmp_path, str(failing)))
    assert "4711" not in str(failure.value)
    assert [path.name for path in tmp_path.iterdir()] == ["failing"]  # nothing of the cells is left


def test_what_a_program_hides_is_found_in_every_table(tmp_path: Path) -> None:
    """A stand-in hides what is sensitive, and the cell of the first area."""
    script = tmp_path / "standin"
    script.write_text(
        f"#!{sys.executable}\nimport csv\n"
        "rows = list(csv.reader(open('cells.tab'), delimiter=';'))\n"
        "out = csv.writer(open('cells.csv', 'w'))\n"
        "for a, b, value, count, status, low, high in rows:\n"
        "    hidden = {'U': 9, 'S': 2}[status] if (a, b) != ('T1', 'Total') else 12\n"
        "    out.writerow([a.rjust(5), b, value, hidden])\n"  # as the program pads codes
    )
    script.chmod(0o700)
    tables, codes, values = world()
    hidden = tauargus.suppress(tables, KEYS, codes, values, ProgramCall(tmp_path, str(script)))
    assert hidden[tables.level(1)].tolist() == [True, False, False, False]
    others = np.r_[0:1, tables.level(2).start : tables.count]
    assert np.array_equal(hidden[others], tables.is_sensitive[others])


@pytest.mark.skipif(shutil.which(tauargus.COMMAND) is None, reason="tauargus is not installed (pip install pytauargus)")
@pytest.mark.parametrize("method", list(tauargus.METHODS))
def test_the_real_program_hides_all_sensitive_cells(method: str, tmp_path: Path) -> None:
    tables, codes, values = world()
    hidden = tauargus.suppress(tables, KEYS, codes, values, tauargus.call_in(tmp_path), method)
    assert hidden[tables.is_sensitive].all()
    assert hidden.sum() > tables.is_sensitive.sum()
    if method == "optimal":
        assert not audit(tables, hidden).is_unsafe(tables).any()


def _given() -> tuple[LinkedTables, list[tuple[str, ...]], dict[str, np.ndarray], np.ndarray]:
    tables, codes, values = world()
    return tables, KEYS, codes, values
