"""Ratios and differences in a package: figures of `tabulate`, in every format, with flags where they say something."""

import csv
import json
from pathlib import Path

import openpyxl
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import FaultsError
from tests.helpers.builder import KINDS, spec_of, table_of
from tests.helpers.desks import desk_of, serving
from tests.helpers.runs import gedp as command
from tests.publication.levels import read_table

FORMULAS = ("wage / jobs", "wage - 3000 * jobs")
PAY, GAP = (f"{name} = {formula}" for name, formula in zip(("pay", "gap"), FORMULAS, strict=True))


def lines_of(folder: Path, kind: str) -> list[dict[str, str]]:
    """The lines of the table by county in a CSV of the package."""
    with (folder / kind / "cnty.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_ratios_are_those_of_tabulate_in_every_format(release: gedp.Release, tmp_path: Path) -> None:
    ended = command(
        *("publish", str(release.folder), "--to", "p", "--rounding", "none", "--ratio", PAY, "--ratio", GAP),
        folder=tmp_path,
    )
    assert ended.code == 0, ended.err
    expected = release.microdata().tabulate("cnty", ["jobs", "wage"], ratios=[PAY, GAP]).arrow
    table = pq.read_table(tmp_path / "p" / "parquet" / "cnty.parquet")
    for column in ("attribute", "formula", "estimate", "std_error", "ci_low", "ci_high", "variance_kind"):
        assert table[column].to_pylist() == expected[column].to_pylist()
    estimates = expected["estimate"].to_pylist()
    assert [float(row["estimate"]) for row in lines_of(tmp_path / "p", "csv")] == estimates
    assert [float(row["OBS_VALUE"]) for row in lines_of(tmp_path / "p", "sdmx")] == estimates
    headings, *rows = [
        [cell.value for cell in row]
        for row in openpyxl.load_workbook(tmp_path / "p" / "tables.xlsx")["cnty"].iter_rows(min_row=4)
    ]
    assert [row["formula"] for row in lines_of(tmp_path / "p", "csv")][::3] == ["", "", *FORMULAS]
    assert [name for name in headings if " = " in name and ":" not in name] == [
        f"pay = {FORMULAS[0]}",
        f"gap = {FORMULAS[1]}",
    ]
    place = headings.index("pay = wage / jobs")
    assert [row[place] for row in rows] == pytest.approx(estimates[6:9])
    described = json.loads((tmp_path / "p" / "publication.json").read_text(encoding="utf-8"))
    assert described["ratios"] == dict(zip(("pay", "gap"), FORMULAS, strict=True))
    assert described["attributes"]["pay"]["title"] == "pay = wage / jobs"
    assert described["tables"][0]["attributes"] == ["jobs", "wage", "pay", "gap"]
    meanings = {row["name"]: row for row in read_table(tmp_path / "p" / "dictionary.csv")}
    assert (meanings["pay"]["what"], meanings["jobs"]["what"]) == ("ratio", "attribute")
    assert meanings["pay"]["meaning"].endswith("wage / jobs")
    assert meanings["formula"]["what"] == "column"


def test_a_difference_has_no_class_and_is_not_withheld(release: gedp.Release, tmp_path: Path) -> None:
    quality = gedp.Quality(withheld_above=1e-6)
    package = gedp.publish(release, tmp_path / "p", ratios=[PAY, GAP], quality=quality)
    for table in package.tables:
        assert table.of("pay")["estimate"].null_count == table.groups
        assert None not in table.of("pay")["quality"].to_pylist()
        assert table.of("gap")["estimate"].null_count == 0
        assert table.of("gap")["quality"].null_count == table.groups
    assert "has no quality class, since it may well be 0" in (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    classes = {(row["INDICATOR"], row["QUALITY"]) for row in lines_of(tmp_path / "p", "sdmx")}
    assert {name for name, flag in classes if not flag} == {"gap"}


def test_among_whole_figures_ratios_are_rounded_to_their_error(release: gedp.Release, tmp_path: Path) -> None:
    package = gedp.publish(release, tmp_path / "p", ratios=[PAY, GAP], rounding="whole", formats=["csv"])
    exact = release.microdata(whole=True).tabulate("cnty", ratios=[PAY, GAP]).arrow["estimate"].to_pylist()
    county = next(table for table in package.tables if table.chosen.by == ("cnty",))
    shown = county.of("pay")
    assert county.of("gap")["estimate"].to_pylist() == exact[3:]
    assert shown["estimate"].to_pylist() != exact[:3]
    for row, before in zip(shown.to_pylist(), exact[:3], strict=True):
        assert abs(row["estimate"] - before) <= (row["ci_high"] - row["ci_low"]) / 2 / 19


def test_ratios_that_no_table_can_have_are_named_all_at_once(release: gedp.Release, tmp_path: Path) -> None:
    with pytest.raises(FaultsError) as refused:
        gedp.publish(release, tmp_path / "p", ratios=["weekly-wage", "x = wage / area"])
    assert [fault.place for fault in refused.value.faults] == ["ratio 'weekly-wage'", "ratio 'x'"]
    assert "Tables have: jobs, wage" in str(refused.value)
    assert not (tmp_path / "p").exists()


def test_a_split_attribute_is_published_after_its_gain_and_its_loss(tmp_path: Path) -> None:
    queries, labels = ["identity", "county"], {"profit": {"title": "Profit", "unit": "US dollars"}}
    spec = spec_of(attributes=KINDS["split"]["attributes"], queries=queries, labels=labels)
    release = gedp.run(spec, table_of(), out=tmp_path / "out", seed=1, answers_only=True)
    package = gedp.publish(release, tmp_path / "p", rounding="whole")
    (table,) = package.tables
    assert table.chosen.lines == ("profit_gain", "profit_loss", "profit")
    gain, loss, whole = (table.of(name)["estimate"].to_numpy() for name in table.chosen.lines)
    assert (whole == gain - loss).all()
    assert table.of("profit")["quality"].null_count == table.groups
    described = json.loads((tmp_path / "p" / "publication.json").read_text(encoding="utf-8"))
    assert described["attributes"]["profit"] == {"title": "Profit", "unit": "US dollars"}


def test_whatever_can_be_near_0_has_no_class(balances: gedp.Release, tmp_path: Path) -> None:
    ratios = ["share = cost / revenue", "per cost = net / cost", "less = revenue - cost"]
    package = gedp.publish(balances, tmp_path / "p", ratios=ratios, quality=gedp.Quality(withheld_above=1e-6))
    (table,) = package.tables
    without = {name for name in table.chosen.lines if table.of(name)["quality"].null_count == table.groups}
    assert without == {"net", "profit", "per cost", "less"}
    assert {name for name in table.chosen.lines if not table.of(name)["estimate"].null_count} == without
    asked = "rows=cnty&attribute=net&attribute=profit&attribute=turnover&ratio=margin = profit / revenue"
    with serving(desk_of(balances.folder)) as served:
        found = served.get(f"/api/table?{asked.replace(' ', '%20')}").json
    (flags,) = {tuple(cell["quality"] != "" for cell in line["cells"]) for line in found["lines"]}
    assert [head["figure"] for head, has in zip(found["heads"], flags, strict=True) if has] == ["turnover"]


def test_a_ratio_of_a_combination_is_said_to_use_its_parts(balances: gedp.Release, tmp_path: Path) -> None:
    arguments = ("tabulate", str(balances.folder), "--by", "cnty", "--out", "-")
    ended = command(*arguments, "--ratio", "margin = profit / revenue", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "In margin, the fitted parts of profit are used, not answers of its own." in ended.err
    assert "fitted parts" not in command(*arguments, "--attribute", "profit", folder=tmp_path).err
