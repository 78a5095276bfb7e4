"""A desk of a package: its finished tables as published, and no others; and tables by classes, of both."""

import json
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser

import gedp
from gedp.desk.app import Desk
from gedp.desk.package import read_package
from gedp.errors import Refused
from gedp.files import sha256
from gedp.release.derived import SUMS
from tests.desk.test_page import Opened, chosen
from tests.helpers.desks import Served, desk_of, serving
from tests.helpers.quarters import first_quarter, release_of, second_quarter
from tests.helpers.runs import gedp as run_gedp
from tests.publication.test_classes import COUNTIES, SIZES, released


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with tables by classes, and two packages of it."""
    folder = tmp_path_factory.mktemp("packed")
    release = released(folder, SIZES, COUNTIES)
    tables, ratios = [["size"], ["cnty", "naics3"], []], ["pay = wage / jobs"]
    shown = gedp.Quality(withheld_above=0.3)
    gedp.publish(release, folder / "package", tables=tables, ratios=ratios, quality=shown)
    gedp.publish(release, folder / "plain", tables=tables, ratios=ratios, quality=shown, formats=["csv"])
    return folder


@pytest.fixture(scope="module")
def packed(folder: Path) -> Iterator[Served]:
    with serving(Desk(read_package(folder / "package"))) as served:
        yield served


@pytest.fixture(scope="module")
def classed(folder: Path) -> Iterator[Served]:
    with serving(desk_of(folder / "out")) as served:
        yield served


def published(folder: Path, table: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"package/parquet/{table}.parquet").to_pylist()


def cells(served: Served, question: str) -> dict[tuple[str, ...], Any]:
    reply = served.get(f"/api/table?{question}")
    assert reply.status == 200, reply.json
    return {tuple(line["codes"]): line["cells"] for line in reply.json["lines"]}


def test_a_finished_table_is_shown_as_it_was_published(packed: Served, folder: Path) -> None:
    found = cells(packed, "rows=cnty&rows=naics3&attribute=jobs&ratio=pay")
    lines = published(folder, "cnty-x-naics3")
    assert any(line["estimate"] is None for line in lines)
    for line in lines:
        if line["attribute"] in ("jobs", "pay"):
            cell = found[line["cnty"], line["naics3"]][["jobs", "pay"].index(line["attribute"])]
            assert (cell["estimate"], cell["quality"]) == (line["estimate"], line["quality"])
            shown = None if cell["text"] == "withheld" else float(cell["text"].replace(",", "").replace("−", "-"))
            assert shown == line["estimate"]


def test_a_key_can_be_filtered_by_one_code_instead_of_being_shown(packed: Served, folder: Path) -> None:
    found = cells(packed, "rows=naics3&attribute=jobs&where=cnty=003")
    lines = [line for line in published(folder, "cnty-x-naics3") if line["cnty"] == "003"]
    jobs = [line["estimate"] for line in lines if line["attribute"] == "jobs"]
    assert [cell["estimate"] for (cell,) in found.values()] == jobs


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ("rows=naics3", "the package has no table by naics3, and nothing is added up"),
        ("rows=naics3&where=cnty=001&where=cnty=003", "the package has no table by naics3 x cnty"),
        ("rows=cnty&where=cnty=zzz", "cnty has no zzz"),
        ("rows=cnty&attribute=nothing", "has no nothing"),
        ("rows=cnty&ratio=x=wage/jobs", "has no x=wage/jobs"),
        ("rows=cnty&confidence=0.9", "the intervals of a package are of 95%"),
        ("rows=establishment", "the package has no table by establishment"),
    ],
)
def test_what_would_have_to_be_computed_is_refused(packed: Served, question: str, problem: str) -> None:
    reply = packed.get(f"/api/table?{question}")
    assert reply.status == 400
    assert problem in reply.json["error"]


def test_the_page_says_that_no_other_tables_can_be_made(packed: Served) -> None:
    page = packed.get("/").body.decode()
    assert "Other tables cannot be made from it" in page
    said = packed.get("/api/release").json
    assert said["is_finished"]
    assert [each["by"] for each in said["tables"]][:2] == [["cnty"], ["naics3", "size"]]
    assert {key["name"]: key["is_class"] for key in said["keys"]} == {"cnty": False, "naics3": False, "size": True}


def test_downloads_have_the_lines_of_the_package(packed: Served, folder: Path) -> None:
    got = pyarrow.csv.read_csv(BytesIO(packed.get("/api/table.csv?rows=naics3&rows=size").body)).to_pylist()
    assert [line["estimate"] for line in got] == [line["estimate"] for line in published(folder, "sizes")]
    assert packed.get("/api/table.xlsx?rows=cnty").body[:2] == b"PK"
    assert packed.get("/api/levels?dimension=cnty&attribute=jobs").json["levels"][0]["median"] > 0


def test_names_of_codes_are_those_of_the_package(packed: Served) -> None:
    assert packed.get("/api/codes?key=cnty&search=harb").json["codes"] == [{"code": "001", "name": "Harbor"}]
    assert packed.get("/api/table?rows=cnty").json["lines"][2]["names"] == ["=Mill"]


def test_a_package_of_csv_files_alone_is_the_same(packed: Served, folder: Path) -> None:
    with serving(Desk(read_package(folder / "plain"))) as plain:
        for question in ("rows=naics3&columns=size", "rows=cnty&rows=naics3&attribute=jobs", "rows=cnty"):
            one, other = (each.get(f"/api/table?{question}").json for each in (packed, plain))
            assert one == other


def test_a_package_that_was_changed_or_leads_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(folder / "plain", tmp_path / "changed")
    (changed / "csv/cnty.csv").write_text("cnty\n", encoding="utf-8")
    with pytest.raises(Refused, match="a checksum differs"):
        read_package(changed)
    said = (folder / "plain/publication.json").read_text(encoding="utf-8")
    later = shutil.copytree(folder / "plain", tmp_path / "later")
    (later / "publication.json").write_text(said.replace('"format": 1', '"format": 2'), encoding="utf-8")
    with pytest.raises(Refused, match="a package of format 2, and this gedp reads format 1"):
        read_package(later)
    ended = run_gedp("desk", str(changed), "--port", "0", folder=tmp_path)
    assert (ended.code, "a checksum differs" in ended.err) == (1, True)
    leading = shutil.copytree(folder / "plain", tmp_path / "leading")
    (tmp_path / "secret.csv").write_text("cnty,attribute\n", encoding="utf-8")
    said = json.loads((leading / "publication.json").read_text(encoding="utf-8"))
    said["tables"][0]["files"]["csv"] = "../secret.csv"
    (leading / "publication.json").write_text(json.dumps(said), encoding="utf-8")
    sums = (leading / SUMS).read_text(encoding="utf-8").splitlines()
    own = [line for line in sums if not line.endswith("publication.json")]
    own.append(f"{sha256(leading / 'publication.json')}  publication.json")
    (leading / SUMS).write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    with pytest.raises(Refused, match="no tables as CSV or Parquet"):
        read_package(leading)


def test_classes_can_be_chosen_in_their_own_order(classed: Served, packed: Served) -> None:
    for served in (classed, packed):
        heads = served.get("/api/table?rows=naics3&columns=size&attribute=establishments").json["heads"]
        assert [head["codes"] for head in heads] == [["0-4"], ["5-19"], ["20-49"], ["50+"]]
        assert [code["code"] for code in served.get("/api/codes?key=size").json["codes"]] == [
            *("0-4", "5-19", "20-49", "50+")
        ]
    found = classed.get("/api/table?rows=naics3&rows=size&attribute=establishments&attribute=jobs").json
    assert {line["establishments"] for line in found["lines"]} == {None}
    one = cells(classed, "rows=size&where=naics3=721&attribute=establishments")
    assert [codes for (codes,) in one] == ["0-4", "5-19", "20-49", "50+"]


def test_the_command_makes_the_same_table_by_classes(classed: Served, folder: Path) -> None:
    question = "rows=size&where=naics3=721&attribute=establishments"
    command = classed.get(f"/api/table?{question}").json["command"]
    ended = run_gedp(*command.split()[1:-1], f"--out={folder / 'table.csv'}", folder=folder)
    assert ended.code == 0, ended.err
    assert (folder / "table.csv").read_bytes() == classed.get(f"/api/table.csv?{question}").body


def test_establishments_of_public_groups_are_no_figure(classed: Served) -> None:
    reply = classed.get("/api/table?rows=naics3&attribute=establishments")
    assert (reply.status, "a figure by classes alone" in reply.json["error"]) == (400, True)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A desk of a package with tables of change."""
    folder, before = tmp_path_factory.mktemp("changed"), first_quarter()
    old = release_of(before, folder / "q1", seed=1)
    new = release_of(second_quarter(before), folder / "q2", seed=2)
    gedp.publish(new, folder / "package", against=old, quality=gedp.Quality(withheld_above=0.02), formats=["csv"])
    with serving(Desk(read_package(folder / "package"))) as served:
        yield served


def test_a_table_of_change_is_found_by_its_figures(changed: Served) -> None:
    found = cells(changed, "rows=cnty&attribute=jobs:+change")
    assert found[("001",)][0]["quality"] == "significant"
    assert cells(changed, "rows=cnty&attribute=jobs")[("001",)][0]["quality"] in ("A", "B")
    told = {
        cell["quality"]: cell["text"]
        for line in cells(changed, "rows=cnty&rows=naics2&attribute=wage:+change").values()
        for cell in line
    }
    assert (told["opened"], told["closed"], told["withheld"]) == ("–", "–", "withheld")


def test_tables_of_change_are_opened_on_the_page(changed: Served, browser: Browser) -> None:
    it = Opened(browser, changed)
    tables = changed.get("/api/release").json["tables"]
    place = next(at for at, each in enumerate(tables) if each["by"] == ["cnty"] and "jobs: change" in each["figures"])
    chosen(it, "Published table", str(place))
    assert it.heading() == "Jobs, change (jobs) by County"
    assert it.page.locator("#finished").input_value() == str(place)
    assert it.errors == []
