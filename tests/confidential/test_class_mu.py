"""Sums by class: how well the worst neighbors are told apart by the likelihood ratio, beside the μ that was paid.

Every public group has one establishment, and is one replicate: in the one world its record is the first of a pair of
close ones, in the other the second, and all its attributes move at once. Identity answers come out as told, the same in
both worlds. The real code plans, adds up and draws.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

from gedp.confidential.answering import draw_answers
from gedp.noise.entropy import Entropy, SeededEntropy, SystemEntropy
from gedp.policy import class_parts
from gedp.release.estimates import ZETA
from tests.helpers import own_class_worlds
from tests.helpers.class_worlds import Record, World, close, prepared_about
from tests.helpers.effective import Told, effective_parts, replicates_in
from tests.individual.worlds import Kept

ATTRIBUTES = {"x": {"psi": "sqrt", "gamma": 0.75}, "w": {"psi": "log", "gamma": 0.4, "shift": 1}}
SIZE = {"attribute": "x", "edges": [0, 1000]}
#: x crosses an edge and goes as far as is close; w is above its bound before and after.
PAIR: tuple[Record, Record] = {"x": 999, "w": 10**7}, {"x": 1046, "w": 7 * 10**6}
TOLD = {"x": 1000.0, "w": 5000.0}


def _world(replicates: int, query: Mapping[str, Any]) -> World:
    told = {name: np.full(replicates, value).tolist() for name, value in TOLD.items()}
    groups = [f"{place:06}" for place in range(replicates)]
    return World(groups, ATTRIBUTES, {"size": SIZE}, {"by": ["g", "size"], **query}, told)


def by_prices(asked: str, record: Record, replicates: int, entropy: Entropy) -> tuple[Told, float]:
    """The answers about this record in every group, and the μ that was paid for them."""
    world, writer = _world(replicates, {"mu": {asked: 0.5}}), Kept()
    draw_answers(prepared_about(world, [record] * replicates, world.spec()), cast(Any, writer), entropy, ZETA)
    return _told(writer), 0.5


def by_individual_accounting(asked: str, record: Record, replicates: int, entropy: Entropy) -> tuple[Told, float]:
    """The same from a part of a pool."""
    world = _world(replicates, {"importance": {asked: 1}})
    spec = own_class_worlds.spec_of(world)
    job, writer = own_class_worlds.job_of(world, spec, [record] * replicates, entropy)
    with np.errstate(over="ignore", invalid="ignore"):
        job.draw()
    return _told(writer), class_parts(spec.class_queries[0], spec)[asked].mu


def _told(writer: Kept) -> Told:
    return replicates_in(writer.answers["classes"], entries=2)


ACCOUNTS = {"prices": by_prices, "individual accounting": by_individual_accounting}
SUMS = {"of the attribute that has the classes": "x", "of another attribute": "w"}


def effective(account: str, asked: str, replicates: int, entropy: Callable[[], Entropy]) -> tuple[float, float]:
    """The effective μ as a part of what was paid: of the noise as it is, and of noise that is 5% too small."""
    return effective_parts(lambda record: ACCOUNTS[account](asked, record, replicates, entropy()), PAIR)


def test_the_records_are_neighbors() -> None:
    assert close(_world(1, {"mu": {"x": 1}}).spec().policy.attributes)(*PAIR)


@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize("sums", SUMS)
def test_the_effective_mu_of_sums_is_what_was_paid(sums: str, account: str) -> None:
    """Within 1%, which is 3.5 standard errors; noise 5% too small is noticed."""
    as_it_is, too_small = effective(account, SUMS[sums], 60_000, lambda: SeededEntropy(3))
    assert 0.99 <= as_it_is <= 1.01 < 1.04 <= too_small


@pytest.mark.slow
@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize("sums", SUMS)
def test_the_effective_mu_of_sums_is_what_was_paid_with_random_numbers_of_the_system(sums: str, account: str) -> None:
    """Within 1%, which is 6.3 standard errors."""
    as_it_is, too_small = effective(account, SUMS[sums], 200_000, SystemEntropy)
    assert 0.99 <= as_it_is <= 1.01 < 1.04 <= too_small


if __name__ == "__main__":
    for sums, account in product(SUMS, ACCOUNTS):
        found = effective(account, SUMS[sums], 200_000, SystemEntropy)
        print(f"{sums}, {account}: {found[0]:.4f} of what was paid; noise 5% too small: {found[1]:.4f}")
