"""The plan, the policy and the report on their pages, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

import gedp
from gedp.explain.expected import table_mu, typical_error
from gedp.explain.page import explain_page
from gedp.planning.document import plan_page
from gedp.policy.examples import find_spec
from gedp.web import asset
from gedp.web.svg import Axis, Panel
from tests.helpers.demonstration import Demonstration
from tests.helpers.pages import opened
from tests.helpers.runs import write_case

pytestmark = pytest.mark.browser

#: Between the title of the upright axis and the nearest text of its ticks, the least of all figures.
ROOM_BESIDE_TITLES = """() => Math.min(...[...document.querySelectorAll("figure svg")].map(drawn => {
  const title = drawn.querySelector("text[transform]").getBoundingClientRect();
  const ticks = [...drawn.querySelectorAll("text[text-anchor=end]")].map(text => text.getBoundingClientRect().left);
  return Math.min(...ticks) - title.right;
}))"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_plan_fits_any_screen_and_needs_nothing(browser: Browser, tmp_path: Path, width: int) -> None:
    html = plan_page(gedp.plan(write_case(tmp_path), mu=[0.5, 2]), "a <plan>")
    page, requests, errors = opened(browser, tmp_path / "plan.html", html, width)
    assert not errors
    assert not requests
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").inner_text() == "Errors to expect: a <plan>"
    assert page.locator("figure svg").count() >= 8
    assert page.evaluate(ROOM_BESIDE_TITLES) > 0


def test_titles_of_axes_keep_clear_of_long_ticks(browser: Browser, tmp_path: Path) -> None:
    axis = Axis("relative error", 1e-5, 10.0, text=lambda tick: f"{100 * tick:,.3f}%")
    html = f"<style>{asset('page.css')}</style><figure>{Panel(axis, axis).drawn([], 'x')}</figure>"
    page, _, _ = opened(browser, tmp_path / "panel.html", html, 390)
    assert page.evaluate(ROOM_BESIDE_TITLES) > 0


def test_the_policy_page_shows_noise_that_drowns_everything(browser: Browser, tmp_path: Path) -> None:
    spec = write_case(
        tmp_path,
        ('"sqrt", gamma = 0.5', '"log", gamma = 0.5'),
        ("emp = 0.2", "emp = 0.01"),
        ("emp = 0.1 }", "emp = 0.01 }"),
    )
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(gedp.read_spec(spec), "drowned"))
    assert not errors
    assert page.locator("#cell-errors tr td.spec").first.inner_text() == "∞ (∞%)"


@pytest.mark.parametrize("name", ["individual", "paper-equal"])
def test_the_policy_page_shows_errors_as_gamma_and_mu_move(browser: Browser, tmp_path: Path, name: str) -> None:
    spec = find_spec(name)
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(spec, name))

    def shown() -> list[float]:
        texts = page.locator("#cell-errors tr td:nth-child(2)").all_inner_texts()
        return [float(text.replace("k", "e3").replace("M", "e6")) for text in texts]

    attribute, mu = spec.policy.attributes["m1emp"], table_mu(spec, "m1emp")
    expected = [typical_error(attribute, mu, count).error for count in (10, 100, 1_000, 10_000)]
    assert shown() == pytest.approx(expected, rel=0.006)
    total = gedp.price(spec).total.mu
    page.locator("#mu-number").fill(str(3 * total))
    thrice = [typical_error(attribute, 3 * mu, count).error for count in (10, 100, 1_000, 10_000)]
    assert shown() == pytest.approx(thrice, rel=0.006)
    page.locator("#gamma-number").fill("1.5")  # three times as well
    assert shown() == pytest.approx(expected, rel=0.006)
    assert not errors


def test_a_policy_without_queries_for_an_attribute_has_no_errors_to_show(browser: Browser, tmp_path: Path) -> None:
    spec = gedp.read_spec(
        write_case(
            tmp_path, ("mu = 0.1\n", "mu = { emp = 0.1 }\n"), ("mu = { emp = 0.2, wage = 0.1 }", "mu = { emp = 0.2 }")
        )
    )
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(spec, "x"))
    page.locator("#attribute").select_option("1")
    assert page.locator("#cell-errors tr").count() == 0
    assert not errors


def test_the_report_says_who_pays_what(demonstration: Demonstration) -> None:
    report = (demonstration.release / "report.html").read_text(encoding="utf-8")
    assert "How the budget was shared" in report
    assert "the largest bill is 100% of it" in report
    chosen = gedp.read_release(demonstration.release).manifest.individual
    assert all(each.errors[query] <= each.floor[query] for each in chosen.values() for query in each.errors)
