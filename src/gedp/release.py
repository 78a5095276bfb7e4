"""A release: the protected answers, frozen, with a manifest that says what was promised and sums every file.

Everything here is public. This module and all that comes after it never see the confidential table.
"""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.csvfiles import read_rows, write_csv, write_rows
from gedp.errors import Fault, FaultsError, Refused
from gedp.files import WriteError, sha256, swap, writing

MANIFEST = "manifest.json"
IDENTITY = "identity.parquet"
MAPS = "maps"
FORMAT = 1

#: The columns of a table of answers, after its keys.
ANSWER_SCHEMA = pa.schema(
    [
        ("attribute", pa.string()),
        ("estimate", pa.float64()),
        ("variance", pa.float64()),
        ("std_error", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("mechanism", pa.string()),
        ("variance_kind", pa.string()),  # exact | estimated
    ]
)


class ReleaseExistsError(Refused):
    """There is a release in that folder already."""


class TamperedReleaseError(Refused):
    """A file of a release is not what its manifest says."""


@dataclass(frozen=True)
class Release:
    """A release on disk. Files are read when asked for."""

    folder: Path
    manifest: Mapping[str, Any]

    def answers(self, query: str) -> pa.Table:
        """The answers of one query: keys, attribute, estimate, variance and the rest of ANSWER_SCHEMA."""
        return pq.read_table(self.folder / self._entry(query)["file"])

    def identity(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The protected establishments, or some columns of them: id, public, `<attribute>__psi` and estimate."""
        return pq.read_table(self.folder / IDENTITY, columns=None if columns is None else list(columns))

    def map(self, grouping: str) -> dict[str, str]:
        """The group of every code of a grouping that the spec gives a map file."""
        name = f"{MAPS}/{grouping}.csv"
        if name not in self.manifest["files"]:
            problem = Fault(f"grouping {grouping}", "its map file is not in this release", "Get a fresh copy of it")
            raise FaultsError(str(self.folder), [problem])
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            return dict(read_rows(file))

    def require_not_part(self, *paths: Path, made: Sequence[str] = ()) -> None:
        """Refuses to write where a file of the release is, or one of those `made` from it."""
        taken = {(self.folder / name).resolve() for name in (MANIFEST, *self.manifest["files"], *made)}
        for path in paths:
            if path.resolve() in taken:
                raise WriteError(f"cannot write {path}: it would replace a file of the release. Choose another name")

    def _entry(self, query: str) -> Mapping[str, Any]:
        for entry in self.manifest["queries"]:
            if entry["name"] == query:
                return dict(entry)
        known = ", ".join(repr(entry["name"]) for entry in self.manifest["queries"])
        raise FaultsError(str(self.folder), [Fault("query", f"{query!r} is not in this release", f"It has: {known}")])


def read_release(folder: str | Path, *, check: bool = True) -> Release:
    """The release in a folder, every file checked against its checksum."""
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {str(name): digest for name, digest in manifest["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        problem = Fault(MANIFEST, "it is missing or cannot be read", "Name a folder that `gedp run` wrote")
        raise FaultsError(str(folder), [problem]) from None
    if manifest.get("format") != FORMAT:
        problem = Fault(MANIFEST, f"its format is {manifest.get('format')!r}", f"This version reads format {FORMAT}")
        raise FaultsError(str(folder), [problem])
    if not _is_complete(manifest):
        problem = Fault(MANIFEST, "it is not as `gedp run` writes it", "Get a fresh copy of the release")
        raise FaultsError(str(folder), [problem])
    if check:
        wrong = [name for name, digest in files.items() if _sha256(folder / name) != digest]
        if wrong:
            raise TamperedReleaseError(
                f"{folder}: not as released: {', '.join(wrong)}. Get a fresh copy of the release"
            )
    return Release(folder, manifest)


def _is_complete(manifest: Mapping[str, Any]) -> bool:
    """Whether everything is there that makes sense of the answers."""
    try:
        noises = [a["sigma_psi"] for query in manifest["queries"] for a in query["attributes"].values()]
        texts = [manifest[name] for name in ("spec", "entropy", "gedp", "created")]
        datetime.fromisoformat(manifest["created"])
        if manifest["clipping"] is not None:
            Fraction(manifest["clipping"]["zeta"])
        counts = [manifest["establishments"], *(query["groups"] for query in manifest["queries"])]
        return (
            all(isinstance(text, str) for text in texts)
            and all(isinstance(noise, float | int) and 0 < noise < math.inf for noise in noises)
            and all(isinstance(count, int) and count > 0 for count in counts)
            and isinstance(manifest["synthetic"], bool)
            and isinstance(manifest["queries"], list)
            and "release" in manifest
        )
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        return False


def require_free(target: Path, *, replace: bool = False) -> None:
    """Refuses a folder that is taken, unless it is empty or a release that may be replaced."""
    if not os.path.lexists(_followed(target)):
        return
    with writing(target):
        ours = _is_release_or_empty(target)
    if not (replace and ours):
        hint = "Use --force to replace it" if ours else "It is no release; choose another folder"
        raise ReleaseExistsError(f"{target} exists already and nothing was spent. {hint}")


class ReleaseWriter:
    """Collects the files of a release in a temporary folder; `finish` gives it its name, all at once.

    Files are written by threads of its own while the caller works on what comes next; `finish` waits for them.
    """

    def __init__(self, target: Path, *, replace: bool = False) -> None:
        require_free(target, replace=replace)
        self.target = _followed(target)
        self.replace = replace
        with writing(target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(dir=self.target.parent, prefix=f".{self.target.name}."))
            (self.folder / "tables").mkdir()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="gedp-write")
        self._identity: pq.ParquetWriter | None = None
        self._batch: Future[None] | None = None
        self._tables: list[Future[None]] = []

    def __enter__(self) -> "ReleaseWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._identity:
            with suppress(OSError):
                self._identity.close()
            self._identity.is_open = False  # or it tries again, and complains, when it is collected
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_identity(self, batch: pa.Table, public: Sequence[str]) -> None:
        """Adds establishments; returns when the batch before this one is written.

        Only public columns repeat their values, so only they get a dictionary: one of noisy values takes most of the
        time and makes the file larger.
        """
        with writing(self.target):
            if self._identity is None:
                path = self.folder / IDENTITY
                self._identity = pq.ParquetWriter(path, batch.schema, compression="zstd", use_dictionary=list(public))
            if self._batch:
                self._batch.result()
            self._batch = self._threads.submit(self._identity.write_table, batch)

    def write_answers(self, query: str, table: pa.Table) -> str:
        """Writes the answers of a query as Parquet and CSV; returns the name of the former."""
        name, texts = f"tables/{query}.parquet", [item.name for item in table.schema if item.type == pa.string()]
        self._tables += [
            self._threads.submit(pq.write_table, table, self.folder / name, use_dictionary=texts),
            self._threads.submit(write_csv, table, self.folder / f"tables/{query}.csv"),
        ]
        return name

    def write_map(self, grouping: str, groups: Mapping[str, str]) -> None:
        """Writes the group of every code of a grouping: all of a public map file, whatever codes occur."""
        with writing(self.target):
            (self.folder / MAPS).mkdir(exist_ok=True)
            with (self.folder / MAPS / f"{grouping}.csv").open("w", encoding="utf-8", newline="") as file:
                write_rows(groups.items(), file)

    def finish(self, manifest: Mapping[str, Any]) -> Release:
        """Writes the manifest with the checksum of every file, and gives the folder its name."""
        with writing(self.target):
            for written in (*([self._batch] if self._batch else []), *self._tables):
                written.result()
            if self._identity:
                self._identity.close()
            paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
            digests = self._threads.map(_sha256, paths)
            files = {path.relative_to(self.folder).as_posix(): d for path, d in zip(paths, digests, strict=True)}
            whole = {"format": FORMAT, **manifest, "files": files}
            text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
            (self.folder / MANIFEST).write_text(text, encoding="utf-8")
            folders = sorted({path.parent for path in paths} | {self.folder}, reverse=True)
            for path in (*paths, self.folder / MANIFEST, *folders):
                _sync(path)
            self.folder.chmod(0o755)
            if self.replace and self.target.exists():
                swap(self.folder, self.target)  # the release before is now in the temporary folder
            else:
                self.folder.replace(self.target)  # fails if somebody else put a release there
            _sync(self.target.parent)
        return Release(self.target, whole)


def _followed(target: Path) -> Path:
    """Where a link leads, so that the link is kept; other paths as they are."""
    return Path(os.path.realpath(target)) if target.is_symlink() else target


def _is_release_or_empty(folder: Path) -> bool:
    return folder.is_dir() and ((folder / MANIFEST).is_file() or not any(folder.iterdir()))


def _sha256(path: Path) -> str:
    try:
        return sha256(path)
    except OSError:
        return "missing"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
