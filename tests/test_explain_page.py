"""The explain page in a real browser: controls change the numbers, the numbers are right, nothing is fetched."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from gedp.accounting.composition import PrivacyLoss
from gedp.explain.facts import power_rows
from gedp.explain.page import explain_page
from gedp.explain.wording import chance
from gedp.neighbors import Linear, Log, NeighborFunction, Protection, Sqrt
from gedp.policy import parse_spec, price
from gedp.reproduce.frameworks import framework_ratios, frameworks_page
from gedp.specs import find_spec
from tests.pages import labels_of, opened
from tests.test_policy import changed

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
    assert page.locator("#now-power").inner_text() == "74.6%"
    before, power_curve = cells(page, 5), page.locator("#power path.line-now").get_attribute("d")
    assert number(before[0]) == 100
    assert before[1:3] == ["90.3", "110.3"]

    page.locator("#gamma").focus()
    page.keyboard.press("ArrowRight")  # as a person would
    assert cells(page, 5) != before

    page.locator("#gamma-number").fill("1")
    assert cells(page, 5)[1:3] == ["81", "121"]
    assert cells(page, 5)[5] == before[5]  # the spec's own interval stays
    move(page, "mu", 1.0)
    assert page.locator("#now-power").inner_text() == "26.0%"
    assert page.locator("#power path.line-now").get_attribute("d") != power_curve
    assert page.locator("#power path.line-spec").get_attribute("d") == power_curve

    page.locator("#mu-number").fill("-3")  # ignored
    assert page.locator("#now-power").inner_text() == "26.0%"

    page.locator("#reset").click()
    assert cells(page, 5) == before
    assert page.locator("#now-power").inner_text() == "74.6%"
    assert (requests, errors) == ([], [])


SHIFTED = changed(
    ("gamma = 0.5 }", "gamma = 0.5, shift = 2.5 }"), ('wage = { psi = "sqrt"', 'wage = { psi = "log", shift = 3')
)


@pytest.mark.parametrize(
    ("attribute", "psi", "protection"),
    [
        (0, "sqrt", Sqrt(2.5)),
        (0, "log", Log(1e-9)),
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
        size, low, high, width = (number(text) for text in cells(page, row)[:4])
        ours = Protection(protection, gamma).interval(size)
        assert low == pytest.approx(float(ours.low), abs=0.06)
        assert high == pytest.approx(float(ours.high), abs=0.06)
        assert width == pytest.approx(float(ours.width), abs=0.06)
        assert cells(page, row)[4] == f"{100 * float(ours.width) / size:.1f}%"
    assert errors == []


def test_every_power_is_that_of_the_library(browser: Browser, tmp_path: Path) -> None:
    page, _, _ = opened(browser, tmp_path / "p.html", explain_page(find_spec("paper-equal"), "paper-equal"))
    in_spec = [[chance(p) for p in row.powers] for row in power_rows(price(find_spec("paper-equal")).total)]
    for mu in ("0.05", "0.5", "2", "5"):
        page.locator("#mu-number").fill(mu)
        for i, row in enumerate(power_rows(PrivacyLoss.of(mu)), 1):
            texts = page.locator(f"#powers tr:nth-child({i}) td").all_inner_texts()
            assert texts == [row.change, *map(chance, row.powers), *in_spec[i - 1]]


def test_the_page_opens_with_what_the_spec_says(browser: Browser, tmp_path: Path) -> None:
    """Also where intervals are widened or cross 0."""
    text = changed(
        ("gamma = 0.5 }", "gamma = 0.5, at_least = { psi = 'linear', gamma = 3 } }"),
        ("gamma = 50", "gamma = 2, signed = true"),
    )
    page, _, _ = opened(browser, tmp_path / "p.html", explain_page(parse_spec(text), "x", (1, 100)))
    assert cells(page, 1)[1:3] == ["0", "4"]
    assert "widened as in the spec" in page.locator("#setting").inner_text()
    page.locator("#gamma-number").fill("0.25")
    assert "without the spec's at_least" in page.locator("#setting").inner_text()
    page.locator("#reset").click()
    assert cells(page, 1)[1:3] == ["0", "4"]
    page.locator("#attribute").select_option("1")
    assert cells(page, 1)[1:3] == ["-1", "9"]
    page.locator("#gamma-number").fill("3")
    assert cells(page, 1)[1:3] == ["-4", "16"]


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
    page, requests, errors = opened(browser, tmp_path / "f.html", frameworks_page([framework_ratios(1)]))
    assert page.locator("svg[role=img]").is_visible()
    assert (requests, errors) == ([], [])
