"""Evaluating a release by individual accounting: answers, both answers for establishments together, and microdata."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.helpers.runs import SYNTHETIC, gedp, write_case

WITHOUT_PRICES = (
    ('mu = 0.1\n\n[[queries]]\nname = "county"', '\n[[queries]]\nname = "county"'),
    ("mu = { emp = 0.2, wage = 0.1 }\n", ""),
    ('mu = { emp = 0.1 }\nmechanism = "psi"\n', "importance = { emp = 1 }\n"),
)


def test_a_release_without_prices_is_evaluated(tmp_path: Path) -> None:
    spec = write_case(tmp_path, SYNTHETIC, *WITHOUT_PRICES)
    assert gedp("run", spec.name, "--seed", "1", folder=tmp_path).code == 0
    assert gedp("microdata", "out", folder=tmp_path).code == 0
    ended = gedp("evaluate", "out", "--truth", "t.parquet", "--out", "found", folder=tmp_path)
    assert ended.code == 0, ended.err
    (file,) = (path for path in (tmp_path / "found").glob("*errors.parquet"))
    found = pq.read_table(file)
    assert found.num_rows > 0
    errors = [column for column in found.column_names if "absolute" in column]
    assert errors
    for column in errors:
        assert np.isfinite([error for error in found[column].to_pylist() if error is not None]).all()
