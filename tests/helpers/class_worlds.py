"""Small tables by classes: everything that is drawn about them, in whole steps, after identity answers as told.

The real code plans, counts and adds up. Where it would take noise it is asked for a size, and gets none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from typing import Any, cast

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray, IntArray, label_codes
from gedp.confidential.answering import draw_answers
from gedp.confidential.engines import Draw, Results
from gedp.confidential.limits import psi_mechanisms
from gedp.confidential.measures import measures_of
from gedp.confidential.preparing import Prepared
from gedp.confidential.table import ConfidentialTable, FinestCells, PublicCodes
from gedp.neighbors.estimates import ZETA
from gedp.noise.entropy import SeededEntropy
from gedp.passes import Batch, PartialResults, Pass
from gedp.passes.lookup import make_lookup
from gedp.policy import Attribute, Spec, make_spec, price
from tests.individual.worlds import Kept, recorded

Record = Mapping[str, int]  # in units, by attribute


@dataclass(frozen=True)
class World:
    """The public groups of some establishments, what is asked about them, and what identity answers said."""

    groups: Sequence[str]
    attributes: Mapping[str, Mapping[str, Any]]
    classes: Mapping[str, Mapping[str, Any]]
    query: Mapping[str, Any]  # with prices
    told: Mapping[str, Sequence[float]] = field(default_factory=dict)  # by attribute: values as answered, not ψ of them
    first: float = 4  # μ of the identity answers
    combinations: Mapping[str, str] = field(default_factory=dict)

    def spec(self) -> Spec:
        identity = [{"name": "identity", "by": "establishment", "mu": dict.fromkeys(self.told, self.first)}]
        total = [{"name": "all", "by": [], "mechanism": "psi", "mu": {next(iter(self.attributes)): 1}}]
        return make_spec(
            data={"public": ["g"], "synthetic": True},
            attributes=self.attributes,
            classes=self.classes,
            combinations=self.combinations,
            budget={"mu": 1000},
            queries=[*(identity if self.told else total), {"name": "classes", **self.query}],
        )

    @property
    def of_row(self) -> CodeArray:
        return label_codes(self.groups)[1]

    def cells(self) -> FinestCells:
        labels, of_row = label_codes(self.groups)
        counts = np.bincount(of_row, minlength=len(labels))
        codes = {"g": np.arange(len(labels), dtype=np.int32)}
        return FinestCells(counts, make_lookup({}, {}, of_row, len(labels)), codes, {"g": labels})


@dataclass(frozen=True)
class Drawn:
    """What noise was added to, in whole steps, the noise in steps, and the whole table: for everything asked for."""

    steps: Mapping[str, IntArray]
    scales: Mapping[str, FloatArray]
    certain: Mapping[str, list[float]]  # what was answered without noise

    def squared_distance(self, other: "Drawn", asked: str) -> Fraction:
        """How far two are apart, in squared units of noise, exactly; their noise must be the same."""
        assert np.array_equal(self.scales[asked], other.scales[asked])
        assert self.certain[asked] == other.certain[asked]
        return sum(
            (
                (Fraction(int(one) - int(two)) / Fraction(float(scale))) ** 2
                for one, two, scale in zip(self.steps[asked], other.steps[asked], self.scales[asked], strict=True)
                if one != two
            ),
            Fraction(0),
        )


@dataclass(frozen=True)
class _Engine:
    """Rows in memory, in one batch; identity answers come out as told."""

    batch: Batch
    told: pa.RecordBatch

    def reduce(self, run: Pass) -> PartialResults:
        return run(self.batch)

    def draw(self, asked: Draw) -> Results:
        assert asked.of_drawn is not None
        drawn = Batch({}, {}, self.told, self.batch.rows, self.batch.cells)
        return Results(asked.of_rows(self.batch), asked.of_drawn(drawn))

    def require_unchanged(self) -> None:
        pass


def prepared_about(world: World, records: Sequence[Record], spec: Spec) -> Prepared:
    """These records before anything is drawn; identity answers will come out as told."""
    attributes = spec.policy.attributes
    amounts = {name: np.array([record[name] for record in records], dtype=np.int64) for name in attributes}
    columns = {}
    for name, values in world.told.items():
        columns[name + "__psi"] = attributes[name].protection.psi(np.asarray(values, dtype=np.float64))
        columns[name] = np.asarray(values, dtype=np.float64)
    told = pa.RecordBatch.from_arrays([pa.array(column) for column in columns.values()], list(columns))
    batch = Batch({}, amounts, pa.RecordBatch.from_arrays([], []), len(records), world.of_row)
    engine = cast(Any, _Engine(batch, told))
    table = ConfidentialTable(engine, spec.data, attributes, {}, {}, {}, PublicCodes(engine))
    cells = world.cells()
    return Prepared(table, spec, price(spec), psi_mechanisms(spec), cells, measures_of(spec, cells))


def drawn_about(world: World, records: Sequence[Record], spec: Spec | None = None) -> Drawn:
    """What is drawn about these records."""
    spec = spec or world.spec()
    writer = Kept()
    with recorded() as found:
        draw_answers(prepared_about(world, records, spec), cast(Any, writer), SeededEntropy(1), ZETA)
    answers = writer.answers["classes"].to_pandas()
    own = {asked: answers[answers["attribute"] == asked] for asked in spec.by_classes[0].asked}
    certain = {asked: rows["estimate"][rows["variance"] == 0].to_list() for asked, rows in own.items()}
    noisy = [asked for asked, rows in own.items() if (rows["variance"] > 0).any()]
    drawn = dict(zip(noisy, found[len(found) - len(noisy) :], strict=True))  # after what other queries drew
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    steps = {asked: drawn.get(asked, none)[0] for asked in own}
    scales = {asked: drawn.get(asked, none)[1] for asked in own}
    return Drawn(steps, scales, certain)


def all_records(domains: Mapping[str, Sequence[int]]) -> list[dict[str, int]]:
    """Every record with values of these domains."""
    return [dict(zip(domains, values, strict=True)) for values in product(*domains.values())]


def steps_between(records: Sequence[Record], attributes: Mapping[str, Attribute]) -> FloatArray:
    """How many steps any two records are apart: as many as the attribute that is furthest off."""
    found = np.zeros((len(records), len(records)))
    for name, attribute in attributes.items():
        values = np.array([record[name] for record in records]) * float(attribute.unit)
        found = np.maximum(found, attribute.protection.steps(values[:, None], values[None, :]))
    return found


def most_per_step(numbers: IntArray, steps: FloatArray) -> Fraction:
    """Of whole numbers that follow from records so many steps apart, the largest difference for each step."""
    moved = np.abs(numbers[:, None] - numbers[None, :])
    return max(Fraction(int(moved[steps == apart].max()), int(apart)) for apart in np.unique(steps) if apart)


def largest_moves(
    world: World, domains: Mapping[str, Sequence[int]], others: Sequence[Record], row: int = 0
) -> dict[str, Fraction]:
    """Over all pairs of records of one establishment, the largest squared distance of everything asked for.

    As a part of what was paid, k² times as much for k steps: 1 is the most that may be.
    """
    spec = world.spec()
    records = all_records(domains)
    steps = steps_between(records, spec.policy.attributes)
    tables = [[*others[:row], record, *others[row:]] for record in records]
    drawn = [drawn_about(world, table, spec) for table in tables]
    query = spec.by_classes[0]
    most = dict.fromkeys(query.asked, Fraction(0))
    for place, other in combinations(range(len(records)), 2):
        for asked, mu in query.mu.items():
            moved = drawn[place].squared_distance(drawn[other], asked) / (Fraction(mu) * int(steps[place, other])) ** 2
            most[asked] = max(most[asked], moved)
    return most


SQRT = {"psi": "sqrt", "gamma": 0.75}
SIGNED = {"psi": "sqrt", "gamma": 2, "signed": True}
LOG = {"psi": "log", "gamma": 0.4, "shift": 1}
HALVES = {"psi": "log", "gamma": 0.6, "unit": 0.5}  # no value is 0
SIZE = {"attribute": "x", "edges": [0, 1, 4, 8]}
PAY = {"attribute": "w", "edges": [0, 5]}
