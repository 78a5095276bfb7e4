"""The program as others get it: `python -m tools.installed` builds a wheel and tries it in an empty environment.

Versions are those of requirements.lock. The first example on the page about Python (docs/python.md) runs with a table
of pandas and with one of polars; the command is `gedp demo`, and the first example of the README runs on what it wrote.
"""

import re
import subprocess
import sys
import tempfile
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
        for library in LIBRARIES:
            python = empty_environment(folder / f"with-{library}")
            install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints)]
            subprocess.run([*install, str(wheel), library], check=True)
            command = [str(python.with_name("gedp")), "demo", "--out", "demo"]
            subprocess.run(command, cwd=python.parent, check=True, stdout=subprocess.DEVNULL)
            for example in (first_example("README.md"), example_with(library)):
                subprocess.run([python, "-W", "error", "-c", example], cwd=python.parent, check=True)
            print(f"installed from the wheel, with {library}: the examples and the command work")


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
