"""Tables of change in a package: figures of `change` in every format, and nothing withheld comes back through them."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import openpyxl
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import DomainError, FaultsError
from gedp.publication.changes import FLAGS
from gedp.release.notices import SEEDED
from tests.helpers.quarters import REGIONS, SECTIONS, first_quarter, release_of, second_quarter
from tests.helpers.runs import gedp as command

PAY = "pay = wage / jobs"
QUERIES = SECTIONS["queries"][:3]


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> tuple[gedp.Release, gedp.Release]:
    folder, before = tmp_path_factory.mktemp("packages"), first_quarter()
    both = (("q1", before), ("q2", second_quarter(before)))
    old, new = (
        release_of(rows, folder / name, seed=seed, classes={}, queries=QUERIES)
        for seed, (name, rows) in enumerate(both, 1)
    )
    return old, new


def lines_of(folder: Path, kind: str, table: str) -> list[dict[str, str]]:
    with (folder / kind / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def by_line(rows: Sequence[dict[str, Any]], key: str = "cnty") -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["attribute"], row[key]): row for row in rows}


def test_changes_are_those_of_tabulate_in_every_format(
    quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path
) -> None:
    old, new = quarters
    arguments = ("--to", "p", "--against", str(old.folder), "--ratio", PAY, "--rounding", "none")
    ended = command("publish", str(new.folder), *arguments, folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "seed of its own" in ended.out
    folder = tmp_path / "p"
    found = by_line(pq.read_table(folder / "parquet" / "county-change.parquet").to_pylist())
    expected = by_line(list(new.microdata().change(old.microdata(), "cnty", ratios=[PAY], attributes=["jobs", "wage"])))
    for (name, county), row in expected.items():
        for line, column in ((f"{name}: change", "change"), (f"{name}: percent change", "percent")):
            published = found[line, county]
            assert published["estimate"] == row[column]
            assert published["std_error"] == row[f"{column}_std_error"]
            assert (published["ci_low"], published["ci_high"]) == (row[f"{column}_ci_low"], row[f"{column}_ci_high"])
        flag = {"007": "opened", "005": "closed"}.get(
            county, "significant" if row["significant"] else "not significant"
        )
        assert found[f"{name}: change", county]["quality"] == flag
    assert {row["quality"] for row in found.values()} <= {*FLAGS, "unknown"}
    assert found["jobs: change", "005"]["establishments"] == 0
    plain, sdmx = (lines_of(folder, kind, "county-change") for kind in ("csv", "sdmx"))
    assert [row["estimate"] for row in plain] == [row["OBS_VALUE"] for row in sdmx]
    sheet = openpyxl.load_workbook(folder / "tables.xlsx")["county  change"]
    headings = [cell.value for cell in sheet[4]]
    assert "Jobs, change (jobs)" in headings
    assert "Jobs, change in percent (percent)" in headings
    lists = Tree.parse(folder / "sdmx" / "structure.xml").findall(".//{*}Code")
    assert {"significant", "not_significant"} <= {code.get("id") for code in lists}


def test_a_package_says_since_when_and_how_to_read_changes(
    quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path
) -> None:
    old, new = quarters
    gedp.publish(new, tmp_path / "p", against=old, only=["county"])
    said = json.loads((tmp_path / "p" / "publication.json").read_text(encoding="utf-8"))
    assert said["against"]["mu"] == old.manifest.prices.total.mu
    assert [table["name"] for table in said["tables"]] == ["county", "county: change"]
    assert said["tables"][1]["title"].startswith("By County: change since the release of ")
    assert said["attributes"]["jobs: percent change"] == {"title": "Jobs, change in percent", "unit": "percent"}
    readme = (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    assert "about 5 in a hundred are flagged by chance" in readme
    assert said["against"]["manifest_sha256"][:16] in readme
    written = (tmp_path / "p" / "dictionary.csv").read_text(encoding="utf-8")
    rows = {row[0]: row for row in csv.reader(written.splitlines())}
    assert rows["jobs: change"][1] == "change"
    assert rows["opened"][1] == "quality class"
    gedp.publish(new, tmp_path / "again", against=old, only=["county"])
    sums = [(tmp_path / name / "SHA256SUMS").read_bytes() for name in ("p", "again")]
    assert sums[0] == sums[1]


@pytest.mark.parametrize("limit", [0.04, 0.06])
@pytest.mark.parametrize("is_later_withheld", [False, True])
def test_no_withheld_figure_comes_back_through_its_change(
    quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path, limit: float, is_later_withheld: bool
) -> None:
    """Whoever has both packages looks for old + change and old · (1 + percent) of a figure that one of them withholds.

    Where jobs grow it is the earlier release that withholds more; where they fall, the later one.
    """
    old, new = reversed(quarters) if is_later_withheld else quarters
    quality = gedp.Quality(withheld_above=limit)
    options: dict[str, Any] = {"quality": quality, "rounding": "none", "ratios": [PAY], "formats": ["parquet"]}
    gedp.publish(old, tmp_path / "old", **options)
    gedp.publish(new, tmp_path / "new", against=old, **options)
    seen = {"withheld": 0, "shown": 0}
    for table in ("county", "cells"):
        before, after, changes = (
            {tuple(row[key] for key in ("attribute", "cnty", *(["naics2"] * (table == "cells")))): row for row in rows}
            for rows in (
                pq.read_table(tmp_path / name / "parquet" / f"{file}.parquet").to_pylist()
                for name, file in (("old", table), ("new", table), ("new", f"{table}-change"))
            )
        )
        for line in before.keys() & after.keys():
            is_withheld = before[line]["estimate"] is None or after[line]["estimate"] is None
            seen["withheld" if is_withheld else "shown"] += 1
            for kind in ("change", "percent change"):
                change = changes[f"{line[0]}: {kind}", *line[1:]]
                numbers = {change[name] for name in ("estimate", "std_error", "cv", "ci_low", "ci_high")}
                if is_withheld:
                    assert (numbers, change["quality"]) == ({None}, "withheld")
                elif kind == "change":
                    assert change["estimate"] == pytest.approx(after[line]["estimate"] - before[line]["estimate"])
    assert all(seen.values()), seen


def test_whole_changes_are_differences_of_whole_figures(
    quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path
) -> None:
    old, new = quarters
    options: dict[str, Any] = {"rounding": "whole", "formats": ["parquet"], "only": ["county"]}
    gedp.publish(old, tmp_path / "old", **options)
    gedp.publish(new, tmp_path / "new", against=old, **options)
    before, after, changes = (
        by_line(pq.read_table(tmp_path / path).to_pylist())
        for path in ("old/parquet/county.parquet", "new/parquet/county.parquet", "new/parquet/county-change.parquet")
    )
    shared = before.keys() & after.keys()
    assert len(shared) == 6
    for name, county in shared:
        change = changes[f"{name}: change", county]["estimate"]
        assert change == after[name, county]["estimate"] - before[name, county]["estimate"]
        assert change == int(change)


def test_what_cannot_be_published_is_refused_in_words(
    quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path
) -> None:
    old, new = quarters
    with pytest.raises(FaultsError, match="same release"):
        gedp.publish(new, tmp_path / "p", against=new)
    classes = (("significant", 0.1), ("poor", float("inf")))
    with pytest.raises(DomainError, match="cannot be called significant"):
        gedp.publish(new, tmp_path / "p", against=old, quality=gedp.Quality(classes))
    with pytest.raises(gedp.GedpError, match="inside the release"):
        gedp.publish(new, old.folder / "p", against=old)
    assert not (tmp_path / "p").exists()


def test_a_seed_of_the_earlier_release_is_said_too(quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path) -> None:
    sections: dict[str, Any] = {"classes": {}, "queries": QUERIES}
    later = release_of(second_quarter(first_quarter()), tmp_path / "q2", seed=None, **sections)
    assert not later.manifest.is_seeded
    gedp.publish(later, tmp_path / "p", against=quarters[0], only=["county"], formats=["csv"])
    assert SEEDED in (tmp_path / "p" / "README.md").read_text(encoding="utf-8")


def test_tables_that_the_earlier_release_cannot_have_are_left_out_and_named(
    quarters: tuple[gedp.Release, gedp.Release], tmp_path: Path
) -> None:
    rows = second_quarter(first_quarter())
    sections: dict[str, Any] = {
        "data": {**SECTIONS["data"], "public": ["cnty", "naics", "kind"]},
        "classes": {},
        "queries": [*QUERIES, {"name": "kinds", "by": ["kind"], "mu": 1}],
    }
    moved = {**REGIONS, "003": "south"}
    later = release_of(rows.assign(kind="private"), tmp_path / "q2", seed=2, regions=moved, **sections)
    package = gedp.publish(later, tmp_path / "p", against=quarters[0], tables=["region"], formats=["csv"])
    names = [table.chosen.name for table in package.tables]
    assert names == ["county", "cells", "kinds", "region", "county: change", "cells: change"]
    said = (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    assert "These tables have none: By kind; By region." in said
    with pytest.raises(FaultsError, match="can have none of these tables"):
        gedp.publish(later, tmp_path / "none", against=quarters[0], only=["kinds"], formats=["csv"])
