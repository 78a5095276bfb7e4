"""The page of the desk in a real browser: choose, filter, sort, draw, download, restore from a link, by keyboard."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.attacks.test_pages import toml
from tests.helpers.desks import Served, desk_of, serving
from tests.helpers.pages import serious_findings
from tests.helpers.runs import gedp, small_table, write_case

pytestmark = pytest.mark.browser
BY_COUNTY = "?rows=cnty&attribute=m3emp"


class Opened:
    """A page of a desk, and what it asked for and complained of."""

    def __init__(self, browser: Browser, served: Served, view: str = "", width: int = 1280) -> None:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        self.page, self.served = context.new_page(), served
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.goto(served.address + view)
        self.settled()

    def settled(self) -> None:
        """Waits until a table is there."""
        expect(self.page.locator("#result")).not_to_have_attribute("aria-busy", "true", timeout=30_000)
        expect(self.page.locator("#table table")).to_be_visible(timeout=30_000)

    def rows(self) -> list[str]:
        return self.page.locator("#table tbody th").all_inner_texts()

    def column(self, place: int) -> list[float]:
        texts = self.page.locator(f"#table tbody td:nth-of-type({place})").all_inner_texts()
        return [float(text.split("±")[0].replace(",", "").replace("−", "-")) for text in texts]

    def heading(self) -> str:
        return self.page.locator("#caption").inner_text()


@pytest.fixture
def opened(browser: Browser, served: Served) -> Iterator[Opened]:
    """The desk at its first view; it must neither complain nor ask elsewhere."""
    it = Opened(browser, served)
    yield it
    assert it.errors == []
    assert all(url.startswith((served.address, "data:")) for url in it.requests)


def chosen(it: Opened, name: str, value: str) -> None:
    """Chooses from a list, and waits for the table that follows."""
    with it.page.expect_response(lambda response: "/api/table?" in response.url):
        it.page.get_by_label(name, exact=True).select_option(value)
    it.settled()


def test_rows_columns_and_figures_are_chosen(opened: Opened) -> None:
    chosen(opened, "Rows", "cnty")
    assert len(opened.rows()) == 14
    assert opened.rows()[0] == "Harbor County 001"
    with opened.page.expect_response(lambda response: "percent-change" in response.url):
        opened.page.get_by_role("checkbox", name="Change in jobs, in percent").check()
    opened.settled()
    assert opened.page.locator("#table thead th").count() == 4
    opened.page.get_by_role("checkbox", name="Change in jobs, in percent").uncheck()
    chosen(opened, "Columns", "domain")
    assert "Goods\tServices" in opened.page.locator("#table thead").inner_text()
    assert opened.heading() == "Jobs in January (jobs) by County and Industry (domain)"
    foot = opened.page.locator("#table tfoot td").all_inner_texts()
    assert foot[0] == "20,071"


def test_a_filter_is_set_searched_for_and_removed(opened: Opened) -> None:
    page = opened.page
    chosen(opened, "Rows", "sector")
    page.get_by_label("Only some of").select_option("cnty")
    page.get_by_label("Search", exact=True).fill("harb")
    box = page.get_by_label("Harbor County 001")
    expect(page.locator("#filter-list input")).to_have_count(1)
    with page.expect_response(lambda response: "where=cnty" in response.url):
        box.check()
    opened.settled()
    assert "where=cnty%3D001" in page.url
    expect(page.locator("#table tfoot")).to_contain_text("7,781")
    with page.expect_response(lambda response: "/api/table?" in response.url):
        page.get_by_role("button", name="Remove the filter County").click()
    opened.settled()
    expect(page.locator("#table tfoot")).to_contain_text("20,071")


def test_a_slow_answer_does_not_take_the_place_of_a_newer_list(opened: Opened) -> None:
    page, held = opened.page, list[Route]()

    def answer(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/codes?*", answer)
    page.get_by_label("Only some of").select_option("cnty")
    page.get_by_label("Search").fill("harb")
    expect(page.locator("#filter-list label")).to_have_count(1)
    with suppress(Error):  # nobody waits for it any more
        held[0].continue_()
    page.wait_for_timeout(300)
    expect(page.locator("#filter-list label")).to_have_count(1)
    assert opened.errors == []


def test_a_click_on_a_heading_sorts_and_says_so(opened: Opened) -> None:
    chosen(opened, "Rows", "cnty")
    page = opened.page
    for order, expected in (("descending", True), ("ascending", False)):
        page.get_by_role("button", name="Jobs in January").click()
        expect(page.locator(f"#table th[aria-sort={order}]")).to_be_visible()
        opened.settled()
        found = opened.column(2)
        assert found == sorted(found, reverse=expected)
    assert page.evaluate("document.activeElement.dataset.sort") == "0"  # the keyboard stays where it was


def test_a_click_on_a_row_shows_the_next_level(opened: Opened) -> None:
    chosen(opened, "Rows", "sector")
    with opened.page.expect_response(lambda response: "where=sector%3D62" in response.url):
        opened.page.get_by_role("button", name="Health and social care").click()
    opened.settled()
    assert [row.split()[-1] for row in opened.rows()] == ["621", "622", "623", "624"]
    opened.page.go_back()
    opened.settled()
    expect(opened.page.locator("#table tbody tr")).to_have_count(20)


def test_a_link_restores_the_view(opened: Opened, browser: Browser, served: Served) -> None:
    page = opened.page
    chosen(opened, "Rows", "cnty")
    chosen(opened, "Columns", "supersector")
    chosen(opened, "Confidence of the intervals", "0.9")
    page.locator("#table thead .sort").nth(1).click()
    expect(page.locator("#table th[aria-sort=descending]")).to_be_visible()
    opened.settled()
    page.get_by_label("Draw", exact=True).select_option("lines")
    expect(page.locator("#figure polyline")).to_have_count(8)
    view = page.url.removeprefix(served.address)
    again = Opened(browser, served, view)
    assert again.page.locator("#table").inner_text() == page.locator("#table").inner_text()
    assert again.heading() == opened.heading()
    for name in ("Rows", "Columns", "Confidence of the intervals", "Draw"):
        assert (
            again.page.get_by_label(name, exact=True).input_value() == page.get_by_label(name, exact=True).input_value()
        )
    expect(again.page.locator("#figure polyline")).to_have_count(8)
    assert "90%" in again.page.locator("#legend").inner_text()


def test_what_is_drawn_says_what_it_is(opened: Opened) -> None:
    page = opened.page
    chosen(opened, "Rows", "cnty")
    expect(page.locator("#figure svg")).to_have_attribute("role", "img")
    expect(page.locator("#figure rect.bar")).to_have_count(14)
    expect(page.locator("#figure path.error")).to_have_count(14)
    chosen(opened, "Rows", "naics3")
    page.get_by_label("Draw", exact=True).select_option("levels")
    expect(page.locator("#figure rect.bar")).to_have_count(7)
    label = page.locator("#figure svg").get_attribute("aria-label") or ""
    assert "Medians: Industry (domain)" in label


@pytest.mark.parametrize("kind", ["CSV", "Excel", "Arrow"])
def test_downloads_are_whole_tables(kind: str, browser: Browser, served: Served, tmp_path: Path) -> None:
    it = Opened(browser, served, BY_COUNTY)
    with it.page.expect_download() as waiting:
        it.page.get_by_role("link", name=kind).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.suffix == {"CSV": ".csv", "Excel": ".xlsx", "Arrow": ".arrows"}[kind]
    if kind == "CSV":
        assert pa.csv.read_csv(path).num_rows == 14
    assert path.read_bytes() == served.get(f"/api/table.{path.suffix[1:].removesuffix('s')}{BY_COUNTY}").body


def test_a_table_of_many_lines_has_parts(browser: Browser, served: Served) -> None:
    it = Opened(browser, served, "?rows=naics&attribute=m3emp")
    first = it.rows()
    assert len(first) == 100
    it.page.get_by_role("button", name="Later lines").click()
    expect(it.page.locator("#lines")).to_have_text("101 to 147 of 147")
    it.settled()
    assert len({*first, *it.rows()}) == 147
    expect(it.page.get_by_role("button", name="Later lines")).to_be_disabled()


def test_a_formula_of_ones_own_is_added_and_faults_are_shown(opened: Opened) -> None:
    page = opened.page
    chosen(opened, "Rows", "cnty")
    page.get_by_label("A formula of your own").fill("pay = wage / m3emp")
    page.get_by_label("A formula of your own").press("Enter")
    expect(page.locator("#table thead")).to_contain_text("pay")
    page.get_by_label("A formula of your own").fill("wrong = <b>x</b> / (")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("alert").filter(has_text="it cannot be read from")).to_be_visible()
    assert page.locator("#problem b").count() == 0
    opened.errors.clear()  # the browser logs that a request was refused


def test_where_there_is_no_table_nothing_of_the_one_before_is_left(opened: Opened) -> None:
    page = opened.page
    chosen(opened, "Rows", "cnty")
    named, gone = (
        "Jobs in January (jobs) by County",
        ("#as-csv", "#as-xlsx", "#as-arrow", "#command", "#drawn", "#legend"),
    )
    assert opened.heading() == named
    assert page.title().startswith(named)
    page.get_by_label("A formula of your own").fill("pay = wage / nothing")
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("#problem")).to_be_visible()
    assert opened.heading() == "No table"
    assert named not in page.title()
    for part in gone:
        expect(page.locator(part)).to_be_hidden()
    page.get_by_role("checkbox", name="pay = wage / nothing").click()
    expect(page.locator("#problem")).to_be_hidden()
    opened.settled()
    assert opened.heading() == named
    for part in gone:
        expect(page.locator(part)).to_be_visible()
    assert "wage%20%2F%20nothing" not in str(page.locator("#as-csv").get_attribute("href"))
    opened.errors.clear()  # the browser logs that a request was refused


def test_a_desk_of_one_release_speaks_of_no_change(opened: Opened) -> None:
    assert opened.page.locator("#show option").all_text_contents() == ["Figures"]


def test_all_can_be_done_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the table"
    page.keyboard.press("Enter")
    below = {"0", "label", "as-csv", "as-xlsx", "copy-link", "chart", "drawn", "copy-command"}
    beside = {"rows0", "columns", "formula", "filter-key", "confidence"}
    missing, pressed = below | beside, 0
    while missing and pressed < 200:  # a browser may stop at elements of its own on the way round
        page.keyboard.press("Tab")
        pressed += 1
        missing.discard(page.evaluate("document.activeElement.id || document.activeElement.dataset.sort || ''"))
    assert not missing


def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, served: Served) -> None:
    it = Opened(browser, served, f"{BY_COUNTY}&attribute=wage&ratio=weekly-wage", width=390)
    assert it.page.evaluate("document.documentElement.scrollWidth") == 390
    expect(it.page.locator("#choices")).to_be_hidden()
    it.page.get_by_text("Choose what the table shows").click()
    chosen(it, "Rows", "sector")
    assert it.page.evaluate("document.documentElement.scrollWidth") == 390
    assert it.errors == []


def described(page: Page) -> list[str]:
    """What has no name for those who do not see it."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, a[href], svg[role=img], [role=region]")]
        .filter((each) => !each.closest("[hidden]") && !(each.labels?.length || each.getAttribute("aria-label")
            || each.getAttribute("aria-labelledby") || each.textContent.trim()))
        .map((each) => each.outerHTML)"""
    )
    return found


def test_everything_has_a_name(opened: Opened) -> None:
    opened.page.get_by_label("Only some of").select_option("cnty")
    expect(opened.page.locator("#filter-list input").first).to_be_visible()
    assert described(opened.page) == []
    assert opened.page.locator("h1").count() == 1


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["served", "packed"])
def test_an_accessibility_checker_finds_nothing_serious(
    name: str, width: int, browser: Browser, request: pytest.FixtureRequest
) -> None:
    it = Opened(browser, request.getfixturevalue(name), "?rows=cnty&rows=naics5&attribute=m3emp", width)
    if width == 390:
        it.page.locator("#chooser summary").click()
    it.page.get_by_label("Only some of").select_option("cnty")
    expect(it.page.locator("#filter-list input").first).to_be_visible()
    assert serious_findings(it.page) == []


MARKUP = "<img src=x onerror=\"document.title='harm'\">"


@pytest.mark.usefixtures("no_disk_waits")
def test_names_that_are_markup_are_shown_as_they_are(browser: Browser, tmp_path: Path) -> None:
    attribute, code = f"{MARKUP} too", f"{MARKUP} & <b>code</b>"
    table = small_table(60)
    table = table.rename_columns([{"cnty": MARKUP, "emp": attribute}.get(name, name) for name in table.column_names])
    place = table.column_names.index(MARKUP)
    codes = [code if text == "001" else text for text in table[MARKUP].to_pylist()]
    table = table.set_column(place, MARKUP, pa.array(codes))
    spec = write_case(tmp_path, table=table)
    text = spec.read_text(encoding="utf-8").replace('"cnty"', toml(MARKUP)).replace("emp =", f"{toml(attribute)} =")
    spec.write_text(text, encoding="utf-8")
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert ended.code == 0, ended.err
    with serving(desk_of(tmp_path / "out")) as served:
        it = Opened(browser, served)
        chosen(it, "Rows", MARKUP)
        assert it.errors == []
        assert MARKUP in it.heading()
        assert it.page.locator("img").count() == 0
        assert "harm" not in it.page.title().replace(MARKUP, "")
        it.page.get_by_label("Only some of").select_option(MARKUP)
        expect(it.page.locator("#filter-list input").first).to_be_visible()
        assert it.page.locator("img, #filter-list b").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_a_package_can_be_looked_at(browser: Browser, packed: Served, width: int) -> None:
    it = Opened(browser, packed, width=width)
    page = it.page
    if width == 390:
        page.locator("#chooser summary").click()
    assert it.heading() == "Jobs in January (jobs) by County"
    expect(page.locator("#legend")).to_contain_text("± can be a little larger than in the release")
    chosen(it, "Published table", "3")
    assert it.heading() == "Jobs in January (jobs) by County, Industry group"
    expect(page.locator("#formula")).to_be_hidden()
    expect(page.locator("#confidence")).to_be_hidden()
    expect(page.locator("#command")).to_be_hidden()
    chosen(it, "Columns", "cnty")
    assert page.locator("#table tbody tr").count() == 100
    page.select_option("#filter-key", "cnty")
    page.locator("#filter-list").get_by_text("Harbor County").click()
    it.settled()
    expect(page.locator("#table thead th")).to_have_count(3)
    page.locator("#table thead button").last.click()
    it.settled()
    first = it.rows()[0]
    page.reload()
    it.settled()
    assert it.rows()[0] == first
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert it.errors == []
