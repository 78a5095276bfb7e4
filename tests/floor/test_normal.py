"""How far intervals reach."""

from statistics import NormalDist

import pytest

from gedp.normal import normal_reach


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_an_interval_holds_a_normal_draw_as_often_as_its_confidence_says(confidence: float) -> None:
    reach, draw = normal_reach(confidence), NormalDist()
    assert draw.cdf(reach) - draw.cdf(-reach) == pytest.approx(confidence, abs=1e-12)
