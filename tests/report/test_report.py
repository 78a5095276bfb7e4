"""The report of a release: right numbers, any spec, and nothing that the release does not say."""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp import fit_microdata, read_release
from gedp.completing import complete
from gedp.errors import FaultsError
from gedp.files import WriteError
from gedp.margins import with_margin
from gedp.microdata import Microdata
from gedp.microdata.on_file import read_description, read_microdata
from gedp.policy import Query
from gedp.report import write_report
from gedp.report.page import report_page
from gedp.report.totals import main_totals
from tests.helpers.pages import text_of
from tests.helpers.runs import SYNTHETIC, names, small_table, write_case
from tests.helpers.runs import gedp as command
from tests.microdata.test_fit import EVERYTHING, IDENTITY, query, release_of, some_rows

pytestmark = pytest.mark.usefixtures("no_disk_waits")


def test_the_report_says_what_matters(microdata: Microdata) -> None:
    path = write_report(microdata, title="Jobs & wages <2016>")
    assert path == microdata.release.folder / "report.html"
    html, said = path.read_text(encoding="utf-8"), text_of(path)
    assert "<title>Jobs &amp; wages &lt;2016&gt;</title>" in html
    assert "NOT PROTECTED" in said  # the noise of these tests is seeded
    assert "synthetic" in said
    manifest = hashlib.sha256((path.parent / "manifest.json").read_bytes()).hexdigest()
    described = json.loads((path.parent / "microdata.json").read_text(encoding="utf-8"))
    assert manifest in said
    assert described["sha256"] in said
    whole, margin = with_margin(
        *(getattr(main_totals(microdata).all_together["emp"], a) for a in ("estimate", "margin"))
    )
    assert f"{whole} ± {margin}" in said
    for expected in (
        "establishments, each protected 300",
        "profit",
        "gedp tabulate .",
        "Do not read single rows",
        "naics2",
    ):
        assert expected in said
    assert 'href="tables/county.csv"' in html
    assert not re.findall(r"""(?:src|href)=["'](?!#|tables/|identity|data:)""", html)


def test_totals_that_are_worked_out_before_make_the_same_report(microdata: Microdata) -> None:
    described = read_description(microdata.release)
    totals = main_totals(microdata)
    whole = report_page(microdata, described, links=True)
    assert report_page(microdata, described, links=True, totals=totals) == whole
    assert report_page(microdata, described, links=True, totals=replace(totals, confidence=0.123)) != whole


def test_a_report_explains_only_the_noise_that_its_figures_carry(microdata: Microdata, tmp_path: Path) -> None:
    both = text_of(write_report(microdata))
    assert "either psi noise, which grows with the figure" in both
    assert "or pnc noise (probably no clipping)" in both
    write_case(tmp_path, SYNTHETIC, ("mu = { emp = 0.2, wage = 0.1 }", 'mu = { emp = 0.2 }\nmechanism = "psi"'))
    assert command("run", "spec.toml", folder=tmp_path).code == 0
    alone = text_of(tmp_path / "out" / "report.html")
    assert "The figures carry psi noise, which grows with the figure." in alone
    assert "pnc" not in alone


def test_a_report_elsewhere_has_no_links_to_files(microdata: Microdata, tmp_path: Path) -> None:
    html = write_report(microdata, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "href=" in html
    assert 'href="tables' not in html
    assert "tables/county.csv" in html


def test_the_code_in_a_report_runs(microdata: Microdata) -> None:
    path = write_report(microdata)
    html = path.read_text(encoding="utf-8")
    python, shell = (
        unescape(re.findall(f'<code class="{kind}">(.*?)</code>', html, re.DOTALL)[0]) for kind in ("python", "shell")
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", python], cwd=path.parent, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "std_error" in ended.stdout
    arguments = shell.split()
    assert arguments[0] == "gedp"
    assert command(*arguments[1:], "--out", str(path.parent.parent / "t.csv"), folder=path.parent).code == 0


def test_a_report_says_what_the_microdata_were_held_to(tmp_path: Path) -> None:
    rows = some_rows(60)
    queries = [query("identity", ["establishment"], "emp"), query("county", ["cnty"], "emp")]
    release = release_of(rows, queries, tmp_path)
    counties = pa.table({"cnty": ["000", "001", "002"], "emp": [500.0, 400.0, 300.0]})
    plain, held = fit_microdata(release), fit_microdata(release, weights="plug-in", fixed=counties)
    bounded = fit_microdata(release, nonnegative=True, whole=True)
    for microdata in (plain, held, bounded):
        microdata.write()
        html = unescape(write_report(microdata).read_text(encoding="utf-8"))
        assert "--attribute emp</code>" in html
        assert "release.microdata().tabulate(" in html  # with the options and totals that are on file
        assert ("Totals of emp by cnty were public before" in html) == (microdata is held)
        assert ("no value is below 0 and all values are whole" in html) == (microdata is bounded)
        assert ("Do not cut off negative values" in html) == (microdata is not bounded)


def test_microdata_that_were_moved_a_little_get_no_report(tmp_path: Path) -> None:
    """Far less than the largest value, and far more than a fit made anew could be off."""
    release = release_of(some_rows(300), EVERYTHING, tmp_path)
    path = fit_microdata(release).write()
    table, beside = pq.read_table(path), path.with_suffix(".json")
    spread = fit_microdata(release).fits["wage"].row_variances
    assert spread is not None
    for share in (0.001, 0.1):
        moved = pa.array(table["wage"].to_numpy() + share * np.sqrt(spread.min()))
        pq.write_table(table.set_column(table.column_names.index("wage"), "wage", moved), path)
        said = json.loads(beside.read_text(encoding="utf-8"))
        said["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        beside.write_text(json.dumps(said), encoding="utf-8")
        if share < 0.01:
            assert read_microdata(release).public_rows.count == 300
        else:
            with pytest.raises(FaultsError, match="wage: not what a fit"):
                read_microdata(release)


ROWS_OF = ("identity", ["establishment"])
CASES: dict[str, tuple[Query, ...]] = {
    "one total": (query("total", [], "emp"),),
    "identity alone": (IDENTITY,),
    "crossing, no identity": (query("county", ["cnty"], "emp"), query("naics", ["naics"], "emp")),
    "no groups of one key": (query(*ROWS_OF, "emp"), query("cells", ["cnty", "naics"], "emp", "area")),
    "signed and linear": (query(*ROWS_OF, "area", "profit"), query("county", ["cnty"], "area", "profit")),
    "nothing is sure": (query(*ROWS_OF, "emp", mu="0.001"), query("county", ["cnty"], "emp", mu="0.001")),
}


@pytest.mark.parametrize("case", CASES)
def test_any_release_has_a_report(case: str, tmp_path: Path) -> None:
    fitted = fit_microdata(release_of(some_rows(60), CASES[case], tmp_path), weights="plug-in")
    if fitted.fits:
        fitted.write()
    path = write_report(fitted)
    said = text_of(path)
    assert "unknown" not in re.findall(r"\w+", said) or case == "nothing is sure"
    assert "nan" not in re.findall(r"\w+", said)
    assert "inf" not in re.findall(r"\w+", said)
    assert "$" not in said
    release = read_release(path.parent)
    assert said == text_of(
        write_report(read_microdata(release) if fitted.fits else fit_microdata(release, weights="plug-in"))
    )


def test_odd_names_and_long_labels_are_only_text(tmp_path: Path) -> None:
    table = small_table()
    odd = [
        "<script>alert(1)</script>",
        "Köln & $x$ 東京",
        "a label that is much longer than any place on the page " * 3,
    ]
    table = table.set_column(1, "cnty", [[odd[i % 3] for i in range(40)]])
    write_case(tmp_path, SYNTHETIC, table=table)
    assert command("run", "spec.toml", folder=tmp_path).code == 0
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "Köln &amp; $x$ 東京" in html


def test_a_large_release_has_a_small_report(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    count = 30_000
    table = pa.table(
        {
            "key": [str(i) for i in range(count)],
            "cnty": [f"{i % 1900:04}" for i in range(count)],
            "naics": [f"{chance.integers(10**4):04}" for _ in range(count)],
            "emp": chance.lognormal(2, 1.5, count).astype(np.int64),
            "wage": chance.integers(0, 10**6, count).astype(np.float64),
        }
    )
    write_case(tmp_path, SYNTHETIC, ('by = ["naics2", "cnty"]', 'by = ["naics", "cnty"]'), table=table)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    release = read_release(tmp_path / "out")
    fitted = fit_microdata(release, weights="plug-in")
    fitted.write()
    path = write_report(fitted)
    assert path.stat().st_size < 250_000
    assert release.answers("naics2 x county").num_rows > 25_000
    assert "Too many groups to show here, but in the tables: naics, naics × cnty." in text_of(path)


def test_microdata_fitted_otherwise_are_not_reported_as_ours(tmp_path: Path) -> None:
    write_case(tmp_path, SYNTHETIC)
    assert command("run", "spec.toml", folder=tmp_path).code == 0
    out = tmp_path / "out"
    table = pq.read_table(out / "microdata.parquet")
    at = table.column_names.index("emp")
    other = table.set_column(at, "emp", [np.maximum(table["emp"].to_numpy(), 500.0)])
    pq.write_table(other, out / "microdata.parquet")
    described = json.loads((out / "microdata.json").read_text(encoding="utf-8"))
    described["sha256"] = hashlib.sha256((out / "microdata.parquet").read_bytes()).hexdigest()
    (out / "microdata.json").write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(FaultsError, match=r"emp: not what a fit with the options in microdata\.json gives"):
        read_microdata(read_release(out))


def test_options_of_the_microdata_on_file_are_kept(tmp_path: Path) -> None:
    queries = [query("identity", ["establishment"], "emp"), query("cells", ["cnty", "naics"], "emp", "area")]
    release = release_of(some_rows(40), queries, tmp_path)
    fit_microdata(release, weights="plug-in", share_by="floor").write()
    again = read_microdata(release)
    assert (again.weights, again.share_by) == ("plug-in", "floor")
    assert "divided by public weights" in text_of(write_report(again))


def test_the_report_never_replaces_a_file_of_the_release(microdata: Microdata) -> None:
    for name in ("manifest.json", "identity.parquet", "microdata.json", "microdata.parquet", "tables/county.csv"):
        with pytest.raises(WriteError, match="would replace a file of the release"):
            write_report(microdata, microdata.release.folder / name)


def test_without_microdata_a_report_shows_what_was_measured_and_promises_no_more(tmp_path: Path) -> None:
    release = release_of(some_rows(60), CASES["crossing, no identity"], tmp_path)
    published = complete(release)
    assert published.microdata_file is None
    assert published.summary.startswith("There are no microdata: no query asks for establishments")
    assert names(release.folder) == ["manifest.json", "maps", "report.html", "tables"]
    said, html = text_of(published.report_file), published.report_file.read_text(encoding="utf-8")
    for promised in ("microdata.parquet", "any sum of rows", "The microdata", "unknown"):
        assert promised not in html
    assert "Tables of your own This release has no microdata" in said
    assert "emp: by cnty, naics" in said
    totals = main_totals(published.microdata)
    assert [grouping.name for grouping in totals.groupings] == ["cnty", "naics"]
    margins = [amount.margin for each in totals.groupings for _, amount in each.of_attribute["emp"]]
    assert all(margin is not None and margin > 0 for margin in margins)
    whole, margin = with_margin(*(getattr(totals.all_together["emp"], name) for name in ("estimate", "margin")))
    assert f"{whole} ± {margin}" in said
    (shell,) = re.findall('<code class="shell">(.*?)</code>', html)
    assert command(*unescape(shell).split()[1:], "--out", str(tmp_path / "t.csv"), folder=release.folder).code == 0
    ended = command("report", str(release.folder), folder=tmp_path)
    assert (ended.code, text_of(published.report_file)) == (0, said)
