"""`gedp demo`: the whole chain, and that what it says is what it made."""

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gedp import read_release
from gedp.microdata.on_file import read_microdata
from gedp_lab.cli.demo.truth import beside_truth
from tests.helpers.demonstration import Demonstration
from tests.helpers.runs import all_files, names
from tests.helpers.runs import gedp as command


def whole(text: str) -> float:
    return float(text.replace(",", ""))


def test_it_leaves_the_whole_chain_behind(demonstration: Demonstration) -> None:
    made = demonstration.folder
    files = [
        "establishments.parquet",
        "labels",
        "out",
        "package",
        "policy.html",
        "policy.toml",
        "totals.png",
        "wage-cnty-naics3.csv",
    ]
    assert names(made) == files
    assert {"microdata.parquet", "report.html"} <= set(names(made / "out"))
    release = read_release(made / "out")
    assert (release.manifest.entropy, release.manifest.spec.data.synthetic) == ("system", True)
    assert (made / "totals.png").read_bytes().startswith(b"\x89PNG")
    assert (made / "totals.png").stat().st_size < 100_000
    table = pyarrow.csv.read_csv(made / "wage-cnty-naics3.csv")
    assert table.column_names[:5] == ["cnty", "naics3", "attribute", "estimate", "std_error"]
    assert all(str(path) in demonstration.printed for path in ("demo/out/report.html", "demo/totals.png"))


def test_it_fills_no_folder_but_its_own(demonstration: Demonstration, tmp_path: Path) -> None:
    demonstration.copied_to(tmp_path / "again")
    with (tmp_path / "again" / "policy.toml").open("a") as file:
        file.write("# mine\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "establishments.parquet").write_bytes(b"mine")
    for name in ("again", "mine"):
        before = {path: path.stat().st_mtime_ns for path in all_files(tmp_path)}
        refused = command("demo", "--out", name, folder=tmp_path)
        assert (refused.code, "holds something other than a demonstration" in refused.err) == (1, True)
        assert {path: path.stat().st_mtime_ns for path in all_files(tmp_path)} == before


def test_its_first_screen_is_short_and_ends_with_five_lines(demonstration: Demonstration) -> None:
    printed = demonstration.printed
    assert printed.count("\n") <= 24
    assert max(map(len, printed.splitlines())) <= 100
    assert re.findall(r"^(\d)\. ", printed, re.MULTILINE) == ["1", "2", "3", "4", "5"]


def test_the_lines_say_what_is_in_the_files(demonstration: Demonstration) -> None:
    """Counted again by plain loops over the rows."""
    said = " ".join(demonstration.printed.split())
    rows = pq.read_table(demonstration.establishments).to_pylist()
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        cells[row["cnty"], row["naics5"]].append(row["m3emp"])
    few = sum(len(jobs) <= 2 for jobs in cells.values())
    jobs = sum(map(sum, cells.values()))
    assert f"{len(rows):,} establishments, {jobs:,} jobs" in said
    assert f"the {few:,} of {len(cells):,} county x industry cells ({few / len(cells):.0%})" in said
    assert "36 jobs from one with 30.2 to 42.2" in said
    assert "at most 74.8%" in said
    microdata = read_microdata(read_release(demonstration.release))
    (total,) = microdata.tabulate([], ["m3emp"]).arrow.to_pylist()
    shown = re.findall(r"we may say\), ([\d,]+) ± ([\d,]+) protected", said)[0]
    assert whole(shown[0]) == pytest.approx(total["estimate"], abs=5)
    assert whole(shown[1]) == pytest.approx(total["ci_high"] - total["estimate"], rel=0.05)
    assert abs(total["estimate"] - jobs) < 5 * total["std_error"]
    estimates = {
        (line["cnty"], line["naics5"]): line["estimate"]
        for line in microdata.tabulate(["cnty", "naics5"], ["m3emp"]).arrow.to_pylist()
    }
    off = {cell: abs(estimates[cell] - sum(jobs)) / sum(jobs) for cell, jobs in cells.items() if sum(jobs)}
    small = [error for cell, error in off.items() if len(cells[cell]) <= 2]
    shown = re.findall(
        r"half of all are within ([\d.]+)% of the truth, half of those small ones within ([\d.]+)%", said
    )[0]
    for text, errors in zip(shown, (list(off.values()), small), strict=True):
        assert float(text) == pytest.approx(100 * np.median(errors), rel=0.05)


def test_truth_and_estimates_are_of_the_same_groups(demonstration: Demonstration) -> None:
    table = demonstration.establishments
    beside = beside_truth(read_microdata(read_release(demonstration.release)), table, ["cnty"], "m3emp")
    assert len(beside.truth) == 14
    assert np.all(np.abs(beside.estimate - beside.truth) < 4 * beside.margin)
    assert beside.establishments.sum() == pq.read_metadata(table).num_rows


def test_again_in_the_same_folder_and_in_details(demonstration: Demonstration, tmp_path: Path) -> None:
    """The folder is the one it makes without being told."""
    before = read_release(demonstration.copied_to(tmp_path / "gedp-demo") / "out").identity()
    again = command("demo", "--details", "--seed", "1", folder=tmp_path)
    assert again.code == 0
    assert not read_release(tmp_path / "gedp-demo" / "out").identity().equals(before)
    for expected in ("Establishments by jobs in month 3", "Uncertainty intervals of wage", "Total μ = 2.31"):
        assert expected in again.out
    (tmp_path / "taken").touch()
    refused = command("demo", "--out", "taken/x", folder=tmp_path)
    assert (refused.code, "taken/x: not a directory" in refused.err) == (2, True)
