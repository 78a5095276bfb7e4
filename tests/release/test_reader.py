"""A release that is not as it was released is not read."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gedp.errors import FaultsError, GedpError
from gedp.release import MANIFEST, TamperedReleaseError, read_release
from tests.helpers.runs import SYNTHETIC, spoil, write_case
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


def change_manifest(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def changed(out: Path) -> None:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        change(manifest)
        (out / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")

    return changed


@pytest.mark.parametrize(
    ("tamper", "error"),
    [
        (lambda out: spoil(out / "identity.parquet"), TamperedReleaseError),
        (lambda out: spoil(out / "tables" / "county.csv"), TamperedReleaseError),
        (lambda out: (out / "tables" / "county.parquet").unlink(), TamperedReleaseError),
        (lambda out: (out / "tables" / "county.parquet").write_bytes(b""), TamperedReleaseError),
        (change_manifest(lambda m: m["files"].update({"identity.parquet": "0" * 64})), TamperedReleaseError),
        (change_manifest(lambda m: m["files"].update({"identity.parquet": None})), FaultsError),
        (change_manifest(lambda m: m.pop("files")), FaultsError),
        (change_manifest(lambda m: m.update(files=[["a", "b"]])), FaultsError),
        (change_manifest(lambda m: m.update(format=1)), FaultsError),
        (lambda out: (out / MANIFEST).unlink(), FaultsError),
        (lambda out: (out / MANIFEST).write_text("[]", encoding="utf-8"), FaultsError),
        (lambda out: (out / MANIFEST).write_bytes((out / MANIFEST).read_bytes()[:-40]), FaultsError),
        (lambda out: (out / MANIFEST).write_bytes(b"\xff\xfe"), FaultsError),
        (shutil.rmtree, FaultsError),
    ],
)
def test_a_tampered_release_is_not_read(tamper: Callable[[Path], None], error: type[GedpError], tmp_path: Path) -> None:
    write_case(tmp_path, SYNTHETIC)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    read_release(tmp_path / "out")
    tamper(tmp_path / "out")
    with pytest.raises(error):
        read_release(tmp_path / "out")
