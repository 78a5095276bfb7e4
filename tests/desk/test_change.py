"""A desk that was started with an earlier release: changes are those of `gedp tabulate --against`."""

import io
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.ipc
import pytest
from openpyxl import load_workbook
from playwright.sync_api import Browser, expect

import gedp
from gedp.desk.openapi import description
from gedp.desk.question import SHOW, TABLE
from gedp.desk.source import FIGURE
from gedp.errors import FaultsError
from gedp.estimates import figure_columns
from tests.desk.test_api import fits
from tests.desk.test_page import MARKUP, Opened, chosen
from tests.helpers.builder import JOBS, spec_of, table_of
from tests.helpers.demonstration import Demonstration
from tests.helpers.desks import Served, desk_of, serving
from tests.helpers.quarters import REGIONS, SECTIONS, first_quarter, release_of, second_quarter
from tests.helpers.runs import gedp as command

Fields = list[tuple[str, str]]
CHANGE = ("show", "change")
MOVED = {**REGIONS, "003": "south"}
LABELS = {**SECTIONS["labels"], "wage": {"title": f"Wages {MARKUP}", "unit": "US dollars", "scale": 1000}}
QUESTIONS: list[Fields] = [
    [("attribute", "jobs")],
    [("rows", "cnty")],
    [("rows", "cnty"), ("columns", "naics2"), ("attribute", "wage"), ("attribute", "jobs")],
    [("rows", "naics2"), ("ratio", "pay = wage / jobs"), ("confidence", "0.9")],
    [("rows", "naics"), ("attribute", "wage"), ("where", "cnty=001"), ("where", "cnty=003")],
    [("rows", "size"), ("attribute", "establishments")],
]


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The later and the earlier release: a county has closed, one has opened, and regions are others."""
    folder, before = tmp_path_factory.mktemp("quarters"), first_quarter()
    new = release_of(second_quarter(before), folder / "q2", seed=2, regions=MOVED, labels=LABELS)
    old = release_of(before, folder / "q1", seed=1, labels=LABELS)
    return new.folder, old.folder


@pytest.fixture(scope="module")
def compared(quarters: tuple[Path, Path]) -> Iterator[Served]:
    with serving(desk_of(*quarters)) as served:
        yield served


def path(kind: str, fields: Fields) -> str:
    return f"/api/{kind}?{urlencode(fields)}"


def cells_of(shown: Any) -> dict[tuple[frozenset[tuple[str, str]], str, str], dict[str, Any]]:
    """Every cell by its keys, its figure and what it is of it."""
    found = {}
    for line in shown["lines"]:
        for head, cell in zip(shown["heads"], line["cells"], strict=True):
            named = zip([*shown["rows"], *shown["columns"]], [*line["codes"], *head["codes"]], strict=True)
            if cell is not None:
                found[frozenset(named), head["figure"], head["kind"]] = cell
    return found


@pytest.mark.parametrize("fields", QUESTIONS)
def test_changes_are_those_of_the_command_that_the_page_names(fields: Fields, compared: Served, tmp_path: Path) -> None:
    asked = [*fields, CHANGE]
    shown = compared.get(path("table", [*asked, ("limit", "500")])).json
    words = shlex.split(shown["command"])
    assert any(word.startswith("--against=") for word in words)
    ended = command(*words[1:], folder=tmp_path)
    assert ended.code == 0, ended.err
    assert compared.get(path("table.csv", asked)).body == (tmp_path / "table.csv").read_bytes()
    lines = pa.ipc.open_stream(compared.get(path("table.arrow", asked)).body).read_all().to_pylist()
    cells = cells_of(shown)
    assert len(cells) == 3 * len(lines)
    for line in lines:
        keys = frozenset((key, line[key]) for key in (*shown["rows"], *shown["columns"]))
        for kind, name in ((FIGURE, None), ("change", "change"), ("percent", "percent")):
            cell = cells[keys, line["attribute"], kind]
            assert [cell[each] for each in figure_columns()] == [line[each] for each in figure_columns(name)]
        mark = {True: "significant", False: "not significant"}.get(line["significant"])
        if mark:
            assert cells[keys, line["attribute"], "change"]["quality"] == mark


def test_figures_are_as_without_an_earlier_release(compared: Served, quarters: tuple[Path, Path]) -> None:
    fields = [("rows", "cnty"), ("columns", "naics2"), ("ratio", "pay = wage / jobs")]
    with serving(desk_of(quarters[0])) as alone:
        expected = alone.get(path("table", fields))
        assert compared.get(path("table", fields)).body == expected.body
        assert compared.get(path("table", [*fields, ("show", "figures")])).body == expected.body
        assert alone.get("/api/release").json["change"] is None
        for kind in ("table", "table.csv", "table.xlsx", "table.arrow"):
            refusal = alone.get(path(kind, [*fields, CHANGE]))
            assert refusal.status == 400
            assert "show: there is no such parameter" in refusal.json["error"]


def test_opened_and_closed_groups_and_missing_percentages_are_marked(compared: Served) -> None:
    shown = compared.get(path("table", [("rows", "cnty"), ("attribute", "jobs"), ("attribute", "profit"), CHANGE])).json
    assert [head["kind"] for head in shown["heads"]] == [FIGURE, "change", "percent"] * 2
    lines = {line["codes"][0]: line for line in shown["lines"]}
    assert (lines["005"]["establishments"], lines["007"]["establishments"]) == (0, 15)
    figure, change, percent, *_ = lines["005"]["cells"]
    assert (figure["text"], figure["quality"]) == ("–", "")
    assert (change["text"], change["quality"], percent["text"]) == ("–", "closed", "–")
    assert lines["007"]["cells"][1]["quality"] == "opened"
    assert lines["007"]["cells"][0]["estimate"] > 0
    assert lines["001"]["cells"][5]["quality"] == "no percentage"
    percent = lines["001"]["cells"][2]
    low, high = percent["margin"].removesuffix("%").split(" to ")
    assert float(low) < float(percent["text"].removesuffix("%")) < float(high)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_column_can_be_sorted(place: int, compared: Served) -> None:
    fields = [("rows", "cnty"), ("rows", "naics"), ("attribute", "wage"), CHANGE, ("sort", str(place))]
    lines = compared.get(path("table", [*fields, ("descending", "true")])).json["lines"]
    values = [line["cells"][place]["estimate"] for line in lines]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    assert len(known) < len(values)
    assert values[len(known) :] == [None] * (len(values) - len(known))


def test_a_workbook_has_the_same_numbers(compared: Served) -> None:
    fields = [("rows", "cnty"), ("attribute", "jobs"), CHANGE]
    table, notes = load_workbook(io.BytesIO(compared.get(path("table.xlsx", fields)).body)).worksheets
    head, *rows = table.iter_rows(values_only=True)
    lines = pa.ipc.open_stream(compared.get(path("table.arrow", fields)).body).read_all()
    assert list(head) == lines.column_names
    for row, line in zip(rows, lines.to_pylist(), strict=True):
        for found, expected in zip(row, line.values(), strict=True):
            assert found == (pytest.approx(expected, rel=1e-14) if isinstance(expected, float) else expected)
    said = "\n".join(str(row[0]) for row in notes.iter_rows(values_only=True))
    assert "Changes are since the release of" in said
    assert "--against=" in said


def test_what_is_not_alike_in_both_is_not_offered_and_is_refused_in_words(compared: Served) -> None:
    offered = compared.get("/api/release").json
    assert "region" in {key["name"] for key in offered["keys"]}
    assert "region" not in offered["change"]["keys"]
    assert {"cnty", "naics", "naics2", "size"} <= set(offered["change"]["keys"])
    assert set(offered["change"]["figures"]) >= {"jobs", "wage", "profit"}
    assert compared.get(path("table", [("rows", "region")])).status == 200
    refusal = compared.get(path("table", [("rows", "region"), CHANGE]))
    assert refusal.status == 400
    assert "the map of 'region' puts 1 codes into other groups than before" in refusal.json["error"]


@pytest.mark.parametrize(
    "fields", [[("where", "cnty=007")], [("where", "cnty=005")], [("attribute", "nothing")], [("rows", "nowhere")]]
)
def test_refusals_name_no_folder(fields: Fields, compared: Served, quarters: tuple[Path, Path]) -> None:
    """A group that only one of the releases has cannot be a filter of both."""
    refusal = compared.get(path("table", [*fields, CHANGE]))
    assert refusal.status == 400
    assert str(quarters[0].parent) not in refusal.body.decode()


@pytest.mark.parametrize("text", ["", "Change", "nonsense", "<b>"])
def test_nothing_else_can_be_shown(text: str, compared: Served) -> None:
    refusal = compared.get(path("table", [("rows", "cnty"), ("show", text)]))
    assert refusal.status == 400
    assert "Give one of: figures, change" in refusal.json["error"]


def test_answers_and_parameters_are_as_described(compared: Served) -> None:
    described = compared.get("/openapi.json").json
    assert described == description((*TABLE, SHOW))
    for where, fields in (("/api/release", ""), ("/api/table", "?rows=cnty&show=change")):
        schema = described["paths"][where]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert fits(compared.get(where + fields).json, schema)


def test_releases_that_cannot_be_compared_are_refused_at_the_start(quarters: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="the same noise"):
        desk_of(quarters[0], quarters[0]).get_ready()
    other = spec_of(attributes=JOBS, queries=["county"])  # under another name
    folder = gedp.run(other, table_of(), out=tmp_path / "other", seed=1, answers_only=True).folder
    with pytest.raises(FaultsError, match="no figure in common"):
        desk_of(quarters[0], folder).get_ready()


@pytest.mark.parametrize("arguments", [("package", "--against", "out"), ("out", "--against", "package")])
def test_a_package_is_not_compared(arguments: tuple[str, ...], demonstration: Demonstration) -> None:
    ended = command("desk", *arguments, "--port", "0", folder=demonstration.folder)
    assert ended.code != 0
    assert "--against compares two releases" in ended.err


def test_seeded_noise_of_either_release_is_said(compared: Served) -> None:
    said = compared.get("/api/release").json
    assert said["is_seeded"]
    assert any("a seed of its own" in text for text in said["protection"])


@pytest.mark.browser
def test_the_change_is_chosen_drawn_restored_and_shown_as_text(browser: Browser, compared: Served) -> None:
    it = Opened(browser, compared, "?rows=cnty&attribute=jobs&attribute=wage")
    chosen(it, "Show", "change")
    page = it.page
    assert page.locator("#table thead th").count() == 8
    assert "and their change since the release of" in it.heading()
    table = page.locator("#table")
    for mark in ("significant", "opened", "closed"):
        expect(table.get_by_text(mark, exact=True).first).to_be_visible()
    expect(page.locator("#figure figcaption")).to_contain_text("Jobs (jobs): change")
    expect(page.locator("#figure path.error")).to_have_count(2)
    assert page.locator("#rows0 option[value=region]").count() == 0
    assert "--against=" in page.locator("#command").inner_text()
    assert "show=change" in (page.get_by_role("link", name="CSV").get_attribute("href") or "")
    page.locator("#table thead .sort").nth(2).click()
    expect(page.locator("#table th[aria-sort=descending]")).to_be_visible()
    it.settled()
    again = Opened(browser, compared, page.url.removeprefix(compared.address))
    assert again.page.locator("#table").inner_text() == table.inner_text()
    assert again.page.get_by_label("Show", exact=True).input_value() == "change"
    assert MARKUP in again.page.locator("#table thead").inner_text()
    assert again.page.locator("img").count() == 0
    chosen(it, "Show", "")
    assert page.locator("#table thead th").count() == 4
    assert it.errors == again.errors == []


@pytest.mark.browser
def test_without_an_earlier_release_there_is_nothing_to_choose(browser: Browser, served: Served) -> None:
    it = Opened(browser, served)
    expect(it.page.locator("#show")).to_be_hidden()
    assert it.errors == []


@pytest.mark.browser
def test_changes_of_a_figure_fit_beside_the_choices(browser: Browser, compared: Served) -> None:
    long = "Pay per job = 1000 * wage / jobs"
    it = Opened(browser, compared, f"?{urlencode([('rows', 'cnty'), ('ratio', long), CHANGE])}")
    wide, seen = it.page.evaluate(
        "(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('#table'))"
    )
    assert wide <= seen, it.page.locator("#table").inner_text()
