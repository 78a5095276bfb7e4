"""The explain page in a real browser: controls change the numbers, the numbers are right, nothing is fetched."""

import math
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from gedp import numbers
from gedp.accounting.composition import PrivacyLoss, power
from gedp.accounting.sampling import gamma_for_sampling, sampling_fraction
from gedp.explain.facts import power_rows
from gedp.explain.page import explain_page
from gedp.neighbors import Linear, Log, NeighborFunction, Protection, Sqrt
from gedp.policy import parse_spec, price
from gedp.policy.examples import find_spec
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.document import item_page
from gedp_lab.reproduce.everything import run_item
from gedp_lab.reproduce.items import frameworks
from tests.helpers.pages import labels_of, opened
from tests.policy.test_spec import changed

pytestmark = pytest.mark.browser


def cells(page: Page, row: int) -> list[str]:
    return page.locator(f"#intervals tr:nth-child({row}) td").all_inner_texts()


def move(page: Page, control: str, value: float) -> None:
    page.locator(f"#{control}").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true})); }", value
    )


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_moving_the_sliders_changes_the_numbers(browser: Browser, tmp_path: Path) -> None:
    page, requests, errors = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "paper-equal"))
    assert page.locator("#now-power").inner_text() == "at most 74.6%"
    before, power_curve = cells(page, 5), page.locator("#power path.line-now").get_attribute("d")
    assert number(before[0]) == 100
    assert before[1:3] == ["90.2", "110.2"]

    page.locator("#gamma").focus()
    page.keyboard.press("ArrowRight")  # as a person would
    assert cells(page, 5) != before

    page.locator("#gamma-number").fill("1")
    assert cells(page, 5)[1:3] == ["81.0", "121.0"]
    assert cells(page, 5)[5] == before[5]  # the spec's own interval stays
    move(page, "mu", 1.0)
    assert page.locator("#now-power").inner_text() == "at most 26.0%"
    assert page.locator("#power path.line-now").get_attribute("d") != power_curve
    assert page.locator("#power path.line-spec").get_attribute("d") == power_curve

    page.locator("#mu-number").fill("-3")  # ignored
    assert page.locator("#now-power").inner_text() == "at most 26.0%"

    page.locator("#reset").click()
    assert cells(page, 5) == before
    assert page.locator("#now-power").inner_text() == "at most 74.6%"
    assert (requests, errors) == ([], [])


SHIFTED = changed(
    ("gamma = 0.5 }", "gamma = 0.5, shift = 2.5 }"), ('wage = { psi = "sqrt"', 'wage = { psi = "log", shift = 3')
)


@pytest.mark.parametrize(
    ("attribute", "psi", "protection"),
    [
        (0, "sqrt", Sqrt(2.5)),
        (0, "log", Log()),
        (0, "linear", Linear()),
        (1, "log", Log(3)),
        (1, "sqrt", Sqrt()),
    ],
)
@pytest.mark.parametrize("gamma", [0.05, 1.7])
def test_the_page_computes_what_the_library_computes(
    browser: Browser, tmp_path: Path, attribute: int, psi: str, protection: NeighborFunction, gamma: float
) -> None:
    spec = parse_spec(SHIFTED.replace("gamma = 50", "gamma = 0.2"))
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(spec, "x", (1, 3, 10, 1000)))
    page.locator("#attribute").select_option(str(attribute))
    page.locator("#psi").select_option(psi)
    page.locator("#gamma-number").fill(str(gamma))
    for row in range(1, 5):
        shown = cells(page, row)
        ours = Protection(protection, gamma).interval(number(shown[0]))
        assert shown[1:4] == [*numbers.interval(float(ours.low), float(ours.high))]
        assert shown[4] == numbers.percent(float(ours.width) / number(shown[0]))
    assert errors == []


def test_the_survey_follows_gamma_and_gamma_the_survey(browser: Browser, tmp_path: Path) -> None:
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "paper-equal"))
    text = page.locator("#sampling")
    assert "ask 100% of the region's people if they may be asked twice, and 50% if not" in text.inner_text()
    page.locator("#gamma-number").fill("2")
    sample = sampling_fraction(2.0)
    assert page.locator("#sample").input_value() == f"{100 * sample.with_replacement:.3g}"
    assert numbers.short_share(sample.without_replacement) in text.inner_text()
    page.locator("#sample").fill("25")
    assert page.locator("#gamma-number").input_value() == f"{gamma_for_sampling(0.25):g}"
    page.locator("#sample").fill("0")  # ignored
    assert page.locator("#sample").get_attribute("aria-invalid") == "true"
    assert page.locator("#gamma-number").input_value() == "1"
    page.locator("#psi").select_option("log")
    assert not page.locator("#sample").is_visible()
    page.locator("#attribute").select_option("1")  # wages, of which a person has 12,500
    assert "more of the region's people than there are (130%)" in text.inner_text()  # 125% to two digits
    assert errors == []


def test_every_power_is_that_of_the_library(browser: Browser, tmp_path: Path) -> None:
    page, _, _ = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "paper-equal"))
    in_spec = [[numbers.chance(p) for p in row.powers] for row in power_rows(price(find_spec("paper-equal")).total)]
    for mu in ("0.05", "0.5", "2", "5"):
        page.locator("#mu-number").fill(mu)
        rows = power_rows(PrivacyLoss.of(mu))
        assert page.locator("#powers tr").count() == len(rows) > 3
        for i, row in enumerate(rows, 1):
            texts = page.locator(f"#powers tr:nth-child({i}) td").all_inner_texts()
            assert texts == [row.change, *map(numbers.chance, row.powers), *in_spec[i - 1]]


def test_the_page_rounds_as_the_library_does(browser: Browser, tmp_path: Path) -> None:
    """Halves, values next to halves, and a grid over all sizes, in every function that shows a number."""
    halves = [x / 4 for x in range(-9, 200)] + [999.95, 999.85, 0.0, 90.25, 30.25, 1e12 + 0.5, 123_456_789_012.25]
    values = [*halves, *(np.nextafter(x, side) for x in halves for side in (-1e9, 1e9))]
    values += [*np.geomspace(1e-12, 9e30, 1500), *-np.geomspace(1e-3, 1e9, 200)]
    chances = [*np.linspace(0, 1, 1001), *np.random.default_rng(1).random(500), 0.9989999, 0.99900001, 1e-9]
    intervals = [(x, x + abs(x) * w) for x in values for w in (0, 1e-9, 0.003, 0.7)]
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "x"))

    def on_page(function: str, arguments: Sequence[object]) -> list[str]:
        return list(page.evaluate(f"(many) => many.map((each) => {function})", arguments))

    numbered = [float(x) for x in values]
    assert on_page("size(each)", numbered) == [numbers.size(x) for x in numbered]
    ticks = [digit * 10.0**decade for decade in range(-3, 15) for digit in (-2, 1, 2.5, 7)]
    assert on_page("short(each)", ticks) == [numbers.short(x) for x in ticks]
    assert on_page("short(each, 2)", ticks) == [numbers.short(x, 2) for x in ticks]
    assert on_page("inWords(each)", ticks) == [numbers.in_words(x) for x in ticks]
    assert on_page("inWords(each, 2)", ticks) == [numbers.in_words(x, 2) for x in ticks]
    assert on_page("percent(each)", numbered) == [numbers.percent(x) for x in numbered]
    assert on_page("strength(Math.abs(each))", numbered) == [numbers.strength(abs(x)) for x in numbered]
    pairs = [(float(low), float(high)) for low, high in intervals]
    assert on_page("intervalTexts(...each).join()", pairs) == [",".join(numbers.interval(*pair)) for pair in pairs]
    assert on_page("chance(each)", [float(p) for p in chances]) == [numbers.chance(float(p)) for p in chances]
    settings = [(float(mu), alpha) for mu in np.linspace(0, 9, 301) for alpha in (0.01, 0.05, 0.1)]
    in_python = [numbers.bound(float(power(mu, alpha))) for mu, alpha in settings]
    assert on_page("bound(power(...each))", settings) == in_python
    assert errors == []


NOT_FINITE = re.compile("NaN|Infinity|∞|undefined")


def everything_on(page: Page) -> str:
    """Texts, drawings and values of controls; not the script."""
    controls = page.locator(".controls input").all()
    scripts = "document.querySelectorAll('script').forEach((script) => script.remove())"
    page.evaluate(scripts)
    return str(page.locator("body").inner_html()) + " ".join(control.input_value() for control in controls)


@pytest.mark.parametrize("sizes", [(), (36.0,)])
def test_no_choice_makes_numbers_that_are_not_finite(
    browser: Browser, tmp_path: Path, sizes: tuple[float, ...]
) -> None:
    spec = parse_spec(changed(('wage = { psi = "sqrt", gamma = 50', 'wage = { psi = "linear", gamma = 5')))
    page, _, errors = opened(browser, tmp_path / "p.html", explain_page(spec, "x", sizes))
    usual = page.locator("#mu-number").input_value()
    for attribute, psi, gamma in product("01", ("sqrt", "log", "linear"), ("0.001", "5", "50", "1e9")):
        page.locator("#attribute").select_option(attribute)
        page.locator("#mu-number").fill(usual)
        page.locator("#psi").select_option(psi)
        assert not NOT_FINITE.search(everything_on(page))
        page.locator("#gamma-number").fill(gamma)
        page.locator("#mu-number").fill("1e300")
        assert not NOT_FINITE.search(everything_on(page))
        assert len(page.locator("#intervals").inner_text()) < 3000
    assert errors == []


@pytest.mark.parametrize("attribute", ["0", "1"])
@pytest.mark.parametrize("psi", ["log", "linear"])
def test_another_psi_starts_with_a_gamma_that_means_about_the_same(
    browser: Browser, tmp_path: Path, attribute: str, psi: str
) -> None:
    """The interval around the middle size hardly changes, and the slider still moves around it."""
    spec = find_spec("paper-equal")
    page, _, _ = opened(browser, tmp_path / "p.html", explain_page(spec, "x"))
    page.locator("#attribute").select_option(attribute)
    in_spec = [cells(page, row) for row in range(1, page.locator("#intervals tr").count() + 1)]
    middle = (len(in_spec) + 1) // 2  # sizes are evenly spaced, nearly, and an odd number
    page.locator("#psi").select_option(psi)
    now = cells(page, middle)
    assert number(now[3]) == pytest.approx(number(in_spec[middle - 1][3]), rel=0.1)
    chosen = math.log10(number(page.locator("#gamma-number").input_value()))
    ends = [float(page.locator("#gamma").get_attribute(end) or "nan") for end in ("min", "max")]
    assert ends == pytest.approx([chosen - 2, chosen + 2])
    page.locator("#psi").select_option("sqrt")
    assert [cells(page, row) for row in range(1, len(in_spec) + 1)] == in_spec


def test_a_gamma_beyond_all_measure_is_marked_and_ignored(browser: Browser, tmp_path: Path) -> None:
    page, _, _ = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "x"))
    page.locator("#psi").select_option("log")
    before, control = cells(page, 3), page.locator("#gamma-number")
    control.fill("800")
    assert cells(page, 3) == before
    assert control.get_attribute("aria-invalid") == "true"
    control.fill("0.2")
    assert cells(page, 3) != before
    assert control.get_attribute("aria-invalid") is None


def test_the_page_opens_with_what_the_spec_says(browser: Browser, tmp_path: Path) -> None:
    """Also where intervals are widened or cross 0."""
    text = changed(
        ("gamma = 0.5 }", "gamma = 0.5, at_least = { psi = 'linear', gamma = 3 } }"),
        ("gamma = 50", "gamma = 2, signed = true"),
    )
    page, _, _ = opened(browser, tmp_path / "p.html", explain_page(parse_spec(text), "x", (1, 100)))
    assert cells(page, 1)[1:3] == ["0.0", "4.0"]
    assert "widened as in the spec" in page.locator("#setting").inner_text()
    page.locator("#gamma-number").fill("0.25")
    assert "without the spec's at_least" in page.locator("#setting").inner_text()
    page.locator("#reset").click()
    assert cells(page, 1)[1:3] == ["0.0", "4.0"]
    page.locator("#attribute").select_option("1")
    assert cells(page, 1)[1:3] == ["−1.0", "9.0"]
    page.locator("#gamma-number").fill("3")
    assert cells(page, 1)[1:3] == ["−4.0", "16.0"]


def test_each_attribute_and_a_widened_policy_can_be_shown(browser: Browser, tmp_path: Path) -> None:
    text = changed(
        ("gamma = 0.5 }", "gamma = 0.5, at_least = { psi = 'linear', gamma = 3 } }"),
        ("emp = {", "'</script>&' = {"),
        ("emp = 0.7", "'</script>&' = 0.7"),
    )
    page, requests, errors = opened(browser, tmp_path / "p.html", explain_page(parse_spec(text), "<i>mine</i>"))
    assert "“<i>mine</i>”" in page.locator("h1").inner_text()
    assert "widened from (sqrt(x))/0.5 and (x)/3" in page.locator("#spec-setting").inner_text()
    assert "</script>&" in page.locator("#setting").inner_text()
    page.locator("#attribute").select_option("1")
    assert "wage" in page.locator("#setting").inner_text()
    assert (requests, errors) == ([], [])


def test_figures_have_alternative_text_and_the_page_prints(browser: Browser, tmp_path: Path) -> None:
    page, requests, errors = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "paper-equal"))
    assert min(map(len, labels_of(page.locator("svg")))) > 30
    page.emulate_media(media="print")
    assert not page.locator("#reset").is_visible()
    assert page.locator("#intervals tr").count() == 11
    assert len(page.pdf(format="A4")) > 20_000
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    assert (requests, errors) == ([], [])


def test_frameworks_page_opens_without_requests(browser: Browser, tmp_path: Path) -> None:
    text = item_page(Context(), run_item(Context(), frameworks.ITEM), stands_alone=True)
    page, requests, errors = opened(browser, tmp_path / "f.html", text)
    assert page.locator("svg[role=img]").is_visible()
    assert (requests, errors) == ([], [])
