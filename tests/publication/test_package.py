"""The package for the public: consistent, equal each time, whole or absent, and made of a release alone."""

import filecmp
import json
import shutil
import subprocess
from decimal import Decimal
from itertools import permutations
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import FaultsError, GedpError, Refused
from gedp.publication.chosen import COLUMNS
from gedp.release.signing import make_key
from tests.helpers.builder import JOBS, spec_of, table_of
from tests.helpers.runs import all_files
from tests.helpers.runs import gedp as command
from tests.publication.conftest import ATTRIBUTES, GROUPERS, small_table
from tests.publication.levels import Key, added_up, figures, follows, read_table

LEVELS: list[Key] = [("naics3",), ("cnty", "naics"), ("naics",), ("cnty", "naics4"), ("naics2",), ("cnty", "naics2")]


def tables_of(folder: Path) -> dict[Key, Path]:
    described = json.loads((folder / "publication.json").read_text(encoding="utf-8"))
    return {tuple(table["by"]): folder / table["files"]["csv"] for table in described["tables"]}


def test_every_table_adds_up_to_its_parents_exactly_over_all_levels(release: gedp.Release, tmp_path: Path) -> None:
    gedp.publish(release, tmp_path / "p", tables=LEVELS, rounding="whole", formats=["csv"])
    tables = {by: figures(read_table(path), by) for by, path in tables_of(tmp_path / "p").items()}
    pairs = [(fine, coarse) for fine, coarse in permutations(tables, 2) if follows(fine, coarse)]
    assert len(tables) == 9
    assert len(pairs) == 29
    for fine, coarse in pairs:
        assert added_up(tables[fine], fine, coarse) == tables[coarse], (fine, coarse)


UNITS = {"jobs": "0.1", "wage": "0.01", "both": "0.01", "cost": "0.01"}


@pytest.fixture(scope="module")
def cents(tmp_path_factory: pytest.TempPathFactory) -> gedp.Release:
    """The small release, of jobs in tenths and wages in cents."""
    folder, rows = tmp_path_factory.mktemp("cents"), small_table()
    attributes = {
        "jobs": {"psi": "sqrt", "gamma": 0.5, "unit": 0.1},
        "wage": {"psi": "sqrt", "gamma": 20, "unit": 0.01},
    }
    spec = spec_of(
        groupers=GROUPERS,
        attributes=attributes,
        budget={"mu": 0.7},
        queries=[
            {"name": "by", "by": ["cnty", "naics3"]},
            {"name": "total", "by": []},
            {"name": "cnty", "by": ["cnty"]},
        ],
    )
    return gedp.run(spec, rows, out=folder / "out", seed=3, answers_only=True)


def test_figures_in_units_below_1_are_whole_multiples_that_add_up_as_decimals(
    cents: gedp.Release, tmp_path: Path
) -> None:
    ratios, to = ["both = wage + 2 * jobs", "cost = jobs - wage", "mean = (jobs + wage) / 2"], tmp_path / "p"
    gedp.publish(cents, to, tables=LEVELS, rounding="whole", ratios=ratios, formats=["csv", "parquet", "sdmx"])
    tables = {}
    for by, path in tables_of(to).items():
        rows = [row for row in read_table(path) if row["attribute"] != "mean"]
        tables[by] = figures(rows, by, UNITS)
        plain = {(row["attribute"], tuple(row[key] for key in by)): row["estimate"] for row in rows}
        kept = pq.read_table(to / "parquet" / f"{path.stem}.parquet").to_pylist()
        exact = {(row["attribute"], tuple(row[key] for key in by)): row["estimate"] for row in kept}
        assert all(exact[key] == float(text) for key, text in plain.items())
        published = [row["OBS_VALUE"] for row in read_table(to / "sdmx" / path.name) if row["INDICATOR"] != "mean"]
        assert published == list(plain.values())
    pairs = [(fine, coarse) for fine, coarse in permutations(tables, 2) if follows(fine, coarse)]
    assert len(pairs) == 29
    for fine, coarse in pairs:
        assert added_up(tables[fine], fine, coarse) == tables[coarse], (fine, coarse)
    for found in tables.values():
        for (name, key), cost in found.items():
            if name == "cost":
                assert cost == 10 * found["jobs", key] - found["wage", key]


def test_rows_in_units_below_1_are_the_floats_nearest_to_their_decimals(cents: gedp.Release) -> None:
    fits = cents.microdata(whole=True).fits
    for name in ("jobs", "wage"):
        unit = Decimal(UNITS[name])
        values = fits[name].values.tolist()
        assert all(value == float(round(Decimal(value) / unit) * unit) for value in values)


def test_figures_are_those_of_tabulate(release: gedp.Release, tmp_path: Path) -> None:
    for rounding, whole in (("none", None), ("whole", True)):
        package = gedp.publish(release, tmp_path / rounding, tables=[["cnty", "naics3"]], rounding=rounding)
        microdata = release.microdata(whole=whole)
        assert [table.chosen.name for table in package.tables] == ["all of it", "total", "cnty"]
        for table in package.tables:
            expected = microdata.tabulate(table.chosen.by).arrow
            assert table.arrow["estimate"].equals(expected["estimate"])
            for key in (*table.chosen.by, "attribute"):
                assert table.arrow[key].equals(expected[key])


def test_rounding_to_the_error_moves_a_figure_by_less_than_the_error_can_tell(
    release: gedp.Release, tmp_path: Path
) -> None:
    exact = gedp.publish(release, tmp_path / "exact", rounding="none", formats=["csv"])
    rounded = gedp.publish(release, tmp_path / "rounded", formats=["csv"])
    assert [table.groups for table in exact.tables] == [9, 1, 3]
    for table, other in zip(exact.tables, rounded.tables, strict=True):
        rows = zip(table.arrow.to_pylist(), other.arrow.to_pylist(), strict=True)
        for before, after in rows:
            margin = (before["ci_high"] - before["ci_low"]) / 2
            assert abs(after["estimate"] - before["estimate"]) <= margin / 19.5
            assert after["ci_low"] <= before["ci_low"] + 1e-6
            assert after["ci_high"] >= before["ci_high"] - 1e-6
            assert after["cv"] == pytest.approx(before["std_error"] / abs(before["estimate"]), rel=6e-3)


def test_counts_of_establishments_are_those_of_the_release(release: gedp.Release, tmp_path: Path) -> None:
    package = gedp.publish(release, tmp_path / "p", formats=["csv"])
    rows = release.identity(["cnty"]).group_by("cnty").aggregate([("cnty", "count")]).to_pylist()
    counted = {row["cnty"]: row["cnty_count"] for row in rows}
    county = next(table.arrow for table in package.tables if table.chosen.by == ("cnty",))
    assert {row["cnty"]: row["establishments"] for row in county.to_pylist()} == counted
    assert package.tables[1].arrow["establishments"].to_pylist() == [release.manifest.establishments] * 2


def test_a_second_package_is_the_same_to_the_last_byte(release: gedp.Release, tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = command(
            "publish", str(release.folder), "--to", name, "--table", "cnty,naics2", "--rows", "none", folder=tmp_path
        )
        assert done.code == 0, done.err
    compared = filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", _names(tmp_path / "one"), shallow=False)
    assert compared == (_names(tmp_path / "one"), [], [])
    assert _names(tmp_path / "one") == _names(tmp_path / "two")
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "one", check=False)
    assert checked.returncode == 0


def test_nothing_but_its_own_unchanged_package_is_replaced(release: gedp.Release, tmp_path: Path) -> None:
    place = tmp_path / "p"
    gedp.publish(release, place, formats=["csv"])
    with pytest.raises(Refused, match="already holds a package"):
        gedp.publish(release, place, formats=["csv"])
    gedp.publish(release, place, formats=["parquet"], replace=True)
    assert (place / "parquet").is_dir()
    assert not (place / "csv").exists()
    (place / "mine.txt").write_text("mine", encoding="utf-8")
    before = all_files(tmp_path)
    with pytest.raises(Refused, match="not replaced"):
        gedp.publish(release, place, replace=True)
    (place / "mine.txt").unlink()
    (place / "README.md").write_text("changed", encoding="utf-8")
    with pytest.raises(Refused, match="not replaced"):
        gedp.publish(release, place, replace=True)
    with pytest.raises(Refused, match="inside the release"):
        gedp.publish(release, release.folder / "p")
    assert {path for path in before if path.name != "mine.txt"} == set(all_files(tmp_path))
    assert not (release.folder / "p").exists()


def test_a_package_is_whole_or_absent(release: gedp.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gedp.publication.package._write_rest", fails)
    with pytest.raises(OSError, match="No space"):
        gedp.publish(release, tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def test_rows_are_left_out_unless_asked_for(release: gedp.Release, tmp_path: Path) -> None:
    gedp.publish(release, tmp_path / "tables")
    assert not any("establishments" in name or "microdata" in name for name in _names(tmp_path / "tables"))
    for path in all_files(tmp_path / "tables"):
        assert b"id0" not in path.read_bytes()


def test_ids_can_be_kept_left_out_or_replaced(release: gedp.Release, tmp_path: Path) -> None:
    own = release.identity(["key"])["key"].to_pylist()
    found = {}
    for ids in ("keep", "none", "random"):
        gedp.publish(release, tmp_path / ids, rows=ids, formats=["csv"])
        found[ids] = pq.read_table(tmp_path / ids / "establishments.parquet")
    assert found["keep"]["key"].to_pylist() == own
    assert "key" not in found["none"].column_names
    assert set(found["random"]["key"].to_pylist()).isdisjoint(own)
    assert len(set(found["random"]["key"].to_pylist())) == len(own)
    columns = found["none"].column_names
    for other in (found["random"], found["keep"]):
        same = other.select(columns).sort_by([(name, "ascending") for name in columns])
        assert same.equals(found["none"])  # the same rows, in an order that says nothing about ids
    assert not found["keep"].select(columns).equals(found["none"])


def test_quality_is_flagged_and_withheld_as_the_agency_decides(release: gedp.Release, tmp_path: Path) -> None:
    quality = gedp.Quality((("good", 0.1), ("fair", 0.3), ("poor", float("inf"))), withheld_above=0.3)
    package = gedp.publish(release, tmp_path / "p", quality=quality, rounding="none", formats=["csv"])
    exact = gedp.publish(release, tmp_path / "all", rounding="none", formats=["csv"])
    seen = set()
    for table, other in zip(package.tables, exact.tables, strict=True):
        for row, full in zip(table.arrow.to_pylist(), other.arrow.to_pylist(), strict=True):
            cv = full["std_error"] / abs(full["estimate"])
            assert row["quality"] == ("good" if cv <= 0.1 else "fair" if cv <= 0.3 else "poor")
            assert (row["estimate"] is None) == (row["std_error"] is None) == (row["ci_low"] is None) == (cv > 0.3)
            assert row["establishments"] == full["establishments"]
            seen.add(row["quality"])
    assert seen == {"good", "fair", "poor"}


def test_parquet_metadata_are_read_by_duckdb_and_pandas(release: gedp.Release, tmp_path: Path) -> None:
    gedp.publish(release, tmp_path / "p", formats=["parquet"])
    path = tmp_path / "p" / "parquet" / "cnty.parquet"
    with duckdb.connect() as connection:
        query = "SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)"
        pairs = connection.execute(query, [str(path)]).fetchall()
    assert dict(pairs)["publisher"] == "Office <of> Statistics"
    assert json.loads(dict(pairs)["units"])["wage"] == "US dollars"
    frame = pytest.importorskip("pandas").read_parquet(path)
    assert frame.attrs["title"].endswith(": By County")
    assert "Harbor" in set(frame["cnty_name"])
    metadata = pq.read_schema(path).field("cnty").metadata
    assert metadata is not None
    assert metadata[b"title"] == b"County"
    assert tuple(frame.columns) == ("cnty", "cnty_name", *COLUMNS)


def test_a_signed_package_is_checked_with_openssl(release: gedp.Release, tmp_path: Path) -> None:
    public = make_key(tmp_path / "k")
    gedp.publish(release, tmp_path / "p", key=tmp_path / "k", formats=["csv"])
    check = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin"]
    check += ["-in", "SHA256SUMS", "-sigfile", "SHA256SUMS.sig"]
    assert subprocess.run(check, cwd=tmp_path / "p", capture_output=True, check=False).returncode == 0
    gedp.publish(release, tmp_path / "p", replace=True, formats=["csv"])


def test_a_package_is_verified_file_by_file(release: gedp.Release, tmp_path: Path) -> None:
    make_key(tmp_path / "k")
    make_key(tmp_path / "other")
    gedp.publish(release, tmp_path / "p", key=tmp_path / "k", formats=["csv"])
    verify = ("verify", "p", "--key", "k.pub")
    ended = command(*verify, folder=tmp_path)
    assert (ended.code, "as the owner of k.pub signed it" in ended.out) == (0, True), ended
    assert command("verify", "p", folder=tmp_path).code == 0
    ended = command("verify", "p", "--key", "other.pub", folder=tmp_path)
    assert (ended.code, "was not signed with the key" in ended.err) == (1, True), ended
    for path in [path for path in (tmp_path / "p").rglob("*") if path.is_file()]:
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        assert command(*verify, folder=tmp_path).code == 1, path
        path.unlink()
        ended = command(*verify, folder=tmp_path)
        assert (ended.code in (1, 2), "Traceback" in ended.err) == (True, False), path
        path.symlink_to(tmp_path / "elsewhere")
        assert command(*verify, folder=tmp_path).code in (1, 2), path
        path.unlink()
        path.write_bytes(content)
    (tmp_path / "p" / "csv" / "more.csv").write_text("believe me")
    for arguments, word in ((verify, "signed"), (verify[:2], "listed")):
        ended = command(*arguments, folder=tmp_path)
        assert (ended.code, f"not as {word}: csv/more.csv" in ended.err) == (1, True), ended
    (tmp_path / "p" / "csv" / "more.csv").unlink()
    (tmp_path / "p" / "SHA256SUMS.sig").unlink()
    ended = command(*verify, folder=tmp_path)
    assert (ended.code, "The package is not signed" in ended.err) == (2, True), ended


def test_what_cannot_be_published_is_refused_before_anything_is_written(release: gedp.Release, tmp_path: Path) -> None:
    wrong: list[dict[str, object]] = [
        {"tables": [["county"]]},
        {"only": ["counties"]},
        {"formats": ["pdf"]},
        {"formats": []},
        {"rounding": "up"},
        {"rows": "yes"},
        {"confidence": 2.0},
    ]
    for options in wrong:
        with pytest.raises(GedpError):
            gedp.publish(release, tmp_path / "p", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_tables_without_rows_are_published_but_not_rounded_to_whole_units(tmp_path: Path) -> None:
    spec = spec_of(attributes=JOBS, queries=[{"name": name, "by": [name], "mu": 1} for name in ("cnty", "naics")])
    release = gedp.run(spec, table_of(), out=tmp_path / "out", seed=1)
    package = gedp.publish(release, tmp_path / "p")
    assert package.tables[0].arrow["establishments"].null_count == 3
    readme = (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    assert "NOT PROTECTED" in readme
    with pytest.raises(GedpError, match="rows"):
        gedp.publish(release, tmp_path / "q", rounding="whole")
    with pytest.raises(FaultsError, match="cnty x naics"):
        gedp.publish(release, tmp_path / "q", tables=[["cnty", "naics"]])


def _names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in all_files(folder))


@pytest.mark.parametrize("name", ["publication.json", "README.md", "tables/more.parquet", "SHA256SUMS.txt"])
def test_foreign_files_in_a_release_are_named_without_a_key(name: str, release: gedp.Release, tmp_path: Path) -> None:
    shutil.copytree(release.folder, tmp_path / "out")
    assert command("verify", "out", folder=tmp_path).code == 0
    (tmp_path / "out" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "out" / name).write_text('{"format": 1}', encoding="utf-8")
    ended = command("verify", "out", folder=tmp_path)
    assert (ended.code, f"out: not part of the release: {name}" in ended.err) == (1, True), ended


def named(folder: Path, *queries: dict[str, object]) -> gedp.Release:
    """A release of the small table with these queries."""
    each = {"name": "each", "by": "establishment", "mu": 1}
    spec = spec_of(attributes=ATTRIBUTES, queries=[each, *queries])
    return gedp.run(spec, small_table(), out=folder / "out", seed=3, answers_only=True)


def test_tables_have_names_of_their_own_whatever_queries_are_called(tmp_path: Path) -> None:
    release = named(
        tmp_path,
        {"name": "total", "by": ["cnty"], "mu": 1},
        {"name": "total-change", "by": ["naics"], "mu": 1},
    )
    earlier = gedp.run(release.spec, small_table(), out=tmp_path / "earlier", seed=4, answers_only=True)
    gedp.publish(release, tmp_path / "p", tables=[[]], against=earlier)
    tables = json.loads((tmp_path / "p/publication.json").read_text(encoding="utf-8"))["tables"]
    names = [table["name"] for table in tables]
    assert names[:3] == ["total", "total-change", "total 2"]
    assert names[3:] == ["total: change", "total-change: change", "total 2: change"]
    for kind in ("csv", "parquet", "sdmx", "sheet"):
        assert len({table["files"][kind] for table in tables}) == len(tables)
    assert len(read_table(tmp_path / "p" / tables[2]["files"]["csv"])) == 2


def test_queries_by_the_same_keys_are_one_table_and_the_package_says_so(tmp_path: Path) -> None:
    release = named(
        tmp_path,
        {"name": "jobs", "by": ["cnty"], "mu": {"jobs": 1}, "title": "Jobs by county"},
        {"name": "wages", "by": ["cnty"], "mu": {"wage": 1}, "title": "Wages by county"},
    )
    (table,) = gedp.publish(release, tmp_path / "p", formats=["csv"]).tables
    assert (table.chosen.name, table.chosen.title, table.chosen.attributes) == ("jobs", "By cnty", ("jobs", "wage"))
    said = "One table, “By cnty”, has the figures of several: Jobs by county; Wages by county."
    assert said in (tmp_path / "p/README.md").read_text(encoding="utf-8")
    (alone,) = gedp.publish(release, tmp_path / "one", only=["wages"], formats=["csv"]).tables
    assert (alone.chosen.name, alone.chosen.title) == ("wages", "Wages by county")


def test_the_package_that_one_stands_in_is_replaced(release: gedp.Release, tmp_path: Path) -> None:
    gedp.publish(release, tmp_path / "p", formats=["csv"])
    done = command("publish", str(release.folder), "--to", ".", "--force", "--only", "cnty", folder=tmp_path / "p")
    assert done.code == 0, done.err
    assert list(tmp_path.iterdir()) == [tmp_path / "p"]
    assert list(tables_of(tmp_path / "p")) == [("cnty",)]


def test_nothing_is_called_noise_that_is_near_the_truth(tmp_path: Path) -> None:
    """The figure of a giant that is alone in its county is within 1% of it, so nobody is told to look elsewhere."""
    giant = 5_000_000
    jobs = np.array([giant, *[10] * 59])
    counties = ["giant", *["others"] * 59]
    release = gedp.run(spec_of(attributes=JOBS), table=table_of(60, cnty=counties, emp=jobs), out=tmp_path / "out")
    package = gedp.publish(release, tmp_path / "package")
    county = next(table.arrow for table in package.tables if table.chosen.by == ("cnty",))
    figure = dict(zip(county["cnty"].to_pylist(), county["estimate"].to_pylist(), strict=True))["giant"]
    assert figure == pytest.approx(giant, rel=0.01)
    pages = (tmp_path / "package" / "README.md", tmp_path / "out" / "report.html")
    for said in (" ".join(page.read_text(encoding="utf-8").split()) for page in pages):
        assert "are mostly noise" not in said
        assert "is mostly noise" not in said
        assert "reveal little" not in said
