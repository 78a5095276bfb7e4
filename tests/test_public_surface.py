"""What the package offers, and that its parts keep to their places."""

import ast
from pathlib import Path

import gedp

SOURCE = Path(gedp.__file__).parent


def test_every_public_name_resolves_and_is_documented() -> None:
    for name in gedp.__all__:
        assert getattr(gedp, name) is not None
        if not name.startswith("__"):
            assert getattr(gedp, name).__doc__
    assert not hasattr(gedp, "nonsense")


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def test_the_privacy_model_stands_alone() -> None:
    """Neighbors, accounting and policy are mathematics: no command line, no pages, no tables."""
    allowed = ("gedp.neighbors", "gedp.accounting", "gedp.policy", "gedp.errors")
    for part in ("neighbors", "accounting", "policy"):
        for path in (SOURCE / part).rglob("*.py"):
            outside = {m for m in imports_of(path) if m.startswith("gedp") and not m.startswith(allowed)}
            assert not outside, (path.name, outside)
