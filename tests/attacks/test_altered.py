"""A release that was altered is refused with a reason; a signature tells the public who made it."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

from gedp.errors import GedpError
from gedp.release import read_release
from tests.helpers.runs import gedp, small_table, write_case


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release, its microdata, report and ledger, and a pair of keys."""
    folder = tmp_path_factory.mktemp("made")
    write_case(folder)
    assert gedp("run", "spec.toml", folder=folder).code == 0
    assert gedp("sign", "--new-key", "publisher.key", folder=folder).code == 0
    assert gedp("sign", "out", "--key", "publisher.key", folder=folder).code == 0
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def consistent(folder: Path) -> None:
    """Makes the manifest agree with the files again, as a forger would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    for name in manifest["files"]:
        if (folder / name).exists():
            manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest), encoding="utf-8")


def edited(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def tenfold(table: pa.Table) -> pa.Table:
    place = table.column_names.index("estimate")
    return table.set_column(place, "estimate", pa.compute.multiply(table["estimate"], 10.0))


def without(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([name])


def replaced(name: str, values: Callable[[int], pa.Array]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.column_names.index(name), name, values(table.num_rows))


FORGERIES: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "no keys": ("tables/county.parquet", without("cnty")),
    "no variance": ("tables/county.parquet", without("variance")),
    "texts for numbers": ("tables/county.parquet", replaced("estimate", lambda n: pa.array(["x"] * n))),
    "whole numbers": ("tables/county.parquet", replaced("estimate", lambda n: pa.array([1] * n))),
    "nulls": ("tables/county.parquet", replaced("estimate", lambda n: pa.nulls(n, pa.float64()))),
    "NaN": ("tables/county.parquet", replaced("variance", lambda n: pa.array([float("nan")] * n))),
    "negative variances": ("tables/county.parquet", replaced("variance", lambda n: pa.array([-1.0] * n))),
    "another mechanism": ("tables/county.parquet", replaced("mechanism", lambda n: pa.array(["dice"] * n))),
    "another attribute": ("tables/county.parquet", replaced("attribute", lambda n: pa.array(["emp"] * n))),
    "no rows": ("tables/county.parquet", lambda table: table.slice(0, 0)),
    "rows twice": ("tables/county.parquet", lambda table: pa.concat_tables([table, table])),
    "a column more": ("tables/county.parquet", lambda table: table.append_column("x", table["estimate"])),
    "no psi": ("identity.parquet", without("emp__psi")),
    "no public column": ("identity.parquet", without("naics")),
    "no id": ("identity.parquet", without("key")),
    "psi as text": ("identity.parquet", replaced("emp__psi", lambda n: pa.array(["x"] * n))),
    "null codes": ("identity.parquet", replaced("cnty", lambda n: pa.nulls(n, pa.string()))),
    "fewer rows": ("identity.parquet", lambda table: table.slice(1)),
    "other establishments": ("identity.parquet", replaced("cnty", lambda n: pa.array(["999"] * n))),
}


@pytest.mark.parametrize("what", FORGERIES)
@pytest.mark.parametrize("command", ["tabulate --by cnty", "microdata --out m.parquet", "report --out r.html"])
def test_a_forged_but_consistent_release_gets_one_clear_error(what: str, command: str, copy: Path) -> None:
    name, change = FORGERIES[what]
    for made in ("microdata.parquet", "microdata.json"):
        (copy / "out" / made).unlink()
    edited(copy / "out" / name, change)
    consistent(copy / "out")
    ended = gedp(*command.split(), "out", folder=copy)
    assert (ended.code, ended.err.count("gedp: "), "Traceback" in ended.err) == (2, 1, False), ended


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet", b"\x00" * 4096])
def test_a_file_that_is_no_parquet_gets_one_clear_error(content: bytes, copy: Path) -> None:
    for name in ("tables/county.parquet", "identity.parquet", "maps/none.csv"):
        if (copy / "out" / name).exists():
            (copy / "out" / name).write_bytes(content)
    consistent(copy / "out")
    ended = gedp("tabulate", "out", "--by", "cnty", folder=copy)
    assert (ended.code, "cannot be read as Parquet" in ended.err) == (2, True), ended


def test_a_table_is_not_used_unless_it_is_listed(copy: Path) -> None:
    """With an empty list of files, a table multiplied by 10 used to pass."""
    path = copy / "out" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, "files": {}}), encoding="utf-8")
    edited(copy / "out" / "tables" / "county.parquet", tenfold)
    ended = gedp("tabulate", "out", "--by", "cnty", folder=copy)
    assert ended.code == 2
    assert "files.tables/county.parquet: it is not listed" in ended.err


@pytest.mark.parametrize("path", ["../spec.toml", "/etc/hostname", "tables/../../spec.toml", "tables//county.csv"])
def test_nothing_outside_the_folder_is_read(path: str, copy: Path) -> None:
    manifest = json.loads((copy / "out" / "manifest.json").read_text("utf-8"))

    def elsewhere(content: dict[str, Any]) -> None:
        (copy / "out" / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(GedpError, match="manifest"):
            read_release(copy / "out")

    elsewhere({**manifest, "files": {**manifest["files"], path: "0" * 64}})
    queries = [{**query, "file": path} for query in manifest["queries"]]
    elsewhere({**manifest, "queries": queries})


def test_the_ledger_tells_whether_a_folder_is_the_release_that_it_sealed(copy: Path) -> None:
    ended = gedp("ledger", "verify", "t.parquet.ledger", "--release", "out", folder=copy)
    assert (ended.code, "is the one that was sealed" in ended.out) == (0, True)
    edited(copy / "out" / "tables" / "county.parquet", tenfold)
    ended = gedp("ledger", "verify", "t.parquet.ledger", "--release", "out", folder=copy)
    assert (ended.code, "not as released: tables/county.parquet" in ended.err) == (1, True)
    consistent(copy / "out")
    read_release(copy / "out")
    ended = gedp("ledger", "verify", "t.parquet.ledger", "--release", "out", folder=copy)
    assert (ended.code, "not the one that the ledger sealed" in ended.err) == (1, True)
    write_case(copy / "other", table=small_table(30))
    decided = ("--decided-by", "the registrar", "--reason", "other establishments with the same keys")
    assert gedp("run", "spec.toml", "--answers-only", *decided, folder=copy / "other").code == 0
    ended = gedp("ledger", "verify", "t.parquet.ledger", "--release", "other/out", folder=copy)
    assert (ended.code, "is not in the ledger" in ended.err) == (1, True)


def test_a_signature_covers_every_file(copy: Path) -> None:
    verify = ("verify", "out", "--key", "publisher.key.pub")
    ended = gedp(*verify, folder=copy)
    assert (ended.code, "as the owner of publisher.key.pub signed it" in ended.out) == (0, True), ended
    files = [path for path in (copy / "out").rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        ended = gedp(*verify, folder=copy)
        assert (ended.code in (1, 2), "Traceback" in ended.err) == (True, False), path
        path.unlink()
        assert gedp(*verify, folder=copy).code in (1, 2), path
        path.write_bytes(content)
    assert gedp(*verify, folder=copy).code == 0


@pytest.mark.parametrize("name", ["tables/county_final.csv", "index.html", ".hidden"])
def test_a_file_that_nobody_released_is_noticed(name: str, copy: Path) -> None:
    (copy / "out" / name).write_text("believe me")
    for arguments in ("verify out --key publisher.key.pub", "ledger verify t.parquet.ledger --release out"):
        ended = gedp(*arguments.split(), folder=copy)
        assert (ended.code, name in ended.err) == (1, True), ended


def test_a_link_in_the_place_of_a_file_is_not_as_signed(copy: Path) -> None:
    (copy / "out" / "report.html").rename(copy / "elsewhere.html")
    (copy / "out" / "report.html").symlink_to(copy / "elsewhere.html")
    assert gedp("verify", "out", "--key", "publisher.key.pub", folder=copy).code == 1


def test_a_consistent_forgery_is_not_signed(copy: Path) -> None:
    edited(copy / "out" / "tables" / "county.parquet", tenfold)
    consistent(copy / "out")
    assert gedp("verify", "out", folder=copy).code == 0  # consistent, which is all that checksums tell
    ended = gedp("verify", "out", "--key", "publisher.key.pub", folder=copy)
    assert (ended.code, "not as signed" in ended.err) == (1, True)
    assert gedp("sign", "--new-key", "forger.key", folder=copy).code == 0
    assert gedp("sign", "out", "--key", "forger.key", folder=copy).code == 0
    ended = gedp("verify", "out", "--key", "publisher.key.pub", folder=copy)
    assert (ended.code, "was not signed with the key" in ended.err) == (1, True)


def test_a_report_or_microdata_that_was_added_later_is_not_signed(copy: Path) -> None:
    (copy / "out" / "report.html").unlink()
    assert gedp("sign", "out", "--key", "publisher.key", folder=copy).code == 0
    (copy / "out" / "report.html").write_text("believe me")
    ended = gedp("verify", "out", "--key", "publisher.key.pub", folder=copy)
    assert (ended.code, "not as signed: report.html" in ended.err) == (1, True)


def test_what_is_made_anew_loses_its_signature(copy: Path) -> None:
    assert gedp("report", "out", "--title", "Other", folder=copy).code == 0
    ended = gedp("verify", "out", "--key", "publisher.key.pub", folder=copy)
    assert (ended.code, "The release is not signed" in ended.err) == (2, True)
    assert gedp("sign", "out", "--key", "publisher.key", folder=copy).code == 0
    assert gedp("microdata", "out", "--whole", folder=copy).code == 0
    assert not (copy / "out" / "SHA256SUMS.sig").exists()


def test_the_public_can_check_without_this_program(copy: Path) -> None:
    """With openssl and sha256sum, where they are installed; the commands are those of the report."""
    if not (shutil.which("openssl") and shutil.which("sha256sum")):
        pytest.skip("openssl or sha256sum is not installed")
    page = (copy / "out" / "report.html").read_text("utf-8")
    command = (
        "openssl pkeyutl -verify -pubin -inkey ../publisher.key.pub -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig && "
        "sha256sum --check SHA256SUMS"
    )
    assert command.replace("&", "&amp;") in page

    def check() -> int:
        return subprocess.run(command, shell=True, cwd=copy / "out", capture_output=True, check=False).returncode

    assert check() == 0
    (copy / "out" / "tables" / "county.csv").write_text("other")
    assert check() != 0


EMPTY_KEY = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize("content", [b"", b"not a key", EMPTY_KEY])
def test_what_is_no_key_gets_one_clear_error(content: bytes, copy: Path) -> None:
    (copy / "bad").write_bytes(content)
    for arguments in ("sign out --key bad", "verify out --key bad", "sign out --key absent"):
        ended = gedp(*arguments.split(), folder=copy)
        assert (ended.code, ended.err.startswith("gedp: ")) == (2, True), ended
    assert gedp("verify", "out", "--key", "publisher.key", folder=copy).code == 2  # the private one


def test_a_key_may_have_a_passphrase(copy: Path) -> None:
    (copy / "words").write_text("correct horse\nnot this\n")
    (copy / "wrong").write_text("battery staple\n")
    assert gedp("sign", "--new-key", "locked", "--passphrase-file", "words", folder=copy).code == 0
    assert b"ENCRYPTED" in (copy / "locked").read_bytes()
    for more, said in (([], "it has a passphrase"), (["--passphrase-file", "wrong"], "the passphrase is wrong")):
        ended = gedp("sign", "out", "--key", "locked", *more, folder=copy)
        assert (ended.code, said in ended.err) == (2, True), ended
    assert gedp("sign", "out", "--key", "locked", "--passphrase-file", "words", folder=copy).code == 0
    assert gedp("verify", "out", "--key", "locked.pub", folder=copy).code == 0


def test_keys_are_private_and_never_replaced(made: Path) -> None:
    assert (made / "publisher.key").stat().st_mode & 0o077 == 0
    before = (made / "publisher.key").read_bytes()
    assert gedp("sign", "--new-key", "publisher.key", folder=made).code == 2
    assert (made / "publisher.key").read_bytes() == before


@pytest.mark.parametrize("name", ["manifest.json", "tables/county.csv", "identity.parquet", "microdata.json"])
def test_a_device_in_the_place_of_a_file_is_not_read(name: str, copy: Path) -> None:
    """It would never end."""
    (copy / "out" / name).unlink()
    (copy / "out" / name).symlink_to("/dev/zero")
    ended = gedp("tabulate", "out", "--by", "cnty", folder=copy)
    assert (ended.code in (1, 2), ended.err.startswith("gedp: ")) == (True, True), ended


def test_a_spec_that_never_ends_is_not_read(tmp_path: Path) -> None:
    ended = gedp("explain", "/dev/zero", folder=tmp_path)
    assert (ended.code, "too long for a spec" in ended.err) == (2, True), ended


@pytest.mark.parametrize(
    "change",
    [
        {"weights": "dice"},
        {"public_weights": 7},
        {"constraints": {"nonnegative": 0.5, "whole": False, "fixed": None}},
        {"constraints": {"nonnegative": False, "whole": "yes", "fixed": None}},
        {"constraints": []},
        {"sha256": None},
    ],
)
def test_a_description_of_microdata_that_makes_no_sense_gets_one_clear_error(
    change: dict[str, Any], copy: Path
) -> None:
    path = copy / "out" / "microdata.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), encoding="utf-8")
    for command in ("report", "tabulate"):
        ended = gedp(command, "out", folder=copy)
        assert (ended.code in (1, 2), ended.err.count("gedp: ")) == (True, 1), ended
