"""Writing a release: collected in a private folder beside its place, which gets its name at the end, all at once."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace as with_changes
from pathlib import Path
from types import TracebackType
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.csvfiles import write_csv, write_rows
from gedp.errors import FaultsError, Refused
from gedp.files import WriteError, real, sha256, swap, writing
from gedp.folders import Claim, held
from gedp.policy.codelists import CodeList
from gedp.release.answered import IDENTITY, TABLES
from gedp.release.derived import derived_names
from gedp.release.manifest import LABELS, MANIFEST, MAPS, Manifest, manifest_text, read_manifest
from gedp.release.reader import ReleaseFolder, foreign_files, read_release, wrong_files
from gedp.release.rows import SortedRows, Ties


class ReleaseExistsError(Refused):
    """There is something in the folder that is not to be replaced."""


def require_free(target: Path, *, replace: bool = False, keep: Sequence[Path] = ()) -> None:
    """Rejects a folder that is taken, unless it is empty or a release that may be replaced.

    A release is replaced only if it is still as it was written and holds nothing else: no file of anybody's, and none
    of the paths to `keep`.
    """
    _require_writable_name(target)
    if not os.path.lexists(_followed(target)):
        return
    with writing(target):
        obstacle = _obstacle(target, keep)
    if obstacle is None and replace:
        return
    hint = (
        "Replace it with --force (replace=True in Python), which spends budget again, or choose another folder"
        if obstacle is None
        else f"It {obstacle}, so it is not replaced. Choose another folder"
    )
    raise ReleaseExistsError(f"{target} already exists and nothing was spent. {hint}")


class ReleaseWriter:
    """Collects the files of a release in a temporary folder; `finish` gives it its name, all at once.

    The place is claimed first: of two processes that want it one is refused before it has spent anything. `look` sees
    what a killed process left there before it is cleared away, and may refuse. Files are written by threads of its own
    while the caller works on what comes next; `finish` waits for them. A release that a ledger knows of and that is
    whole, but could not get its name, is left in the temporary folder.
    """

    def __init__(
        self,
        target: Path,
        *,
        replace: bool = False,
        keep: Sequence[Path] = (),
        look: Callable[[Path], None] | None = None,
    ) -> None:
        require_free(target, replace=replace, keep=keep)
        self.target = target
        self.replace = replace
        self._place = _followed(target)
        self._claim = Claim(self._place, consequence="nothing was spent")
        self.folder = self._claim.folder
        try:
            with writing(target):
                self._place.parent.mkdir(parents=True, exist_ok=True)
                self._claim.take(look)
                if self._place.exists():
                    self._claim.also(self._place)  # it must be free at the end too
            require_free(target, replace=replace, keep=keep)  # another process may have finished before the claim
            with writing(target):
                (self.folder / TABLES).mkdir()
        except BaseException:
            self._claim.give_up()
            raise
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="gedp-write")
        self._rows: SortedRows | None = None
        self._written: list[Future[None]] = []
        self._release: str | None = None  # its name in a ledger, once the manifest is there

    def __enter__(self) -> "ReleaseWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._rows:
            with suppress(OSError):
                self._rows.close()
        self._claim.give_up() if self.left is None else self._claim.leave()

    @property
    def left(self) -> Path | None:
        """The temporary folder, if it holds the release with its manifest, and a ledger knows of it."""
        if self._release is None:
            return None
        with suppress(FaultsError):
            return self.folder if read_manifest(self.folder).release == self._release else None
        return None

    def write_identity(self, batch: pa.Table, public: Sequence[str], keys: Sequence[str], ties: Sequence[Ties]) -> None:
        """Adds establishments, in any order; they are published sorted by the `keys` and, where equal, by `ties`.

        Only public columns repeat their values, so only they get a dictionary: one of noisy values takes most of the
        time and makes the file larger.
        """
        with writing(self.target):
            if self._rows is None:
                path = self.folder / IDENTITY
                self._rows = SortedRows(path, batch.schema, keys, public, len(ties), self._threads)
            self._rows.add(batch, ties)

    def finish_identity(self) -> None:
        """Sorts the establishments, now that all are there, and writes them while the caller goes on."""
        if self._rows:
            with writing(self.target):
                self._written.append(self._rows.finish())

    def identity_parts(self) -> Path:
        """Where a folder of parts is to be made, if the establishments are not given to `write_identity`."""
        return self.folder / IDENTITY

    def write_answers(self, query: str, table: pa.Table) -> None:
        """Writes the answers of a query as Parquet and CSV."""
        path, texts = self.folder / TABLES, [item.name for item in table.schema if item.type == pa.string()]
        self._written += [
            self._threads.submit(pq.write_table, table, path / f"{query}.parquet", use_dictionary=texts),
            self._threads.submit(write_csv, table, path / f"{query}.csv"),
        ]

    def write_map(self, grouping: str, groups: Mapping[str, str]) -> None:
        """Writes the group of every code of a grouping: all of a public map file, whatever codes occur."""
        self._write_rows(f"{MAPS}/{grouping}.csv", groups.items())

    def write_code_list(self, codes: CodeList) -> None:
        """Writes the names of the codes of a column: all of a public file, whatever codes occur."""
        self._write_rows(f"{LABELS}/{codes.column}.csv", codes.rows())

    def _write_rows(self, name: str, rows: Iterable[Sequence[str]]) -> None:
        path = self.folder / name
        with writing(self.target):
            path.parent.mkdir(exist_ok=True)
            with path.open("w", encoding="utf-8", newline="") as file:
                write_rows(rows, file)

    def finish(self, manifest: Manifest) -> ReleaseFolder:
        """Writes the manifest with the checksum of every file, and gives the folder its name."""
        with writing(self.target):
            for written in self._written:
                written.result()
            paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
            digests = self._threads.map(sha256, paths)
            files = {path.relative_to(self.folder).as_posix(): d for path, d in zip(paths, digests, strict=True)}
            whole = with_changes(manifest, files=files)
            self._release = manifest.release
            (self.folder / MANIFEST).write_text(manifest_text(whole), encoding="utf-8")
            _sync_all(self.folder, whole)
            if self.replace and self._place.exists():
                self._take_the_place()
            else:
                self.folder.replace(self._place)  # fails if somebody else put a release there
                self._claim.fulfilled()
            _sync(self._place.parent)
        return ReleaseFolder(self.target, whole)

    def _take_the_place(self) -> None:
        """Swaps the new release and the one before, and removes what that consisted of."""
        before = _names_of(self._place)
        swap(self.folder, self._place)
        for name in before:
            with suppress(OSError):
                (self.folder / name).unlink()
        for folder in sorted({(self.folder / name).parent for name in before} | {self.folder}, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        with suppress(OSError):  # where somebody has put something since it was looked at
            self.folder.rename(self._place.with_name(f"{self._place.name}.kept-{uuid4().hex[:8]}"))
        self._claim.fulfilled()


def give_name(left: Path, target: Path) -> None:
    """Gives a whole release that was left in its temporary folder its name; rejected where there is anything.

    Refused too while another process holds the temporary folder.
    """
    place = _followed(target)
    with writing(target), held(left):
        manifest = read_release(left).manifest
        if foreign := foreign_files(left, manifest):
            raise Refused(f"{left} holds {foreign[0]}, which is not part of a release. Move it away")
        if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
            raise ReleaseExistsError(f"{target} already exists. Move it away; then the release can get its name")
        _sync_all(left, manifest)
        left.replace(place)  # fails if somebody else put a release there
        _sync(place.parent)


def _obstacle(folder: Path, keep: Sequence[Path]) -> str | None:
    """Why a folder must not be replaced; None where it may: it is empty, or a release and nothing else."""
    if not folder.is_dir():
        return "is not a folder"
    if folder.is_mount():
        return "is a mount point"
    inside = real(folder)
    held = [path for path in keep if real(path).is_relative_to(inside)]
    if held:
        return f"holds {held[0].name}, which this run needs"
    if not any(folder.iterdir()):
        return None
    try:
        manifest = read_manifest(folder)
    except FaultsError:
        return "is not a release of this version"
    if foreign := foreign_files(folder, manifest):
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        return f"holds {foreign[0]}{more}, which is not part of a release"
    if wrong_files(folder, manifest):
        return "holds a release that was altered"
    return None


def _names_of(folder: Path) -> list[str]:
    """The files of a release, as far as they are known."""
    with suppress(FaultsError):
        return [*read_manifest(folder).files, *derived_names(folder), MANIFEST]
    return []


def _followed(target: Path) -> Path:
    """The absolute path, where links lead, so that a link is kept and no library takes a name for an address."""
    return real(target)


def _require_writable_name(target: Path) -> None:
    try:
        str(target).encode()
    except UnicodeEncodeError:
        raise WriteError("cannot write the release: the name of its folder is not UTF-8") from None
    if not _followed(target).name:
        raise WriteError(f"cannot write {target}: it has no name")


def _sync_all(folder: Path, manifest: Manifest) -> None:
    """Puts every file of a release on disk, and opens its folder to others."""
    paths = [folder / name for name in (*manifest.files, MANIFEST)]
    folders = sorted({path.parent for path in paths} | {folder}, reverse=True)
    for path in (*paths, *folders):
        _sync(path)
    folder.chmod(0o755)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
