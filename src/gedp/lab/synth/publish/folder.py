"""A folder that appears complete or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gedp.errors import Fault, FaultsError


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its name at the end; removed on any error or interruption.

    `out` must not exist, or be an empty folder."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        fault = Fault(str(out), "exists and is not an empty folder", "Name a new folder, or remove that one")
        raise FaultsError("the output", [fault])
    if not out.absolute().parent.is_dir():
        raise FaultsError("the output", [Fault(str(out.parent), "is not a folder", "Make it first")])
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.absolute().parent))
    try:
        yield part
        part.chmod(0o755)
        if out.exists():
            out.rmdir()
        part.rename(out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
