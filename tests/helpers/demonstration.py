"""The demonstration state, released once for all tests of a run."""

import fcntl
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.runs import all_files, gedp


@dataclass(frozen=True)
class Demonstration:
    """What `gedp demo --out demo` printed, and the folder that it made. A test that changes it works on a copy."""

    printed: str
    folder: Path

    @property
    def establishments(self) -> Path:
        """The table that was released."""
        return self.folder / "establishments.parquet"

    @property
    def policy(self) -> Path:
        """The spec of the release."""
        return self.folder / "policy.toml"

    @property
    def release(self) -> Path:
        """The release, with its microdata and its report."""
        return self.folder / "out"

    def copied_to(self, folder: Path) -> Path:
        """A copy that a test may change."""
        return shutil.copytree(self.folder, folder)

    def state(self) -> dict[Path, tuple[int, int]]:
        """Sizes and times of all its files."""
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in all_files(self.folder)}


def made_once(base: Path) -> Demonstration:
    """The demonstration in `base`, made by the first process that asks; the others wait for it."""
    printed = base / "printed"
    base.mkdir(exist_ok=True)
    with (base / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not printed.exists():
            ended = gedp("demo", "--out", "demo", folder=base)
            assert ended.code == 0, ended.err
            printed.write_text(ended.out, encoding="utf-8")
    return Demonstration(printed.read_text(encoding="utf-8"), base / "demo")
