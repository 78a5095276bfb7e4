"""The report of a release: right numbers, any spec, and nothing that the release does not say."""

import errno
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from html import unescape
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp import fit_microdata, read_release
from gedp.errors import FaultsError
from gedp.files import WriteError
from gedp.microdata import Microdata
from gedp.microdata.on_file import read_microdata
from gedp.numbers import short
from gedp.policy import Query
from gedp.publish import publish
from gedp.report import charts, write_report
from gedp.report.errors import TableErrors, curve, release_errors
from gedp.report.numbers import relative, with_margin
from gedp.report.totals import Amount, main_totals
from tests.cli.test_run import one_message, spoil
from tests.helpers.runs import gedp as command
from tests.helpers.runs import names, small_table, start, write_case
from tests.microdata.test_fit import EVERYTHING, IDENTITY, query, release_of, some_rows

pytestmark = pytest.mark.usefixtures("no_disk_waits")

SYNTHETIC = ('id = "key"', 'id = "key"\nsynthetic = true')


@pytest.fixture(scope="module")
def microdata(tmp_path_factory: pytest.TempPathFactory) -> Microdata:
    fitted = fit_microdata(release_of(some_rows(300), EVERYTHING, tmp_path_factory.mktemp("report")))
    fitted.write()
    return fitted


def text_of(path: Path) -> str:
    """What a reader sees, without tags."""
    html = path.read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html[html.index("<body>") :])).split())


@given(st.floats(-1e15, 1e15), st.floats(1e-9, 1e12))
def test_numbers_are_rounded_to_the_place_of_their_margin(estimate: float, margin: float) -> None:
    shown, around = with_margin(estimate, margin)
    as_number = float(shown.replace(",", "").replace("\N{MINUS SIGN}", "-"))
    assert abs(as_number - estimate) <= 0.051 * margin + abs(estimate) * 1e-12
    assert float(around.replace(",", "")) == pytest.approx(margin, rel=0.051)
    assert "-" not in shown
    digits = around.replace(",", "").replace(".", "").strip("0")
    assert len(digits) <= 2


def test_numbers_as_people_write_them() -> None:
    assert with_margin(272_698.6, 1687.3) == ("272,700", "1,700")
    assert with_margin(12.345, 0.0996) == ("12.35", "0.10")
    assert with_margin(-0.2, 35) == ("0", "35")
    assert with_margin(-1234.5, 3.14159) == ("\N{MINUS SIGN}1,234.5", "3.1")
    assert with_margin(1234.5, None) == ("1,230", "unknown")
    assert with_margin(0, math.nan) == ("0", "unknown")
    assert (relative(0.02345), relative(2.5), relative(None)) == ("2.3%", "250%", "unknown")
    assert [short(x) for x in (0.1, 1, 100, 1e4, 1e6, 3e9, 1e13)] == ["0.1", "1", "100", "10k", "1M", "3bn", "10tn"]


def test_errors_by_size_against_plain_loops(microdata: Microdata) -> None:
    release, spec = microdata.release, microdata.frame.spec
    found = release_errors(release, spec)
    assert [errors.names for errors in found] == ["emp", "wage", "area", "profit"]
    for errors in found:
        (attribute,) = errors.attributes
        for table in errors.tables:
            lines = [a for a in release.answers(table.query).to_pylist() if a["attribute"] == attribute.name]
            sizes = [abs(a["estimate"]) if attribute.signed else a["estimate"] for a in lines]
            assert table.others == sum(size <= 0 for size in sizes)
            pairs = [(size, a["std_error"] / size) for size, a in zip(sizes, lines, strict=True) if size > 0]
            assert table.typical() == pytest.approx(np.median([error for _, error in pairs]))
            edges = [0.0, *errors.edges(), math.inf]
            counts = [int(((table.sizes >= low) & (table.sizes < high)).sum()) for low, high in pairwise(edges)]
            assert sum(counts) == len(pairs)
            inside = [error for size, error in pairs if edges[1] <= size < edges[2]]
            assert table.typical(edges[1], edges[2]) == (pytest.approx(np.median(inside)) if inside else None)
        identity = release.identity([f"{attribute.name}__psi"]).num_rows
        assert identity
        assert errors.single([100.0]) is not None


def test_attributes_alike_are_shown_together(tmp_path: Path) -> None:
    """The same protection and prices: one figure, of all of them."""
    write_case(
        tmp_path,
        SYNTHETIC,
        ("emp = { psi", 'wage2 = { psi = "log", gamma = 0.1, shift = 1, unit = 0.01 }\nemp = { psi'),
        ("wage = 0.1 }", "wage = 0.1, wage2 = 0.1 }"),
        table=small_table().append_column("wage2", small_table()["wage"]),
    )
    assert command("run", "spec.toml", folder=tmp_path).code == 0
    release = read_release(tmp_path / "out")
    found = release_errors(release, release.manifest.spec)
    assert sorted(errors.names for errors in found) == ["emp", "wage2, wage"]
    assert {table.query: len(table.sizes) + table.others for e in found for table in e.tables if "wage" in e.names} == {
        "county": 6
    }


def test_curves_hold_the_medians_of_bins() -> None:
    sizes = 10 ** np.random.default_rng(1).uniform(0, 4, 2000)
    errors = np.random.default_rng(2).lognormal(0, 1, 2000) / np.sqrt(sizes)
    found = curve(TableErrors("x", sizes, errors, 0))
    assert len(found.sizes) == 16
    first = errors[sizes < 10**0.25]
    assert found.median[0] == pytest.approx(np.median(first))
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(np.percentile(first, [10, 90])))
    few = curve(TableErrors("x", np.array([5.0]), np.array([0.1]), 0))
    assert few.median.tolist() == [0.1]
    assert curve(TableErrors("x", np.array([]), np.array([]), 3)).sizes.size == 0


def test_totals_are_those_of_the_custom_tables(microdata: Microdata) -> None:
    totals = main_totals(microdata)
    assert [grouping.name for grouping in totals.groupings] == ["cnty", "naics2", "cnty × naics"]
    for line in microdata.tabulate([]).to_pylist():
        amount = totals.all_together[line["attribute"]]
        assert amount.estimate == pytest.approx(line["estimate"])
        assert amount.margin == pytest.approx((line["ci_high"] - line["ci_low"]) / 2)
        assert amount.relative == pytest.approx(line["cv"])
    shown = dict(totals.groupings[0].of_attribute["emp"])
    expected = {a["cnty"]: a for a in microdata.tabulate(["cnty"], ["emp"]).to_pylist()}
    assert {label: amount.estimate for label, amount in shown.items()} == pytest.approx(
        {label: a["estimate"] for label, a in expected.items()}
    )
    sizes = [amount.estimate for amount in shown.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_bars_have_their_ends_where_the_numbers_are() -> None:
    amounts = [Amount(80.0, 20.0, 0.1), Amount(-50.0, None, None)]
    low, high = charts.bar_scale(amounts)
    assert (low, high) == (-50.0, 100.0)
    positive, negative = (charts.bar(amount, low, high) for amount in amounts)
    assert 'rect x="33.33%" width="53.33%"' in positive
    assert 'x1="73.33%" x2="100.00%"' in positive
    assert 'rect x="0.00%" width="33.33%"' in negative
    assert "line" not in negative
    assert charts.bar_scale([Amount(0.0, 0.0, None)]) == (0.0, 1.0)


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
        assert "microdata = read_microdata(release)" in html  # with the options and totals that are on file
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
            assert read_microdata(release).frame.rows == 300
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
    columns = {
        "key": [str(i) for i in range(count)],
        "cnty": [f"{i % 1900:04}" for i in range(count)],
        "naics": [f"{chance.integers(10**4):04}" for _ in range(count)],
        "emp": chance.lognormal(2, 1.5, count).astype(np.int64),
        "wage": chance.integers(0, 10**6, count).astype(np.float64),
    }
    write_case(tmp_path, SYNTHETIC, ('by = ["naics2", "cnty"]', 'by = ["naics", "cnty"]'), table=pa.table(columns))
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    release = read_release(tmp_path / "out")
    fitted = fit_microdata(release, weights="plug-in")
    fitted.write()
    path = write_report(fitted)
    assert path.stat().st_size < 250_000
    assert release.answers("naics2 x county").num_rows > 25_000
    assert "Groups of naics, naics × cnty are too many to show here" in text_of(path)


def fresh(folder: Path) -> Path:
    """A release with its microdata."""
    write_case(folder, SYNTHETIC)
    assert command("run", "spec.toml", folder=folder).code == 0
    return folder / "out"


def change_manifest(out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    (out / "manifest.json").write_text(json.dumps({**manifest, "gedp": "9.9"}), encoding="utf-8")


@pytest.mark.parametrize(
    ("harm", "code", "said"),
    [
        (lambda out: (out / "microdata.parquet").unlink(), 2, "missing or cannot be read. Make it: gedp microdata"),
        (lambda out: (out / "microdata.json").unlink(), 2, "missing or cannot be read. Make it: gedp microdata"),
        (lambda out: (out / "microdata.json").write_text("{}"), 2, "missing or cannot be read. Make it"),
        (lambda out: spoil(out / "microdata.parquet"), 1, "microdata.parquet is not as microdata.json describes it"),
        (lambda out: spoil(out / "tables" / "county.parquet"), 1, "not as released: tables/county.parquet"),
        (change_manifest, 1, "manifest.json is not the one that microdata.parquet was fitted to"),
        (shutil.rmtree, 2, "manifest.json: it is missing or cannot be read"),
    ],
)
def test_what_is_no_release_or_not_as_released_gets_one_message(
    harm: Callable[[Path], object], code: int, said: str, tmp_path: Path
) -> None:
    out = fresh(tmp_path)
    (out / "report.html").unlink()
    harm(out)
    ended = command("report", "out", folder=tmp_path)
    assert (ended.code, said in ended.err, one_message(ended.err), ended.out) == (code, True, True, ""), ended
    assert not (out / "report.html").exists()


def test_microdata_fitted_otherwise_are_not_reported_as_ours(tmp_path: Path) -> None:
    out = fresh(tmp_path)
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


@pytest.mark.parametrize("place", ["gedp.microdata.fit.replacing", "gedp.report.write.write_text"])
def test_a_release_is_whole_if_the_disk_is_full_afterwards(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(place, _refuse)
        ended = command("run", "spec.toml", folder=tmp_path)
    assert (ended.code, one_message(ended.err), ended.err.count("\n")) == (2, True, 1)
    assert "no space left on device" in ended.err
    assert "The release in out is complete and valid" in ended.err
    assert "Released 3 queries" in ended.out
    assert not [name for name in names(tmp_path / "out") if name.startswith(".")]
    read_release(tmp_path / "out")
    go_on = re.findall(r"gedp (\w+) (\w+)", ended.err[ended.err.index("Go on with") :])
    assert go_on == [("microdata", "out"), ("report", "out")]
    for arguments in go_on:
        assert command(*arguments, folder=tmp_path).code == 0
    assert (tmp_path / "out" / "report.html").exists()


def _refuse(path: Path, *text: str) -> None:
    raise WriteError(f"cannot write {path}: {os.strerror(errno.ENOSPC).lower()}")


def test_an_interrupt_while_fitting_leaves_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path)

    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gedp.publish.fit_microdata", interrupt)
    ended = command("run", "spec.toml", folder=tmp_path)
    assert ended.code == 130
    assert ended.err.strip().startswith("gedp: interrupted. The release in out is complete and valid")
    assert "\n" not in ended.err.strip()
    read_release(tmp_path / "out")


def test_a_signal_once_the_release_has_its_name(tmp_path: Path) -> None:
    """In a process of its own: the release is whole, and the message says how to go on, which works."""
    write_case(tmp_path, SYNTHETIC, table=small_table(20_000))
    process = start("run", "spec.toml", folder=tmp_path)
    patience = time.monotonic() + 60
    while not (tmp_path / "out" / "manifest.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patience
        time.sleep(0.002)
    time.sleep(0.05)  # from measuring to what follows
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.strip().startswith("gedp: terminated. The release in out is complete and valid")
    assert "\n" not in err.strip()
    read_release(tmp_path / "out")
    assert not [name for name in names(tmp_path / "out") if name.startswith(".")]
    for arguments in re.findall(r"gedp (\w+) (\w+)", err[err.index("Go on with") :]):
        assert command(*arguments, folder=tmp_path).code == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_going_on_names_the_folder_of_the_map_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path / "study", ("prefix = 2", 'map = "sectors.csv"'))
    (tmp_path / "study" / "sectors.csv").write_text("1111,A\n1122,A\n2222,B\n2361,C\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("gedp.report.write.write_text", _refuse)
        ended = command("run", "study/spec.toml", folder=tmp_path)
    assert "gedp report study/out" in ended.err
    assert command("report", "study/out", folder=tmp_path).code == 0
    assert "By naics2" in text_of(tmp_path / "study" / "out" / "report.html")


def test_a_replaced_release_keeps_no_old_microdata(tmp_path: Path) -> None:
    out = fresh(tmp_path)
    assert {"microdata.parquet", "microdata.json", "report.html"} <= set(names(out))
    assert command("run", "spec.toml", "--force", "--answers-only", folder=tmp_path).code == 0
    assert names(out) == ["identity.parquet", "manifest.json", "tables"]
    assert command("run", "spec.toml", "--force", folder=tmp_path).code == 0
    read_microdata(read_release(out))


def test_microdata_with_constraints_have_a_report(tmp_path: Path) -> None:
    out = fresh(tmp_path)
    fixed = tmp_path / "fixed.csv"
    fixed.write_text("cnty,emp\n001,500\n", encoding="utf-8")
    options = ("--nonnegative", "--whole", "--fixed", str(fixed))
    assert command("microdata", str(out), *options, folder=tmp_path).code == 0
    for totals in ((), ("--fixed", str(fixed))):
        assert command("report", str(out), *totals, folder=tmp_path).code == 0
        assert "Totals of emp by cnty were public before" in text_of(out / "report.html")


def test_without_microdata_a_report_shows_what_was_measured_and_promises_no_more(tmp_path: Path) -> None:
    release = release_of(some_rows(60), CASES["crossing, no identity"], tmp_path)
    published = publish(release)
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


def test_a_failure_after_a_release_without_microdata_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = '[[queries]]\nname = "identity"\nby = "establishment"\nmu = 0.1\n'
    write_case(tmp_path, SYNTHETIC, (identity, ""), ('by = ["naics2", "cnty"]', 'by = ["naics2"]'))
    with monkeypatch.context() as patch:
        patch.setattr("gedp.report.write.write_text", _refuse)
        ended = command("run", "spec.toml", folder=tmp_path)
    assert ended.err.rstrip().endswith("but without its report. Go on with: gedp report out")
    assert command("report", "out", folder=tmp_path).code == 0
    ended = command("run", "spec.toml", "--force", folder=tmp_path)
    assert ended.code == 0
    assert "There are no microdata" in ended.out
