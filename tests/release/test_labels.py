"""Labels in a release: carried whole, checked, and asked for in one place."""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from gedp.errors import FaultsError
from gedp.industries import INDUSTRY_LEVELS, ancestor_of
from gedp.policy import parse_spec
from gedp.policy.codelists import CodeList, CodeName
from gedp.release import Labels, TamperedReleaseError, read_release
from gedp_lab.synth.demo import SECTORS
from gedp_lab.synth.demo_labels import COUNTIES, HEIGHT, WIDTH, county_shapes, industries
from gedp_lab.synth.qcew.titles import area_lists, industry_list
from tests.helpers.demonstration import Demonstration
from tests.helpers.runs import SYNTHETIC, write_case
from tests.helpers.runs import gedp as command

SPEC = """
[data]
public = ["state", "cnty", "naics", "zone1"]
[groupers]
naics3 = { column = "naics", prefix = 3 }
region = { column = "cnty", map = "regions.csv" }
[attributes]
wage = { psi = "sqrt", gamma = 0.5 }
[budget]
mu = 1
[[queries]]
name = "county"
by = ["cnty", "naics3"]
mu = 0.5
[labels]
cnty = "County"
naics = "Industry"
wage = { title = "Wages", unit = "US dollars", scale = 1000 }
"""


@pytest.fixture
def labels() -> Labels:
    counties: dict[tuple[str, ...], CodeName] = {
        ("34", "001"): CodeName("Atlantic"),
        ("36", "001"): CodeName("Albany"),
        ("36", "003"): CodeName("Allegany"),
    }
    lists = {
        "cnty": CodeList("cnty", ("state",), counties),
        "naics": CodeList("naics", (), {("722",): CodeName("Restaurants"), ("31-33",): CodeName("Manufacturing")}),
    }
    return Labels(parse_spec(SPEC, in_memory=True), lists)


def test_titles_follow_from_the_nearest_label(labels: Labels) -> None:
    titles = {name: labels.title(name) for name in ("cnty", "naics3", "naics4", "sector", "state", "region", "zone1")}
    assert titles == {
        "cnty": "County",
        "naics3": "Industry (3 digits)",
        "naics4": "Industry (4 digits)",
        "sector": "Industry (sector)",
        "state": "state",
        "region": "region",
        "zone1": "zone1",
    }
    assert labels.heading("wage") == "Wages (thousand US dollars)"
    assert (labels.unit("wage"), labels.scale("wage"), labels.unit("cnty")) == ("US dollars", 1000, None)
    assert labels.of_query(labels.spec.queries[0]) == "By County and Industry (3 digits)"


def test_names_of_codes_are_never_guessed(labels: Labels) -> None:
    assert labels.name_of("naics3", "722") == labels.name_of("naics", "722") == "Restaurants"
    assert labels.name_of("sector", "31-33") == "Manufacturing"
    assert labels.name_of("region", "001") == labels.name_of("cnty", "001") == "001"  # of which state?
    assert labels.name_of("cnty", "001", {"state": "36"}) == "Albany"
    table = pa.table({"state": ["34", "36", "37"], "cnty": ["001", "001", "001"]})
    assert labels.names("cnty", table) == ["Atlantic", "Albany", "001"]
    assert labels.names("state", table) == ["34", "36", "37"]
    one_state = CodeList("cnty", ("state",), {("34", "001"): CodeName("Atlantic")})
    assert Labels(labels.spec, {"cnty": one_state}).name_of("cnty", "001") == "Atlantic"


def test_a_release_carries_its_code_lists_and_notices_when_they_change(tmp_path: Path) -> None:
    write_case(tmp_path, SYNTHETIC)
    with (tmp_path / "spec.toml").open("a", encoding="utf-8") as file:
        file.write('[labels]\ncnty = { title = "County", codes = "names.csv" }\n')
    missing = command("run", "spec.toml", "--dry-run", folder=tmp_path)
    assert (missing.code, "names.csv" in missing.err) == (2, True)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 2
    assert not (tmp_path / "out").exists()
    (tmp_path / "names.csv").write_text("code,title,lat,lon\n001,=Harbor,1,2\n", encoding="utf-8")
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    (tmp_path / "names.csv").unlink()
    labels = read_release(tmp_path / "out").labels
    assert (labels.title("cnty"), labels.name_of("cnty", "001")) == ("County", "=Harbor")
    entry = labels.entry("cnty", "001")
    assert entry is not None
    assert entry.point == (2.0, 1.0)
    (tmp_path / "out" / "labels" / "cnty.csv").write_text("code\n", encoding="utf-8")
    with pytest.raises(TamperedReleaseError, match=r"labels/cnty\.csv"):
        read_release(tmp_path / "out")
    with pytest.raises(FaultsError, match="not a list of codes"):
        _ = read_release(tmp_path / "out", check=False).labels


def test_everything_in_the_demonstration_has_a_name(demonstration: Demonstration) -> None:
    release = read_release(demonstration.release)
    labels, spec = release.labels, release.manifest.spec
    assert all(labels.title(name) != name for name in (*spec.asked, *spec.data.public, *spec.groupers))
    for column in ("cnty", "naics"):
        for code in release.identity([column])[column].unique().to_pylist():
            assert labels.name_of(column, code) != code
    assert labels.name_of("naics3", "722") == "Restaurants and bars"


def test_the_names_of_the_demonstration_cover_every_level_and_its_map_the_whole_state() -> None:
    codes = [code for sector in SECTORS for code in sector.codes.split()]
    above = {ancestor_of(code, depth) for code in codes for depth in INDUSTRY_LEVELS.values()}
    assert {code[:digits] for code in codes for digits in range(2, 7)} | above == set(industries())

    def area(ring: tuple[tuple[float, float], ...]) -> float:
        pairs = pairwise(ring)
        return abs(sum(x * other_y - other_x * y for (x, y), (other_x, other_y) in pairs)) / 2

    assert len(county_shapes()) == len(COUNTIES)
    assert sum(map(area, county_shapes())) == pytest.approx(WIDTH * HEIGHT, rel=1e-3)


def test_title_files_of_the_bls_become_code_lists() -> None:
    areas = area_lists(
        {
            "US000": "U.S. TOTAL",
            "34000": "New Jersey -- Statewide",
            "34001": "Atlantic County, New Jersey",
            "C1010": "Aberdeen, SD MicroSA",
        }
    )
    assert areas["state"].names == {("34",): CodeName("New Jersey")}
    assert areas["cnty"].names == {("34", "001"): CodeName("Atlantic County")}
    titles = {"10": "Total, all industries", "31-33": "NAICS 31-33 Manufacturing", "722": "NAICS 722 Food services"}
    named = {key[0]: each.title for key, each in industry_list(titles).names.items()}
    assert named["722"] == "Food services"
    assert named["31"] == named["33"] == named["31-33"] == "Manufacturing"
