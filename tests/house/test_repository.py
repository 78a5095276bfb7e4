"""What is said twice in the repository is said alike."""

import os
import re
import shutil
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import gedp

ROOT = Path(__file__).parents[2]
LOCKS = sorted(path.name for path in ROOT.glob("requirements-*.lock"))
PINNED = re.compile(r"^([\w.-]+)==(\S+)(?: ; ([^\\\n]+))?", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def recipe(target: str) -> list[str]:
    """The lines of a recipe in the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", read("Makefile"), re.MULTILINE)
    assert found is not None
    return [line.strip() for line in found[1].splitlines()]


def test_commits_are_checked_as_in_ci() -> None:
    in_ci = [line.replace("$(BIN)", ".venv/bin") for line in recipe("lint") + recipe("types")]
    assert len(in_ci) == 3
    assert re.findall(r"^ *entry: (.*)$", read(".pre-commit-config.yaml"), re.MULTILINE) == in_ci


def test_help_names_every_target_and_ci_asks_for_no_other() -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)
    named = [line.split()[2] for line in recipe("help")]
    assert sorted([*named, "help"]) == sorted(targets.split())
    assert set(re.findall(r"\bmake ([a-z-]+)", read(".ci/run"))) <= set(named)


@pytest.mark.parametrize("fails", ["nothing", "docs"])
def test_ci_prints_the_times_of_its_steps_to_the_one_that_fails(fails: str, tmp_path: Path) -> None:
    """Where every command succeeds at once, but for one target of make."""
    steps = re.findall(r'^step "(.*?)" (?:env \S+ )?\S+ (\S+)', read(".ci/run"), re.MULTILINE)
    names = [name for name, _ in steps]
    if fails != "nothing":
        stop = [target for _, target in steps].index(fails)
        names = [*names[:stop], f"{names[stop]}: failed"]
    for command in ("make", "npm", "apt-get", ".venv/bin/python"):
        stub = tmp_path / command
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(f'#!/bin/sh\n[ "$1" != {fails} ]\n', encoding="utf-8")
        stub.chmod(0o755)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = subprocess.run([tmp_path / ".ci" / "run"], env=path, capture_output=True, text=True, check=False)
    assert (ended.returncode == 0) == (fails == "nothing")
    rows = re.findall(r"^ +\d+:\d\d  (.*)$", ended.stdout.partition("== minutes\n")[2], re.MULTILINE)
    assert rows[-len(names) - 1 :] == [*names, "in all"]


def test_lock_files_pin_all_that_is_asked_for() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    asked = {**project["optional-dependencies"], "": project["dependencies"]}
    compiled = [line for line in recipe("lock") if line.startswith("$(COMPILE)")]
    made = {
        re.findall(r"-o (\S+)", line)[0]: ["", "checkout", *re.findall(r"--extra (\w+)", line)] for line in compiled
    }
    wanted = {lock: [each for extra in extras for each in asked[extra]] for lock, extras in made.items()}
    wanted["requirements-mutants.lock"] = read("tools/mutants/requirements.txt").splitlines()
    assert sorted(wanted) == LOCKS
    for lock, packages in wanted.items():
        names = {re.split(r"[^\w-]", each)[0] for each in packages}
        assert names <= {name for name, _, _ in PINNED.findall(read(lock))}, lock


def test_a_package_has_one_version_in_all_lock_files() -> None:
    versions = defaultdict(set)
    for lock in LOCKS:
        for name, version, where in PINNED.findall(read(lock)):
            versions[name, where].add(version)
    assert {key: each for key, each in versions.items() if len(each) > 1} == {}


def test_lock_files_say_what_to_install_and_not_from_where() -> None:
    for lock in LOCKS:
        assert not re.findall(r"://|--(?:extra-)?index-url|--find-links|-f ", read(lock)), lock


def test_the_version_to_cite_is_this_one() -> None:
    assert f"\nversion: {gedp.__version__}\n" in read("CITATION.cff")
