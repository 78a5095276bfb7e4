"""Two releases beside each other: every change from the plain tables of both, no group lost, nothing mixed up."""

import io
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import DomainError, FaultsError, GedpError
from gedp.microdata.comparing import NO_BASE, NO_ERROR, NOT_AFTER, NOT_BEFORE
from gedp.periods import Period
from tests.helpers.quarters import NAMES, REGIONS, SECTIONS, first_quarter, release_of, second_quarter
from tests.helpers.runs import gedp as command

PAY = "pay = wage / jobs"


class Quarters(NamedTuple):
    old: gedp.Release
    new: gedp.Release


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> Quarters:
    folder, before = tmp_path_factory.mktemp("quarters"), first_quarter()
    after = second_quarter(before)
    return Quarters(release_of(before, folder / "q1", seed=1), release_of(after, folder / "q2", seed=2))


def by_line(table: gedp.Table, by: Sequence[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    found = {(row["attribute"], *(row[key] for key in by)): row for row in table}
    assert len(found) == len(table)
    return found


@pytest.mark.parametrize("by", [[], ["cnty"], ["naics2", "cnty"], ["region"], ["size"]])
def test_every_change_follows_from_the_plain_tables_of_both(quarters: Quarters, by: list[str]) -> None:
    """Of groups that both have; the others are there too, with what one release says about them and why no more."""
    old, new = (release.microdata() for release in quarters)
    ratios = [] if by == ["size"] else [PAY]
    asked = None if by == ["size"] else NAMES
    before, after = (by_line(each.tabulate(by, asked, 0.9, ratios), by) for each in (old, new))
    found = by_line(new.change(old, by, asked, 0.9, ratios), by)
    assert found.keys() == before.keys() | after.keys()
    for line, row in found.items():
        n, o = after.get(line), before.get(line)
        assert {name: row[name] for name in (n or {})} == (n or {})
        assert (row["old"], row["old_std_error"]) == ((o["estimate"], o["std_error"]) if o else (None, None))
        if n is None or o is None:
            assert row["note"] == (NOT_AFTER if n is None else NOT_BEFORE)
            assert row["change"] is row["percent"] is row["significant"] is row["change_variance_kind"] is None
            continue
        assert row["change"] == pytest.approx(n["estimate"] - o["estimate"])
        assert row["change_std_error"] == pytest.approx(np.hypot(n["std_error"], o["std_error"]))
        below = np.hypot(n["estimate"] - n["ci_low"], o["ci_high"] - o["estimate"])
        assert row["change_ci_low"] == pytest.approx(row["change"] - below)
        assert row["significant"] == (row["change_ci_low"] > 0 or row["change_ci_high"] < 0)
        assert row["change_variance_kind"] in {n["variance_kind"], o["variance_kind"]}
        if row["percent"] is None:
            assert row["note"] == NO_BASE
            assert o["estimate"] < 3 * o["std_error"]
        else:
            assert row["percent"] == pytest.approx(100 * (n["estimate"] / o["estimate"] - 1))
            assert row["note"] is None
            assert row["percent_ci_low"] < row["percent"] < row["percent_ci_high"]


def test_opened_and_closed_groups_are_listed_and_growth_is_seen(quarters: Quarters) -> None:
    found = by_line(quarters.new.microdata().change(quarters.old.microdata(), "cnty", "jobs"), ["cnty"])
    assert [line[1] for line in found] == ["001", "003", "007", "005"]
    assert found["jobs", "007"]["note"] == NOT_BEFORE
    assert found["jobs", "005"]["note"] == NOT_AFTER
    assert found["jobs", "005"]["estimate"] is None
    assert found["jobs", "001"]["significant"]
    assert found["jobs", "001"]["percent_ci_low"] > 0


def test_percentages_of_totals_about_0_are_refused_in_words(quarters: Quarters) -> None:
    """Profits of the first quarter add up to 0: a change can be had, a percentage cannot."""
    for by in ([], ["cnty"], ["naics2"]):
        for row in quarters.new.microdata().change(quarters.old.microdata(), by, "profit"):
            if row["old"] is not None and row["estimate"] is not None and row["old"] < 3 * row["old_std_error"]:
                assert row["change_ci_low"] < row["change"] < row["change_ci_high"]
                assert row["percent"] is row["percent_ci_low"] is row["percent_ci_high"] is None
                assert row["note"] == NO_BASE
    total = next(iter(quarters.new.microdata().change(quarters.old.microdata(), [], "profit")))
    assert total["note"] == NO_BASE
    assert total["significant"]


def test_a_ratio_without_an_error_has_no_change(quarters: Quarters) -> None:
    rows = list(quarters.new.microdata().change(quarters.old.microdata(), "cnty", ratios=["r = wage / profit"]))
    without = [row for row in rows if row["variance_kind"] == "unknown"]
    assert {row["note"] for row in without} <= {NO_ERROR, NOT_BEFORE}
    assert all(row["change"] is None and row["percent"] is None for row in without)


def test_filters_and_names_are_those_of_both(quarters: Quarters) -> None:
    old, new = (release.microdata() for release in quarters)
    table = new.change(old, "naics2", ["jobs"], where={"cnty": ["001"]})
    after = by_line(new.tabulate("naics2", ["jobs"], where={"cnty": ["001"]}), ["naics2"])
    assert all(row["estimate"] == after["jobs", row["naics2"]]["estimate"] for row in table)
    with pytest.raises(FaultsError, match="there is no '005' in cnty"):
        new.change(old, "naics2", where={"cnty": ["005"]})
    with pytest.raises(FaultsError, match="not a public column"):
        new.change(old, "state")
    with pytest.raises(FaultsError, match="not fitted: sales"):
        new.change(old, [], "sales")


# What cannot be compared.


def test_the_same_release_is_refused_wherever_it_lies(quarters: Quarters, tmp_path: Path) -> None:
    copy = gedp.read_release(shutil.copytree(quarters.new.folder, tmp_path / "copy"))
    for other in (quarters.new, copy):
        with pytest.raises(FaultsError, match="same release, with the same noise"):
            quarters.new.microdata().change(other.microdata(), "cnty")


def test_all_differences_in_meaning_are_named_at_once(quarters: Quarters, tmp_path: Path) -> None:
    """Units, a grouping of the same name by other characters, a map that moved a code, and classes with other edges."""
    other = {
        "labels": {"jobs": {"title": "Jobs", "unit": "thousand jobs"}},
        "groupers": {**SECTIONS["groupers"], "naics2": {"column": "naics", "prefix": 3}},
        "classes": {"size": {"attribute": "jobs", "edges": [0, 20, 50]}},
        "regions": {**REGIONS, "003": "south"},
    }
    odd = release_of(first_quarter(60), tmp_path / "odd", seed=3, **other).microdata()
    with pytest.raises(FaultsError) as refused:
        quarters.new.microdata().change(odd, ["naics2", "region", "size"])
    assert [fault.place for fault in refused.value.faults] == ["labels.jobs", "by", "by", "by"]
    assert "thousand jobs" in str(refused.value)
    assert "puts 1 codes into other groups" in str(refused.value)
    assert len(quarters.new.microdata().change(odd, "cnty", "wage")) == 4  # what means the same can be had


def test_a_prefix_is_the_same_whether_the_spec_names_it_or_not(quarters: Quarters, tmp_path: Path) -> None:
    plain = release_of(
        first_quarter(60), tmp_path / "plain", seed=3, groupers={}, queries=SECTIONS["queries"][:2], classes={}
    )
    assert len(quarters.new.microdata().change(plain.microdata(), "naics2", "jobs")) == 3


def test_synthetic_data_are_not_compared_with_others(quarters: Quarters) -> None:
    old = quarters.old.microdata()
    spec = replace(old.public_rows.spec, data=replace(old.public_rows.spec.data, synthetic=False))
    real = replace(old, public_rows=replace(old.public_rows, spec=spec))
    with pytest.raises(FaultsError, match="synthetic establishments, the other is not"):
        quarters.new.microdata().change(real, "cnty")


def of_period(release: gedp.Release, text: str) -> gedp.Microdata:
    manifest = release.manifest
    spec = replace(manifest.spec, data=replace(manifest.spec.data, period=Period.of(text)))
    return gedp.Release(release.folder, replace(manifest, spec=spec)).microdata()


def test_changes_are_since_an_earlier_period_of_the_same_kind(quarters: Quarters) -> None:
    old, new = quarters
    assert len(of_period(new, "2016Q2").change(of_period(old, "2016Q1"), [])) == 3
    assert len(of_period(new, "2016Q1").change(of_period(old, "2016Q1"), [])) == 3  # a corrected table
    with pytest.raises(FaultsError, match=r"period: 2016Q2 is later than 2016Q1\. Swap them"):
        of_period(new, "2016Q1").change(of_period(old, "2016Q2"), [])
    with pytest.raises(FaultsError, match="2016Q1 is a quarter, and 2015 is a year"):
        gedp.tabulate_series([of_period(old, "2015"), of_period(new, "2016Q1")], [])


def test_public_totals_of_one_quarter_are_not_those_of_the_next(quarters: Quarters) -> None:
    """With totals of its own each can be fixed; the change of a fixed total is exact."""
    totals = [pa.table({"jobs": [str(jobs)]}) for jobs in (4000, 4800)]
    old, new = (release.microdata(fixed=[each]) for release, each in zip(quarters, totals, strict=True))
    (row,) = new.change(old, [], "jobs")
    assert (row["change"], row["change_std_error"], row["significant"]) == (pytest.approx(800), 0, True)
    assert row["percent"] == pytest.approx(20)
    with pytest.raises(FaultsError, match="the same public totals"):
        quarters.new.microdata(fixed=totals[:1]).change(old, [])


def test_the_same_public_totals_in_another_order_are_the_same(quarters: Quarters) -> None:
    counties = pa.table({"cnty": ["001", "003"], "jobs": ["2000", "1000"]})
    old = quarters.old.microdata(fixed=[counties])
    others = pa.table({"jobs": ["1000.0", "2000"], "cnty": ["003", "001"]})
    with pytest.raises(FaultsError, match="the same public totals"):
        quarters.new.microdata(fixed=[others]).change(old, [])
    moved = pa.table({"cnty": ["003", "001"], "jobs": ["2000", "1000"]})
    assert quarters.new.microdata(fixed=[moved]).change(old, [])


def test_a_key_that_is_called_like_a_column_of_changes_is_refused(quarters: Quarters) -> None:
    with pytest.raises(FaultsError, match="'change' is also the name"):
        quarters.new.microdata().change(quarters.old.microdata(), ["change"])


# A series.


def test_classes_of_a_series_are_in_their_own_order(tmp_path: Path) -> None:
    classes = {"size": {"attribute": "jobs", "edges": [0, 5, 10, 20]}}
    before = first_quarter()
    old, new = (
        release_of(rows, tmp_path / name, seed=seed, classes=classes)
        for seed, (name, rows) in enumerate((("q1", before), ("q2", second_quarter(before))), 1)
    )
    table = gedp.tabulate_series([old.microdata(), new.microdata()], ["size"], ["establishments"])
    assert list(dict.fromkeys(row["size"] for row in table)) == ["0-4", "5-9", "10-19", "20+"]


@pytest.fixture(scope="module")
def third(tmp_path_factory: pytest.TempPathFactory) -> gedp.Release:
    rows = second_quarter(second_quarter(first_quarter()), seed=9)
    return release_of(rows, tmp_path_factory.mktemp("series") / "q3", seed=3)


def test_a_series_has_every_group_in_every_period_with_its_last_change(quarters: Quarters, third: gedp.Release) -> None:
    releases = [*quarters, third]
    microdata = [release.microdata() for release in releases]
    table = gedp.tabulate_series(iter(microdata), "cnty", ["jobs", "wage"])
    assert table.columns[:4] == ["cnty", "attribute", "period", "estimate"]
    lines = [(row["attribute"], row["cnty"], row["period"]) for row in table]
    names = [release.name for release in releases]
    assert lines == sorted(lines, key=lambda line: (line[0], line[1], names.index(line[2])))
    rows = dict(zip(lines, table, strict=True))
    for period, new, old in ((names[1], microdata[1], microdata[0]), (names[2], microdata[2], microdata[1])):
        for row in new.change(old, "cnty", ["jobs", "wage"]):
            assert rows[row["attribute"], row["cnty"], period] == {**row, "period": period}
    first = [row for row in table if row["period"] == names[0]]
    assert all(row["change"] is row["note"] is row["old"] is None for row in first)
    assert len(first) == len(microdata[0].tabulate("cnty", ["jobs", "wage"]))


def test_a_series_without_an_end_or_with_a_release_twice_is_refused(quarters: Quarters) -> None:
    with pytest.raises(DomainError, match="no releases"):
        gedp.tabulate_series([], "cnty")
    old, new = (release.microdata() for release in quarters)
    with pytest.raises(FaultsError, match="there are two releases of it"):
        gedp.tabulate_series([old, new, old], "cnty")
    with pytest.raises(FaultsError, match="also the name"):
        gedp.tabulate_series([old, new], "period")
    alone = gedp.tabulate_series([old], "cnty")
    assert alone["estimate"] == old.tabulate("cnty")["estimate"]


def test_a_table_of_changes_shows_and_draws_what_changed(quarters: Quarters) -> None:
    table = quarters.new.microdata().change(quarters.old.microdata(), "cnty")
    html = table._repr_html_()
    for text in ("County", "change ± margin", "Jobs (jobs)", NOT_BEFORE, "%)", "yes"):
        assert text in html
    figure = table.plot("jobs", most=2)
    (axes,) = figure.axes
    changes = sorted((row["change"] for row in table if row["attribute"] == "jobs" and row["change"]), key=abs)
    assert sorted(abs(end) for end in axes.dataLim.intervalx)[-1] >= abs(changes[-1])
    assert len(axes.patches) == 2
    assert axes.get_xlabel() == "Change in Jobs (jobs), with confidence intervals"
    figure.savefig(io.BytesIO(), format="png")


# The command.


def test_the_command_gives_what_python_gives(quarters: Quarters, third: gedp.Release, tmp_path: Path) -> None:
    old, new = (str(release.folder) for release in quarters)
    arguments = ("--by", "cnty", "--attribute", "jobs", "--ratio", PAY, "--confidence", "0.9")
    ended = command("tabulate", new, "--against", old, *arguments, "--out", "t.parquet", folder=tmp_path)
    assert ended.code == 0, ended.err
    expected = quarters.new.microdata().change(quarters.old.microdata(), "cnty", "jobs", 0.9, [PAY])
    assert pq.read_table(tmp_path / "t.parquet").equals(expected.arrow)
    assert f"2 lines: {NOT_BEFORE} (007)." in ended.err
    assert f"2 lines: {NOT_AFTER} (005)." in ended.err
    assert "NOT PROTECTED" in ended.err
    assert "if every release had a seed of its own" in ended.err
    series = command("tabulate", old, new, str(third.folder), "--by", "cnty", folder=tmp_path)
    assert series.code == 0, series.err
    assert series.out.startswith('"cnty","attribute","period","estimate"')
    whole = gedp.tabulate_series((each.microdata() for each in (*quarters, third)), "cnty")
    assert series.out.count("\n") == len(whole) + 1


def test_the_command_says_what_it_cannot_do(quarters: Quarters, tmp_path: Path) -> None:
    old, new = (str(release.folder) for release in quarters)
    for arguments, said in (
        ((new, "--against", new, "--by", "cnty"), "same release"),
        ((new, "--against", old, "--agglvl", "75"), "leave out"),
        ((old, new, "--against", old), "without --against"),
        ((new, "--against", str(tmp_path / "nowhere")), "missing"),
        ((new, "--against", old, "--by", "cnty", "--out", f"{old}/manifest.csv".replace("csv", "json")), "--out needs"),
    ):
        ended = command("tabulate", *arguments, folder=tmp_path)
        assert ended.code != 0
        assert said in ended.err, ended.err
    taken = Path(old) / "tables" / "county.csv"
    ended = command("tabulate", new, "--against", old, "--by", "cnty", "--out", str(taken), folder=tmp_path)
    assert "would replace a file of the release" in ended.err


def test_attributes_of_one_release_alone_are_named(quarters: Quarters, tmp_path: Path) -> None:
    fewer = {name: value for name, value in SECTIONS["attributes"].items() if name != "profit"}
    other = release_of(first_quarter(60), tmp_path / "fewer", seed=3, attributes=fewer)
    ended = command(
        "tabulate", str(quarters.new.folder), "--against", str(other.folder), "--by", "cnty", folder=tmp_path
    )
    assert ended.code == 0, ended.err
    assert "Left out, because not every release has them by these keys: profit." in ended.err
    with pytest.raises(GedpError, match="not fitted: profit"):
        quarters.new.microdata().change(other.microdata(), "cnty", "profit")


def test_lines_of_a_series_have_the_periods_of_their_specs(quarters: Quarters) -> None:
    first, second = of_period(quarters.old, "2016Q1"), of_period(quarters.new, "2016Q2")
    table = gedp.tabulate_series([first, second], [], "jobs")
    assert table["period"] == ["2016Q1", "2016Q2"]
    with pytest.raises(FaultsError, match="2016Q1: there are two releases of it"):
        gedp.tabulate_series([first, of_period(quarters.new, "2016Q1")], [])
