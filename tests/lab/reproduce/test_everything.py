"""Every item into one folder: pages, files, what is kept, and what happens without data."""

import json
import statistics as plain
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from gedp.cli import cli
from gedp.documents import Chart, PrintedTable
from gedp.errors import FaultsError, GedpError, Refused
from gedp.industries import sector_of, supersector_of
from gedp.web.svg import svg
from gedp_lab.reproduce.compared import IN_THOUSANDS, equal_spec
from gedp_lab.reproduce.context import QCEW, Context, State
from gedp_lab.reproduce.document import index_page, item_page
from gedp_lab.reproduce.everything import reproduce, require_data
from gedp_lab.reproduce.items.summaries import summaries
from gedp_lab.reproduce.printed_summaries import PRINTED
from gedp_lab.reproduce.registry import every_item, find_item, item_names, summary
from gedp_lab.reproduce.results import (
    AGREES,
    DISAGREES,
    FAILED,
    IN_PART,
    SKIPPED,
    CheckedClaim,
    Item,
    Result,
    result_of,
    verdict_of,
)
from tests.helpers.demonstration import Demonstration
from tests.helpers.pages import labels_of, opened

RESULT = Result(
    "printed <b>",
    "ours & more",
    IN_PART,
    "why not",
    claims=[CheckedClaim("pnc beats <all>", "the paper", DISAGREES, "1 of 2", "noise")],
    tables=[PrintedTable("numbers", ["a", "b"], [["x", "1"], ["<y>", "2"]])],
    figures=[Chart(svg(100, 50, ['<path class="grid" d="M0 0H50"/>'], "A line of the fake item."), "a line")],
    links={"elsewhere": "sub/page.html"},
    data={"fake": pa.table({"n": [1, 2]})},
)


class Counted:
    """An item that counts how often it ran."""

    def __init__(self, name: str, result: Result | Exception | KeyboardInterrupt = RESULT) -> None:
        self.runs = 0
        self.result = result
        self.item = Item(name, f"The {name} item", 1, self.run)

    def run(self, context: Context) -> Result:
        self.runs += 1
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def test_every_item_is_there_under_its_name() -> None:
    items = every_item()
    assert sorted(item.name for item in items) == item_names()
    assert (items[0].name, items[-1].name) == ("intervals", "elsewhere")
    assert len({item.place for item in items}) == len(items)
    for item in items:
        assert item.title
        assert summary(item.name).endswith(".")
        assert summary(item.name).isascii()


def test_results_survive_their_plain_form() -> None:
    back = result_of(json.loads(json.dumps(RESULT.plain())))
    assert json.dumps(replace(back, data=RESULT.data).plain()) == json.dumps(RESULT.plain())
    assert json.dumps(back.plain()) == json.dumps({**RESULT.plain(), "files": []})


def test_verdicts() -> None:
    assert verdict_of([True, AGREES]) == AGREES
    assert verdict_of([False, DISAGREES]) == DISAGREES
    assert verdict_of([True, False]) == verdict_of([IN_PART, DISAGREES]) == IN_PART


def test_only_what_nothing_explains_is_unexpected() -> None:
    assert Result("", "", AGREES).is_as_expected
    assert not Result("", "", IN_PART).is_as_expected
    explained = CheckedClaim("pnc wins", "the paper", DISAGREES, "0 of 2", "noise")
    assert replace(RESULT, claims=[explained]).is_as_expected
    assert not replace(RESULT, claims=[explained, replace(explained, reason="")]).is_as_expected


def test_everything_is_written_and_kept(tmp_path: Path) -> None:
    one, two = Counted("one"), Counted("two", replace(RESULT, verdict=SKIPPED, data={}))
    context = Context(tmp_path / "out", replicates=3)
    seen: list[str] = []
    outcomes = reproduce(context, [one.item, two.item], each=lambda outcome: seen.append(outcome.item.name))
    assert seen == ["one", "two"]
    names = {path.name for path in context.out.iterdir()}
    assert names == {"index.html", "one.html", "two.html", "results.json", "fake.parquet", "items"}
    assert pq.read_table(context.out / "fake.parquet")["n"].to_pylist() == [1, 2]
    results = json.loads((context.out / "results.json").read_text())
    assert [each["verdict"] for each in results["items"]] == [IN_PART, SKIPPED]
    assert results["items"][0]["claims"][0]["outcome"] == DISAGREES
    assert (results["replicates"], results["data"]) == (3, False)
    before = (context.out / "index.html").read_text()
    again = reproduce(context, [one.item, two.item])
    assert (one.runs, two.runs) == (1, 1)
    assert [each.kept for each in again] == [True, True]
    assert [each.result.plain()["claims"] for each in again] == [each.result.plain()["claims"] for each in outcomes]
    assert (context.out / "index.html").read_text() == before
    (context.out / "fake.parquet").unlink()
    reproduce(context, [one.item, two.item])
    assert (one.runs, two.runs) == (2, 1)
    reproduce(replace(context, seed=1), [one.item, two.item])
    assert (one.runs, two.runs) == (3, 2)


def test_one_item_leaves_the_others_on_the_page(tmp_path: Path) -> None:
    one, two, three = Counted("one"), Counted("two"), Counted("three")
    context, items = Context(tmp_path), [one.item, two.item, three.item]
    reproduce(context, items, only=["three"])
    assert [each.item.name for each in reproduce(context, items, only=["one"])] == ["one"]
    assert (one.runs, two.runs, three.runs) == (1, 0, 1)
    listed = json.loads((tmp_path / "results.json").read_text())["items"]
    assert [each["name"] for each in listed] == ["one", "three"]


def test_an_item_that_fails_does_not_stop_the_rest_and_is_tried_again(tmp_path: Path) -> None:
    bad, good = Counted("bad", GedpError("no such thing")), Counted("good")
    for _ in range(2):
        outcomes = reproduce(Context(tmp_path), [bad.item, good.item])
        assert [each.result.verdict for each in outcomes] == [FAILED, IN_PART]
        assert outcomes[0].result.why == "no such thing"
    assert (bad.runs, good.runs) == (2, 1)


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    one, two = Counted("one"), Counted("two", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as stopped:
        reproduce(Context(tmp_path), [one.item, two.item])
    assert stopped.value.__notes__ == ["1 of 2 items are finished and kept; the same command goes on from there"]
    assert "The one item" in (tmp_path / "index.html").read_text()
    two.result = RESULT
    reproduce(Context(tmp_path), [one.item, two.item])
    assert (one.runs, two.runs) == (1, 2)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(Refused, match="holds something else"):
        reproduce(Context(tmp_path), [Counted("one").item])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_data_may_be_named_in_the_environment(tmp_path: Path) -> None:
    command = ["reproduce", "budgets", "--out", str(tmp_path / "r")]
    result = CliRunner().invoke(cli, command, env={"GEDP_DATA": str(tmp_path)})
    assert isinstance(result.exception, FaultsError)
    assert str(tmp_path) in str(result.exception)
    assert "GEDP_DATA" in CliRunner().invoke(cli, ["reproduce", "all", "--help"]).output


def test_data_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    require_data(None)
    with pytest.raises(FaultsError, match=f"{QCEW}.*--data or GEDP_DATA"):
        require_data(tmp_path)
    (tmp_path / QCEW).write_bytes(b"")
    require_data(tmp_path)


def test_thousands_are_dollars_with_a_larger_gamma() -> None:
    wage = equal_spec(IN_THOUSANDS).policy.attributes["wage"]
    dollars = 123_456_000.0
    thousands = replace(
        wage, closeness=replace(wage.closeness, gamma=equal_spec().policy.attributes["wage"].closeness.gamma)
    )
    low, high = wage.protection.interval(dollars).low, wage.protection.interval(dollars).high
    scaled = thousands.protection.interval(dollars / 1000)
    assert (float(low), float(high)) == pytest.approx((1000 * float(scaled.low), 1000 * float(scaled.high)))


@pytest.fixture(scope="module")
def small(demonstration: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three counties of the demonstration state."""
    folder = tmp_path_factory.mktemp("small")
    table = pq.read_table(demonstration.establishments)
    counties = sorted(set(table["cnty"].to_pylist()))[-3:]
    pq.write_table(table.filter(pa.compute.is_in(table["cnty"], pa.array(counties))), folder / "small.parquet")
    return folder / "small.parquet"


def test_summaries_equal_plain_python(small: Path) -> None:
    rows = pq.read_table(small).to_pylist()
    keys: dict[int, Callable[[Any], object]] = {
        53: lambda r: supersector_of(r["naics"]),
        54: lambda r: sector_of(r["naics"]),
        58: lambda r: r["naics"],
        71: lambda r: r["cnty"],
        77: lambda r: (r["cnty"], r["naics"][:5]),
    }
    found = {(row["agglvl"], row["what"]): row for row in summaries(State("NJ", "34", small))}
    assert {agglvl for agglvl, _ in found} == set(PRINTED["NJ"])
    for agglvl, key in keys.items():
        jobs: dict[object, int] = defaultdict(int)
        wages: dict[object, int] = defaultdict(int)
        count: dict[object, int] = defaultdict(int)
        for row in rows:
            count[key(row)] += 1
            jobs[key(row)] += row["m3emp"]
            wages[key(row)] += row["wage"]
        for what, sums, unit in (("establishments", count, 1), ("m3emp", jobs, 1), ("wage", wages, 1000)):
            values, ours = [value / unit for value in sums.values()], found[agglvl, what]
            assert ours["cells"] == len(values)
            expected = [min(values), plain.median(values), max(values), plain.mean(values), plain.stdev(values)]
            assert [ours[name] for name in ("minimum", "median", "maximum", "mean", "std")] == pytest.approx(expected)


@pytest.fixture(scope="module")
def reduced(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Context:
    """All comparisons on a small state, one replicate each."""
    context = Context(tmp_path_factory.mktemp("reduced"), replicates=1)
    context.__dict__["states"] = (State("demo", "00", small),)
    names = ["intervals", "estimators", "summaries", "differences", "comparison", "thousands", "scatter", "relative"]
    more = ["individual", "sweeps", "suppression", "distribution", "gamma", "elsewhere"]
    outcomes = reproduce(context, [find_item(name) for name in (*names, *more)])
    verdicts = {outcome.item.name: outcome.result.verdict for outcome in outcomes}
    assert verdicts["intervals"] == AGREES
    assert [name for name, verdict in verdicts.items() if verdict == SKIPPED] == [
        "summaries",
        "suppression",
        "elsewhere",
    ]
    assert FAILED not in verdicts.values()
    return context


@pytest.mark.slow
def test_without_data_the_demonstration_state_is_compared_and_said_to_be(reduced: Context) -> None:
    items = {each["name"]: each for each in json.loads((reduced.out / "results.json").read_text())["items"]}
    assert "demonstration state" in items["comparison"]["why"]
    assert QCEW in items["suppression"]["why"]
    assert "No qcew_2016q1.parquet was found" in (reduced.out / "index.html").read_text()
    lines = pq.read_table(reduced.out / "comparison.parquet")
    assert set(lines["workflow"].to_pylist()) >= {"psi", "pnc", "auto", "gdp", "auto+oracle"}
    swept = pq.read_table(reduced.out / "sweep-mu.parquet").to_pylist()
    assert {line["setting"] for line in swept} == {"mu=0.5", "mu=1", "mu=2.31", "mu=5"}
    for name, path in items["comparison"]["links"].items():
        assert (reduced.out / path).is_file(), name


@pytest.mark.slow
def test_a_median_of_the_table_is_that_of_the_replicates(reduced: Context) -> None:
    """One replicate, so a median over groups is that of the errors in its file."""
    folder = reduced.replicate_folder("equal", reduced.states[0])
    (path,) = (folder / "replicates").glob("0*.parquet")
    rows = [
        row
        for row in pq.read_table(path).to_pylist()
        if (row["workflow"], row["attribute"], row["level"]) == ("pnc", "wage", "NAICS-5")
    ]
    line = next(
        line
        for line in pq.read_table(reduced.out / "comparison.parquet").to_pylist()
        if (line["workflow"], line["attribute"], line["level"]) == ("pnc", "wage", "NAICS-5")
    )
    assert line["median_absolute"] == pytest.approx(plain.median(abs(row["error"]) for row in rows))


DRAWN = ("differences", "comparison", "thousands", "individual", "scatter", "relative", "sweeps")


@pytest.mark.slow
def test_every_claim_about_releases_says_how_many_are_independent(reduced: Context) -> None:
    items = {each["name"]: each for each in json.loads((reduced.out / "results.json").read_text())["items"]}
    for name in DRAWN:
        assert items[name]["claims"]
        for each in items[name]["claims"]:
            assert each["drawn"].startswith("1 independent release"), (name, each["text"])
        assert "Drawn: 1 independent release" in (reduced.out / f"{name}.html").read_text()
    assert all(not each["drawn"] for each in items["distribution"]["claims"])  # nothing was drawn


@pytest.mark.slow
def test_one_release_proves_nothing_about_releases(reduced: Context) -> None:
    items = {each["name"]: each for each in json.loads((reduced.out / "results.json").read_text())["items"]}
    assert [each["outcome"] for each in items["differences"]["claims"]] == [DISAGREES] * 3


def test_states_share_no_noise(small: Path, tmp_path: Path) -> None:
    """The same establishments as two states have different errors."""
    context = Context(tmp_path, replicates=1)
    biases = []
    for name, fips in (("RI", "44"), ("NJ", "34")):
        found = context.compare(
            "noise", State(name, fips, small), equal_spec(), workflows=["psi"], attributes=["m3emp"], by=[()]
        )
        biases.append(found.line("psi", "m3emp", "state total").bias)
    assert biases[0] != biases[1]


@pytest.mark.slow
@pytest.mark.browser
def test_pages_fetch_nothing_say_their_figures_and_fit_a_phone(browser: Browser, reduced: Context) -> None:
    pages = [path for path in reduced.out.glob("*.html") if path.name != "frameworks.html"]
    assert len(pages) == 15
    labels: list[str] = []
    for path in pages:
        page, requests, errors = opened(browser, path, path.read_text())
        assert (requests, errors) == ([], []), path.name
        labels += labels_of(page.locator("svg:not([aria-hidden])"))
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, path
        for link in page.locator("a").all():
            target = (link.get_attribute("href") or "").split("#")[0]
            assert not target or (reduced.out / target).is_file(), target
        page.close()
    assert min(map(len, labels)) > 30


def test_pages_escape_and_warn(tmp_path: Path) -> None:
    context = Context(tmp_path, replicates=1)
    (outcome,) = reproduce(context, [Counted("one").item])
    for html in (index_page(context, [outcome]), item_page(context, outcome)):
        assert "printed &lt;b&gt;" in html
        assert "pnc beats &lt;all&gt;" in html
        assert "http" not in html
    assert "With 1 replicate what is claimed" in index_page(context, [outcome])
    assert 'aria-label="A line of the fake item."' in item_page(context, outcome)


def test_the_command_prints_a_table_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "all", "--only", "budgets", "--only", "intervals", "--out", "r"]
    for _ in range(2):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
        assert "Open r/index.html" in result.output
        assert "8 of 8 intervals agree" in result.output
    one = CliRunner().invoke(cli, ["reproduce", "budgets", "--out", "r"])
    assert one.exit_code == 0
    assert "intervals" not in one.output
    assert (tmp_path / "r" / "intervals.html").exists()


def test_the_command_refuses_what_is_not_there(tmp_path: Path) -> None:
    for options, error in (
        (["--data", str(tmp_path)], FaultsError),
        (["--state", "XX"], FaultsError),
        (["--only", "nonsense"], SystemExit),
    ):
        result = CliRunner().invoke(cli, ["reproduce", "all", "--out", str(tmp_path / "r"), *options])
        assert result.exit_code
        assert isinstance(result.exception, error)
        assert not (tmp_path / "r").exists()


def test_disagreement_is_a_result_and_failure_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gedp_lab.reproduce import registry

    def only_budgets(result: Result | Exception) -> None:
        monkeypatch.setattr(registry, "every_item", lambda: [Counted("budgets", result).item])

    only_budgets(replace(RESULT, verdict=DISAGREES))
    command = ["reproduce", "all", "--only", "budgets", "--out"]
    assert CliRunner().invoke(cli, [*command, str(tmp_path / "a")]).exit_code == 0
    only_budgets(GedpError("broken"))
    failed = CliRunner().invoke(cli, [*command, str(tmp_path / "b")])
    assert failed.exit_code == 1
    assert "broken" in failed.output
