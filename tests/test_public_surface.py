"""What the package offers, and that its parts keep to their places."""

import ast
from pathlib import Path

import pytest

import gedp

SOURCE = Path(gedp.__file__).parent


def test_every_public_name_resolves_and_is_documented() -> None:
    for name in gedp.__all__:
        assert getattr(gedp, name) is not None
        if not name.startswith("__"):
            assert getattr(gedp, name).__doc__
    assert not hasattr(gedp, "nonsense")


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "gedp":
            found.update(f"gedp.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


#: What each part may use of ours besides itself; docs/design.md has the same table in words.
MAY_USE = {
    "numbers.py": set(),
    "csvfiles.py": set(),
    "neighbors": {"gedp.errors"},
    "accounting/composition.py": {"gedp.errors", "gedp.neighbors"},
    "accounting/frameworks.py": {"gedp.errors", "gedp.neighbors", "gedp.accounting.composition"},
    "semantics.py": {"gedp.errors", "gedp.neighbors", "gedp.accounting.composition"},
    "policy": {"gedp.errors", "gedp.neighbors", "gedp.accounting.composition"},
    "noise": {"gedp.errors", "gedp.neighbors", "gedp.accounting.composition"},
    "estimates.py": {"gedp.neighbors"},
    "maps.py": {"gedp.errors", "gedp.policy"},
    "industries.py": set(),
    "release": {"gedp.derived", "gedp.errors", "gedp.files", "gedp.csvfiles", "gedp.policy"},
    "derived.py": set(),
    "microdata": {
        "gedp.derived",
        "gedp.errors",
        "gedp.files",
        "gedp.neighbors",
        "gedp.accounting.composition",
        "gedp.policy",
        "gedp.release",
        "gedp.estimates",
        "gedp.industries",
        "gedp._version",
    },
    "baselines": {"gedp.errors", "gedp.industries"},
    "explain": {
        "gedp.errors",
        "gedp.neighbors",
        "gedp.accounting",
        "gedp.semantics",
        "gedp.policy",
        "gedp.numbers",
        "gedp.web",
    },
    "evaluate": {
        "gedp.errors",
        "gedp.csvfiles",
        "gedp.files",
        "gedp.neighbors",
        "gedp.accounting.composition",
        "gedp.policy",
        "gedp.engines",  # reads the truth
        "gedp.table",
        "gedp.sealing",
        "gedp.release",
        "gedp.microdata",
        "gedp.industries",
        "gedp.baselines",
        "gedp.web",
        "gedp._version",
    },
    "reproduce": {
        "gedp.errors",
        "gedp.files",
        "gedp.neighbors",
        "gedp.accounting",
        "gedp.semantics",
        "gedp.policy",
        "gedp.specs",
        "gedp.estimates",
        "gedp.industries",
        "gedp.microdata",
        "gedp.mechanisms",  # coverage alone, by simulation
        "gedp.noise",
        "gedp.synth",
        "gedp.baselines",
        "gedp.evaluate",  # of synthetic states
        "gedp.compare",
        "gedp.web",
        "gedp._version",
    },
    "report": {
        "gedp.derived",
        "gedp.errors",
        "gedp.files",
        "gedp.neighbors",
        "gedp.accounting.composition",
        "gedp.explain",
        "gedp.numbers",
        "gedp.policy",
        "gedp.release",
        "gedp.estimates",
        "gedp.microdata",
        "gedp.web",
    },
    "publish.py": {"gedp.derived", "gedp.release", "gedp.microdata", "gedp.report"},
    "web": {"gedp.errors"},
}


@pytest.mark.parametrize("part", MAY_USE)
def test_parts_use_only_what_they_may(part: str) -> None:
    paths = [SOURCE / part] if part.endswith(".py") else list((SOURCE / part).rglob("*.py"))
    own = f"gedp.{part.removesuffix('.py').replace('/', '.')}"
    for path in paths:
        ours = {module for module in imports_of(path) if module.split(".")[0] == "gedp" and not module.startswith(own)}
        outside = {m for m in ours if not any(m == allowed or m.startswith(allowed + ".") for allowed in MAY_USE[part])}
        assert not outside, (path.name, outside)


def test_the_truth_is_seen_in_few_places() -> None:
    """What comes after the release may never import the table, an engine or the noise source."""
    confidential = (
        *("gedp.table", "gedp.engines", "gedp.noise", "gedp.tally", "gedp.preparing", "gedp.measure"),
        "gedp.mechanisms",
    )
    doors = {"__init__.py", "cli"}  # names them, and calls them
    may_see = {
        *doors,
        "table.py",
        "tally.py",
        "preparing.py",
        "measure.py",
        "mechanisms.py",
        "answers.py",
        "run.py",
        "engines",
        "noise",
        "evaluate",  # internal: compares a release with the truth
        "compare",  # internal: rehearses releases and compares them with the truth
    }
    simulations = {SOURCE / "reproduce" / "coverage.py"}  # of invented numbers
    for path in set(SOURCE.rglob("*.py")) - simulations:
        if path.relative_to(SOURCE).parts[0] not in may_see:
            assert not {m for m in imports_of(path) if m.startswith(confidential)}, path


def test_the_evaluation_stands_aside() -> None:
    """Nothing that publishes uses what sees the truth afterwards; and that reads a release and a table, no noise."""
    for path in SOURCE.rglob("*.py"):
        part, found = path.relative_to(SOURCE).parts[0], imports_of(path)
        if part not in ("evaluate", "compare", "cli", "reproduce"):
            assert not {m for m in found if m.startswith(("gedp.evaluate", "gedp.compare"))}, path
        if part == "evaluate":
            assert not {m for m in found if m.startswith(("gedp.noise", "gedp.measure", "gedp.mechanisms"))}, path
