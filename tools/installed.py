"""The program as others get it: `python -m tools.installed` builds a wheel and tries it in an empty environment.

Versions are those of requirements.lock. The first example on the page about Python (docs/python.md) runs with a table
of pandas and with one of polars; the command is `gedp demo`, and the first example of the README runs on what it wrote.

Before that, a first release from a CSV file of one's own, in five commands, each with the time it took.
"""

import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARIES = ("pandas", "polars")


def main() -> None:
    """Builds, installs, runs; ends with an error where a step does."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        constraints = folder / "versions.txt"
        constraints.write_text("\n".join(locked_versions()), encoding="utf-8")
        first_release(folder, wheel, constraints)
        for library in LIBRARIES:
            python = empty_environment(folder / f"with-{library}")
            install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints)]
            subprocess.run([*install, str(wheel), library], check=True)
            command = [str(python.with_name("gedp")), "demo", "--out", "demo"]
            subprocess.run(command, cwd=python.parent, check=True, stdout=subprocess.DEVNULL)
            for example in (first_example("README.md"), example_with(library)):
                subprocess.run([python, "-W", "error", "-c", example], cwd=python.parent, check=True)
            print(f"installed from the wheel, with {library}: the examples and the command work")


def first_release(folder: Path, wheel: Path, constraints: Path) -> None:
    """From an environment with nothing in it to a release: what a new user types, and how long each takes."""
    python = empty_environment(folder / "new")
    rows = [f"{row},{'ABC'[row % 3]},{('food', 'retail')[row % 2]},{1 + row * row % 97}" for row in range(300)]
    (folder / "shops.csv").write_text("\n".join(["id,county,industry,jobs", *rows]) + "\n", encoding="utf-8")
    gedp = str(python.with_name("gedp"))
    commands = [
        [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints), str(wheel)],
        [gedp, "init", "shops.csv", "--public", "county,industry", "--id", "id", "--protect", "jobs=10:2"],
        [gedp, "explain", "spec.toml"],
        [gedp, "run", "spec.toml", "--dry-run"],
        [gedp, "run", "spec.toml"],
    ]
    started = time.perf_counter()
    for command in commands:
        before = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        shown = "pip install gedp" if "pip" in command else " ".join(["gedp", *command[1:]])
        print(f"{time.perf_counter() - before:6.1f} s  {shown}")
    if not (folder / "out" / "report.html").exists():
        raise SystemExit("five commands made no release")
    print(f"{time.perf_counter() - started:6.1f} s  from an empty environment to a first release, in five commands")


def build_wheel(folder: Path) -> Path:
    """A wheel of the checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def locked_versions() -> list[str]:
    """Every package of the lock with its version, as a constraint."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return re.findall(r"^([\w.-]+==[^ \\;]+(?: *;[^\\\n]+)?)", text, flags=re.MULTILINE)


def empty_environment(folder: Path) -> Path:
    """The interpreter of an environment with nothing in it but pip."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def example_with(library: str) -> str:
    """The first example on the page about Python, for a table of one library."""
    example = first_example("docs/python.md")
    if "import pandas" not in example:
        raise SystemExit("docs/python.md begins with no example that imports pandas")
    return example.replace("pandas", library)


def first_example(page: str) -> str:
    """The first piece of Python on a page."""
    found = re.search(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"{page} has no example")
    return found[1]


if __name__ == "__main__":
    main()
