"""What a format of tables is: how it writes one table, and all tables of a package."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from gedp.publication.about import About
from gedp.publication.figures import TableOfFigures

#: What has been written of every table, by its name: a kind, and the file or sheet that it is in.
Written = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class AsFile:
    """One table as a file or a download; notes are left out where the format has no place for them."""

    suffix: str
    media_type: str
    write: Callable[[pa.Table, IO[bytes], Sequence[str]], None]


@dataclass(frozen=True)
class InPackage:
    """All tables of a package: the file or folder that holds them, and what a README says of it."""

    place: str
    contents: str
    write: Callable[[About, Path], Written]


@dataclass(frozen=True)
class Format:
    """A format by the name that options know, and by its title for people."""

    name: str
    title: str
    as_file: AsFile | None = None
    in_package: InPackage | None = None


def write_each(
    about: About, folder: Path, kind: str, suffix: str, write: Callable[[TableOfFigures, Path], None]
) -> Written:
    """Writes a file for every table, into a folder of its own that is called as the format is."""
    (folder / kind).mkdir()
    files = {table.chosen.name: f"{kind}/{table.chosen.file}{suffix}" for table in about.tables}
    for table in about.tables:
        write(table, folder / files[table.chosen.name])
    return {name: {kind: file} for name, file in files.items()}
