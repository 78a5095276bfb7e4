"""How heavy the program is: `python -m tools.weight [REVISION]` prints lines by room, beside those of a revision.

Lines of Python files as they are, with comments and blank ones. The last line is what an auditor of the promise reads.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGES = ("gedp", "gedp_lab")
#: What the promise rests on (docs/design.md): rooms, and modules of rooms.
AUDITED = (
    "confidential",
    "noise",
    "ledger",
    "accounting",
    *(f"individual/{name}.py" for name in ("bounds", "first", "charges", "classes", "combinations")),
)


def by_room(files: Iterable[tuple[PurePosixPath, str]]) -> Counter[str]:
    """The lines of every room of these files of `src`, those of the packages, and those that are audited."""
    lines = Counter[str]()
    for path, text in files:
        package, room, *_ = *path.parts, ""
        count = len(text.splitlines())
        lines[package] += count
        lines[f"{package}/{room}" if len(path.parts) > 2 else f"{package}: the floor and the doors"] += count
        if package == "gedp" and "/".join(path.parts[1:]).startswith(AUDITED):
            lines["an auditor of the promise reads"] += count
    return lines


def here() -> Counter[str]:
    """Those that are checked out."""
    paths = (path for package in PACKAGES for path in (ROOT / "src" / package).rglob("*.py"))
    return by_room((PurePosixPath(path.relative_to(ROOT / "src")), path.read_text("utf-8")) for path in paths)


def at(revision: str) -> Counter[str]:
    """Those of a revision."""
    names = _git("ls-tree", "-r", "--name-only", revision, "src").split()
    texts = ((name, _git("show", f"{revision}:{name}")) for name in names if name.endswith(".py"))
    return by_room((PurePosixPath(name).relative_to("src"), text) for name, text in texts)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main(arguments: list[str]) -> None:
    """Prints the table."""
    columns = [*map(at, arguments), here()]
    names = sorted(set().union(*columns), key=lambda name: (name in columns[-1], name.replace("gedp_lab", "gedp~")))
    width = max(map(len, names))
    print(" " * width, *(f"{title:>10}" for title in (*arguments, "now")))
    for name in names:
        print(f"{name:{width}}", *(f"{column[name]:10,}" for column in columns))


if __name__ == "__main__":
    main(sys.argv[1:])
