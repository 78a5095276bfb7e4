"""The audit of whole releases: promises are kept, and an audit that could not notice a broken one would fail here."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from tests.attacks.audit import CASES, Case, attainable_mu, audit, critical, edge_pair, effective_mu, noise_of
from tests.attacks.channels import (
    LAYOUTS,
    Features,
    Layout,
    Rearrangement,
    audit_layout,
    channels,
    in_order_of_values,
    in_public_order,
)

BY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
BY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
CHAIN = next(case for case in CASES if case.name == "chain")
HARDEST = LAYOUTS[-1]


def test_the_effective_mu_of_two_normals_is_their_distance() -> None:
    chance = np.random.default_rng(1)
    for mu in (0.3, 1.0, 2.0, 3.0):
        found = [effective_mu(chance.normal(size=2_000), chance.normal(mu, size=2_000)) for _ in range(50)]
        effective, errors = np.transpose(found)
        assert abs(effective.mean() - mu) < 4 * errors.mean() / np.sqrt(50)
        assert effective.std(ddof=1) == pytest.approx(errors.mean(), rel=0.4)


def test_no_statistic_of_two_normals_exceeds_their_distance() -> None:
    """A statistic that throws away what it knows, or stretches it, changes the area under the curve one way only."""
    chance = np.random.default_rng(2)
    zeros, ones = chance.normal(size=50_000), chance.normal(2, size=50_000)
    best, _ = effective_mu(zeros, ones)
    assert effective_mu(np.exp(3 * zeros), np.exp(3 * ones))[0] == pytest.approx(best, abs=1e-12)
    for worse in (np.round, np.sign, np.abs):
        assert effective_mu(worse(zeros), worse(ones))[0] < best - 0.01


def test_the_attainable_mu_of_equal_groups_is_theirs() -> None:
    assert attainable_mu(np.full(10, 4.0)) == pytest.approx(2)
    assert 1 < attainable_mu(np.array([1.0, 4.0] * 100)) < 2


@BY_CASE
def test_pairs_of_worlds_are_close_and_at_the_edge(case: Case) -> None:
    pairs = list(product(case.attributes, case.sizes))
    assert pairs
    for attribute, size in pairs:
        unit, protection = float(attribute.unit), attribute.protection
        low, high = edge_pair(attribute, size)
        assert protection.is_close(low * unit, high * unit)
        assert abs(float(protection.psi.distance(low * unit, high * unit))) > 0.995 * protection.gamma


def test_the_audit_would_notice_5_percent_too_little_noise_by_calculation() -> None:
    """For two normals the standard error is known, so the power is: 1 in 10,000 of such faults would be missed."""
    chance = np.random.default_rng(3)
    _, error = effective_mu(chance.normal(size=40_000), chance.normal(CHAIN.promised / 0.95, size=40_000))
    assert norm.sf(critical() - (CHAIN.promised / 0.95 - CHAIN.promised) / error) > 0.9999


def test_no_attacker_of_the_whole_chain_exceeds_the_promise() -> None:
    assert not audit(CHAIN).is_broken


@pytest.mark.parametrize("case", [case for case in CASES if case.spend], ids=lambda case: case.name)
def test_everybody_pays_the_whole_pool_by_individual_accounting(case: Case) -> None:
    """Giants for sums, small ones for second answers: the noise as published leaves each within 5% of the promise."""
    found = audit(replace(case, groups=300))
    assert 0.95 * found.promised < found.attainable <= found.promised
    assert not found.is_broken


@pytest.mark.slow
@BY_CASE
def test_no_attacker_exceeds_the_promise(case: Case) -> None:
    found = audit(case)
    assert not found.is_broken, f"{found.effective:.4f} ± {found.error:.4f} where {found.promised:.4f} was promised"


@pytest.mark.slow
@BY_CASE
def test_too_little_noise_is_noticed(case: Case) -> None:
    with noise_of(case.notices):
        assert audit(case).is_broken


def test_a_feature_that_depends_on_the_world_is_noticed_and_one_of_chance_is_not() -> None:
    chance = np.random.default_rng(4)
    seen: list[tuple[int, Features]] = [
        (
            number,
            {
                "constant": "a",
                "unique": str(place),
                "coin": str(chance.integers(2)),
                "noise": float(chance.normal()),
                "leaks": str(number),
                "leaks now and then": str(number and chance.random() < 0.95),
                "absent": "b",
                "shifted": float(chance.normal(9 * number)),
                **({"present": "b"} if number else {}),
            },
        )
        for place, number in enumerate(chance.permutation(np.repeat([0, 1], 30)).tolist())
    ]
    found = {channel.feature for channel in channels(seen)}
    assert found == {"leaks", "leaks now and then", "shifted", "present"}


def test_nothing_but_noise_depends_on_the_values_in_answers_from_the_hardest_layout() -> None:
    """Whole releases, with microdata and report, of this and all other layouts are in the long tests."""
    assert audit_layout(HARDEST, answers_only=True) == []


@pytest.mark.slow
@BY_LAYOUT
def test_nothing_in_a_release_but_its_noise_depends_on_the_values(layout: Layout) -> None:
    assert audit_layout(layout) == []


@pytest.mark.slow
@pytest.mark.parametrize(("rearranged", "tells"), [(in_order_of_values, True), (in_public_order, False)])
def test_rows_in_the_order_of_values_are_noticed_and_rows_in_public_order_are_not(
    rearranged: Rearrangement, tells: bool
) -> None:
    found = {channel.feature for channel in audit_layout(LAYOUTS[1], rearranged)}
    assert ("identity.parquet: order" in found) == tells
    assert ("microdata.parquet: order" in found) == tells
    assert bool(found) == tells
