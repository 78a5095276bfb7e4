"""Reading a release: every file that is used is listed in the manifest, inside the folder, and as it was written."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from gedp.csvfiles import read_rows
from gedp.errors import Fault, FaultsError, Refused
from gedp.estimates import ESTIMATED, EXACT
from gedp.files import WriteError, real, regular, sha256
from gedp.periods import Period
from gedp.policy import Query
from gedp.policy.codelists import CodeList, CodeListError, make_code_list
from gedp.policy.model import OWN_SUFFIXES, PSI_SUFFIX
from gedp.release.answered import ALL_MECHANISMS, IDENTITY, Answered
from gedp.release.derived import DERIVED, derived_names
from gedp.release.labels import Labels
from gedp.release.manifest import LABELS, MANIFEST, MAPS, Manifest, read_manifest

VARIANCE_KINDS = (EXACT, ESTIMATED)


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
        ("variance_kind", pa.string()),  # of VARIANCE_KINDS
    ]
)


#: One more column under individual accounting: the standard deviation of the noise, on ψ (psi) or on the sum (pnc).
NOISE = "noise"


def answer_schema(query: Query) -> pa.Schema:
    """The columns of a table of answers to a query; where there is no ψ, variances say all about noise."""
    own = [(NOISE, pa.float64())] if query.is_plain and query.importance else []
    return pa.schema([*((key, pa.string()) for key in query.by), *ANSWER_SCHEMA, *own])


class TamperedReleaseError(Refused):
    """A file of a release is not what its manifest says."""


@dataclass(frozen=True)
class ReleaseFolder:
    """A release on disk. Files are read when asked for."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """What messages call the release: its folder."""
        return str(self.folder)

    @property
    def period(self) -> Period | None:
        """Which of a series of tables it is about; None where that is not said."""
        return self.manifest.period

    def answers(self, query: str) -> pa.Table:
        """The answers of one query of any kind: keys, attribute, estimate, variance and the rest of ANSWER_SCHEMA.

        A query by classes has every class of every public group. Combinations stand under their names.
        """
        answered = self._answered(query)
        table = self._table(answered.file)
        self._require(answered.file, table.schema.equals(answer_schema(answered.query)), "other columns")
        self._require(answered.file, _is_sound(table, answered), "other rows or values")
        self._require_as_released(answered.file)
        return table

    def identity(self, columns: Sequence[str] | None = None, *, coded: Sequence[str] = ()) -> pa.Table:
        """The protected establishments, or some columns of them: id, public, `<attribute>__psi` and estimate.

        Texts of columns in `coded` come as dictionaries with codes, which takes less time and memory.
        """
        spec, data = self.manifest.spec, self.manifest.spec.data
        noisy = [
            name
            for query in spec.identities
            for attribute in query.attributes
            for name in (*(attribute + s for s in (OWN_SUFFIXES if spec.is_individual else [PSI_SUFFIX])), attribute)
        ]
        wanted = [*([data.id] if data.id else []), *data.public, *noisy] if columns is None else list(columns)
        files = self.manifest.identity_files or [IDENTITY]
        table = pa.concat_tables([self._table(name, wanted, coded) for name in files])
        self._require(IDENTITY, table.column_names == wanted, "other columns")
        floats = all(table.schema.field(name).type == pa.float64() for name in wanted if name in noisy)
        self._require(IDENTITY, floats, "columns of another type")
        whole = table.num_rows == self.manifest.establishments and not any(c.null_count for c in table.columns)
        self._require(IDENTITY, whole, "other rows or values")
        return table

    def map(self, grouping: str) -> dict[str, str]:
        """The group of every code of a grouping that the spec gives a map file."""
        name = f"{MAPS}/{grouping}.csv"
        self._require(name, name in self.manifest.files, "no list of groups")
        rows = self._rows(name)
        self._require(name, all(len(row) == 2 for row in rows), "other columns")
        return dict(rows)

    @cached_property
    def labels(self) -> Labels:
        """What people call the attributes, columns, groupings, codes and tables."""
        labelled = [column for column, label in self.manifest.spec.labels.items() if label.codes is not None]
        return Labels(self.manifest.spec, {column: self._code_list(column) for column in labelled})

    def _code_list(self, column: str) -> CodeList:
        name, spec = f"{LABELS}/{column}.csv", self.manifest.spec
        try:
            return make_code_list(
                list(enumerate(self._rows(name), 1)), column, {*spec.data.public, *spec.groupers}, name
            )
        except CodeListError:
            raise self._altered(name, "it is not a list of codes and names") from None

    def _rows(self, name: str) -> list[list[str]]:
        try:
            with regular(self.folder / name).open(encoding="utf-8", newline="") as file:
                return read_rows(file)
        except (OSError, UnicodeDecodeError, csv.Error):
            return [[]]

    def require_not_part(self, *paths: Path, made: Sequence[str] = ()) -> None:
        """Rejects to write where a file of the release is, or one of those `made` from it."""
        taken = {real(self.folder / name) for name in (MANIFEST, *self.manifest.files, *made)}
        for path in paths:
            if real(path) in taken:
                raise WriteError(f"cannot write {path}: it would replace a file of the release. Choose another name")

    def _answered(self, query: str) -> Answered:
        """The table of a query, as the manifest describes it."""
        tables = {answered.query.name: answered for answered in self.manifest.answered}
        if query not in tables:
            fault = Fault("query", f"{query!r} is not in this release", f"It has: {', '.join(map(repr, tables))}")
        elif tables[query].file == IDENTITY:
            fault = Fault("query", f"{query!r} asks for establishments", "Use establishments() of the release")
        else:
            return tables[query]
        raise FaultsError(str(self.folder), [fault])

    def _table(self, name: str, columns: list[str] | None = None, coded: Sequence[str] = ()) -> pa.Table:
        try:
            path = regular(self.folder / name)
            return pq.read_table(path, columns=columns, partitioning=None, read_dictionary=list(coded))
        except (pa.ArrowException, OSError, ValueError):
            raise self._altered(name, "it cannot be read as Parquet") from None

    def _require(self, name: str, holds: bool, otherwise: str) -> None:
        if not holds:
            raise self._altered(name, f"it has {otherwise} than the manifest says")

    def _require_as_released(self, name: str) -> None:
        """Rejects a file that became another one since the release was opened: some tables are only read much later."""
        self._require(name, _sha256(self.folder / name) == self.manifest.files.get(name), "another checksum")

    def _altered(self, name: str, problem: str) -> FaultsError:
        return FaultsError(str(self.folder), [Fault(name, problem, "Get a fresh copy of the release")])


def read_release(folder: str | Path, *, check: bool = True) -> ReleaseFolder:
    """The release in a folder, every file checked against its checksum."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    if check and (wrong := wrong_files(folder, manifest)):
        raise TamperedReleaseError(f"{folder}: not as released: {', '.join(wrong)}. Get a fresh copy of the release")
    return ReleaseFolder(folder, manifest)


def foreign_files(folder: Path, manifest: Manifest) -> list[str]:
    """What lies in the folder of a release and is not part of it: other files, links, pipes."""
    own = {MANIFEST, *manifest.files, *DERIVED, *derived_names(folder)}
    return sorted(
        name
        for path in folder.rglob("*")
        if ((name := path.relative_to(folder).as_posix()) not in own and (path.is_symlink() or not path.is_dir()))
        or path.is_symlink()
    )


def wrong_files(folder: Path, manifest: Manifest) -> list[str]:
    """The files that are missing or not as the manifest says."""
    return [name for name, digest in manifest.files.items() if _sha256(folder / name) != digest]


def _is_sound(table: pa.Table, answered: Answered) -> bool:
    """Whether everything asked for has as many lines as the manifest says, and every cell a value that makes sense."""
    counts = {row["values"]: row["counts"] for row in table["attribute"].value_counts().to_pylist()}
    if counts != answered.lines or any(column.null_count for column in table.columns):
        return False
    known = {"mechanism": ALL_MECHANISMS, "variance_kind": VARIANCE_KINDS}
    numbers = [field.name for field in table.schema if field.type == pa.float64()]
    return (
        all(set(table[name].unique().to_pylist()) <= set(texts) for name, texts in known.items())
        and not any(pa.compute.any(pa.compute.is_nan(table[name])).as_py() for name in numbers)
        and pa.compute.min(table["variance"]).as_py() >= 0
        and (NOISE not in table.column_names or pa.compute.min(table[NOISE]).as_py() > 0)
        and _are_certain(table, answered)
    )


def _are_certain(table: pa.Table, answered: Answered) -> bool:
    """Whether at least as many entries as the manifest says are without noise."""
    certain = table.filter(pa.compute.equal(table["variance"], 0.0))["attribute"].to_pylist()
    return all(certain.count(name) >= noise.certain for name, noise in answered.noise.items())


def _sha256(path: Path) -> str:
    try:
        return sha256(path)
    except OSError:
        return "missing"
