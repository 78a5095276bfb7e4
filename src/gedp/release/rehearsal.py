"""Answers to be compared with the truth and thrown away. They stay in memory: no file can be taken for a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gedp.errors import GedpError
from gedp.release.manifest import Manifest
from gedp.release.rows import Ties


@dataclass(frozen=True, repr=False)
class Rehearsal:
    """The answers that a release would have, drawn once more."""

    name: str  # of the table
    manifest: Manifest
    tables: Mapping[str, pa.Table]
    establishments: pa.Table | None
    maps: Mapping[str, Mapping[str, str]]

    def answers(self, query: str) -> pa.Table:
        """The answers of one query, as of a release."""
        return self.tables[query]

    def identity(self, columns: Sequence[str] | None = None, *, coded: Sequence[str] = ()) -> pa.Table:
        """The protected establishments, as of a release; no text is coded."""
        if self.establishments is None:
            raise GedpError("no query asks for establishments")
        return self.establishments if columns is None else self.establishments.select(list(columns))

    def map(self, grouping: str) -> dict[str, str]:
        """The group of every code of a grouping that the spec gives a map file."""
        return dict(self.maps[grouping])


class RehearsalWriter:
    """Takes answers as `ReleaseWriter` does, and keeps them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._batches: list[pa.Table] = []
        self._tables: dict[str, pa.Table] = {}
        self._maps: dict[str, Mapping[str, str]] = {}

    def write_identity(self, batch: pa.Table, public: Sequence[str], keys: Sequence[str], ties: Sequence[Ties]) -> None:
        """Adds establishments. They stay in the order of the table, since they are compared with it."""
        self._batches.append(batch)

    def identity_parts(self) -> Path:
        """Rejects: nothing of a rehearsal is written."""
        raise GedpError("a rehearsal stays in memory, so it needs the local engine")

    def finish_identity(self) -> None:
        """Does nothing: a rehearsal keeps the order of the table."""

    def write_answers(self, query: str, table: pa.Table) -> None:
        """Keeps the answers of a query."""
        self._tables[query] = table

    def write_map(self, grouping: str, groups: Mapping[str, str]) -> None:
        """Keeps the group of every code of a grouping."""
        self._maps[grouping] = groups

    def finish(self, manifest: Manifest) -> Rehearsal:
        """The rehearsal, once all answers are there."""
        establishments = pa.concat_tables(self._batches) if self._batches else None
        return Rehearsal(self.name, manifest, self._tables, establishments, self._maps)
