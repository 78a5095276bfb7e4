"""Which cells the published QCEW leaves blank, against plain Python; and beside a release."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gedp.errors import FaultsError
from gedp_lab.evaluate.published import PublishedQcew
from tests.helpers.runs import gedp, names

DATA = Path(__file__).parents[4] / "shared" / "data" / "qcew_2016q1.parquet"

#: area, own, industry, level, disclosure, establishments, employment
ROWS = [
    ("44000", 5, "10", 51, "", 6, 100),
    ("44000", 3, "10", 51, "N", 6, 0),
    ("44000", 5, "101", 52, "N", 6, 0),
    ("44000", 5, "1013", 53, "", 4, 90),
    ("44000", 5, "1021", 53, "N", 2, 0),
    ("44001", 5, "10", 71, "", 4, 70),
    ("44003", 5, "10", 71, "N", 2, 0),
    ("44001", 5, "311", 75, "N", 1, 0),
    ("44001", 5, "445", 75, "", 3, 60),
    ("44003", 5, "311", 75, "", 2, 20),  # no part of the share of employment: its county's total is withheld
    ("44003", 5, "445", 75, "-", 0, 0),
    ("09001", 5, "10", 71, "", 9, 30),
    ("US000", 5, "10", 11, "", 9, 30),
]
COLUMNS = ["area_fips", "own_code", "industry_code", "agglvl_code", "disclosure_code", "qtrly_estabs", "month3_emplvl"]


@pytest.fixture(params=["p.parquet", "p.csv"])
def published(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True)))
    path: Path = tmp_path / request.param
    (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)
    return path


def test_shares_are_those_of_the_rows(published: Path) -> None:
    found = {(line["area"], line["agglvl"]): line for line in PublishedQcew(published).suppression("44").to_pylist()}
    assert {key: (line["cells"], line["withheld"]) for key, line in found.items()} == {
        ("US", 51): (1, 0),
        ("US", 52): (1, 1),
        ("US", 53): (2, 1),
        ("US", 71): (3, 1),
        ("US", 75): (3, 1),
        ("44", 51): (1, 0),
        ("44", 52): (1, 1),
        ("44", 53): (2, 1),
        ("44", 71): (2, 1),
        ("44", 75): (3, 1),
    }
    assert found["44", 53]["share_of_establishments"] == pytest.approx(2 / 6)
    assert found["44", 53]["share_of_employment"] == pytest.approx(10 / 100)
    assert found["44", 51]["share_of_establishments"] == 0
    assert found["44", 52]["share_of_employment"] == 1  # every cell is withheld
    assert found["44", 75]["share_of_employment"] == pytest.approx(10 / 70)
    assert found["44", 75]["level"] == "county x NAICS-3"


def test_another_file_is_one_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    for name, problem in (("x.parquet", "not a published QCEW"), ("nowhere.parquet", "no such file")):
        with pytest.raises(FaultsError, match=problem):
            PublishedQcew(tmp_path / name).cells()


SPEC = """
[data]
source = "t.parquet"
synthetic = true
public = ["state", "cnty", "naics"]
[attributes]
emp = { psi = "sqrt", gamma = 0.5 }
[budget]
mu = 1000
[[queries]]
name = "identity"
by = "establishment"
mu = 900
"""


def test_blanked_cells_are_set_beside_the_release(tmp_path: Path, published: Path) -> None:
    """Almost no noise: the errors are there, for the right cells, and next to nothing."""
    cells = [
        ("001", "311811"),
        ("001", "445110"),
        ("001", "445110"),
        ("001", "445299"),
        ("003", "311811"),
        ("003", "311812"),
    ]
    columns: dict[str, list[str] | list[int]] = {
        "state": ["44"] * 6,
        "cnty": [c for c, _ in cells],
        "naics": [n for _, n in cells],
        "emp": [9] * 6,
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    (tmp_path / "spec.toml").write_text(SPEC)
    assert gedp("run", "spec.toml", folder=tmp_path).code == 0
    ended = gedp("evaluate", "out", "--truth", "t.parquet", "--published", str(published), folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "The published QCEW leaves some cells blank" in ended.out
    assert {"suppression.csv", "suppression.parquet"} <= set(names(tmp_path / "out-evaluation"))
    lines = {x["level"]: x for x in pq.read_table(tmp_path / "out-evaluation" / "suppression.parquet").to_pylist()}
    at = lines["county x NAICS-3"]
    assert (at["published"], at["withheld"], at["matched"]) == (3, 1, 3)
    assert (at["released_withheld"], at["released_disclosed"]) == (1, 2)
    assert 0 < at["median_relative_withheld"] < 0.05
    assert lines["supersector"]["share_withheld"] == 0.5
    assert lines["county total"]["matched"] == 2
    assert lines["NAICS-4"]["median_relative_withheld"] is None
    pq.write_table(pa.table({**columns, "state": ["09"] * 6}), tmp_path / "t.parquet")
    assert gedp("run", "spec.toml", "--force", folder=tmp_path).code == 0
    arguments = (
        "evaluate",
        "out",
        "--truth",
        "t.parquet",
        "--published",
        str(published),
        "--by",
        "cnty,naics3",
        "--force",
    )
    ended = gedp(*arguments, folder=tmp_path)
    assert (ended.code, "none is in the release" in ended.err) == (2, True)


@pytest.mark.skipif(not DATA.exists(), reason="no ../shared/data/qcew_2016q1.parquet")
def test_the_published_qcew_blanks_most_of_its_finest_cells() -> None:
    found = {(line["area"], line["agglvl"]): line for line in PublishedQcew(DATA).suppression("44", "34").to_pylist()}
    finest = found["US", 78]
    assert (finest["cells"], round(finest["share_of_cells"], 3)) == (873_945, 0.723)
    assert round(finest["share_of_establishments"], 2) == 0.18
    assert (found["44", 78]["cells"], found["34", 78]["cells"]) == (3097, 13_663)
