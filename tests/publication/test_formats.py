"""The workbook as a reader opens it, and SDMX-CSV against its structure."""

import csv
import errno
import json
from pathlib import Path
from unittest.mock import Mock
from xml.etree import ElementTree as Tree

import openpyxl
import pytest

import gedp
from gedp.csvfiles import guarded
from gedp.files import WriteError
from gedp.publication.sdmx import AGENCY, COMMON, STRUCTURE, VERSION, Ids, _named
from gedp.publication.workbook import NARROWEST, _on_paper, _sheet_names, _width
from tests.publication.conftest import small_table
from tests.publication.levels import read_table

SPACES = {"str": STRUCTURE, "com": COMMON}


@pytest.fixture(scope="module")
def package(release: gedp.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    quality = gedp.Quality(withheld_above=0.25)
    return gedp.publish(release, tmp_path_factory.mktemp("p") / "p", tables=[["naics3"]], quality=quality).folder


def test_the_workbook_has_contents_notes_and_a_sheet_per_table(package: Path) -> None:
    book = openpyxl.load_workbook(package / "tables.xlsx")
    described = json.loads((package / "publication.json").read_text(encoding="utf-8"))
    sheets = [table["files"]["sheet"] for table in described["tables"]]
    assert book.sheetnames == ["Contents", "Notes", *sheets]
    assert book["Contents"]["A1"].value == "Jobs & wages"
    links = [cell.hyperlink.location for row in book["Contents"].iter_rows() for cell in row if cell.hyperlink]
    assert [link.replace("'", "") for link in links] == [f"{sheet}!A1" for sheet in (*sheets, "Notes")]
    notes = [row[0].value for row in book["Notes"].iter_rows()]
    assert set(described["notes"]) <= set(notes)


def test_sheets_have_frozen_headings_and_the_numbers_of_the_csv(package: Path) -> None:
    book = openpyxl.load_workbook(package / "tables.xlsx")
    described = json.loads((package / "publication.json").read_text(encoding="utf-8"))
    withheld = 0
    for table in described["tables"]:
        sheet = book[table["files"]["sheet"]]
        keys = len(table["by"])
        rows = read_table(package / table["files"]["csv"])
        headings, *lines = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=4)]
        assert sheet.freeze_panes == sheet.cell(5, 2 * keys + 1).coordinate
        assert len(lines) == table["groups"]
        for name, title in (("jobs", "Jobs (jobs)"), ("wage", "Wages (US dollars)")):
            place = headings.index(title)
            expected = [float(row["estimate"]) if row["estimate"] else None for row in rows if row["attribute"] == name]
            withheld += expected.count(None)
            assert [line[place] for line in lines] == expected
            assert all(isinstance(line[place], int | float | None) for line in lines)
    assert withheld


def test_columns_have_room_for_their_numbers_and_pages_for_columns(package: Path) -> None:
    assert _width("Wages", [3_622_100_000, 7]) > len("3,622,100,000")
    assert _width("CV", [0.0123, None]) == NARROWEST
    sheet = openpyxl.load_workbook(package / "tables.xlsx")["all of it"]
    assert sheet.print_title_cols == "$A:$D"  # keys and their names stand beside every part of a wide table
    pages = []
    asked = Mock(fit_to_pages=lambda wide, high: pages.append((wide, high)))
    for width in (100, 300):
        _on_paper(asked, width)
    assert pages == [(1, 0), (2, 0)]


def test_names_that_look_like_formulas_stay_texts(package: Path) -> None:
    sheet = openpyxl.load_workbook(package / "tables.xlsx")["cnty"]
    cells = [cell for row in sheet.iter_rows() for cell in row if cell.value in ("=Mill", "Æsir <b>")]
    assert [cell.data_type for cell in cells] == ["s", "s"]


def test_names_of_sheets_are_allowed_and_different() -> None:
    names = ["a" * 40, "A" * 40, "x/y:z", "notes", "''", "history"]
    made = _sheet_names(names)
    assert len({name.casefold() for name in made.values()} | {"contents", "notes", "history"}) == len(names) + 3
    assert all(0 < len(name) <= 31 and not set(name) & set("[]:*?/\\") for name in made.values())


def test_sdmx_csv_is_valid_against_its_structure(package: Path) -> None:
    root = Tree.parse(package / "sdmx" / "structure.xml").getroot()
    lists = {
        each.attrib["id"]: {code.attrib["id"] for code in each.findall("str:Code", SPACES)}
        for each in root.iterfind(".//str:Codelist", SPACES)
    }
    concepts = {each.attrib["id"] for each in root.iterfind(".//str:Concept", SPACES)}
    structures = {each.attrib["id"]: each for each in root.iterfind(".//str:DataStructure", SPACES)}
    flows = {
        f"{AGENCY}:{each.attrib['id']}({VERSION})": structures[each.find("str:Structure/Ref", SPACES).attrib["id"]]  # type: ignore[union-attr]
        for each in root.iterfind(".//str:Dataflow", SPACES)
    }
    described = json.loads((package / "publication.json").read_text(encoding="utf-8"))
    assert len(described["tables"]) == len(flows) == 4
    for table in described["tables"]:
        with (package / table["files"]["sdmx"]).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        structure = flows[rows[0]["DATAFLOW"]]
        dimensions = [each.attrib["id"] for each in structure.iterfind(".//str:Dimension", SPACES)]
        attributes = [each.attrib["id"] for each in structure.iterfind(".//str:Attribute", SPACES)]
        assert list(rows[0]) == ["DATAFLOW", *dimensions, "OBS_VALUE", *attributes]
        assert {*dimensions, *attributes, "OBS_VALUE"} <= concepts
        assert len({tuple(row[name] for name in dimensions) for row in rows}) == len(rows) == table["groups"] * 2
        for component in structure.iterfind(".//str:Enumeration/Ref/../../..", SPACES):
            allowed = lists[component.find(".//str:Enumeration/Ref", SPACES).attrib["id"]]  # type: ignore[union-attr]
            assert {row[component.attrib["id"]] for row in rows} <= allowed
        for component in structure.iterfind(".//str:TextFormat/../..", SPACES):
            values = [row[component.attrib["id"]] for row in rows]
            whole = component.find(".//str:TextFormat", SPACES).attrib["textType"] == "Integer"  # type: ignore[union-attr]
            assert all(int(value) if whole else float(value) is not None for value in values if value)
        plain = read_table(package / table["files"]["csv"])
        assert [row["OBS_VALUE"] for row in rows] == [row["estimate"] for row in plain]


def test_ids_have_only_the_signs_that_sdmx_allows_and_are_different() -> None:
    ids = Ids(["31-33", "a b", "a.b", "ü", ""])
    assert list(ids.of.values()) == ["31-33", "a_b", "a_b_2", "_", "__2"]
    assert Ids(["1x", "cnty", "CNTY"], is_name=True).of == {"1x": "C_1X", "cnty": "CNTY", "CNTY": "CNTY_2"}


def test_wrapped_texts_have_room_and_every_sheet_is_one_page_wide(package: Path) -> None:
    book = openpyxl.load_workbook(package / "tables.xlsx")
    assert all(sheet.sheet_properties.pageSetUpPr.fitToPage for sheet in book)
    assert all(sheet.page_setup.fitToHeight == 0 for sheet in book)
    notes = book["Notes"]
    long = [row[0] for row in notes.iter_rows() if len(row[0].value or "") > 120]
    assert long
    assert all(notes.row_dimensions[cell.row].height >= 30 for cell in long)
    assert book["cnty"].row_dimensions[4].height >= 30


def test_a_workbook_on_a_full_disk_is_refused_in_words_and_leaves_nothing(
    release: gedp.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("xlsxwriter.workbook.Workbook._store_workbook", full)
    with pytest.raises(WriteError, match=r"tables\.xlsx: no space left on device"):
        gedp.publish(release, tmp_path / "p", formats=["xlsx"])
    assert not list(tmp_path.iterdir())


def test_a_workbook_keeps_its_temporary_files_beside_itself(
    release: gedp.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    gedp.publish(release, tmp_path / "p", formats=["xlsx"])
    assert {path.name for path in (tmp_path / "p").iterdir() if path.name.startswith(".")} == set()


def test_links_lead_to_sheets_with_an_apostrophe(tmp_path: Path) -> None:
    spec = gedp.make_spec(
        data={"public": ["cnty's"], "id": "key", "synthetic": True},
        attributes={"jobs": {"psi": "sqrt", "gamma": 0.5}},
        budget={"mu": 9},
        queries=[{"name": "each", "by": "establishment", "mu": 1}],
    )
    rows = small_table().select(["key", "cnty", "jobs"]).rename_columns(["key", "cnty's", "jobs"])
    made = gedp.run(spec, rows, out=tmp_path / "out", seed=3, answers_only=True)
    gedp.publish(made, tmp_path / "p", tables=[["cnty's"]], formats=["xlsx"])
    book = openpyxl.load_workbook(tmp_path / "p" / "tables.xlsx")
    assert "cnty's" in book.sheetnames
    assert book["Contents"]["B5"].hyperlink.location == "'cnty''s'!A1"


def test_sdmx_has_ids_that_no_guard_changes_and_names_that_xml_allows() -> None:
    ids = Ids(["-a", "_a", "a\x01"])
    assert list(ids.of.values()) == ["_a", "_a_2", "a_"]
    assert all(guarded(made) == made for made in ids.of.values())
    element = Tree.Element("Code")
    _named(element, "a\x01\ud800b")
    assert Tree.fromstring(Tree.tostring(element, encoding="utf-8"))[0].text == "a\ufffd\ufffdb"
