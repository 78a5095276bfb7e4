"""The package of New Jersey, from the published QCEW: everything adds up, over all levels, at full size."""

from itertools import permutations
from pathlib import Path

import pytest

import gedp
from tests.helpers.runs import gedp as command
from tests.publication.levels import Key, added_up, figures, follows, read_table
from tests.publication.test_package import tables_of

DATA = Path(__file__).parents[3] / "shared" / "data"
QCEW = DATA / "qcew_2016q1.parquet"
LEVELS: list[Key] = [
    *((f"naics{digits}",) for digits in (2, 3, 4)),
    ("naics",),
    *(("cnty", f"naics{digits}") for digits in (2, 3, 4)),
    ("cnty", "naics"),
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not QCEW.exists(), reason="the published QCEW is not in ../shared/data"),
]


def test_every_table_of_new_jersey_adds_up_to_its_parents_and_has_names(tmp_path: Path) -> None:
    titles = ["--area-titles", str(DATA / "qcew_area_titles.csv")]
    titles += ["--industry-titles", str(DATA / "qcew_industry_titles.csv")]
    made = command(
        *("synth", "qcew", "--qcew", str(QCEW), "--state", "NJ", "--out", "establishments.parquet", *titles),
        folder=tmp_path,
    )
    assert made.code == 0, made.err
    spec = command("examples", "individual", folder=tmp_path).out
    labels = (tmp_path / "establishments-labels" / "labels.toml").read_text(encoding="utf-8")
    synthetic = 'source = "establishments.parquet"\n'
    (tmp_path / "nj.toml").write_text(spec.replace(synthetic, synthetic + "synthetic = true\n") + labels, "utf-8")
    release = gedp.run(tmp_path / "nj.toml", answers_only=True)
    package = gedp.publish(release, tmp_path / "nj", tables=LEVELS, rounding="whole")
    tables = {by: figures(read_table(path), by) for by, path in tables_of(tmp_path / "nj").items()}
    pairs = [(fine, coarse) for fine, coarse in permutations(tables, 2) if follows(fine, coarse)]
    assert len(tables) == 12
    assert len(pairs) > 40
    for fine, coarse in pairs:
        assert added_up(tables[fine], fine, coarse) == tables[coarse], (fine, coarse)
    expected = release.microdata(whole=True)
    for table in package.tables:
        assert table.arrow["estimate"].equals(expected.tabulate(table.chosen.by).arrow["estimate"])
    county = next(table.arrow for table in package.tables if table.chosen.by == ("cnty",))
    assert "Atlantic County" in county["cnty_name"].to_pylist()
    sector = next(table.arrow for table in package.tables if table.chosen.by == ("naics2",))
    assert {"Manufacturing", "Utilities"} <= set(sector["naics2_name"].to_pylist())
    assert release.labels.title("m1emp") == "Jobs in January 2016"
