"""The program as others get it: `python -m tools.installed` builds wheels and tries them in an empty environment.

Versions are those of requirements-test.lock. Five commands make a first release from a CSV file, each with the time it
took. With the laboratory's wheel, `gedp demo` runs, and the first example of the README on what it wrote. The first
example on the page about Python (docs/python.md) runs with a table of pandas, then without pandas and with a table of
polars.
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
        product, laboratory = build_wheel(ROOT, folder), build_wheel(ROOT / "lab", folder)
        constraints = folder / "versions.txt"
        constraints.write_text("\n".join(locked_versions()), encoding="utf-8")
        python = empty_environment(folder / "new")
        pip = [str(python), "-m", "pip", "--quiet"]
        install = [*pip, "install", "--constraint", str(constraints)]
        first_release(folder, [*install, str(product)], str(python.with_name("gedp")))
        subprocess.run([*install, str(laboratory)], check=True)
        demonstrate(folder, python)
        for library in LIBRARIES:
            subprocess.run([*install, library], check=True)
            run_example(folder, python, example_with(library))
            subprocess.run([*pip, "uninstall", "--yes", library], check=True)
            print(f"installed from the wheel, with {library}: the example works")


def first_release(folder: Path, install: list[str], gedp: str) -> None:
    """From an environment with nothing in it to a release: what a new user types, and how long each takes."""
    rows = [f"{row},{'ABC'[row % 3]},{('food', 'retail')[row % 2]},{1 + row * row % 97}" for row in range(300)]
    (folder / "shops.csv").write_text("\n".join(["id,county,industry,jobs", *rows]) + "\n", encoding="utf-8")
    commands = {
        "pip install gedp": install,
        "gedp init": [gedp, "init", "shops.csv", "--public", "county,industry", "--id", "id", "--protect", "jobs=10:2"],
        "gedp explain": [gedp, "explain", "spec.toml"],
        "gedp run --dry-run": [gedp, "run", "spec.toml", "--dry-run"],
        "gedp run": [gedp, "run", "spec.toml"],
    }
    started = time.perf_counter()
    for shown, command in commands.items():
        before = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print(f"{time.perf_counter() - before:6.1f} s  {shown}")
    if not (folder / "out" / "report.html").exists():
        raise SystemExit("five commands made no release")
    print(f"{time.perf_counter() - started:6.1f} s  from an empty environment to a first release, in five commands")


def demonstrate(folder: Path, python: Path) -> None:
    """The command `gedp demo`, and what the README does in Python with what it wrote."""
    command = [str(python.with_name("gedp")), "demo", "--out", "demo"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run_example(folder, python, first_example("README.md"))
    print("installed from the wheel: the demonstration and the example of the README work")


def run_example(folder: Path, python: Path, example: str) -> None:
    """Runs a piece of Python, in which a warning is an error."""
    subprocess.run([python, "-W", "error", "-c", example], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def build_wheel(project: Path, folder: Path) -> Path:
    """A wheel of the product or of its laboratory, in a folder of its own."""
    place = folder / "wheels" / project.name
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(place), str(project)], check=True)
    (wheel,) = place.glob("*.whl")
    return wheel


def locked_versions() -> list[str]:
    """Every package of the lock with its version, as a constraint."""
    text = (ROOT / "requirements-test.lock").read_text(encoding="utf-8")
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
