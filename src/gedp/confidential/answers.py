"""The answers of one query, attribute by attribute and group by group, as columns of the release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gedp.arrays import BoolArray, FloatArray
from gedp.confidential.engines import RowWriter
from gedp.estimates import Figures
from gedp.policy import Query
from gedp.release import answer_schema
from gedp.release.answered import ALL_MECHANISMS
from gedp.release.reader import NOISE

Positions = npt.NDArray[np.int8]


class AnswerWriter(RowWriter, Protocol):
    """What takes the answers as they are drawn: a release in the making, or a rehearsal."""

    def write_answers(self, query: str, table: pa.Table) -> None:
        """Takes the answers of one query, as a table in the layout of a release."""

    def write_map(self, grouping: str, groups: Mapping[str, str]) -> None:
        """Takes the group of every code of a grouping that has a map file."""


@dataclass(frozen=True, repr=False)
class Answers(Figures):
    """Columns to be filled in by the mechanism of each group."""

    mechanism: Positions  # in ALL_MECHANISMS
    noise: FloatArray  # its standard deviation, on ψ or on the sum; published where every group has its own

    @classmethod
    def empty(cls, groups: int) -> "Answers":
        """Answers for so many groups, none of them filled in yet."""
        mechanism, kind = np.full((2, groups), -1, dtype=np.int8)
        estimate, variance, low, high, noise = np.zeros((5, groups))
        return cls(estimate, variance, kind, low, high, mechanism, noise)

    def put(self, where: BoolArray, figures: Figures, mechanism: str, noise: FloatArray | float = 0.0) -> None:
        """Fills in the answers of some groups."""
        self.noise[where] = noise
        self.estimate[where], self.variance[where], self.kind[where] = figures.estimate, figures.variance, figures.kind
        self.ci_low[where], self.ci_high[where] = figures.ci_low, figures.ci_high
        self.mechanism[where] = ALL_MECHANISMS.index(mechanism)


def answer_table(
    query: Query,
    keys_of_groups: Mapping[str, list[str] | pa.Array],
    answers: Mapping[str, Answers],
) -> pa.Table:
    """The answers for each attribute with their keys, as a release holds them."""
    schema = answer_schema(query)
    texts = {key: keys_of_groups[key] for key in query.by}
    keys = {key: found if isinstance(found, pa.Array) else pa.array(found, pa.string()) for key, found in texts.items()}
    tables = []
    for attribute, found in answers.items():
        columns = {
            "attribute": pa.repeat(attribute, len(found.estimate)),
            **found.columns(),
            "variance": pa.array(found.variance),
            "mechanism": pa.array(ALL_MECHANISMS, pa.string()).take(pa.array(found.mechanism)),
            "variance_kind": found.kinds,
            NOISE: pa.array(found.noise),
        }
        tables.append(pa.table({name: (keys | columns)[name] for name in schema.names}, schema=schema))
    return pa.concat_tables(tables)
