"""Small tables by classes, or of combinations, under individual accounting, after first answers as told."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np

from gedp.accounting.composition import exact
from gedp.confidential.individual import IndividualJob
from gedp.confidential.measures import measures_of
from gedp.confidential.mechanisms import psi_mechanism
from gedp.confidential.pools import AttributePool
from gedp.confidential.preparing import Prepared
from gedp.confidential.table import ConfidentialTable, PublicCodes
from gedp.confidential.varied import varied_psi
from gedp.neighbors.estimates import ZETA
from gedp.noise.entropy import Entropy
from gedp.policy import Spec, make_spec, pools, price
from gedp.progress import silent
from tests.helpers.class_worlds import Record, World
from tests.individual.worlds import Kept, Told, _Engine

FIRST = Decimal("0.6")  # μ of the first answers


def spec_of(world: World) -> Spec:
    """What is asked, with importances."""
    return make_spec(
        data={"public": ["g"], "id": "id", "synthetic": True},
        attributes=world.attributes,
        classes=world.classes,
        combinations=world.combinations,
        budget={"mu": 4},
        queries=[{"name": "groups", "by": ["g"], "importance": 0.5}, {"name": "classes", **world.query}],
    )


def job_of(world: World, spec: Spec, records: Sequence[Record], entropy: Entropy) -> tuple[IndividualJob, Kept]:
    """The job that answers about these records after first answers as told."""
    attributes, shares, writer = spec.policy.attributes, {}, Kept()
    for name, pool in pools(spec).items():
        first = psi_mechanism(attributes[name], exact(FIRST))
        omega = attributes[name].protection.psi(np.asarray(world.told[name], dtype=np.float64))
        told = Told(first.psi, first.unit, first.grid, omega)
        varied = varied_psi(attributes[name], pool.mu_squared - exact(FIRST) ** 2)
        shares[name] = AttributePool(pool.mu_squared, FIRST, told, varied)
    amounts = {name: np.array([record[name] for record in records]) for name in attributes}
    ids = [f"{row:06}" for row in range(len(records))]
    engine = cast(Any, _Engine(amounts, {"g": list(world.groups), "id": ids}, world.of_row))
    table = ConfidentialTable(engine, spec.data, attributes, {}, {}, {}, PublicCodes(engine))
    cells = world.cells()
    measures = measures_of(spec, cells)
    prepared = Prepared(table, spec, price(spec), {}, cells, measures, shares)
    return IndividualJob(prepared, entropy, ZETA, cast(Any, writer), silent), writer


def squared_distance(one: Sequence[Any], other: Sequence[Any]) -> Fraction:
    """In squared units of noise, which must be the same."""
    total = Fraction(0)
    for (steps, scales), (others, same) in zip(one, other, strict=True):
        assert np.array_equal(scales, same)
        for place in np.flatnonzero(steps.ravel() != others.ravel()):
            moved = int(steps.ravel()[place]) - int(others.ravel()[place])
            total += (Fraction(moved) / Fraction(float(scales[place]))) ** 2
    return total
