"""Units of several records with Spark: planned and charged as on one machine, wherever their records are."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gedp
from tests.confidential.test_units import FIRMS, QUERIES, SIZES, TABLE, spec_with

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def test_units_whose_records_are_with_several_workers_are_hidden_as_one(session: Any, tmp_path: Path) -> None:
    spec = spec_with(queries=[*QUERIES, SIZES])
    frame = session.createDataFrame(TABLE).repartition(3)
    release = gedp.run(spec, frame, out=tmp_path / "spark", ledger=tmp_path / "ledger", answers_only=True)
    here = gedp.run(spec, TABLE, out=tmp_path / "here", seed=1, answers_only=True)
    rows = release.table("identity").to_arrow()
    assert rows.num_rows == TABLE.num_rows
    price = (0.5 / rows["jobs__sigma2"].to_numpy()) ** 2
    firms = np.array(rows["firm"].to_pylist())
    pool = 4 - float(release.manifest.individual["jobs"].mu) ** 2
    assert max(float(price[firms == firm].sum()) for firm in set(FIRMS)) <= pool
    noise = [each.table("total").to_arrow()["std_error"][0].as_py() for each in (release, here)]
    assert noise[0] == pytest.approx(noise[1], rel=0.5)  # other first answers, the same units
    counts = [pa.compute.max(each.table("sizes").to_arrow()["std_error"]).as_py() for each in (release, here)]
    assert counts[0] == pytest.approx(counts[1], rel=0.5)
