"""Suppression of odd tables, and beside programs that are missing or fail."""

from pathlib import Path

import pyarrow as pa
import pytest

from gedp_lab.suppress import gconfid
from tests.helpers.runs import gedp, small_table, write_case

pytest.importorskip("highspy")

TABLES = ("--by", "", "--by", "cnty", "--by", "naics2,cnty")
SIGNED = (
    ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = { psi = "sqrt", gamma = 0.5, signed = true }'),
    ('mechanism = "psi"\n', ""),
)


def employing(values: list[int]) -> pa.Table:
    """The small table with these numbers of jobs."""
    table = small_table(len(values))
    return table.set_column(table.column_names.index("emp"), "emp", pa.array(values))


@pytest.mark.parametrize(
    ("values", "withheld"),
    [
        ([5], "3 of 3"),
        ([0] * 30, "0 of 13"),
        ([7] * 30, "6 of 13"),
        ([3 * 10**14] * 29 + [1], "6 of 13"),
        ([10**15, 1, 2, 3] + [1] * 20, "9 of 13"),
    ],
    ids=["one", "nothing", "equal", "huge", "a giant"],
)
def test_odd_tables_are_suppressed_and_safe(values: list[int], withheld: str, tmp_path: Path) -> None:
    write_case(tmp_path, table=employing(values))
    done = gedp("suppress", "spec.toml", "--attribute", "emp", *TABLES, folder=tmp_path)
    assert done.code == 0
    assert f"ours: {withheld} cells withheld" in done.out
    assert "0 sensitive cells unsafe, 0 withheld values known exactly" in done.out.partition("ours:")[2]


def test_values_of_both_signs_are_refused_in_one_line_before_anything_is_read(tmp_path: Path) -> None:
    write_case(tmp_path, *SIGNED, table=employing([-5, 6] * 20))
    done = gedp("suppress", "spec.toml", *TABLES, folder=tmp_path)
    assert done.code == 2
    assert "values of 0 or more, and emp may be negative. Name others with --attribute" in done.err
    assert not (tmp_path / "spec-suppression").exists()


def test_the_page_for_values_of_both_signs_says_what_it_leaves_out(tmp_path: Path) -> None:
    write_case(tmp_path, *SIGNED, table=employing([-5, 6] * 20))
    options = ("--html", "--attribute", "emp", "--replicates", "1", "--workers", "1")
    done = gedp("compare", "spec.toml", *options, *TABLES, folder=tmp_path)
    assert done.code == 0, done.err
    page = (tmp_path / "spec-comparison" / "CONFIDENTIAL-decision.html").read_text(encoding="utf-8")
    assert "Left out: baselines take values of 0 or more, and emp may be negative" in page


def test_programs_that_are_missing_or_fail_are_left_out_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho 4711\nexit 3\n")
    failing.chmod(0o700)
    monkeypatch.setenv(gconfid.VARIABLE, str(failing))
    monkeypatch.setenv("PATH", str(tmp_path))
    write_case(tmp_path)
    done = gedp("suppress", "spec.toml", "--attribute", "emp", "--one-publisher", *TABLES, folder=tmp_path)
    assert done.code == 0
    assert (
        "Left out: secondary suppression by tau-Argus needs the program tauargus. Get it with pip install" in done.out
    )
    assert "Left out: G-Confid ended with exit code 3 and wrote no table." in done.out
    assert "4711" not in done.out + done.err
    assert "ours: " in done.out
    left = {path.name for path in (tmp_path / "spec-suppression").iterdir()}
    assert left == {
        "results.json",
        *(f"CONFIDENTIAL-{name}" for name in ("cells.parquet", "outcomes.csv", "outcomes.parquet")),
    }
