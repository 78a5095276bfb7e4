"""The answers of one query, attribute by attribute and group by group, as columns of the release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gedp.arrays import BoolArray, FloatArray
from gedp.confidential.engines import RowWriter
from gedp.normal import normal_reach
from gedp.policy import Query
from gedp.release import VARIANCE_KINDS, answer_schema
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
class Answers:
    """Columns to be filled in by the mechanism of each group."""

    estimate: FloatArray
    variance: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    mechanism: Positions  # in ALL_MECHANISMS
    variance_kind: Positions  # in VARIANCE_KINDS
    noise: FloatArray  # its standard deviation, on ψ or on the sum; published where every group has its own

    @classmethod
    def empty(cls, groups: int) -> "Answers":
        """Answers for so many groups, none of them filled in yet."""
        mechanism, variance_kind = np.full((2, groups), -1, dtype=np.int8)
        estimate, variance, low, high, noise = np.zeros((5, groups))
        return cls(estimate, variance, low, high, mechanism, variance_kind, noise)

    def put(
        self,
        where: BoolArray,
        estimate: FloatArray,
        variance: FloatArray,
        interval: tuple[FloatArray, FloatArray],
        mechanism: str,
        variance_kind: str,
        noise: FloatArray | float = 0.0,
    ) -> None:
        """Fills in the answers of some groups."""
        self.noise[where] = noise
        self.estimate[where], self.variance[where] = estimate, variance
        self.ci_low[where], self.ci_high[where] = interval
        self.mechanism[where] = ALL_MECHANISMS.index(mechanism)
        self.variance_kind[where] = VARIANCE_KINDS.index(variance_kind)

    def put_sums(
        self,
        where: BoolArray,
        estimate: FloatArray,
        variance: FloatArray,
        confidence: float,
        mechanism: str,
        noise: FloatArray | float = 0.0,
    ) -> None:
        """Fills in sums with Gaussian noise of a known variance."""
        reach = normal_reach(confidence) * np.sqrt(variance)
        self.put(where, estimate, variance, (estimate - reach, estimate + reach), mechanism, "exact", noise)


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
            "estimate": pa.array(found.estimate),
            "variance": pa.array(found.variance),
            "std_error": pa.array(np.sqrt(found.variance)),
            "ci_low": pa.array(found.ci_low),
            "ci_high": pa.array(found.ci_high),
            "mechanism": _texts(ALL_MECHANISMS, found.mechanism),
            "variance_kind": _texts(VARIANCE_KINDS, found.variance_kind),
            NOISE: pa.array(found.noise),
        }
        tables.append(pa.table({name: (keys | columns)[name] for name in schema.names}, schema=schema))
    return pa.concat_tables(tables)


def _texts(names: Sequence[str], positions: Positions) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(positions))
