"""`gedp synth qcew` and `gedp synth sizes`: what they print, refuse and leave behind; the demonstration state."""

import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gedp.cli import main
from gedp.industries import depth_of, parent_of
from gedp_lab.synth.demo import SECTORS, demo_cells
from gedp_lab.synth.plots import _edges, _histograms
from gedp_lab.synth.shape import describe
from gedp_lab.synth.sizes import LOWER_EDGES
from tests.helpers.demonstration import Demonstration

HEADER = (
    "area_fips,own_code,industry_code,agglvl_code,size_code,year,qtr,disclosure_code,"
    "qtrly_estabs,month1_emplvl,month2_emplvl,month3_emplvl,total_qtrly_wages,taxable_qtrly_wages\n"
)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["gedp", *map(str, arguments)])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.fixture(scope="module")
def singlefile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration state as a published Rhode Island; cells of one or two are suppressed."""
    sums: dict[tuple[str, str], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for row in demo_cells(4).to_pylist():
        values = np.array([row[name] for name in ("estabs", "m1emp", "m2emp", "m3emp", "wage")])
        code: str | None = row["naics"]
        while code is not None:
            for area in (row["cnty"], "000"):
                sums[area, code] = sums.get((area, code), np.zeros(5, np.int64)) + values
            code = parent_of(code)
    lines = [HEADER]
    for (area, code), values in sums.items():
        hidden = values[0] < 3 and len(code) > 3
        level = (51 if area == "000" else 71) + (depth_of(code) or 0)
        shown = [values[0], *([0] * 4 if hidden else values[1:])]
        numbers = ",".join(map(str, shown))
        lines.append(f'"44{area}","5","{code}","{level}","0","2016","1","{"N" if hidden else ""}",{numbers},0\n')
    path = tmp_path_factory.mktemp("bls") / "2016_q1.csv"
    path.write_text("".join(lines))
    return path


def test_from_the_published_file_to_a_summary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, singlefile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "ri.parquet", tmp_path / "ri.png"
    assert run(monkeypatch, "synth", "qcew", "--qcew", singlefile, "--state", "ri", "--out", out, "--plot", plot) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    count = pq.read_metadata(out).num_rows
    assert f"{count:,}" in printed.out
    assert "2016 quarter 1" in printed.out
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ri.parquet", "ri.png"]
    whole = duckdb.execute("select sum(wage)::bigint from read_parquet(?)", [str(out)]).fetchall()[0][0]
    assert whole == pc.sum(demo_cells(4)["wage"]).as_py()
    # the same seed, the same file
    again = tmp_path / "again.parquet"
    assert run(monkeypatch, "synth", "qcew", "--qcew", singlefile, "--out", again, "--seed", 0) == 0
    assert pq.read_table(again).equals(pq.read_table(out))
    assert run(monkeypatch, "synth", "qcew", "--qcew", singlefile, "--out", again, "--spread", "paper") == 0
    assert not pq.read_table(again).equals(pq.read_table(out))


def cut_in_a_row(text: str) -> str:
    return text[: text.rindex(",", 0, len(text) // 2)]


def cut_between_rows(text: str) -> str:
    return text[: text.rindex("\n", 0, len(text) // 2) + 1]


BAD_FILES = {
    "cut in a row": (cut_in_a_row, "cannot be read"),
    "cut between rows": (cut_between_rows, "codes must nest"),
    "no header": (lambda text: text.split("\n", 1)[1], "no column area_fips, own_code, industry_code"),
    "missing column": (lambda text: text.replace("month2_emplvl", "m2"), "no column month2_emplvl"),
    "text for a number": (
        lambda text: text.replace(",0\n", ",0\n", 1).replace('"71","0"', '"7x","0"', 1),
        "cannot be",
    ),
    "codes that do not nest": (lambda text: text.replace('"5","7225",', '"5","7229",'), "codes must nest"),
    "unknown industry": (lambda text: text.replace('"5","31-33",', '"5","31-34",'), "unknown codes"),
    "empty": (lambda text: "", "no column"),
    "only a header": (lambda text: HEADER, "no state or county rows of ownership 5"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_are_one_message_and_no_output(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    singlefile: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    spoil, message = BAD_FILES[kind]
    bad = tmp_path / "bad.csv"
    bad.write_text(spoil(singlefile.read_text()))
    assert run(monkeypatch, "synth", "qcew", "--qcew", bad, "--out", tmp_path / "out.parquet") == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert printed.err.startswith("gedp: QCEW")
    assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--state", "ZZ", "--state", "99", "--state", "NJ"], "states: 2 faults"),
        (["--state", "NJ"], "no state or county rows of ownership 5 in states 34"),
        (["--state", "NJ", "--state", "RI"], "state 34 (NJ): no county rows"),
        (["--year", "2015"], "year 2015 is not there: the input holds 2016 quarter 1"),
        (["--quarter", "3"], "quarter 3 is not there"),
        (["--own", "1"], "no state or county rows of ownership 1"),
        (["--plot", "sizes.xlsx"], "no such kind of plot"),
    ],
)
def test_bad_options_are_one_message_and_no_output(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    singlefile: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, "synth", "qcew", "--qcew", singlefile, "--out", tmp_path / "out.parquet", *options) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("gedp: ")
    assert list(tmp_path.iterdir()) == []


def test_bad_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, singlefile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    cut = tmp_path / "cut.zip"
    with zipfile.ZipFile(cut, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(singlefile)
    cut.write_bytes(cut.read_bytes()[:5000])
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(monkeypatch, "synth", "qcew", *(f"--qcew={p}" for p in (cut, empty, out)), "--out", out) == 2
    message = capsys.readouterr().err
    assert "3 faults" in message
    assert all(words in message for words in ("not a whole zip", "holds no CSV", "no such file"))
    for place in (tmp_path, tmp_path / "nowhere" / "out.parquet"):
        assert run(monkeypatch, "synth", "qcew", "--qcew", singlefile, "--out", place) == 2
        assert "cannot write" in capsys.readouterr().err
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    assert run(monkeypatch, "synth", "qcew", "--qcew", broken, "--out", out) == 2
    assert "cannot be read" in capsys.readouterr().err
    spoilt = tmp_path / "spoilt.zip"
    with zipfile.ZipFile(spoilt, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(singlefile)
    inside = bytearray(spoilt.read_bytes())
    inside[2000:2100] = bytes(100)
    spoilt.write_bytes(inside)
    assert run(monkeypatch, "synth", "qcew", "--qcew", spoilt, "--out", out) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert not out.exists()


def test_ctrl_c_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import functools, sys, time, gedp_lab.synth.spreads as s, gedp_lab.synth.establishments as e\n"
        "def slow(*a, made=s.divide_skewed):\n"
        "    time.sleep(0.2)\n"
        "    return made(*a)\n"
        "e.SPREADS['skewed'] = lambda settings: s.Spread(s.draw_skewed, functools.partial(slow, settings))\n"
        "from pathlib import Path\n"
        "from gedp_lab.synth.demo import demo_cells\n"
        "e.write_establishments(demo_cells(), Path(sys.argv[1]), year=2016, quarter=1, seed=0, batch=200,\n"
        "                       progress=lambda n: print(n, flush=True))\n"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "e.parquet")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert [path.suffix for path in tmp_path.iterdir()] == [".tmp"]
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode != 0
    assert time.monotonic() - began < 5
    assert list(tmp_path.iterdir()) == []


def test_sizes_are_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, singlefile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, zbp = tmp_path / "ri.parquet", tmp_path / "zbp.csv"
    assert run(monkeypatch, "synth", "qcew", "--qcew", singlefile, "--out", out) == 0
    zbp.write_text(
        "st,zip,naics,n1_4,n5_9,n10_19,n20_49,n50_99,n100_249,n250_499,n500_999,n1000\n"
        "RI,02801,722511,5,2,1,1,0,0,0,0,0\nRI,02801,7225//,5,2,1,1,0,0,0,0,0\nVT,05001,722511,9,0,0,0,0,0,0,0,0\n"
        "RI,02802,721110,0,0,0,0,0,0,0,0,1\n"
    )
    capsys.readouterr()
    assert run(monkeypatch, "synth", "sizes", out, "--zbp", zbp) == 0
    printed = capsys.readouterr().out
    assert "size class: RI" in printed
    assert re.search(r"1-4 +5 +0\.5000", printed)
    assert re.search(r"1000\+ +1 +0\.1000", printed)
    without = pq.read_table(out)["m3emp"].to_numpy()
    assert f"{(without == 0).sum():,} synthetic establishments without a job" in " ".join(printed.split())
    for arguments, message in (
        ((out, "--zbp", zbp, "--state", "VT"), "state 50: not in ri.parquet"),
        ((out, "--zbp", out), "no column st, n1_4"),
        ((tmp_path / "no.parquet", "--zbp", zbp), "cannot be read"),
    ):
        assert run(monkeypatch, "synth", "sizes", *arguments) == 2
        assert message in capsys.readouterr().err


def test_the_plots_bins_hold_every_establishment(demonstration: Demonstration) -> None:
    edges = {"m3emp": _edges(6), "wage": _edges(11)}
    assert edges["m3emp"][:3].tolist() == [0.5, 1.5, 2.5]
    path = demonstration.establishments
    table = pq.read_table(path)
    for name, (zeros, counts) in _histograms(path, edges).items():
        assert zeros == pc.sum(pc.equal(table[name], 0)).as_py()
        assert zeros + counts.sum() == table.num_rows


def test_the_demonstration_state_is_lifelike_and_reproducible(demonstration: Demonstration) -> None:
    assert demo_cells(3).equals(demo_cells(3))
    assert not demo_cells(3).equals(demo_cells(4))
    assert all(depth_of(code) == 7 for sector in SECTORS for code in sector.codes.split())
    assert sum(sector.share for sector in SECTORS) == pytest.approx(1)
    shape = describe(demonstration.establishments)
    assert shape.counties == 14
    assert shape.dominance.median_share > 0.3
    large = sum(size.jobs for size in shape.sizes[6:])
    assert large > 0.2 * shape.m3emp  # under two in a hundred establishments hold over a fifth of the jobs
    assert sum(size.establishments for size in shape.sizes[6:]) < 0.02 * shape.establishments


def test_shape_by_plain_loops(demonstration: Demonstration) -> None:
    path = demonstration.establishments
    shape = describe(path)
    rows = pq.read_table(path).to_pylist()
    cells: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        cells.setdefault((row["cnty"], row["naics"]), []).append(row["m3emp"])
    shares = [max(jobs) / sum(jobs) for jobs in cells.values() if len(jobs) > 1 and any(jobs)]
    assert (shape.establishments, shape.cells) == (len(rows), len(cells))
    assert shape.wage == sum(row["wage"] for row in rows)
    assert shape.dominance.cells == len(shares)
    assert shape.dominance.median_share == pytest.approx(np.median(shares))
    assert shape.dominance.over_half == pytest.approx(np.mean(np.array(shares) > 0.5))
    assert shape.dominance.over_four_fifths == pytest.approx(np.mean(np.array(shares) > 0.8))
    edges = (0, *LOWER_EDGES, 10**9)
    for place, size in enumerate(shape.sizes):
        inside: list[int] = [row["m3emp"] for row in rows if edges[place] <= row["m3emp"] < edges[place + 1]]
        assert (size.establishments, size.jobs) == (len(inside), sum(inside))
    assert [size.label for size in shape.sizes][:3] == ["none", "1-4", "5-9"]


def test_a_shape_without_jobs(tmp_path: Path) -> None:
    from gedp_lab.synth.cells import CELL_SCHEMA
    from gedp_lab.synth.establishments import write_establishments

    row = ["44", "007", "722511", "5", 3, 0, 0, 0, 0]
    cells = pa.table({name: [value] for name, value in zip(CELL_SCHEMA.names, row, strict=True)}, schema=CELL_SCHEMA)
    out = tmp_path / "e.parquet"
    write_establishments(cells, out, year=2016, quarter=1, seed=0)
    assert describe(out).dominance.cells == 0
