"""What the README, the docs and the examples show, runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.demonstration import Demonstration

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GEDP = [sys.executable, "-c", "from gedp.cli import main; main()"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_there_is_something_to_run() -> None:
    assert blocks(PAGES[0], "console")
    assert blocks(PAGES[0], "python")


def write_files(page: Path, folder: Path) -> None:
    """The files that a page shows under their names."""
    shown = re.findall(r'^```\w+ title="(.+?)"\n(.*?)^```', page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for name, text in shown:
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path, demonstration: Demonstration) -> None:
    write_files(page, tmp_path)
    for block in blocks(page, "console"):
        for line in re.findall(r"^\$ gedp (.*)", block, re.MULTILINE):
            command, _, target = line.partition(" > ")
            arguments = shlex.split(command, comments=True)
            if arguments == ["demo", "--out", "demo"]:
                demonstration.copied_to(tmp_path / "demo")  # it ran once for all pages
                continue
            result = subprocess.run([*GEDP, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
            assert result.returncode == 0, f"gedp {line}: {result.stderr}"
            if target:
                (tmp_path / target.strip()).write_text(result.stdout, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_runs(page: Path, tmp_path: Path, demonstration: Demonstration) -> None:
    demonstration.copied_to(tmp_path / "demo")
    for block in blocks(page, "python"):
        command = [sys.executable, "-W", "error", "-c", block]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
