"""The page of a comparison in a real browser: nothing is fetched, figures have words, and it prints."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from gedp import web
from gedp.policy import read_spec
from gedp_lab.compare import Comparison, compare
from gedp_lab.compare.document import comparison_page
from gedp_lab.compare.figures import MarkedAxis, error_boxes, sweep_lines
from tests.helpers.pages import labels_of, opened
from tests.helpers.runs import write_case
from tests.lab.evaluate.test_page import PHONE

#: Texts that reach beyond the figure that they are in.
CUT_OFF = """[...document.querySelectorAll("figure svg")].flatMap(svg => [...svg.querySelectorAll("text")]
  .filter(text => { const [at, all] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
    return at.left < all.left || at.right > all.right; })
  .map(text => text.textContent))"""
#: Headings of columns whose cells all begin at the left.
FLUSH_LEFT = """[...document.querySelectorAll("table")].flatMap(table => [...table.querySelectorAll("th")]
  .filter((_, i) => [...table.rows].every(row => getComputedStyle(row.cells[i]).textAlign === "left"))
  .map(heading => heading.textContent))"""


@pytest.fixture(scope="module", params=[None, "mu=0.5,1,4"], ids=["as it is", "swept"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("case")
    spec = read_spec(write_case(folder))
    by = [(), ("cnty",), ("naics",), ("cnty", "naics")]
    return compare(spec, folder / "t.parquet", out=folder / "out", replicates=2, by=by, sweep=request.param, workers=1)


@pytest.mark.browser
def test_the_page_fetches_nothing_and_says_its_figures(
    browser: Browser,
    tmp_path: Path,
    found: Comparison,
) -> None:
    page, requests, errors = opened(browser, tmp_path / "c.html", comparison_page(found))
    labels = labels_of(page.locator("figure svg"))
    swept = len(found.order.settings) > 1
    assert len(labels) == 2 * (4 if swept else 2)  # attributes, and levels: boxes need some groups
    assert all(workflow in label for label in labels for workflow in found.order.workflows)
    assert page.locator(".keys svg[aria-hidden=true]").count() == (8 if swept else 0)
    assert page.locator(".stamp").inner_text().startswith("CONFIDENTIAL")
    assert page.evaluate(CUT_OFF) == []
    left = {"level", "winner", "runner-up", "workflow", *(["setting"] if swept else [])}
    assert set(page.evaluate(FLUSH_LEFT)) == left
    captions = page.locator("caption").all_inner_texts()
    assert any("least mean absolute error" in caption for caption in captions)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.stamp')).display") == "table-header-group"
    assert len(page.pdf(format="A4")) > 20_000
    assert (requests, errors) == ([], [])


def test_names_from_the_spec_are_escaped(found: Comparison) -> None:
    text = comparison_page(found)
    assert "http" not in text.replace("http-equiv", "")
    for workflow in found.order.workflows:
        assert f"<th>{workflow}</th>" in text


@pytest.mark.browser
def test_the_last_tick_of_an_axis_can_be_read(browser: Browser, tmp_path: Path) -> None:
    errors = {name: np.array([0.02, 5, 90_000.0]) for name in ("psi", "auto")}
    lines = {"a": [10.0, 900_000.0], "b": [7.0, 8.0]}
    figures = [error_boxes(errors, "emp", "county"), sweep_lines([0.0001, 1e6], lines, "mu", "emp", "county")]
    drawn = "".join(f"<figure>{figure}</figure>" for figure in figures)
    page, _, _ = opened(browser, tmp_path / "f.html", web.page("figures", drawn))
    assert page.get_by_text("100k").count() == 1
    assert page.evaluate(CUT_OFF) == []


def test_figures_hold_every_value_and_say_it() -> None:
    drawn = error_boxes({"a": np.array([1.0, 2, 3, 2000]), "b": np.array([0.5, 5, 50, 500])}, "emp", "<county>")
    assert "&lt;county&gt;" in drawn
    assert "Medians: a 2.5; b 28." in drawn
    assert drawn.count("<rect") == 2
    drawn = sweep_lines([2, 0.5], {"a": [10, 100], "b": [7, 8]}, "mu", "emp", "county")
    assert "a: 100 at 0.5, 10 at 2; b: 8 at 0.5, 7 at 2." in drawn
    assert drawn.count("<polyline") == 2
    assert MarkedAxis("mu", 0.4, 3, marks=(0.5, 2.31)).ticks() == [0.5, 2.31]
    sweep_lines([1, 2], {"a": [0.0, 0.0]}, "mu", "emp", "county")  # nothing positive
