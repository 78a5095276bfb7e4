"""`gedp evaluate` as a command: what it writes and where, what it says, and how it ends."""

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gedp_lab.evaluate import evaluation
from tests.helpers.canaries import sings, with_canaries
from tests.helpers.runs import COMMAND, gedp, names, small_table, write_case

pytestmark = pytest.mark.usefixtures("no_disk_waits")

FILES = ["errors.csv", "errors.parquet", "evaluation.html", "groups.parquet", "worst.csv", "worst.parquet"]
EVALUATE = ("evaluate", "out", "--truth", "t.parquet", "--weights", "plug-in")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of a confidential table."""
    folder = tmp_path_factory.mktemp("released")
    write_case(folder)
    assert gedp("run", "spec.toml", folder=folder).code == 0
    return folder


@pytest.fixture
def case(released: Path, tmp_path: Path) -> Path:
    subprocess.run(["cp", "-r", f"{released}/.", tmp_path], check=True)
    return tmp_path


def test_what_it_writes_and_says(case: Path) -> None:
    ended = gedp(*EVALUATE, folder=case)
    assert ended.code == 0, ended.err
    assert ended.out.count("CONFIDENTIAL") >= 3  # first, in the title of each table, last
    assert "county total" in ended.out
    assert names(case / "out-evaluation") == [*(f"CONFIDENTIAL-{name}" for name in FILES), "results.json"]
    folder = case / "out-evaluation"
    errors = pq.read_table(folder / "CONFIDENTIAL-errors.parquet")
    assert pyarrow.csv.read_csv(folder / "CONFIDENTIAL-errors.csv").column_names == errors.column_names
    for path in folder.glob("*.parquet"):
        assert (pq.read_schema(path).metadata or {})[b"classification"] == b"CONFIDENTIAL"
    page = (folder / "CONFIDENTIAL-evaluation.html").read_text()
    assert '<meta name="classification" content="CONFIDENTIAL">' in page
    assert len(page) < 2_000_000
    again = gedp("evaluate", ".", "--truth", "../t.parquet", folder=case / "out")  # beside the folder, not in it
    assert (again.code, "Use --force" in again.err) == (1, True)
    assert gedp(*EVALUATE, "--force", folder=case).code == 0


def test_synthetic_data_is_called_so(tmp_path: Path) -> None:
    write_case(tmp_path, ('id = "key"', 'id = "key"\nsynthetic = true'))
    assert gedp("run", "spec.toml", "--seed", "1", folder=tmp_path).code == 0
    ended = gedp(*EVALUATE, "--by", "cnty", "--by", "", "--attribute", "emp", "--out", "here", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "CONFIDENTIAL" not in ended.out
    assert "NOT PROTECTED" in ended.out
    assert names(tmp_path / "here") == sorted([*FILES, "results.json"])
    assert "CONFIDENTIAL" not in (tmp_path / "here" / "evaluation.html").read_text()
    errors = pq.read_table(tmp_path / "here" / "errors.parquet")
    assert set(errors["by"].to_pylist()) == {"cnty", ""}
    assert set(errors["attribute"].to_pylist()) == {"emp"}


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below with its mode, and its time unless it is a folder."""
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        found[path.relative_to(folder).as_posix()] = (
            stat.S_IMODE(status.st_mode),
            0 if path.is_dir() else status.st_mtime_ns,
        )
    return found


def environment(case: Path) -> dict[str, str]:
    for name in ("home", "tmp"):
        (case / name).mkdir()
    places = {"HOME": case / "home", "TMPDIR": case / "tmp", "XDG_CACHE_HOME": case / "home" / "cache"}
    return {**os.environ, **{name: str(path) for name, path in places.items()}, "PYTHONDONTWRITEBYTECODE": "1"}


def test_nothing_is_left_outside_the_folder(case: Path) -> None:
    places = environment(case)
    before = everything(case)
    subprocess.run([*COMMAND, *EVALUATE], cwd=case, env=places, check=True, capture_output=True, umask=0)
    after = everything(case)
    assert {path: after[path] for path in before} == before
    new = {path: mode for path, (mode, _) in after.items() if path not in before}
    assert new.pop("out-evaluation") == 0o700
    assert len(new) == len(FILES) + 1
    assert {mode for path, mode in new.items() if path.startswith("out-evaluation/")} == {0o600}
    assert all(path.startswith("out-evaluation/") for path in new)


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    write_case(tmp_path, ('id = "key"', 'id = "key"\nsynthetic = true'), table=small_table(60_000))
    assert gedp("run", "spec.toml", folder=tmp_path).code == 0
    places = environment(tmp_path)
    before = everything(tmp_path)
    command = [*COMMAND, "evaluate", "out", "--truth", "t.parquet", *(f"--by={key}" for key in ("cnty", "naics", ""))]
    process = subprocess.Popen(command, cwd=tmp_path, env=places, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "out-evaluation").exists() and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert (process.returncode, error.strip()) == (130, "gedp: interrupted")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("step", ["reading the truth", "fitting", "comparing"])
def test_an_interrupt_at_any_step_leaves_nothing(case: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str, done: int, total: int) -> None:
        if name == step:
            raise KeyboardInterrupt

    plain = evaluation.evaluate
    monkeypatch.setattr(evaluation, "evaluate", lambda *a, **o: plain(*a, **{**o, "progress": interrupted}))
    before = everything(case)
    assert gedp(*EVALUATE, folder=case).code == 130
    assert everything(case) == before


def test_a_release_that_was_tampered_with_is_refused(case: Path) -> None:
    with (case / "out" / "tables" / "county.csv").open("a") as file:
        file.write("x")
    ended = gedp(*EVALUATE, folder=case)
    assert (ended.code, "not as released: tables/county.csv" in ended.err) == (1, True)
    assert not (case / "out-evaluation").exists()


def test_bad_options_are_one_message(case: Path) -> None:
    def ends(*arguments: str) -> tuple[int, str]:
        ended = gedp(*arguments, folder=case)
        assert ended.err.count("gedp:") == 1
        return ended.code, ended.err

    code, text = ends("evaluate", "out", "--truth", "nowhere.parquet")
    assert (code, "there is no such file" in text) == (2, True)
    (case / "empty.csv").write_text("")
    code, text = ends("evaluate", "out", "--truth", "empty.csv")
    assert (code, "fault" in text) == (2, True)
    code, text = ends(*EVALUATE, "--by", "nonsense")
    assert (code, "'nonsense' is not a public column or grouping" in text) == (2, True)
    code, text = ends(*EVALUATE, "--out", "out/inside")
    assert (code, "inside the release" in text) == (1, True)
    code, text = ends(*EVALUATE, "--published", "t.parquet")
    assert (code, "no public column state" in text) == (2, True)
    pq.write_table(small_table(41), case / "other.parquet")
    code, text = ends("evaluate", "out", "--truth", "other.parquet")
    assert (code, "the release has 40 and the truth 41: 0 of the release" in text) == (2, True)
    assert not (case / "out-evaluation").exists()


def test_no_message_quotes_a_record(case: Path) -> None:
    """Canaries: values that nobody may see, in a truth of other establishments."""
    pq.write_table(with_canaries().slice(1), case / "other.parquet")
    ended = gedp("evaluate", "out", "--truth", "other.parquet", folder=case)
    assert ended.code == 2
    assert not sings(ended.out + ended.err)
