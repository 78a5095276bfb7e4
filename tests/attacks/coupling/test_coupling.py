"""Nothing but noise tells neighboring tables apart, and noise by no more than was paid for: exactly, not by chance."""

import pytest

from tests.attacks.coupling.couple import in_a_folder
from tests.attacks.coupling.planted import PLANTED, where_found
from tests.attacks.coupling.worlds import MATRIX, make_world

#: Worlds that everybody's tests couple; .ci/run couples every combination, `make fuzz` new ones.
WORLDS, AT_A_TIME = 60, 5
STRIDE = 29  # coprime to the number of combinations


@pytest.mark.parametrize("start", range(0, WORLDS, AT_A_TIME))
def test_neighboring_tables_give_the_same_release_at_a_distance_that_is_paid_for(start: int) -> None:
    """Takes some seconds: ten whole releases."""
    ratios = [in_a_folder(make_world(STRIDE * number)).ratio for number in range(start, start + AT_A_TIME)]
    assert len(ratios) == AT_A_TIME
    assert 0 < max(ratios) <= 1


def test_the_worlds_of_the_tests_have_all_there_is_to_combine() -> None:
    taken = [MATRIX[STRIDE * number % len(MATRIX)] for number in range(WORLDS)]
    for place, every in enumerate(zip(*MATRIX, strict=True)):
        assert {each[place] for each in taken} == set(every)
    for pair in (slice(1, 3), slice(1, 6, 4)):  # kinds with accounting, and with what is protected
        assert {each[pair] for each in taken} == {each[pair] for each in MATRIX}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    assert where_found(name)
