"""The answers of one query and attribute, group by group, as columns of the release."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gedp.neighbors.functions import FloatArray
from gedp.policy import Query
from gedp.release import ANSWER_SCHEMA
from gedp.table import Groups


@dataclass(frozen=True, repr=False)
class Answers:
    """Columns to be filled in by the mechanism of each group."""

    estimate: FloatArray
    variance: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    mechanism: npt.NDArray[Any]
    variance_kind: npt.NDArray[Any]

    @classmethod
    def empty(cls, groups: int) -> "Answers":
        """Nothing answered yet."""
        names = [np.full(groups, "", dtype=object) for _ in range(2)]
        return cls(np.zeros(groups), np.zeros(groups), np.zeros(groups), np.zeros(groups), names[0], names[1])

    def put(
        self,
        where: npt.NDArray[np.bool_],
        estimate: FloatArray,
        variance: FloatArray,
        interval: tuple[FloatArray, FloatArray],
        mechanism: str,
        variance_kind: str,
    ) -> None:
        """Fills in the answers of some groups."""
        self.estimate[where], self.variance[where] = estimate, variance
        self.ci_low[where], self.ci_high[where] = interval
        self.mechanism[where], self.variance_kind[where] = mechanism, variance_kind


def answer_table(query: Query, attribute: str, groups: Groups, answers: Answers) -> pa.Table:
    """The answers with their keys, as a release holds them."""
    columns = {
        "attribute": [attribute] * groups.count,
        "estimate": answers.estimate,
        "variance": answers.variance,
        "std_error": np.sqrt(answers.variance),
        "ci_low": answers.ci_low,
        "ci_high": answers.ci_high,
        "mechanism": answers.mechanism,
        "variance_kind": answers.variance_kind,
    }
    arrays = [pa.array(columns[item.name], item.type) for item in ANSWER_SCHEMA]
    keys = {key: pa.array(groups.keys[key], pa.string()) for key in query.by}
    return pa.table({**keys, **dict(zip(ANSWER_SCHEMA.names, arrays, strict=True))})
