"""One Spark for all tests here. They are skipped, and say so, where there is none; `make spark` has one."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gedp.confidential.engines.session import new_session, require_spark
from gedp.errors import Refused

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = "GEDP_REQUIRE_SPARK"


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    try:
        require_spark()
    except Refused as refused:
        if os.environ.get(REQUIRED):
            raise
        pytest.skip(f"no Spark: {refused} `make spark` runs these tests")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # workers unpickle classes of the tests
        with new_session("local[2,4]", {"spark.sql.shuffle.partitions": "3", "spark.speculation": "true"}) as opened:
            yield opened
