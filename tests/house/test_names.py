"""One noun for one class."""

import ast
from collections import Counter
from pathlib import Path

import gedp


def test_no_two_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for path in Path(gedp.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
