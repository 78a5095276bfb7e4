"""The gain of individual accounting, on invented comparisons."""

from collections.abc import Sequence

import pytest

from gedp_lab.reproduce.claims import Check, Comparisons
from gedp_lab.reproduce.items.individual import (
    ATTRIBUTES,
    INDIVIDUAL,
    LEVELS,
    WORKFLOWS,
    at_every_level,
    gains,
    geometric_mean,
    ratio_table,
    ratios,
)
from tests.lab.reproduce.test_claims import invented


def found(part: float) -> Comparisons:
    errors = {name: [10.0, 12.0] for name in WORKFLOWS} | {INDIVIDUAL: [10.0 * part, 12.0 * part]}
    return {"RI": invented(errors, attributes=ATTRIBUTES, levels=list(LEVELS))}


def holds(checks: Sequence[Check]) -> set[bool]:
    return {check.holds for check in checks}


@pytest.mark.parametrize(("part", "together", "each"), [(0.65, True, True), (0.8, False, True), (0.95, False, False)])
def test_a_gain_is_one_if_it_is_large_enough(part: float, together: bool, each: bool) -> None:
    comparisons = found(part)
    assert ratios(comparisons, "RI", INDIVIDUAL, "wage") == pytest.approx([part] * len(LEVELS))
    assert holds(list(gains(comparisons, INDIVIDUAL, 0.70))) == {together}
    assert holds(list(at_every_level(comparisons, INDIVIDUAL, 0.90))) == {each}
    assert len(list(at_every_level(comparisons, INDIVIDUAL, 0.90))) == len(ATTRIBUTES) * len(LEVELS)
    rows = {row[0]: row[1:] for row in ratio_table(comparisons, "RI", "wage").rows}
    assert set(rows[INDIVIDUAL]) == {f"{part:.2f}"}
    assert set(rows["auto"]) == {"1.00"}


def test_the_mean_is_of_ratios() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([0.25, 1.0, 0.5]) == pytest.approx(0.5)
