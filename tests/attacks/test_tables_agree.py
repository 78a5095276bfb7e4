"""A release, its microdata, its tables and its report say the same, whatever was fitted last and whatever broke."""

import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gedp import fit_microdata, read_microdata, read_release, write_report
from gedp.cli import cli
from gedp.completing import complete, replace_microdata
from gedp.errors import GedpError
from gedp.files import WriteError, sha256
from gedp.microdata.on_file import find_microdata
from gedp.policy import Query
from gedp.release import ReleaseFolder
from gedp.release.derived import derived_files
from tests.microdata.test_fit import query, release_of, some_rows

pytestmark = pytest.mark.usefixtures("no_disk_waits")

QUERIES = [
    query("identity", ["establishment"], "emp", "wage"),
    query("county", ["cnty"], "emp", "wage"),
    query("naics2", ["naics2"], "emp"),
]
TOTALS = pa.table({"cnty": ["000", "001", "002"], "emp": [512, 488, 333]})
NOT_ON_FILE = "This table is not made from the microdata on file"


@pytest.fixture
def release(tmp_path: Path) -> ReleaseFolder:
    made = release_of(some_rows(120), QUERIES, tmp_path)
    complete(made)
    return made


def gedp(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def tabulated(release: ReleaseFolder, *options: str) -> tuple[pa.Table, str]:
    result = gedp("tabulate", str(release.folder), *options)
    assert result.exit_code == 0, result.exception
    keys = pa.csv.ConvertOptions(column_types={name: pa.string() for name in ("cnty", "naics", "floor")})
    return pyarrow.csv.read_csv(io.BytesIO(result.stdout_bytes), convert_options=keys), result.stderr


def sums_on_file(release: ReleaseFolder, by: Sequence[str], attribute: str) -> dict[tuple[str, ...], float]:
    rows = pq.read_table(release.folder / "microdata.parquet").to_pylist()
    sums: dict[tuple[str, ...], float] = {}
    for row in rows:
        keys = tuple(str(row[key]) for key in by)
        sums[keys] = sums.get(keys, 0) + row[attribute]
    return sums


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "plug-in"},
        {"nonnegative": True, "whole": True},
        {"whole": True, "fixed": TOTALS},
        {"weights": "plug-in", "nonnegative": True, "fixed": TOTALS},
    ],
)
def test_tables_are_sums_of_the_microdata_on_file(options: dict[str, Any], release: ReleaseFolder) -> None:
    fit_microdata(release, **options).write()
    for by in [(), ("cnty",), ("cnty", "naics"), ("floor",)]:
        table, said = tabulated(release, "--by", ",".join(by))
        assert NOT_ON_FILE not in said
        for name in ("emp", "wage"):
            expected = sums_on_file(release, by, name)
            lines = [line for line in table.to_pylist() if line["attribute"] == name]
            found = {tuple(line[key] for key in by): line["estimate"] for line in lines}
            assert found == (expected if options.get("whole") else pytest.approx(expected, rel=1e-12, abs=1e-9))
            assert all(line["std_error"] is not None for line in lines)


def test_values_on_file_count_though_a_fit_made_anew_ends_elsewhere(release: ReleaseFolder) -> None:
    """Another machine may end a little elsewhere; sums are those of the file all the same."""
    path = release.folder / "microdata.parquet"
    table, beside = pq.read_table(path), path.with_suffix(".json")
    moved = pa.array([value + 1e-3 for value in table["emp"].to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("emp"), "emp", moved), path)
    said = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps({**said, "sha256": sha256(path)}), encoding="utf-8")
    (line,) = find_microdata(release, attributes=["emp"]).tabulate([]).arrow.to_pylist()
    assert line["estimate"] == pytest.approx(sums_on_file(release, (), "emp")[()], rel=1e-12)


def test_other_options_are_another_fit_and_said_to_be(release: ReleaseFolder, tmp_path: Path) -> None:
    fit_microdata(release, whole=True, fixed=TOTALS).write()
    pyarrow.csv.write_csv(TOTALS, tmp_path / "totals.csv")
    same = ("--whole", "--weights", "quasi", "--no-nonnegative", "--fixed", str(tmp_path / "totals.csv"))
    assert NOT_ON_FILE not in tabulated(release, *same)[1]
    (tmp_path / "other.csv").write_text("cnty,emp\n000,513\n", encoding="utf-8")
    for other in (
        "--no-whole",
        "--nonnegative",
        "--weights=plug-in",
        "--share-by=floor",
        f"--fixed={tmp_path}/other.csv",
    ):
        table, said = tabulated(release, other)
        assert said.count(NOT_ON_FILE) == 1, other
        assert table.num_rows == 2
        if "fixed" not in other:  # the rest stays as it is on file
            assert table["estimate"][0].as_py() == pytest.approx(sum(TOTALS["emp"].to_pylist()))
    for path in derived_files(release.folder):
        path.unlink()
    assert NOT_ON_FILE not in tabulated(release, "--nonnegative")[1]  # there are none on file


def test_what_is_damaged_or_stale_is_one_error_that_says_how_to_go_on(release: ReleaseFolder) -> None:
    path, beside = release.folder / "microdata.parquet", release.folder / "microdata.json"
    good = path.read_bytes(), beside.read_bytes()
    said = json.loads(good[1])
    harms: dict[str, Callable[[], object]] = {
        "cut": lambda: path.write_bytes(good[0][:-9]),
        "no table": path.unlink,
        "no description": beside.unlink,
        "no words": lambda: beside.write_text("{}"),
        "odd totals": lambda: beside.write_text(json.dumps({**said, "fixed_totals": [5]})),
        "another release": lambda: beside.write_text(json.dumps({**said, "manifest_sha256": "0" * 64})),
        "other totals": lambda: beside.write_text(json.dumps({**said, "fixed_totals": [{"emp": ["99999"]}]})),
    }
    for name, harm in harms.items():
        path.write_bytes(good[0])
        beside.write_bytes(good[1])
        harm()
        result = gedp("tabulate", str(release.folder))
        assert isinstance(result.exception, GedpError), name
        assert f"gedp microdata {release.folder}" in str(result.exception), name
        assert not result.stdout, name
    assert gedp("microdata", str(release.folder)).exit_code == 0
    assert gedp("tabulate", str(release.folder)).exit_code == 0


def checksum_in_report(release: ReleaseFolder) -> str:
    text = (release.folder / "report.html").read_text(encoding="utf-8")
    (found,) = re.findall(r"microdata\.parquet</td><td><code>([0-9a-f]{64})", text)
    return str(found)


def test_new_microdata_have_a_new_report(release: ReleaseFolder) -> None:
    write_report(read_microdata(release), title="Jobs & <wages>")
    before = checksum_in_report(release)
    result = gedp("microdata", str(release.folder), "--nonnegative", "--whole")
    assert result.exit_code == 0, result.exception
    assert checksum_in_report(release) == sha256(release.folder / "microdata.parquet") != before
    text = (release.folder / "report.html").read_text(encoding="utf-8")
    assert "<title>Jobs &amp; &lt;wages&gt;</title>" in text
    assert "no value is below 0 and all values are whole" in text
    (release.folder / "report.html").unlink()
    assert gedp("microdata", str(release.folder)).exit_code == 0
    assert not (release.folder / "report.html").exists()  # none is made where there was none
    elsewhere = release.folder.parent / "mine.parquet"
    write_report(read_microdata(release))
    assert gedp("microdata", str(release.folder), "--whole", "--out", str(elsewhere)).exit_code == 0
    assert checksum_in_report(release) == sha256(release.folder / "microdata.parquet")


@pytest.mark.parametrize(
    "place", ["gedp.completing.write_report", "gedp.report.write.write_text", "gedp.microdata.fitted.write_text"]
)
def test_no_report_survives_the_microdata_that_it_is_about(
    place: str, release: ReleaseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise WriteError("cannot write it: no space left on device")

    before = sha256(release.folder / "microdata.parquet")
    monkeypatch.setattr(place, full)
    with pytest.raises(WriteError, match="no space left") as raised:
        replace_microdata(fit_microdata(release, whole=True))
    assert not (release.folder / "report.html").exists()
    if place != "gedp.microdata.fitted.write_text":
        assert sha256(release.folder / "microdata.parquet") != before
        assert f"gedp report {release.folder}" in raised.value.__notes__[0]
    monkeypatch.undo()
    assert gedp("report", str(release.folder)).exit_code == 0
    assert checksum_in_report(release) == sha256(release.folder / "microdata.parquet")


def test_at_no_time_does_a_report_describe_microdata_that_are_not_there(
    release: ReleaseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks at the folder at every change of a name in it."""
    seen = []

    def look() -> None:
        report = release.folder / "report.html"
        seen.append(report.exists())
        assert not report.exists() or checksum_in_report(release) == sha256(release.folder / "microdata.parquet")

    rename = Path.replace

    def watched(path: Path, target: Path) -> Path:
        look()
        renamed = rename(path, target)
        look()
        return renamed

    monkeypatch.setattr(Path, "replace", watched)
    assert gedp("microdata", str(release.folder), "--whole").exit_code == 0
    assert seen[-1]
    assert False in seen


def test_microdata_written_from_python_leave_no_report_of_others(release: ReleaseFolder) -> None:
    fit_microdata(release, whole=True).write()
    assert [path.name for path in derived_files(release.folder)] == ["microdata.parquet", "microdata.json"]
    read_release(release.folder)


MIXED: list[Query] = [
    query("identity", ["establishment"], "emp"),
    query("county", ["cnty"], "emp", "area"),
    query("naics", ["naics"], "area"),
]


def test_a_release_of_both_kinds_has_microdata_tables_and_a_report(tmp_path: Path) -> None:
    """Of area no answers determine cells: it has no column, and tables of what was measured."""
    rows = some_rows(80)
    release = release_of(rows, MIXED, tmp_path)
    published = complete(release)
    assert "area: no column" in published.summary
    assert pq.read_table(release.folder / "microdata.parquet").column_names == ["key", "cnty", "naics", "floor", "emp"]
    table, _ = tabulated(release, "--by", "cnty", "--by", "cnty", "--ratio", "per = area / emp", "--attribute", "area")
    assert set(table["attribute"].to_pylist()) == {"area", "per"}
    assert table["std_error"].null_count == 0
    table, said = tabulated(release, "--by", "floor")
    assert set(table["attribute"].to_pylist()) == {"emp"}
    assert "no answers determine them by these keys: area" in said
    result = gedp("tabulate", str(release.folder), "--by", "floor", "--attribute", "area")
    assert "Tables can be made by cnty, naics, and by what these add up to" in str(result.exception)
    assert "a query by establishment would allow any" in str(result.exception)
    text = published.report_file.read_text(encoding="utf-8")
    assert "unknown" not in text
    assert gedp("microdata", str(release.folder), "--whole").exit_code == 0
    assert gedp("report", str(release.folder)).exit_code == 0
