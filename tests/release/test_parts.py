"""A release whose establishments are in parts, as Spark writes them, is read like any other."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp.completing import complete
from gedp.confidential.engines import Draw, Results
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError
from gedp.microdata import fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Attribute, Closeness, Data, Policy, Query
from gedp.release import ReleaseFolder, TamperedReleaseError, read_release
from gedp.release.manifest import part_name
from gedp.release.rehearsal import RehearsalWriter
from gedp.release.signing import make_key, sign, verify
from tests.helpers.specs import measured

EMP = {"emp": Attribute("emp", Closeness("sqrt", Decimal("0.5")))}
QUERIES = [
    Query("identity", ("establishment",), {"emp": Decimal(1)}),
    Query("county", ("cnty",), {"emp": Decimal(1)}),
]
TABLE = pa.table(
    {"key": list(range(30)), "cnty": [f"{i % 3:03}" for i in range(30)], "emp": [i * i for i in range(30)]}
)


class InParts(LocalEngine):
    """Leaves rows in two parts, as Spark does."""

    def draw(self, asked: Draw) -> Results:
        kept = Kept("rows")
        results = super().draw(replace(asked, writer=kept))
        folder, rows = asked.writer.identity_parts(), pa.concat_tables(kept.batches)
        folder.mkdir()
        for number, start in enumerate((0, 10)):
            pq.write_table(rows.slice(start, (10, 20)[number]), folder / part_name(number))
        return results


class Kept(RehearsalWriter):
    @property
    def batches(self) -> list[pa.Table]:
        return self._batches


def released(folder: Path, engine: type[LocalEngine] = InParts, *, replace: bool = False) -> ReleaseFolder:
    table = open_table(engine(TABLE), Data("x", ("cnty",), "key", synthetic=True), EMP)
    return measured(table, Policy(EMP, Decimal(10)), QUERIES, out=folder, entropy=SeededEntropy(9), replace=replace)


def test_a_release_in_parts_is_read_like_any_other(tmp_path: Path) -> None:
    one, parts = released(tmp_path / "one", LocalEngine), released(tmp_path / "parts")
    assert json.loads((tmp_path / "parts/manifest.json").read_text("utf-8"))["format"] == 8
    assert parts.manifest.identity_files == [f"identity.parquet/part-0000{number}.parquet" for number in (0, 1)]
    again = read_release(tmp_path / "parts")
    assert again.identity().equals(one.identity())
    assert again.answers("county").equals(one.answers("county"))
    assert fit_microdata(again).fits["emp"].values.tolist() == fit_microdata(one).fits["emp"].values.tolist()
    complete(again)
    public = make_key(tmp_path / "key")
    sign(again, tmp_path / "key")
    verify(again.folder, public)


def test_a_release_in_parts_can_be_replaced(tmp_path: Path) -> None:
    for engine in (InParts, InParts, LocalEngine, InParts):
        released(tmp_path / "out", engine, replace=True)
        read_release(tmp_path / "out").identity()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("change", ["gone", "altered", "more", "beside", "elsewhere"])
def test_parts_that_are_not_as_released_are_refused(tmp_path: Path, change: str) -> None:
    folder = released(tmp_path / "out").folder
    manifest, part = folder / "manifest.json", folder / "identity.parquet" / part_name(1)
    content = json.loads(manifest.read_text("utf-8"))
    files = content["files"]
    if change == "gone":
        part.unlink()
    elif change == "altered":
        pq.write_table(pq.read_table(part).slice(1), part)
    elif change == "more":
        del files["identity.parquet/part-00000.parquet"]
    elif change == "beside":
        files["identity.parquet"] = "0" * 64
    else:
        files["identity.parquet/../part-00002.parquet"] = "0" * 64
    manifest.write_text(json.dumps(content), "utf-8")
    with pytest.raises((FaultsError, TamperedReleaseError)):
        read_release(folder).identity()
