"""The same table, spec and seed give the same release by Spark, whatever moves inside the program."""

from pathlib import Path
from typing import Any

import pytest

from tests.house.releases import DIVIDED, make_spark
from tests.house.same_release import HOW, by_spark, differing, pins_of, read_pins

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]

PINS = read_pins()


@pytest.mark.parametrize("case", DIVIDED)
def test_a_seeded_release_by_spark_is_what_it_was(session: Any, case: str, tmp_path: Path) -> None:
    make_spark(case, tmp_path / "made", session)
    found = differing(PINS[by_spark(case)], pins_of(tmp_path / "made"))
    assert not found, f"{by_spark(case)}: {found}. {HOW}"
