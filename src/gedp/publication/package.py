"""The package for the public: one folder with all tables in several formats, made from a release alone.

A package of the same release, made by the same version with the same options, is the same to the last byte: nothing in
it depends on when or where it was made. (Random ids of establishments are the exception.)
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from gedp.csvfiles import write_rows
from gedp.errors import DomainError, Refused
from gedp.files import real, sha256, swap, write_text
from gedp.folders import new_folder
from gedp.microdata import Microdata
from gedp.microdata.ratios import parse_ratios
from gedp.progress import NextStep, silent
from gedp.publication.about import FORMAT, About
from gedp.publication.changes import Changes
from gedp.publication.chosen import choose_tables
from gedp.publication.establishments import IDS, rows_of
from gedp.publication.figures import ROUNDINGS, Presentation, TableOfFigures, table_of
from gedp.publication.formats import IN_PACKAGES
from gedp.publication.ratios import with_ratios
from gedp.release.derived import SIGNATURE, SUMS
from gedp.release.signing import sign_sums

DESCRIPTION, README, DICTIONARY, ROWS, CODES = (
    *("publication.json", "README.md", "dictionary.csv", "establishments.parquet", "codes"),
)


@dataclass(frozen=True)
class PackageOptions:
    """What a package has, and how it shows it."""

    added: tuple[tuple[str, ...], ...] = ()  # tables by these keys, besides those of the release
    only: tuple[str, ...] | None = None  # of the tables of the release; all where it is not given
    formats: tuple[str, ...] = tuple(IN_PACKAGES)
    shown: Presentation = field(default_factory=Presentation)
    ratios: tuple[str, ...] = ()  # by their built-in names, or as NAME = FORMULA
    rows: str | None = None  # of IDS: rows of establishments, and what becomes of their ids

    def __post_init__(self) -> None:
        unknown = [name for name in self.formats if name not in IN_PACKAGES]
        if unknown or not self.formats:
            raise DomainError(
                f"there is no format {', '.join(unknown) or 'at all'}. Use some of: {', '.join(IN_PACKAGES)}"
            )
        if self.shown.rounding not in ROUNDINGS:
            raise DomainError(f"figures are rounded by one of: {', '.join(ROUNDINGS)}")
        if self.rows not in (None, *IDS):
            raise DomainError(f"what becomes of ids is one of: {', '.join(IDS)}")


@dataclass(frozen=True)
class Package:
    """A package in its folder."""

    folder: Path
    files: tuple[str, ...]
    tables: tuple[TableOfFigures, ...]


def write_package(
    microdata: Microdata,
    to: Path,
    options: PackageOptions,
    *,
    key: Path | None = None,
    passphrase: str | None = None,
    replace: bool = False,
    step: NextStep = silent,
    against: Microdata | None = None,
) -> Package:
    """Writes the package of the release that these microdata were fitted to, whole or not at all.

    With a private `key` its checksums are signed. `replace` takes the place of an earlier package that is still as it
    was written, and of nothing else. With `against`, the microdata of an earlier release, there are also tables of what
    changed since then.
    """
    formulas = {ratio.name: ratio.formula for ratio in parse_ratios(options.ratios)}
    labels = with_ratios(microdata.release.labels, formulas)
    for each in filter(None, (microdata, against)):
        _require_whole(each, options)
        if real(to).is_relative_to(real(each.release.folder)):
            raise Refused(f"{to} is inside the release, which is kept as it is. Choose another folder")
    chosen = choose_tables(microdata, labels, options.added, options.only, options.ratios)
    replaced = _require_free(to, replace)
    step("tabulating")
    tables = tuple(table_of(microdata, labels, each, options.shown) for each in chosen)
    changes = None if against is None else Changes(microdata, against, options.shown, chosen)
    if changes is not None:
        tables, labels = (*tables, *changes.tables(labels)), changes.labelled(labels)
    about = About(microdata, labels, options.shown, tables, formulas, changes)
    whole = real(to)  # which has a name, as . has none
    place = to if replaced is None else whole.with_name(f".{whole.name}.gedp-new")
    with new_folder(place) as folder:
        step("writing tables")
        files = _write_tables(about, folder, options.formats)
        _write_rest(about, folder, files, options, is_signed=key is not None)
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        write_text(folder / SUMS, "".join(f"{sha256(folder / name)}  {name}\n" for name in names))
        if key is not None:
            sign_sums(folder, key, passphrase)
            names.append(SIGNATURE)
    if replaced is not None:
        _take_the_place(place, whole, replaced)
    return Package(to, (*names, SUMS), tables)


def _write_tables(about: About, folder: Path, formats: Sequence[str]) -> dict[str, dict[str, str]]:
    """Writes every table in every format, and returns the names of its files."""
    files: dict[str, dict[str, str]] = {table.chosen.name: {} for table in about.tables}
    for name in dict.fromkeys(formats):
        for table, written in IN_PACKAGES[name].write(about, folder).items():
            files[table] |= written
    return {table: dict(sorted(written.items())) for table, written in files.items()}


def _write_rest(
    about: About, folder: Path, files: Mapping[str, Mapping[str, str]], options: PackageOptions, *, is_signed: bool
) -> None:
    """Everything but the tables: what the columns and codes mean, and rows of establishments if asked for."""
    listed = [(IN_PACKAGES[name].place, IN_PACKAGES[name].contents) for name in options.formats]
    _write_csv(folder / DICTIONARY, about.dictionary())
    listed.append((DICTIONARY, "every column, attribute and quality class"))
    lists = {key: codes for key in about.keys if (codes := about.labels.code_list(key)) is not None}
    if lists:
        (folder / CODES).mkdir()
        listed.append((f"{CODES}/", "the names of codes"))
    for column in dict.fromkeys(codes.column for codes in lists.values()):
        _write_csv(folder / CODES / f"{column}.csv", list(about.labels.code_lists[column].rows()))
    if options.rows is not None:
        pq.write_table(rows_of(about.microdata, options.rows), folder / ROWS, compression="zstd")
        listed.append((ROWS, "one row for each establishment, with protected values that add up to the tables"))
    write_text(folder / DESCRIPTION, json.dumps(about.described(files), indent=2, ensure_ascii=False) + "\n")
    listed += [(DESCRIPTION, "all of this for programs"), (SUMS, "checksums of all files")]
    write_text(folder / README, about.readme(listed, is_signed))


def _write_csv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(rows, file)


def _require_whole(microdata: Microdata, options: PackageOptions) -> None:
    """Figures in whole units add up because they are sums of whole rows, so there must be rows, and whole ones."""
    if options.shown.rounding != "whole":
        return
    if microdata.measured:
        problem = f"the answers determine no rows of {', '.join(microdata.measured)}, so nothing can be rounded"
        raise Refused(f"{microdata.release.name}: {problem} so that all tables add up. Use another rounding")
    if not microdata.constraints.whole:
        raise DomainError("figures in whole units are sums of microdata in whole units. Fit these first: whole=True")


def _require_free(to: Path, replace: bool) -> list[str] | None:
    """Rejects a folder that is taken; None where it is free, else the files of the package to be replaced."""
    if not to.exists() or (to.is_dir() and not any(to.iterdir())):
        return None
    own = package_files(to)
    if own is None:
        raise Refused(f"{to} holds something other than an unchanged package, so it is not replaced. Choose another")
    if not replace:
        raise Refused(f"{to} already holds a package. Replace it with --force (replace=True), or choose another folder")
    return own


def format_of(folder: Path) -> int | None:
    """The number of the format that a package says it has; None where it says none."""
    try:
        number = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))["format"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return number if isinstance(number, int) else None


def package_files(folder: Path) -> list[str] | None:
    """The files of a package that is as it was written and holds nothing else; None where there is none."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        listed = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
        if format_of(folder) != FORMAT or any(sha256(folder / name) != listed[name] for name in listed):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    there = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    return sorted(there) if there - {SUMS, SIGNATURE} == set(listed) else None


def _take_the_place(new: Path, old: Path, files: Sequence[str]) -> None:
    """Swaps two packages, and removes the files that the one before consisted of."""
    swap(new, old)
    for name in files:
        (new / name).unlink()
    for folder in sorted({(new / name).parent for name in files} | {new}, reverse=True):
        folder.rmdir()
