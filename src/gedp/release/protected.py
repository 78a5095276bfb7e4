"""What everything after measuring works with, wherever the answers are."""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from gedp.release.manifest import Manifest


class ProtectedAnswers(Protocol):
    """The answers to the queries of a spec: a release in its folder, or a rehearsal in memory."""

    @property
    def name(self) -> str:
        """What messages call the source of the answers."""

    @property
    def manifest(self) -> Manifest:
        """What was promised and asked, and with how much noise it was answered."""

    def answers(self, query: str) -> pa.Table:
        """The answers of one query of any kind: keys, attribute, estimate, variance and the rest of ANSWER_SCHEMA."""

    def identity(self, columns: Sequence[str] | None = None, *, coded: Sequence[str] = ()) -> pa.Table:
        """The protected establishments, or some columns of them: id, public, `<attribute>__psi` and estimate.

        Texts of columns in `coded` may come as dictionaries with codes, which takes less time and memory.
        """

    def map(self, grouping: str) -> dict[str, str]:
        """The group of every code of a grouping that the spec gives a map file."""
