"""The tables of keys in docs/spec-keys.md: `python -m tools.spec_keys` writes them anew from `gedp.policy.keys`."""

import re
from pathlib import Path

import tomli_w

from gedp.policy import keys
from gedp.policy.fields import REQUIRED, Field, Fields

PAGE = Path(__file__).parents[1] / "docs" / "spec-keys.md"
TABLE = re.compile(r"^<!-- keys: (\w+) -->\n(?:\n(?:\|.*\n)+)?", re.MULTILINE)
HEAD = "| key | meaning | value | default | example |\n|---|---|---|---|---|\n"


def updated(text: str) -> str:
    """The page with every table as the code has it, after the comment that names its fields."""
    return TABLE.sub(lambda found: f"<!-- keys: {found[1]} -->\n\n{table(getattr(keys, found[1]))}", text)


def table(fields: Fields) -> str:
    """One line for every key."""
    return HEAD + "".join(map(_line, fields))


def _line(field: Field) -> str:
    cells = (f"`{field.key}`", field.about, field.shape.words, _default(field), f"`{field.key} = {field.example}`")
    escaped = (cell.replace("|", r"\|") for cell in cells)  # a bar ends a cell, in code too
    return f"| {' | '.join(escaped)} |\n"


def _default(field: Field) -> str:
    """The value without the key, as in TOML; nothing where there is none."""
    if field.default is REQUIRED:
        return "required"
    if field.default in (None, (), {}):
        return ""
    return f"`{tomli_w.dumps({'': field.shape.write(field.default)}).partition(' = ')[2].strip()}`"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
