"""What is said twice in the repository is said alike."""

import re
from pathlib import Path

import gedp

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_commits_are_checked_as_in_ci() -> None:
    recipes = re.findall(r"^(?:lint|types): setup\n((?:\t.*\n)+)", read("Makefile"), re.MULTILINE)
    in_ci = [line.strip().replace("$(BIN)", ".venv/bin") for recipe in recipes for line in recipe.splitlines()]
    assert len(in_ci) == 3
    assert re.findall(r"^ *entry: (.*)$", read(".pre-commit-config.yaml"), re.MULTILINE) == in_ci


def test_the_version_to_cite_is_this_one() -> None:
    assert f"\nversion: {gedp.__version__}\n" in read("CITATION.cff")
