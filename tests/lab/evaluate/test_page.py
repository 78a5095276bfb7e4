"""The page of an evaluation in a real browser: nothing is fetched, figures have words, every sheet is stamped."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from gedp.numbers import short, short_share
from gedp.web.svg import MOST_POINTS, Axis, Panel, box_plot
from gedp_lab.evaluate import Evaluation, evaluate
from gedp_lab.evaluate.document import evaluation_page, number
from tests.helpers.pages import labels_of, opened
from tests.lab.evaluate.test_evaluation import not_synthetic, table_of
from tests.microdata.test_fit import EVERYTHING, release_of, some_rows

PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    rows = some_rows(400)
    release = release_of(rows, EVERYTHING, tmp_path_factory.mktemp("r"))
    by = [(), ("cnty",), ("naics", "cnty", "floor")]
    return evaluate(release, table_of(rows), by=by, weights="plug-in")


@pytest.fixture(scope="module")
def secret(found: Evaluation) -> Evaluation:
    return replace(found, release=not_synthetic(found.release))


@pytest.mark.browser
def test_the_page_fetches_nothing_and_says_its_figures(
    browser: Browser,
    tmp_path: Path,
    secret: Evaluation,
) -> None:
    page, requests, errors = opened(browser, tmp_path / "e.html", evaluation_page(secret))
    labels = labels_of(page.locator("svg"))
    assert len(labels) == 4 * 3  # boxes, scatter, relative error of one level, four attributes
    assert min(map(len, labels)) > 30
    assert page.locator(".stamp").inner_text().startswith("CONFIDENTIAL")
    page.evaluate("window.scrollTo(0, 2000)")
    assert (page.locator(".stamp").bounding_box() or {"y": -1})["y"] == 0  # it stays in sight
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert (requests, errors) == ([], [])


@pytest.mark.browser
def test_every_printed_sheet_is_stamped(browser: Browser, tmp_path: Path, secret: Evaluation) -> None:
    page, _, _ = opened(browser, tmp_path / "e.html", evaluation_page(secret))
    page.emulate_media(media="print")
    style = "getComputedStyle(document.querySelector('.stamp'))"
    assert page.evaluate(f"{style}.display") == "table-header-group"  # which browsers repeat on every sheet
    assert page.evaluate("getComputedStyle(document.body).display") == "table"
    assert page.evaluate(f"{style}.breakInside") == "avoid"
    assert len(page.pdf(format="A4")) > 20_000


def test_synthetic_data_is_not_called_confidential(found: Evaluation) -> None:
    assert "CONFIDENTIAL" not in evaluation_page(found)
    assert "synthetic data" in evaluation_page(found)


def test_numbers_are_short() -> None:
    assert [number(x) for x in (1234567, -99.96, 0.012345, float("nan"))] == ["1,234,567", "−100", "0.0123", "–"]
    assert [short_share(x) for x in (1, 0.000191, 0.0999, float("nan"))] == ["100%", "0.019%", "10%", "–"]
    assert [short(x) for x in (-1500, 0.5, 2e6)] == ["−1.5k", "0.5", "2M"]


def test_points_on_one_spot_are_drawn_once_and_never_too_many() -> None:
    panel = Panel(Axis("x", 1, 1e6), Axis("y", 1, 1e6))
    assert panel.points(np.full(1000, 10.0), np.full(1000, 10.0), "p").count("M") == 1
    x, y = np.exp(np.random.default_rng(0).uniform(0, 13, (2, 200_000)))
    assert 500 < panel.points(x, y, "p").count("M") <= MOST_POINTS


def test_scales_hold_their_ends_and_keep_order() -> None:
    for axis in (Axis("x", 1, 1e6), Axis("x", -500, 2000, linear=10)):
        places = axis.at(np.linspace(axis.low, axis.high, 50))
        assert (places[0], places[-1]) == pytest.approx((0, 1))
        assert np.all(np.diff(places) > 0)
        assert axis.at([axis.low - 1e9, axis.high + 1e9]) == pytest.approx([0, 1])
        assert 2 <= len(axis.ticks()) <= 8
    assert Axis("x", 1, 1000).ticks() == [1, 10, 100, 1000]
    assert Axis("x", 1, 1000).at(10) == pytest.approx(1 / 3)
    assert 0 in Axis("x", -500, 2000, linear=10).ticks()


def test_boxes_of_a_single_value_can_be_drawn() -> None:
    drawn = box_plot([("a", np.zeros(1)), ("<b>", np.arange(9.0))], Axis("d", -10, 10, linear=1), "label")
    assert "&lt;b&gt;" in drawn
    assert drawn.count("<rect") == 2
