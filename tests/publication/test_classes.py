"""Tables by classes in a package: in every format, flagged, rounded, and in whole units that add up."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import FaultsError
from gedp.report.page import report_page
from tests.helpers.builder import spec_of
from tests.publication.conftest import ATTRIBUTES, GROUPERS, small_spec, small_table

CLASSES = {"size": {"attribute": "jobs", "edges": [0, 5, 20, 50]}}
SIZES = {
    "name": "sizes",
    "title": "Jobs by size",
    "by": ["naics3", "size"],
    "count": True,
    "mu": {"establishments": 0.6, "jobs": 0.6},
}
COUNTIES = {"name": "county sizes", "by": ["cnty", "size"], "count": True, "mu": 0.6}
IDENTITY = {"name": "identity", "by": "establishment", "mu": 0.6}


def released(folder: Path, *by_class: Mapping[str, Any]) -> gedp.Release:
    plain = small_spec(folder)
    spec = spec_of(
        groupers=GROUPERS,
        attributes=ATTRIBUTES,
        classes=CLASSES,
        budget={"mu": 5},
        queries=[IDENTITY, {"name": "cnty", "by": ["cnty"], "mu": 0.6}, *by_class],
        labels={"cnty": {"title": "County", "codes": "counties.csv"}, "jobs": {"title": "Jobs", "unit": "jobs"}},
        publication={"title": plain.publication.title},
        folder=folder,
    )
    return gedp.run(spec, small_table(), out=folder / "out", seed=3, answers_only=True)


@pytest.fixture(scope="module")
def classed(tmp_path_factory: pytest.TempPathFactory) -> gedp.Release:
    return released(tmp_path_factory.mktemp("classed"), SIZES)


def lines(folder: Path, table: str = "sizes") -> list[dict[str, Any]]:
    return pq.read_table(folder / f"parquet/{table}.parquet").to_pylist()


def test_a_table_by_classes_is_in_every_format(classed: gedp.Release, tmp_path: Path) -> None:
    to = tmp_path / "package"
    gedp.publish(classed, to, ratios=["per-place = jobs / establishments"])
    described = json.loads((to / "publication.json").read_text(encoding="utf-8"))
    (said,) = (table for table in described["tables"] if table["name"] == "sizes")
    assert (said["title"], said["by"], said["groups"]) == ("Jobs by size", ["naics3", "size"], 12)
    assert said["attributes"] == ["establishments", "jobs", "per-place"]
    assert described["keys"]["size"] == "Jobs (classes)"
    assert described["attributes"]["establishments"] == {"title": "Establishments", "unit": None}
    rows = lines(to)
    assert len(rows) == 36
    assert {row["establishments"] for row in rows} == {None}
    assert {row["quality"] for row in rows} <= {"A", "B", "C", "D", "unknown"}
    assert "Numbers of establishments by classes carry noise" in (to / "README.md").read_text(encoding="utf-8")
    assert pyarrow.csv.read_csv(to / "csv/sizes.csv").num_rows == 36
    sheet = openpyxl.load_workbook(to / "tables.xlsx")["sizes"]
    assert [cell.value for cell in sheet[4]][:3] == ["naics3", "Jobs (classes)", "Establishments"]
    assert [sheet.cell(line, 2).value for line in range(5, 9)] == ["0-4", "5-19", "20-49", "50+"]
    sdmx = pyarrow.csv.read_csv(to / "sdmx/sizes.csv").to_pylist()
    assert {row["INDICATOR"] for row in sdmx} == {"establishments", "jobs", "per-place"}
    assert len(sdmx) == 36
    structure, dictionary = ((to / name).read_text("utf-8") for name in ("sdmx/structure.xml", "dictionary.csv"))
    assert 'id="CL_SIZE"' in structure
    assert "Jobs (classes)" in dictionary


def test_figures_by_classes_are_those_of_tabulate_and_withheld_as_others(classed: gedp.Release, tmp_path: Path) -> None:
    shown = gedp.Quality(withheld_above=0.3)
    gedp.publish(classed, tmp_path / "package", rounding="none", formats=["parquet"], quality=shown)
    found = classed.microdata().tabulate(["naics3", "size"]).arrow.to_pylist()
    rows = lines(tmp_path / "package")
    assert [(row["naics3"], row["size"], row["attribute"]) for row in rows] == [
        (row["naics3"], row["size"], row["attribute"]) for row in found
    ]
    uncertain = [row["std_error"] > 0.3 * abs(row["estimate"]) for row in found]
    assert any(uncertain)
    assert not all(uncertain)
    for row, expected, without in zip(rows, found, uncertain, strict=True):
        assert row["estimate"] == (None if without else expected["estimate"])


def test_whole_tables_by_classes_add_up_exactly(classed: gedp.Release, tmp_path: Path) -> None:
    tables = [["naics3"], ["size"], ["naics3", "size"]]
    gedp.publish(classed, tmp_path / "package", tables=tables, rounding="whole", formats=["parquet"])
    assert "carry noise like all other" not in (tmp_path / "package/README.md").read_text(encoding="utf-8")
    fine, by_size, industry = (lines(tmp_path / "package", name) for name in ("sizes", "size", "naics3"))
    assert all(row["estimate"] == int(row["estimate"]) for row in (*fine, *by_size))
    for each in industry:
        parts = [row for row in fine if row["naics3"] == each["naics3"]]
        assert sum(row["estimate"] for row in parts if row["attribute"] == "establishments") == each["establishments"]
        if each["attribute"] == "jobs":
            assert sum(row["estimate"] for row in parts if row["attribute"] == "jobs") == each["estimate"]
    for each in by_size:
        parts = [row for row in fine if (row["size"], row["attribute"]) == (each["size"], each["attribute"])]
        assert sum(row["estimate"] for row in parts) == each["estimate"]


def test_several_tables_by_classes_are_published_but_not_in_whole_units(tmp_path: Path) -> None:
    release = released(tmp_path, SIZES, COUNTIES)
    package = gedp.publish(release, tmp_path / "package", formats=["parquet"], rounding="none")
    assert [table.chosen.name for table in package.tables] == ["cnty", "sizes", "county sizes"]
    totals = [
        np.array([sum(row["estimate"] for row in rows if row["size"] == size and row["attribute"] == "establishments")])
        for size in ("0-4", "5-19", "20-49", "50+")
        for rows in (lines(tmp_path / "package"), lines(tmp_path / "package", "county-sizes"))
    ]
    assert np.allclose(totals[::2], totals[1::2])
    with pytest.raises(FaultsError, match="--rounding whole"):
        gedp.publish(release, tmp_path / "whole", formats=["parquet"], rounding="whole")
    assert isinstance(package.tables[1].arrow, pa.Table)


def test_tables_by_classes_are_read_once_and_only_as_they_were_released(tmp_path: Path) -> None:
    release = released(tmp_path, SIZES)
    used, unused = release.microdata(), release.microdata()
    before = used.tabulate(["size"]).arrow
    path = tmp_path / "out/tables/sizes.parquet"
    answers = pq.read_table(path)
    others = pa.array(answers["estimate"].to_numpy() + 1.0)
    pq.write_table(answers.set_column(answers.column_names.index("estimate"), "estimate", others), path)
    assert used.tabulate(["size"]).arrow.equals(before)
    assert used.class_fits["jobs"] is not None
    with pytest.raises(FaultsError, match="another checksum than the manifest says"):
        unused.tabulate(["size"])


def test_the_report_calls_tables_by_classes_as_people_do(classed: gedp.Release) -> None:
    assert ">Jobs by size<" in report_page(classed.microdata(), None, links=False)
