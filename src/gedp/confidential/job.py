"""What every way to answer has in common: a prepared table, a source of noise, and a place for the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from gedp.arrays import IntArray
from gedp.confidential.answers import AnswerWriter, answer_table
from gedp.confidential.group_sums import SumNoise
from gedp.confidential.preparing import Prepared
from gedp.confidential.table import FinestCells, Groups
from gedp.confidential.tally import ROWS
from gedp.errors import TableChangedError
from gedp.noise.entropy import Entropy
from gedp.passes import PartialResults
from gedp.policy import Spec
from gedp.progress import Progress
from gedp.release import Individual
from gedp.release.answered import Answered


@dataclass(frozen=True)
class Described:
    """What the manifest says of all answers."""

    answered: Sequence[Answered]
    zeta: Fraction | None = None  # None where nothing can be clipped, and under individual accounting
    individual: Mapping[str, Individual] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Job:
    """Everything that answering needs, put together before the first draw."""

    prepared: Prepared
    entropy: Entropy
    zeta: Fraction
    writer: AnswerWriter
    progress: Progress

    @property
    def spec(self) -> Spec:
        """What is asked."""
        return self.prepared.spec

    @property
    def cells(self) -> FinestCells:
        """The finest cells of all that is asked."""
        return self.prepared.cells

    @property
    def confidence(self) -> float:
        """Of the intervals."""
        return float(self.spec.output.confidence)

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """The groups of the queries for sums by public groups, by name."""
        return {query.name: self.cells.groups(query.by) for query in self.spec.group_sums}

    def report(self, step: str, rows: int) -> None:
        """Reports how many establishments a step has done."""
        self.progress(step, rows, self.cells.rows)

    def require_same(self, found: PartialResults) -> None:
        """Rejects a table whose cells do not have as many rows as when it was opened."""
        if not np.array_equal(found.added[ROWS], self.cells.counts):
            raise TableChangedError

    def write_sums(
        self,
        noise: Mapping[tuple[str, str], SumNoise],
        sums: Mapping[str, IntArray],
        clipped: Mapping[tuple[str, str], IntArray],
    ) -> list[Answered]:
        """Draws and writes every query for sums by groups; noise and clipped sums are by query and attribute."""
        answered = list[Answered]()
        for done, query in enumerate(self.spec.group_sums, 1):
            groups, answers, said = self.groups[query.name], {}, {}
            for name in query.attributes:
                totals = groups.total(sums[name]), groups.total(clipped[query.name, name])
                unit, of_groups = float(self.spec.policy.attributes[name].unit), noise[query.name, name]
                answers[name] = of_groups.answer(*totals, unit, self.confidence, self.entropy)
                said[name] = of_groups.described
            self.writer.write_answers(query.name, answer_table(query, groups.keys, answers))
            answered.append(Answered(query, groups.count, said))
            self.progress("queries", done, len(self.spec.group_sums))
        return answered
