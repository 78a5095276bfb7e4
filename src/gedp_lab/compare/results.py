"""What replicates say about every workflow, attribute and grouping: lines, winners and differences. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from scipy.special import stdtrit

from gedp.arrays import FloatArray
from gedp.errors import GedpError
from gedp_lab.baselines.workflows import BASELINES
from gedp_lab.evaluate.folder import Stamp

CONFIDENCE = 0.95  # of "beyond chance"


@dataclass(frozen=True)
class ResultOrder:
    """The names in the results, in the order in which they are shown."""

    settings: Sequence[str]
    workflows: Sequence[str]
    attributes: Sequence[str]
    levels: Sequence[str]


@dataclass(frozen=True, repr=False)
class Line:
    """One workflow at one level for one attribute, over all replicates. None where one replicate does not tell."""

    setting: str
    workflow: str
    attribute: str
    level: str
    groups: int
    replicates: int
    bias: float  # mean error of a group
    bias_se: float | None
    mean_absolute: float
    median_absolute: float  # over the groups, of the mean over replicates
    biased: float | None  # share of groups whose mean error is beyond chance; 5% would be by chance alone
    coverage: float | None  # of the intervals from the microdata; None where there are none
    seconds: float  # of one replicate: drawing and fitting all attributes


@dataclass(frozen=True, repr=False)
class Winner:
    """The workflow with the least mean absolute error, and how sure it is of it."""

    setting: str
    attribute: str
    level: str
    workflow: str
    runner_up: str | None
    gain: float  # by how much the runner-up's error is larger
    sure: bool  # whether the difference is more than chance explains


@dataclass(frozen=True, repr=False)
class ComparisonResults:
    """What `Comparison` holds. Confidential, unless the replicates are of synthetic data."""

    folder: Path
    stamp: Stamp
    confidence: float
    order: ResultOrder
    replicates: int
    lines: tuple[Line, ...]
    per_group: pa.Table  # bias and mean absolute error of every group
    per_replicate: pa.Table  # mean absolute error and bias of every level
    about: Mapping[str, Any] = field(default_factory=dict)  # what was compared, and when

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.folder}, {self.replicates} replicates, {self.stamp.text})"

    @cached_property
    def winners(self) -> tuple[Winner, ...]:
        """One for each setting, attribute and level; oracles do not compete with what can be published."""
        by_level = groupby(self.lines, key=lambda line: (line.setting, line.attribute, line.level))
        return tuple(self._winner(list(lines)) for _, lines in by_level)

    def line(self, workflow: str, attribute: str, level: str, setting: str | None = None) -> Line:
        """One line; of the first setting unless one is named."""
        found = self.lines_at(attribute, level, setting).get(workflow)
        if found is None:
            raise GedpError(f"nothing was compared for {workflow}, {attribute}, {level}")
        return found

    def lines_at(self, attribute: str, level: str, setting: str | None = None) -> Mapping[str, Line]:
        """The lines of all workflows that answer an attribute at a level, by their names."""
        return self._lines.get((setting or self.order.settings[0], attribute, level), {})

    def levels_of(self, attribute: str) -> list[str]:
        """The levels at which an attribute was compared."""
        return [level for level in self.order.levels if self.lines_at(attribute, level)]

    def difference(
        self, one: str, other: str, attribute: str, level: str, setting: str | None = None
    ) -> tuple[float, float | None]:
        """How much larger the mean absolute error of `other` is, replicate by replicate, and its standard error."""
        setting = setting or self.order.settings[0]
        first, second = (self._absolute[setting, name, attribute, level] for name in (one, other))
        differences = np.array([second[replicate] - first[replicate] for replicate in first])
        mean, count = float(differences.mean()), len(differences)
        return mean, None if count < 2 else float(differences.std(ddof=1) / np.sqrt(count))

    def absolute_errors(self, workflow: str, attribute: str, level: str, setting: str | None = None) -> FloatArray:
        """The mean absolute error of a level in every replicate; of the first setting unless one is named."""
        return np.array(list(self._absolute[setting or self.order.settings[0], workflow, attribute, level].values()))

    def groups_of(self, workflow: str, attribute: str, level: str, setting: str | None = None) -> pa.Table:
        """The groups of one level under one workflow: keys, truth, bias, mean absolute error."""
        wanted = {"setting": setting or self.order.settings[0], "workflow": workflow, "attribute": attribute}
        rows = self.per_group
        for column, text in {**wanted, "level": level}.items():
            rows = rows.filter(pa.compute.equal(rows[column], text))
        return rows

    @cached_property
    def times(self) -> Mapping[str, float]:
        """For each workflow the seconds of one replicate, averaged over settings."""
        found: dict[str, dict[str, float]] = {}
        for line in self.lines:
            found.setdefault(line.workflow, {})[line.setting] = line.seconds
        named = [workflow for workflow in self.order.workflows if workflow in found]
        return {workflow: sum(found[workflow].values()) / len(found[workflow]) for workflow in named}

    def results(self) -> pa.Table:
        """All lines, tidy: one for each setting, workflow, attribute and level."""
        return pa.Table.from_pylist([asdict(line) for line in self.lines], _SCHEMA)

    def winner_table(self) -> pa.Table:
        """The winners, tidy: a line for each setting, attribute and level."""
        return pa.Table.from_pylist([asdict(winner) for winner in self.winners])

    @cached_property
    def _lines(self) -> Mapping[tuple[str, str, str], dict[str, Line]]:
        found: dict[tuple[str, str, str], dict[str, Line]] = {}
        for line in self.lines:
            found.setdefault((line.setting, line.attribute, line.level), {})[line.workflow] = line
        return found

    @cached_property
    def _absolute(self) -> Mapping[tuple[str, str, str, str], dict[str, float]]:
        found: dict[tuple[str, str, str, str], dict[str, float]] = {}
        for row in self.per_replicate.to_pylist():
            key = (row["setting"], row["workflow"], row["attribute"], row["level"])
            found.setdefault(key, {})[row["replicate"]] = row["absolute"]
        return found

    def _winner(self, lines: Sequence[Line]) -> Winner:
        ours = [line for line in lines if line.workflow.partition("+")[0] not in BASELINES] or lines
        private = [line for line in ours if not line.workflow.endswith("+oracle")] or ours
        best, *others = sorted(private, key=lambda line: (np.isnan(line.mean_absolute), line.mean_absolute))
        where = (best.setting, best.attribute, best.level, best.workflow)
        if not others:
            return Winner(*where, None, 0.0, False)
        mean, error = self.difference(best.workflow, others[0].workflow, best.attribute, best.level, best.setting)
        gain = others[0].mean_absolute / best.mean_absolute - 1 if best.mean_absolute else 0.0
        sure = error is not None and bool(mean > beyond_chance(self.replicates) * error)
        return Winner(*where, others[0].workflow, gain, sure)


_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("setting", "workflow", "attribute", "level")),
        *((name, pa.int64()) for name in ("groups", "replicates")),
        *((name, pa.float64()) for name in ("bias", "bias_se", "mean_absolute", "median_absolute")),
        *((name, pa.float64()) for name in ("biased", "coverage", "seconds")),
    ]
)


def beyond_chance(replicates: int) -> float:
    """How many standard errors a mean of so many replicates may be off by chance (Student's t, both sides)."""
    return float(stdtrit(replicates - 1, (1 + CONFIDENCE) / 2)) if replicates > 1 else float("inf")
