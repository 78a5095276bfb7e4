"""A seeded release of the demonstration state: what it consists of, and whether two revisions make the same one.

    python -m tests.house.same_release REVISION

makes it with the code of that revision and with the code that is checked out, and compares every file byte by byte,
without what names a version, the time, or the checksum of a file with these; and without the report, which is prose.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from gedp.policy.examples import example_text

ROOT = Path(__file__).resolve().parents[2]
CHANGING = ("gedp", "created", "manifest_sha256")
PROSE = "report.html"


def write_paper_policy(folder: Path) -> Path:
    """The paper's policy for the demonstration state in `folder`, as the demonstration once had it."""
    source = 'source = "establishments.parquet"\n'
    path = folder / "paper.toml"
    path.write_text(example_text("paper-equal").replace(source, source + "synthetic = true\n"), encoding="utf-8")
    return path


def make_release(folder: Path, source: Path) -> Path:
    """The demonstration state in `folder`, released and fitted with a seed by the program in `source`."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    steps = (["demo", "--out", "demo"], ["run", "demo/paper.toml", "--seed", "1", "--out", "release"])
    for step in steps:
        if step[0] == "run":
            write_paper_policy(folder / "demo")
        command = [sys.executable, "-m", "gedp", *step]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder / "release"


def lasting(folder: Path) -> dict[str, bytes]:
    """Every file of a release but the report, without what changes from run to run."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name in [name for name in files if name.endswith(".json")]:
        content = json.loads(files[name])
        files[name] = json.dumps({key: content[key] for key in content if key not in CHANGING}).encode()
    del files[PROSE]
    return files


def main() -> int:
    (revision,) = sys.argv[1:]
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as name:
        before, now = Path(name) / "before", Path(name) / "now"
        before.mkdir()
        now.mkdir()
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(before, filter="data")
        old = lasting(make_release(before, before / "src"))
        new = lasting(make_release(now, ROOT / "src"))
    different = sorted(file for file in old.keys() | new.keys() if old.get(file) != new.get(file))
    print("\n".join(f"different: {file}" for file in different) or f"{len(new)} files are the same as at {revision}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
