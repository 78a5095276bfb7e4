"""Combinations in a package: in every table and every format, flagged and rounded, and on the desk of the package."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.desk.app import Desk
from gedp.desk.package import read_package
from tests.helpers.builder import spec_of
from tests.helpers.desks import desk_of, serving
from tests.helpers.runs import gedp as command
from tests.publication.conftest import ATTRIBUTES, GROUPERS, small_table

COMBINATIONS = {"cost": "wage + 500 * jobs", "gap": "wage - 3000 * jobs", "unasked": "wage + jobs"}
LIMIT = 0.02
LABELS = {"cost": {"title": "Labour cost", "unit": "US dollars"}, "jobs": "Jobs"}


def released(folder: Path, seed: int = 3, formulas: Mapping[str, str] = COMBINATIONS) -> gedp.Release:
    """A release with a query for combinations by keys that no other query has."""
    spec = spec_of(
        groupers=GROUPERS,
        attributes=ATTRIBUTES,
        combinations=dict(formulas),
        budget={"mu": 5},
        queries=[
            {"name": "identity", "by": "establishment", "mu": 0.6},
            {"name": "cnty", "by": ["cnty"], "mu": 0.6},
            {"name": "costs", "title": "Costs by industry", "by": ["naics3"], "mu": {"cost": 0.6, "gap": 0.6}},
        ],
        labels=LABELS,
    )
    return gedp.run(spec, small_table(), out=folder / "out", seed=seed, answers_only=True)


@pytest.fixture(scope="module")
def combined(tmp_path_factory: pytest.TempPathFactory) -> gedp.Release:
    return released(tmp_path_factory.mktemp("combined"))


def lines(folder: Path, table: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"parquet/{table}.parquet").to_pylist()


def test_combinations_are_in_every_table_and_format(combined: gedp.Release, tmp_path: Path) -> None:
    to = tmp_path / "package"
    gedp.publish(combined, to, ratios=["per cost = gap / cost"], quality=gedp.Quality(withheld_above=LIMIT))
    described = json.loads((to / "publication.json").read_text(encoding="utf-8"))
    figures = ["jobs", "wage", "cost", "gap", "per cost"]
    assert [(table["name"], table["attributes"]) for table in described["tables"]] == [
        ("cnty", figures),
        ("costs", figures),
    ]
    assert described["tables"][1]["title"] == "Costs by industry"
    assert described["attributes"]["cost"] == {"title": "Labour cost", "unit": "US dollars"}
    assert described["combinations"] == {name: COMBINATIONS[name] for name in ("cost", "gap")}
    rows = lines(to, "costs")
    assert {row["quality"] for row in rows if row["attribute"] == "gap"} == {None}
    assert all(row["estimate"] is not None for row in rows if row["attribute"] == "gap")
    cost = [row for row in rows if row["attribute"] == "cost"]
    assert {row["quality"] for row in cost} <= {"A", "B", "C", "D"}
    cv = combined.microdata().tabulate(["naics3"], ["cost"]).arrow["cv"].to_pylist()
    assert [row["estimate"] is None for row in cost] == [each > LIMIT for each in cv]
    assert pyarrow.csv.read_csv(to / "csv/costs.csv")["attribute"].unique().to_pylist() == figures
    heads = [cell.value for cell in openpyxl.load_workbook(to / "tables.xlsx")["costs"][4]]
    assert "Labour cost (US dollars)" in heads
    sdmx = pyarrow.csv.read_csv(to / "sdmx/costs.csv")
    assert sdmx["INDICATOR"].unique().to_pylist() == ["jobs", "wage", "cost", "gap", "per_cost"]
    assert "Labour cost (US dollars)" in (to / "sdmx/structure.xml").read_text(encoding="utf-8")
    dictionary = (to / "dictionary.csv").read_text(encoding="utf-8")
    assert (
        '"cost","combination","Labour cost","US dollars","a value of column attribute: wage + 500 * jobs"' in dictionary
    )
    readme = (to / "README.md").read_text(encoding="utf-8").replace("\\", "")
    assert "Costs by industry: 3 groups (costs)" in readme
    assert "Labour cost = wage + 500 * jobs; gap = wage - 3000 * jobs. This makes them more precise" in readme
    assert "In per cost, the formula is used alone." in readme
    assert command("verify", str(to), folder=tmp_path).code == 0


def test_the_note_about_combinations_is_in_no_other_package(release: gedp.Release, tmp_path: Path) -> None:
    gedp.publish(release, tmp_path / "p", formats=["csv"])
    assert "numbers of their own" not in (tmp_path / "p/README.md").read_text(encoding="utf-8")
    assert "combinations" not in json.loads((tmp_path / "p/publication.json").read_text(encoding="utf-8"))


def test_the_figures_are_those_of_tabulate_also_alone(combined: gedp.Release, tmp_path: Path) -> None:
    to, options = tmp_path / "package", ("--only", "costs", "--rounding", "none", "--format", "parquet")
    ended = command("publish", str(combined.folder), "--to", "package", *options, folder=tmp_path)
    assert "Published 12 figures in 1 table" in ended.out
    table = combined.microdata().tabulate(["naics3"]).arrow
    assert table["attribute"].unique().to_pylist() == ["jobs", "wage", "cost", "gap"]
    for row, expected in zip(lines(to, "costs"), table.to_pylist(), strict=True):
        assert {name: row[name] for name in expected} == expected


def test_whole_figures_still_have_combinations_rounded_to_their_errors(combined: gedp.Release, tmp_path: Path) -> None:
    ratios = ["twice = 2 * cost"]
    gedp.publish(combined, tmp_path / "p", rounding="whole", formats=["parquet"], ratios=ratios)
    assert "They are rounded to what their errors support. In twice," in (tmp_path / "p/README.md").read_text("utf-8")
    rows = lines(tmp_path / "p", "costs")
    values = {name: [row["estimate"] for row in rows if row["attribute"] == name] for name in ("jobs", "wage", "twice")}
    parts = zip(values["wage"], values["jobs"], strict=True)
    assert values["twice"] == [2 * (wage + 500 * jobs) for wage, jobs in parts]
    for row in (row for row in rows if row["attribute"] == "cost"):
        assert row["estimate"] % 100 == row["std_error"] % 100 == 0


def test_the_desk_offers_combinations_of_a_release_and_of_a_package(combined: gedp.Release, tmp_path: Path) -> None:
    gedp.publish(combined, tmp_path / "p", formats=["csv"])
    found = []
    for desk in (desk_of(combined.folder), Desk(read_package(tmp_path / "p"))):
        with serving(desk) as served:
            described = served.get("/api/release").json
            offered = described["attributes"]
            assert any("Labour cost = wage + 500 * jobs; gap" in said for said in described["protection"])
            assert [each["name"] for each in offered] == ["jobs", "wage", "cost", "gap"]
            assert offered[2]["title"] == "Labour cost (US dollars)"
            every = served.get("/api/table?rows=naics3").json
            assert [head["figure"] for head in every["heads"]] == ["jobs", "wage", "cost", "gap"]
            assert every["lines"][0]["cells"][2]["quality"] == "A"
            found.append(every["lines"][0]["cells"][3]["quality"])
    assert found == ["", ""]


def test_changes_are_of_combinations_with_the_same_formula(combined: gedp.Release, tmp_path: Path) -> None:
    formulas = {**COMBINATIONS, "gap": "wage - 2000 * jobs"}
    new = released(tmp_path, seed=4, formulas=formulas)
    package = gedp.publish(new, tmp_path / "p", against=combined, only=["costs"], formats=["parquet"])
    assert package.tables[1].chosen.lines == tuple(
        f"{name}: {kind}" for name in ("jobs", "wage", "cost") for kind in ("change", "percent change")
    )
    assert isinstance(package.tables[1].arrow, pa.Table)
    microdata = new.microdata(), combined.microdata()
    with pytest.raises(gedp.GedpError, match=r"combinations.gap.*wage - 2000 \* jobs in one release"):
        microdata[0].change(microdata[1], "cnty")
    assert len(microdata[0].change(microdata[1], "cnty", ["cost"])) == 3
