"""`gedp compare` as a command: what it writes and where, what it says, and how it ends."""

import os
import signal
import subprocess
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gedp_lab.compare import workers
from tests.cli.test_evaluate import environment, everything
from tests.helpers.canaries import sings, with_canaries
from tests.helpers.runs import COMMAND, gedp, names, small_table, write_case

SYNTHETIC = ('id = "key"', 'id = "key"\nsynthetic = true')
OTHERS = ("fingerprint.key", "plan.json", "replicates", "results.json")
FILES = [
    "comparison.html",
    "groups.parquet",
    "results.csv",
    "results.parquet",
    "winners.csv",
    "winners.parquet",
]
QUICK = ("--replicates", "2", "--workers", "1", "--workflow", "psi", "--workflow", "auto", "--by", "cnty")


@pytest.mark.parametrize("source", ["adbc:sqlite", "s3://bucket/t.parquet"])
@pytest.mark.parametrize("command", [("compare", *QUICK), ("suppress",)])
def test_a_table_that_is_no_file_must_be_named(tmp_path: Path, command: tuple[str, ...], source: str) -> None:
    ledger = ("[output]", '[ledger]\nfile = "register.ledger"\n\n[output]')
    of_database = '\ntable = "t"' if source.startswith("adbc") else ""
    write_case(tmp_path, ledger, ('source = "t.parquet"', f'source = "{source}"{of_database}'))
    ended = gedp(command[0], "spec.toml", *command[1:], folder=tmp_path)
    assert ended.code == 2
    assert "data.source: the truth is read again and again, from a file. Name a file with its rows" in ended.err


def test_what_it_writes_and_says(tmp_path: Path) -> None:
    write_case(tmp_path)
    ended = gedp("compare", "spec.toml", *QUICK, folder=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.count("CONFIDENTIAL") >= 3  # first, in the title of each table, last
    for words in ("county total", "its error", "beyond chance", "Seconds for one replicate"):
        assert words in ended.out
    assert "…" not in ended.out
    folder = tmp_path / "spec-comparison"
    assert names(folder) == [
        *(f"CONFIDENTIAL-{n}" for n in FILES),
        "fingerprint.key",
        "plan.json",
        "replicates",
        "results.json",
    ]
    for path in folder.rglob("*.parquet"):
        assert path.name.startswith("CONFIDENTIAL-")
        assert (pq.read_schema(path).metadata or {})[b"classification"] == b"CONFIDENTIAL"
    results = pq.read_table(folder / "CONFIDENTIAL-results.parquet")
    assert pyarrow.csv.read_csv(folder / "CONFIDENTIAL-results.csv").column_names == results.column_names
    assert results.num_rows == 2 * 2  # workflows, attributes
    assert '<meta name="classification" content="CONFIDENTIAL">' in (folder / "CONFIDENTIAL-comparison.html").read_text(
        encoding="utf-8"
    )
    groups = pq.read_table(folder / "CONFIDENTIAL-groups.parquet")
    assert set(groups["keys"].to_pylist()) == {"001", "003", "005"}
    again = gedp("compare", "spec.toml", *QUICK, folder=tmp_path)  # replicates are kept, results replaced
    assert again.out == ended.out
    assert names(folder) == [
        *(f"CONFIDENTIAL-{n}" for n in FILES),
        "fingerprint.key",
        "plan.json",
        "replicates",
        "results.json",
    ]


def test_nothing_is_left_outside_the_folder(tmp_path: Path) -> None:
    write_case(tmp_path)
    places = environment(tmp_path)
    before = everything(tmp_path)
    command = [*COMMAND, "compare", "spec.toml", "--replicates", "2", "--workers", "2", "--by", "cnty", "--out", "here"]
    ended = subprocess.run(command, cwd=tmp_path, env=places, check=True, capture_output=True, text=True, umask=0)
    assert ended.stderr == ""
    after = everything(tmp_path)
    assert {path: after[path] for path in before} == before
    new = {path: mode for path, (mode, _) in after.items() if path not in before}
    assert (new.pop("here"), new.pop("here/replicates")) == (0o700, 0o700)
    assert len(new) == len(FILES) + 3 + 3
    assert set(new.values()) == {0o600}
    assert all(path.startswith("here/") for path in new)


def test_an_interrupt_is_one_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """The whole process group, three new processes, is interrupted, as by a key on a terminal."""
    write_case(tmp_path, SYNTHETIC)
    run = ("compare", "spec.toml", "--by", "cnty", "--seed", "1", "--workers", "2", "--out", "here", "--replicates")
    process = subprocess.Popen(
        [*COMMAND, *run, "500"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    files = tmp_path / "here" / "replicates"
    while not (files.exists() and len(list(files.glob("0*.parquet"))) >= 3) and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate()
    finished = sorted(path.name for path in files.glob("0*.parquet"))
    assert process.returncode == 130
    assert error.strip().count("\n") == 0
    assert error.strip().startswith("gedp: interrupted. ")
    assert error.strip().endswith("of 500 replicates are finished and kept; the same command goes on from there")
    assert names(files) == [*finished, "groups.parquet"]  # nothing half written
    before = {name: (files / name).stat().st_mtime_ns for name in finished}
    ended = gedp(*run, str(len(finished) + 1), folder=tmp_path)
    assert ended.code == 0, ended.err
    assert {name: (files / name).stat().st_mtime_ns for name in finished} == before
    assert "CONFIDENTIAL" not in ended.out


def test_a_worker_that_dies_is_one_error_and_finished_replicates_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    start, finished, started = workers._start_worker, workers._finished_number, []

    def watched(prepare: workers.Prepare) -> object:
        started.append(start(prepare))
        return started[-1]

    def finished_then_killed(connection: "Connection[Any, Any]") -> int:
        number = finished(connection)
        os.kill(started[0][1].pid or 0, signal.SIGKILL)
        return number

    monkeypatch.setattr(workers, "_start_worker", watched)
    monkeypatch.setattr(workers, "_finished_number", finished_then_killed)
    command = ("compare", "spec.toml", "--by", "cnty", "--workflow", "psi", "--workers", "2", "--replicates", "50")
    ended = gedp(*command, folder=tmp_path)
    assert (ended.code, ended.err.count("gedp:")) == (2, 1)
    assert "a process ended before its work was done: killed, perhaps for want of memory" in ended.err
    kept = list((tmp_path / "spec-comparison" / "replicates").glob("CONFIDENTIAL-0*"))
    assert len(kept) >= 1
    assert "of 50 replicates are finished and kept" in ended.err


def test_bad_options_are_one_message(tmp_path: Path) -> None:
    write_case(tmp_path)

    def ends(*arguments: str) -> tuple[int, str]:
        ended = gedp("compare", "spec.toml", *arguments, folder=tmp_path)
        assert ended.err.count("gedp:") == 1
        return ended.code, ended.err

    code, text = ends("--seed", "1")
    assert (code, "it is only for data that the spec declares synthetic" in text) == (1, True)
    code, text = ends("--workflow", "auto+oracle")
    assert (code, "no release can have them" in text) == (1, True)
    code, text = ends("--workflow", "magic")
    assert (code, "there is no workflow 'magic'" in text) == (2, True)
    code, text = ends("--sweep", "mu")
    assert (code, "'mu' is not a sweep" in text) == (2, True)
    code, text = ends("--truth", "nowhere.parquet")
    assert (code, "there is no such file" in text) == (2, True)
    code, text = ends("--by", "nonsense", "--workers", "1")
    assert (code, "'nonsense' is not a public column or grouping" in text) == (2, True)
    code, text = ends("--out", "t.parquet")
    assert (code, "holds something else" in text) == (1, True)
    assert not (tmp_path / "spec-comparison").exists()


def test_no_message_quotes_a_record(tmp_path: Path) -> None:
    """Canaries: values that nobody may see."""
    write_case(tmp_path, table=with_canaries())
    ended = gedp("compare", "spec.toml", *QUICK, "--by", "naics", folder=tmp_path)
    assert ended.code == 0, ended.err
    broken = small_table().drop_columns(["wage"])
    pq.write_table(broken, tmp_path / "other.parquet")
    other = gedp("compare", "spec.toml", "--truth", "other.parquet", "--out", "o", folder=tmp_path)
    assert other.code == 2
    assert not sings(other.out + other.err)
