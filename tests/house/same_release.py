"""Whether seeded releases of every kind are still what they were.

    python -m tests.house.same_release REVISION

makes them with the code of that revision and with the code that is checked out, and shows the lines that differ.
After a deliberate change, in a commit of its own,

    python -m tests.house.same_release --write

writes what they are now to pins.json. Releases by Spark take part where Spark is installed, as in .venv-spark.

    python -m tests.house.same_release --make FOLDER

leaves them all in a folder, to be looked at.
"""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from gedp.confidential.engines.session import new_session
from tests.helpers.demonstration import made_once
from tests.house.lasting import Pin, text_of
from tests.house.releases import DIVIDED, LOCAL, make_demonstration, make_divided, make_spark

Pins = Mapping[str, Pin]  # by the name of a file

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("pins.json")
HOW = (
    "To see the lines that differ, name a revision from before the change: python -m tests.house.same_release REVISION."
    " If the change is deliberate: python -m tests.house.same_release --write, in a commit of its own."
)
#: Numbers that are fitted or predicted have the last digits of the machine. So have estimates for establishments where
#: psi is a logarithm: exp differs in them between processors with and without AVX-512. All other files are exact.
ROUNDED = re.compile(r"(release|earlier)/(identity|manifest|microdata)\.|tabulated/|package/")
#: What is made of a release alone, whichever engine made it.
DERIVED = re.compile(r"release/microdata\.|tabulated/|package/")
DEMONSTRATION = "demonstration"
LINES_SHOWN = 20


def divided(case: str) -> str:
    """What the release of a case by the divided engine is called."""
    return f"{case}, divided"


def by_spark(case: str) -> str:
    """What the release of a case by Spark is called."""
    return f"{case}, Spark"


def files_in(folder: Path) -> dict[str, Path]:
    """The files of a release and of all that was made of it, by name."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def pins_of(folder: Path) -> dict[str, Pin]:
    """What these files are compared by."""
    files = {name: text_of(path) for name, path in files_in(folder).items()}
    return {name: Pin.rounded(text) if ROUNDED.match(name) else Pin.exact(text) for name, text in files.items()}


def read_pins() -> dict[str, dict[str, Pin]]:
    """Pins of every case, as they are kept."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    return {case: {name: Pin.read(text) for name, text in pins.items()} for case, pins in kept.items()}


def differing(before: Pins, now: Pins) -> dict[str, str]:
    """Every file that is not what it was, and in which way."""
    names = sorted(before.keys() | now.keys())
    how = {n: "new" if n not in before else "missing" if n not in now else "different" for n in names}
    return {n: how[n] for n in names if how[n] != "different" or not before[n].agrees(now[n])}


def make_all(folder: Path) -> None:
    """Every case in a folder of its own, by every engine that is here."""
    for case, make in LOCAL.items():
        make(folder / case)
    with tempfile.TemporaryDirectory() as base:
        make_demonstration(made_once(Path(base)).folder, folder / DEMONSTRATION)
    for case in DIVIDED:
        make_divided(case, folder / divided(case))
    if find_spec("pyspark") is not None:
        with new_session("local[2]", {"spark.sql.shuffle.partitions": "3"}) as session:
            for case in DIVIDED:
                make_spark(case, folder / by_spark(case), session)


def write() -> None:
    """Pins every case as it is now; those of Spark stay as they were where there is no Spark."""
    before = read_pins()
    pins = {case: before[case] for case in map(by_spark, DIVIDED) if case in before}
    with tempfile.TemporaryDirectory() as name:
        make_all(Path(name))
        pins |= {path.name: pins_of(path) for path in Path(name).iterdir() if not path.name.endswith(divided(""))}
    texts = {case: {name: str(pin) for name, pin in pins[case].items()} for case in sorted(pins)}
    FILE.write_text(json.dumps(texts, indent=0) + "\n", encoding="utf-8")


def compare(revision: str) -> bool:
    """Makes every case with two revisions, each by its own tests, and shows where they differ; whether they do."""
    archive = subprocess.run(["git", "archive", revision, "src", "tests"], cwd=ROOT, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as name:
        code, before, now = (Path(name) / each for each in ("code", "before", "now"))
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(code, filter="data")
        if not (code / FILE.relative_to(ROOT)).exists():
            sys.exit(f"{revision} is from before these releases were pinned")
        for root, made in ((code, before), (ROOT, now)):
            environment = {**os.environ, "PYTHONPATH": str(root / "src")}
            command = [sys.executable, "-m", "tests.house.same_release", "--make", str(made)]
            subprocess.run(command, cwd=root, env=environment, check=True)
        found = list(shown(before, now))
        same = f"{len(files_in(now))} files are the same as at {revision}"
    print("\n".join(found) or same)
    return bool(found)


def shown(before: Path, now: Path) -> Iterator[str]:
    """Every file that differs, with the first lines in which it does."""
    for case in sorted({path.name for folder in (before, now) for path in folder.iterdir()}):
        for name, how in differing(pins_of(before / case), pins_of(now / case)).items():
            yield f"{how}: {case}: {name}"
            if how == "different":
                yield from lines_that_differ(*(text_of(folder / case / name) for folder in (before, now)))


def lines_that_differ(before: str, now: str) -> Iterator[str]:
    """The first of them; long lines are cut at commas and tags."""
    old, new = (re.split(r"\n|(?<=[,>])", text) for text in (before, now))
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    window = slice(max(first - 1, 0), first + 10 * LINES_SHOWN)
    yield from islice(unified_diff(old[window], new[window], n=1, lineterm=""), 2, 2 + LINES_SHOWN)


def main() -> int:
    match sys.argv[1:]:
        case ["--make", folder]:
            make_all(Path(folder))
        case ["--write"]:
            write()
        case [revision]:
            return compare(revision)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
