"""What an evaluation finds, level by level and attribute by attribute. Plain data."""

from dataclasses import dataclass

import pyarrow as pa

from gedp.microdata.constraints.apply import Constraints
from gedp.release import ReleaseFolder
from gedp_lab.evaluate.baseline import Baseline
from gedp_lab.evaluate.folder import Stamp
from gedp_lab.evaluate.groups import ANSWERS, MICRODATA, ComparedGroups, error_table, group_table, worst_table
from gedp_lab.evaluate.levels import Level

WORST = 10


@dataclass(frozen=True, repr=False)
class EvaluationResults:
    """What `Evaluation` holds. Confidential, unless the release is of synthetic data."""

    release: ReleaseFolder
    weights: str
    constraints: Constraints
    confidence: float
    levels: tuple[Level, ...]
    comparisons: tuple[ComparedGroups, ...]
    beside: tuple[tuple[Baseline, pa.Table], ...] = ()  # what other ways leave of the same cells

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.release.folder}, {len(self.levels)} levels, {self.stamp.text})"

    @property
    def stamp(self) -> Stamp:
        """What is written on every file: CONFIDENTIAL, or that the data is synthetic."""
        return stamp_of(self.release)

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that were evaluated."""
        return list(dict.fromkeys(each.attribute for each in self.comparisons))

    def of(self, attribute: str, source: str = MICRODATA) -> list[ComparedGroups]:
        """The groups of one attribute, level by level."""
        return [each for each in self.comparisons if each.attribute == attribute and each.source == source]

    def answers_at(self, level: Level, attribute: str) -> list[ComparedGroups]:
        """The answers as they were released, where the level was measured."""
        return [each for each in self.of(attribute, ANSWERS) if each.level == level]

    def errors(self) -> pa.Table:
        """Tidy: a line for each level, attribute, source and size."""
        return error_table(self.comparisons)

    def worst(self, count: int = WORST) -> pa.Table:
        """Of every level and attribute the groups with the largest absolute errors."""
        return worst_table(self.comparisons, count)

    def groups(self) -> pa.Table:
        """Every group of every level, protected beside true."""
        return group_table(self.comparisons)


def stamp_of(release: ReleaseFolder) -> Stamp:
    """CONFIDENTIAL, unless the spec of the release says that the data is synthetic."""
    return Stamp(confidential=not release.manifest.spec.data.synthetic)
