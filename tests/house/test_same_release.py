"""The same table, spec and seed give the same release, whatever moves inside the program."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.helpers.demonstration import Demonstration
from tests.helpers.runs import gedp
from tests.house.same_release import write_paper_policy

#: Every value goes through correctly rounded operations alone, so that these hold on any machine.
TABLES = {
    "tables/county x naics5.csv": "251f8b675eb0e761b44cfe3a3f75745ba414959ba403c8e8aabc43d71310c22b",
    "tables/county.csv": "232cb34f97d2b57199b6e6123aa92dd59632bb6c6822ae41a920aace8fd12e82",
    "tables/naics5.csv": "cbdf2b62f8c4398e7365cd168f82a75245675849b91eba9dddc718328d1a47ce",
    "tables/state.csv": "c83e0f847ecdcf27f76979c930191a456c2cfeadb70654e42d86f8c07c66ac15",
}
IDENTITY = "91fcad43371bb2a78a4e90dd3f3820b4355bdbbdbbf5818541575cfbab7e38f5"
#: The fit goes through linear algebra, whose last digits are the machine's.
MICRODATA = {"m1emp": 701.6330866116668, "wage": 46598782.47021036}


@pytest.fixture(scope="module")
def release(demonstration: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = demonstration.copied_to(tmp_path_factory.mktemp("seeded") / "demo")
    spec = write_paper_policy(folder)
    ended = gedp("run", str(spec), "--seed", "1", "--out", str(folder / "release"), folder=folder)
    assert ended.code == 0, ended.err
    return folder / "release"


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_a_seeded_release_are_what_they_were(release: Path, name: str) -> None:
    assert hashlib.sha256((release / name).read_bytes()).hexdigest() == TABLES[name]


def test_the_establishments_of_a_seeded_release_are_what_they_were(release: Path) -> None:
    digest = hashlib.sha256()
    for row in pq.read_table(release / "identity.parquet").to_pylist():
        digest.update(repr(sorted(row.items())).encode())
    assert digest.hexdigest() == IDENTITY


def test_the_microdata_of_a_seeded_release_are_what_they_were(release: Path) -> None:
    table = pq.read_table(release / "microdata.parquet")
    for name, expected in MICRODATA.items():
        values = table[name].to_numpy()
        assert np.sum(values * np.cos(np.arange(len(values)))) == pytest.approx(expected, rel=1e-6)
