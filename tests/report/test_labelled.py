"""The report of a release with labels: names for codes, titles for columns, and a map."""

import re
from html import unescape
from pathlib import Path

import pytest

import gedp
from gedp.microdata import Microdata
from gedp.policy.codelists import CodeList, CodeName
from gedp.release import Labels
from gedp.report.maps import MARGIN, WIDTH, _drawn, _Projection, map_of
from gedp.report.page import report_page
from gedp.report.totals import main_totals
from tests.helpers.builder import JOBS, spec_of, table_of
from tests.helpers.demonstration import Demonstration
from tests.helpers.pages import text_of
from tests.publication.conftest import COUNTIES, small_spec, small_table


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Microdata:
    folder = tmp_path_factory.mktemp("labelled")
    release = gedp.run(small_spec(folder), small_table(), out=folder / "out", seed=3, answers_only=True)
    return release.microdata()


def test_a_report_speaks_of_things_as_people_do(labelled: Microdata, tmp_path: Path) -> None:
    page = report_page(labelled, None, links=False)
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    text = text_of(tmp_path / "page.html")
    assert "<title>Jobs &amp; wages</title>" in page
    for said in (
        "Office <of> Statistics: Jobs & wages.",
        "By County",
        "Wages (thousand US dollars)",
        "its identifier (key), County and Industry",
        *COUNTIES.values(),
    ):
        assert said in text, said
    assert "Jobs and wages by county" in text
    assert "<b>" not in page
    shown = labelled.tabulate([], ["wage"])["estimate"][0] / 1000
    total = re.search(r"Wages \(thousand US dollars\)</td><td>([^<]*)</td>", page)
    assert total is not None
    assert float(total[1].replace(",", "")) == pytest.approx(shown, rel=0.02)


def test_the_map_has_a_circle_for_every_place_and_its_number(labelled: Microdata) -> None:
    county = next(each for each in main_totals(labelled).groupings if each.by == ("cnty",))
    drawn = map_of(labelled, county, "jobs")
    titles = [unescape(text).partition(":")[0] for text in re.findall("<title>(.*?)</title>", drawn)]
    assert sorted(titles) == sorted(COUNTIES.values())
    radii = {float(r) for r in re.findall(r' r="([0-9.]+)"', drawn)}
    assert max(radii) == 24.0
    industry = next(each for each in main_totals(labelled).groupings if each.by != ("cnty",))
    assert map_of(labelled, industry, "jobs") == ""


def test_a_map_keeps_north_up_and_everything_inside() -> None:
    points = [(-75.0, 39.0), (-74.0, 41.0), (-74.5, 40.0)]
    project, height = _Projection.of(points)
    drawn = [project(*point) for point in points]
    assert drawn[0][1] > drawn[2][1] > drawn[1][1]
    assert drawn[0][0] < drawn[2][0] < drawn[1][0]
    assert all(MARGIN <= x <= WIDTH - MARGIN and MARGIN - 1e-9 <= y <= height - MARGIN + 1e-9 for x, y in drawn)


def test_shapes_are_drawn_unless_they_are_too_many(labelled: Microdata) -> None:
    county = next(each for each in main_totals(labelled).groupings if each.by == ("cnty",))
    for corners, areas in ((4, 2), (2_000, 0)):
        ring = tuple((0.001 * place, float(place % 2)) for place in range(corners))
        names: dict[tuple[str, ...], CodeName] = {
            (code,): CodeName(name, None, (ring,)) for code, name in list(COUNTIES.items())[:2]
        }
        labels = Labels(labelled.release.labels.spec, {"cnty": CodeList("cnty", (), names)})
        placed = [({"estimate": 5.0, "ci_low": 1.0, "ci_high": 9.0}, each) for each in names.values()]
        assert _drawn(labels, county, "jobs", placed, left=1).count('class="area"') == areas


def test_a_report_without_labels_calls_everything_by_its_own_name(tmp_path: Path) -> None:
    spec = spec_of(attributes=JOBS, queries=[{"name": "county", "by": ["cnty"]}])
    release = gedp.run(spec, table_of(), out=tmp_path / "out", seed=1, answers_only=True)
    (tmp_path / "page.html").write_text(report_page(release.microdata(), None, links=False), encoding="utf-8")
    text = text_of(tmp_path / "page.html")
    assert "emp by cnty: all" in text
    assert release.labels.of_query(spec.queries[-1]) == "county"


def test_the_policy_page_calls_things_by_their_titles_and_writes_millions_in_words(
    demonstration: Demonstration,
) -> None:
    said = text_of(demonstration.folder / "policy.html")
    costs = said[said.index("What it costs Importance") : said.index("In other frameworks")]
    assert "By County and Industry group: Jobs in January, Jobs in February, Jobs in March" in costs
    assert "5 million ±" in costs
    assert not re.search(r"m[123]emp|naics5|\d[kM]\b", costs)
