"""A folder for what compares with the truth: closed to others, stamped, whole or absent.

The folder has mode 0700 and its files 0600 from their first byte on, whatever the umask. Files are collected in a
folder inside it and moved to their names at the end, so that even a killed run leaves nothing anywhere else.

The stamp says CONFIDENTIAL, or that the data is synthetic. Parquet, JSON and HTML carry it inside. CSV has no place for
it: readers choke on comments, and a column of stamps would end up in computations. So all names begin with it instead,
which survives a copy to another folder.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gedp._version import __version__
from gedp.csvfiles import write_csv
from gedp.errors import Refused
from gedp.files import private_file, sha256, writing
from gedp.folders import Claim, make_private
from gedp.release.manifest import is_release

INDEX = "results.json"
STAGING = ".writing"


class FolderTakenError(Refused):
    """The folder for the results cannot be used."""


@dataclass(frozen=True)
class Stamp:
    """What every file says about who may see it."""

    confidential: bool

    @property
    def text(self) -> str:
        """The stamp in a word or two, as metadata has it."""
        return "CONFIDENTIAL" if self.confidential else "synthetic data"

    @property
    def sentence(self) -> str:
        """The stamp in a sentence, as the terminal and pages have it."""
        if self.confidential:
            return "CONFIDENTIAL: computed from confidential values. Not for release."
        return "Made from synthetic data, as its spec says: nothing here is confidential."

    @property
    def prefix(self) -> str:
        """What file names begin with."""
        return "CONFIDENTIAL-" if self.confidential else ""

    @property
    def banner(self) -> str:
        """The stamp in HTML: the first element of a page, and at the top of every sheet when printed."""
        kind = "stamp confidential" if self.confidential else "stamp"
        return f'<div class="{kind}" role="note"><p>{escape(self.sentence)}</p></div>'


@dataclass(frozen=True)
class Results:
    """A folder that is being filled; nothing has its name yet."""

    staging: Path
    stamp: Stamp
    about: dict[str, Any] = field(default_factory=dict)  # what the index says besides the files

    def write_text(self, name: str, text: str) -> None:
        """A page or another text, which must carry the stamp itself."""
        with private_file(self._path(name)) as file:
            file.write(text.encode())

    def write_parquet(self, name: str, table: pa.Table) -> None:
        """A table with the stamp in its metadata."""
        write_stamped(self._path(name), table, self.stamp)

    def write_csv(self, name: str, table: pa.Table) -> None:
        """A table whose name carries the stamp."""
        with private_file(self._path(name)) as file:
            write_csv(table, file)

    def _path(self, name: str) -> Path:
        return self.staging / f"{self.stamp.prefix}{name}"

    def write_index(self) -> None:
        """Lists the files with their checksums."""
        files = {path.name: sha256(path) for path in sorted(self.staging.iterdir())}
        index = {"gedp": __version__, "classification": self.stamp.text, **self.about, "files": files}
        with private_file(self.staging / INDEX) as file:
            file.write((json.dumps(index, indent=2, ensure_ascii=False) + "\n").encode())


@contextmanager
def results_folder(target: Path, stamp: Stamp, command: str, *, force: bool = False) -> Iterator[Results]:
    """Files written inside get their names at the end, all of them; after an error there is none, and no new folder."""
    require_free(target, command, force=force)
    with filling(target, stamp) as results:
        results.about["command"] = command
        yield results


@contextmanager
def filling(target: Path, stamp: Stamp) -> Iterator[Results]:
    """The same for a folder that is known to be ours, or free: results of before are replaced, other files stay."""
    made, claim = not target.exists(), Claim(target, target / STAGING)
    try:
        make_private(target)
        with writing(target):
            claim.take()
        results = Results(claim.folder, stamp)
        yield results
        with writing(target):
            results.write_index()
            _publish(claim.folder, target)
    finally:
        claim.give_up()
        if made:
            with suppress(OSError):
                target.rmdir()  # it is not empty if all went well


def require_private(target: Path) -> None:
    """Rejects a folder inside a release."""
    resolved = target.resolve()
    for folder in (resolved, *resolved.parents):
        if is_release(folder):
            raise FolderTakenError(f"{target} is inside the release {folder}, which is public. Choose another folder")


def require_free(target: Path, command: str, *, force: bool = False) -> None:
    """Rejects a folder inside a release, and one that is taken, unless it holds results of this command to replace."""
    require_private(target)
    with writing(target):
        if not target.exists() or (target.is_dir() and not any(target.iterdir())):
            return
        ours = target.is_dir() and ((_index_of(target) or {}).get("command") == command or _is_left_over(target))
    if not (force and ours):
        hint = "Use --force to replace it" if ours else "It holds something else; choose another folder"
        raise FolderTakenError(f"{target} already exists. {hint}")


def write_stamped(path: Path, table: pa.Table, stamp: Stamp) -> None:
    """A Parquet file for its owner alone, with the stamp in its metadata."""
    metadata = {**(table.schema.metadata or {}), b"classification": stamp.text.encode()}
    with private_file(path) as file:
        pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd")


def _publish(staging: Path, target: Path) -> None:
    """Moves everything to its name. Half of it would be worse than nothing: then what is there is removed."""
    names = [INDEX, *((_index_of(target) or {}).get("files", {}))]
    try:
        for name in names:
            (target / name).unlink(missing_ok=True)
        for path in sorted(staging.iterdir(), key=lambda path: path.name == INDEX):  # the index last
            names.append(path.name)
            path.replace(target / path.name)
    except BaseException:
        for name in names:
            with suppress(OSError):
                (target / name).unlink(missing_ok=True)
        raise


def _index_of(target: Path) -> Mapping[str, Any] | None:
    """The index of a folder of results; its names are those of files in the folder itself."""
    try:
        index = json.loads((target / INDEX).read_text(encoding="utf-8"))
        names = list(index["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return index if "classification" in index and all(Path(n).name == n for n in names) else None


def _is_left_over(target: Path) -> bool:
    """Whether there is nothing but what a killed run left."""
    return [path.name for path in target.iterdir()] == [STAGING]
