"""What the README, the docs and the examples show, runs."""

import io
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

from tests.helpers.demonstration import Demonstration
from tests.helpers.runs import gedp

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Pages whose examples work for half a minute: many plans, many releases.
LONG = {"baselines.md", "choosing.md", "compare.md", "planning.md", "policy-meeting.md"}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))


BY_PAGE = pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else []) for page in PAGES],
)


def test_there_is_something_to_run() -> None:
    assert blocks(PAGES[0], "console")
    assert blocks(PAGES[0], "python")
    assert links(PAGES[0])


def write_files(page: Path, folder: Path) -> None:
    """The files that a page shows under their names."""
    shown = re.findall(r'^```\w+ title="(.+?)"\n(.*?)^```', page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for name, text in shown:
        (folder / name).write_text(text, encoding="utf-8")


def run_commands(page: Path, folder: Path, demonstration: Demonstration) -> None:
    """Every command that a page shows, in order, beside the files that it shows."""
    write_files(page, folder)
    for block in blocks(page, "console"):
        for line in re.findall(r"^\$ gedp (.*)", block, re.MULTILINE):
            command, _, target = line.partition(" > ")
            arguments = shlex.split(command, comments=True)
            if arguments == ["demo", "--out", "demo"]:
                demonstration.copied_to(folder / "demo")  # it ran once for all pages
                continue
            ended = gedp(*arguments, folder=folder)
            assert ended.code == 0, f"gedp {line}: {ended.err}"
            if target:
                (folder / target.strip()).write_text(ended.out, encoding="utf-8")


@BY_PAGE
def test_commands_run(page: Path, tmp_path: Path, demonstration: Demonstration) -> None:
    run_commands(page, tmp_path, demonstration)


@BY_PAGE
def test_python_runs(page: Path, tmp_path: Path, demonstration: Demonstration) -> None:
    """Without a warning, which is an error in these tests. The README's runs in a process that has nothing loaded."""
    demonstration.copied_to(tmp_path / "demo")
    for block in blocks(page, "python"):
        if page.name == "README.md":
            command = [sys.executable, "-W", "error", "-c", block]
            result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr
        else:
            with chdir(tmp_path), redirect_stdout(io.StringIO()):
                exec(block, {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    there = [target for target in links(page) if "://" in target or (page.parent / target).exists()]
    assert there == links(page)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
