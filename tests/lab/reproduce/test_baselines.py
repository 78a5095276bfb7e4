"""What the paper says of other methods, on the demonstration state."""

from pathlib import Path

import pytest

from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.items.baselines import ITEM
from gedp_lab.reproduce.results import AGREES

pytest.importorskip("highspy")


@pytest.mark.slow
def test_suppression_is_safe_alone_and_opened_by_a_second_publisher(tmp_path: Path) -> None:
    found = ITEM.run(Context(tmp_path, replicates=3))
    outcomes = {each.text: each.outcome for each in found.claims}
    assert [text for text, outcome in outcomes.items() if outcome == AGREES and "second" in text.lower()]
    assert outcomes["EZS noise underprotects small cells"] == AGREES
    assert {"baselines", "baselines-suppression"} == set(found.data)
    assert all(text for table in found.tables for row in table.rows for text in row)
