"""`gedp desk` as a process: it says where it listens, and ends when it is told to."""

import re
import signal
import urllib.request
from pathlib import Path

import pytest

from gedp.desk.server import LOOPBACK, address_of, is_for_this_machine, listen
from tests.helpers.demonstration import Demonstration
from tests.helpers.runs import gedp, start


@pytest.mark.parametrize(("number", "folder"), [(signal.SIGTERM, "out"), (signal.SIGINT, "package")])
def test_it_serves_until_it_is_told_to_stop(number: signal.Signals, folder: str, demonstration: Demonstration) -> None:
    process = start("desk", folder, "--port", "0", "--title", "A <title>", folder=demonstration.folder)
    assert process.stdout is not None
    said = process.stdout.readline()
    found = re.fullmatch(r"The desk is at (http://127\.0\.0\.1:\d+/) Stop it with Ctrl-C\.\n", said)
    assert found, said
    with urllib.request.urlopen(found[1]) as answer:
        assert "<title>A &lt;title&gt;</title>" in answer.read().decode()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "Stopped.\n", "")


def test_a_port_that_is_taken_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with listen(LOOPBACK, 0) as taken:
        ended = gedp("desk", "nowhere", "--port", str(taken.getsockname()[1]), folder=tmp_path)
    assert ended.code == 1
    assert "Choose another --port" in ended.err


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = gedp("desk", "empty", "--port", "0", folder=tmp_path)
    assert ended.code == 2
    assert "manifest.json" in ended.err


def test_who_can_reach_it_is_known() -> None:
    with listen(LOOPBACK, 0) as here, listen("0.0.0.0", 0) as everywhere:
        assert [is_for_this_machine(each) for each in (here, everywhere)] == [True, False]
        assert address_of(here) == f"http://127.0.0.1:{here.getsockname()[1]}/"


def test_the_classes_of_a_package_are_its_own(demonstration: Demonstration) -> None:
    ended = gedp("desk", "package", "--port", "0", "--quality", "good=10%,poor", folder=demonstration.folder)
    assert ended.code != 0
    assert "leave out --quality" in ended.err
