"""The SDMX of a package before a reader that others wrote: pysdmx, with the official schemas of SDMX-ML 2.1."""

import csv
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import gedp
from tests.publication.test_classes import SIZES, released

pytest.importorskip("pysdmx", reason="pysdmx is not installed: the extra sdmx has it")

import pysdmx.io
from pysdmx.model import Codelist, DataStructureDefinition, Schema

NUMBERS = {
    "OBS_VALUE": "estimate",
    "STD_ERROR": "std_error",
    "CV": "cv",
    "CI_LOW": "ci_low",
    "CI_HIGH": "ci_high",
    "ESTABLISHMENTS": "establishments",
}


@pytest.fixture(scope="module", params=["groups", "classes"])
def package(request: pytest.FixtureRequest, release: gedp.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of public groups with odd names, and one by classes with figures that are withheld."""
    folder = tmp_path_factory.mktemp("sdmx")
    if request.param == "groups":
        gedp.publish(release, folder / "p", ratios=["pay = wage / jobs"], formats=["sdmx", "parquet"])
    else:
        made, quality = released(folder, SIZES), gedp.Quality(withheld_above=0.2)
        gedp.publish(made, folder / "p", formats=["sdmx", "parquet"], quality=quality)
    return folder / "p"


def test_the_structure_is_valid_and_describes_every_table(package: Path) -> None:
    message = pysdmx.io.read_sdmx(package / "sdmx/structure.xml", validate=True)
    structures = [each for each in message.structures or () if isinstance(each, DataStructureDefinition)]
    tables = json.loads((package / "publication.json").read_text(encoding="utf-8"))["tables"]
    assert [[each.id for each in made.components.dimensions] for made in structures] == [
        [*map(str.upper, table["by"]), "INDICATOR"] for table in tables
    ]


def test_the_data_are_read_by_their_structure_and_have_no_other_codes(package: Path) -> None:
    structure = package / "sdmx/structure.xml"
    lists = pysdmx.io.read_sdmx(structure, validate=True).structures or ()
    codes = {each.id.removeprefix("CL_"): {code.id for code in each} for each in lists if isinstance(each, Codelist)}
    tables = json.loads((package / "publication.json").read_text(encoding="utf-8"))["tables"]
    assert len(tables) > 1
    for table in tables:
        (read,) = pysdmx.io.get_datasets(package / table["files"]["sdmx"], structure)
        assert isinstance(read.structure, Schema)
        assert {each.id for each in read.structure.components} == set(read.data.columns)
        with (package / table["files"]["sdmx"]).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))  # pysdmx 1.21 takes codes of digits for numbers: 001 becomes 1
        assert set(lines[0]) == {"DATAFLOW", *read.data.columns}
        for name in (*map(str.upper, table["by"]), "INDICATOR", "QUALITY"):
            assert {line[name] for line in lines} <= {*codes[name], ""}, name
        published = pq.read_table(package / table["files"]["parquet"])
        for sdmx, ours in NUMBERS.items():
            texts, numbers = list(read.data[sdmx]), published[ours].to_pylist()
            assert [_number(text) for text in texts] == numbers, (table["name"], sdmx)


def _number(text: object) -> float | None:
    value = float(str(text)) if str(text) not in ("", "None", "<NA>") else math.nan
    return None if math.isnan(value) else value
