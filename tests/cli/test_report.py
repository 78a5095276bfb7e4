"""`gedp report`, and `gedp run` after the release: what is refused, what a failure leaves, and how to go on."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gedp import read_release
from gedp.files import WriteError
from gedp.microdata.on_file import read_microdata
from tests.helpers.pages import text_of
from tests.helpers.runs import COMMAND, SYNTHETIC, names, one_message, spoil, write_case
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


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


def _refuse(path: Path, *text: str) -> None:
    raise WriteError(f"cannot write {path}: {os.strerror(errno.ENOSPC).lower()}")


@pytest.mark.parametrize("place", ["gedp.microdata.fitted.replacing_table", "gedp.report.write.write_text"])
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


def test_an_interrupt_while_fitting_leaves_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path)

    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gedp.completing.fit_microdata", interrupt)
    ended = command("run", "spec.toml", folder=tmp_path)
    assert ended.code == 130
    assert ended.err.strip().startswith("gedp: interrupted. The release in out is complete and valid")
    assert "\n" not in ended.err.strip()
    read_release(tmp_path / "out")


def test_a_signal_once_the_release_has_its_name(tmp_path: Path) -> None:
    """In a process of its own, which waits in the fit: the release is whole, and the message says how to go on."""
    write_case(tmp_path)
    waiting = (
        "import gedp.completing, pathlib, time\n"
        "gedp.completing.fit_microdata = lambda *_, **__: (pathlib.Path('fitting').touch(), time.sleep(60))\n"
    )
    command_line = [*COMMAND[:2], f"{waiting}{COMMAND[2]}", "run", "spec.toml"]
    process = subprocess.Popen(command_line, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while not (tmp_path / "fitting").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
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
