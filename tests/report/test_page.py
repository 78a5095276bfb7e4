"""The report in a real browser: nothing is fetched, every figure has a text and a table, it fits a phone and prints."""

from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page

from gedp import web
from gedp.microdata.on_file import read_microdata
from gedp.policy import parse_spec
from gedp.release import read_release
from gedp.report import write_report
from gedp.report.charts import error_chart, mark
from gedp.report.errors import ErrorsOfAlike, TableErrors
from tests.helpers.pages import opened
from tests.helpers.runs import gedp as command
from tests.helpers.runs import small_table, write_case
from tests.policy.test_spec import changed

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_disk_waits")]

LONG = "a name that is much longer than a phone is wide, without an end in sight"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report about long names, large numbers and many groups."""
    folder = tmp_path_factory.mktemp("page")
    table = small_table(400).set_column(1, "cnty", pa.array([f"{LONG} {i % 40}" for i in range(400)]))
    write_case(folder, ('id = "key"', 'id = "key"\nsynthetic = true'), table=table)
    assert command("run", "spec.toml", folder=folder).code == 0
    return folder / "out" / "report.html"


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("width", [320, 375, 1000])
def test_it_fits_every_screen_and_asks_for_nothing(browser: Browser, report: Path, width: int) -> None:
    page, requests, errors = opened(browser, report, report.read_text(encoding="utf-8"), width)
    assert overflow(page) <= 0
    assert (requests, errors) == ([], [])
    for bar in page.locator("svg.bar").all()[:10]:
        box = bar.bounding_box()
        assert box is None or box["width"] > 40


def test_the_caption_of_a_wide_table_stays_while_it_is_scrolled(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, report.read_text(encoding="utf-8"), 390)
    ends = page.evaluate(
        """() => [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => {
            each.scrollLeft = 100;
            const { left, right } = each.querySelector("caption").getBoundingClientRect();
            return [left, right];
        })"""
    )
    assert ends
    assert all(0 <= left < right <= 390 for left, right in ends), ends


def test_names_beside_bars_have_more_room_than_the_bars(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, report.read_text(encoding="utf-8"), 1280)
    widths = page.evaluate(
        """() => [...document.querySelectorAll(".side .bars tbody tr:first-child")]
        .map((row) => [row.firstElementChild.offsetWidth, row.lastElementChild.offsetWidth])"""
    )
    assert widths
    assert all(name > bar for name, bar in widths), widths


def test_every_figure_has_a_text_and_its_numbers(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, report.read_text(encoding="utf-8"))
    charts, bars = page.locator("svg[role=img]"), page.locator("figure[role=group]")
    assert charts.count() == 2
    for chart in charts.all():
        assert len(chart.get_attribute("aria-label") or "") > 60
    assert bars.count() == 6  # cnty, naics2 and both, of emp and wage
    for figure in bars.all():
        assert "confidence intervals" in (figure.get_attribute("aria-label") or "")
        for row in figure.locator("tbody tr").all():
            label, number, _ = row.locator("td").all_inner_texts()
            assert label
            assert "±" in number
    assert page.locator("svg:not([role=img]):not([aria-hidden=true])").count() == 0
    assert page.locator(".sizes table").count() == 2


@pytest.mark.parametrize("media", ["screen", "print"])
def test_every_series_of_a_figure_has_a_color_of_its_own(
    browser: Browser, tmp_path: Path, media: Literal["screen", "print"]
) -> None:
    """As the browser paints it: a style sheet beats what a drawing says of itself."""
    attribute, sizes = parse_spec(changed()).policy.attributes["emp"], np.geomspace(1, 1e6, 100)
    counts = enumerate((100, 60, 1, 9), 1)
    tables = tuple(TableErrors(f"q{i}", f"q{i}", sizes[:count], i / sizes[:count], 0) for i, count in counts)
    body = error_chart(ErrorsOfAlike((attribute,), tables, 0.5, "emp"), "x" * 60) + "".join(map(mark, range(4)))
    page, _, _ = opened(browser, tmp_path / "c.html", web.page("c", body, style=web.asset("report.css")))
    page.emulate_media(media=media)
    painted = "marks => marks.map(mark => getComputedStyle(mark).stroke)"
    lines = page.locator("svg.chart .series").evaluate_all(painted)
    assert len(set(lines)) == 4
    assert page.locator("svg.mark .series").evaluate_all(painted) == lines
    assert page.locator("svg.chart .dots").evaluate_all(painted) == lines


def test_no_label_of_a_figure_is_cut_off(browser: Browser, tmp_path: Path) -> None:
    """Also where errors are many times the figure."""
    sizes = np.geomspace(0.01, 1e9, 200)
    attribute = parse_spec(changed()).policy.attributes["emp"]
    for largest in (1e2, 1e9):
        table = TableErrors("all", "all", sizes, np.geomspace(1e-6, largest, 200)[::-1], 0)
        chart = error_chart(ErrorsOfAlike((attribute,), (table,), None, "emp"), "x" * 60)
        page, _, _ = opened(browser, tmp_path / "c.html", web.page("c", chart, style=web.asset("report.css")))
        outside = page.locator("svg.chart").evaluate(
            "(chart) => { const whole = chart.getBoundingClientRect(); return [...chart.querySelectorAll('text')]"
            ".filter((text) => { const box = text.getBoundingClientRect();"
            " return box.left < whole.left || box.right > whole.right; }).map((text) => text.textContent); }"
        )
        assert outside == []
        assert "10,000%" in (page.locator("svg.chart").text_content() or "")


def test_it_prints(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, report.read_text(encoding="utf-8"))
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert overflow(page) <= 0
    assert len(page.pdf(format="A4")) > 20_000


def test_its_links_lead_to_files_and_places(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, report.read_text(encoding="utf-8"))
    targets = page.locator("a").evaluate_all("links => links.map(link => link.href)")
    assert len(targets) >= 8
    for target in targets:
        address, _, place = target.partition("#")
        assert page.locator(f"#{place}").count() == 1 if place else Path(unquote(urlsplit(address).path)).exists()


def test_seeded_noise_is_announced_in_red(browser: Browser, tmp_path: Path) -> None:
    write_case(tmp_path, ('id = "key"', 'id = "key"\nsynthetic = true'))
    assert command("run", "spec.toml", "--seed", "1", folder=tmp_path).code == 0
    path = write_report(read_microdata(read_release(tmp_path / "out")))
    page, _, _ = opened(browser, path, path.read_text(encoding="utf-8"), 375)
    banner = page.locator(".banner")
    assert banner.inner_text().startswith("NOT PROTECTED")
    top = banner.bounding_box()
    assert top is not None
    assert top["y"] < 400
