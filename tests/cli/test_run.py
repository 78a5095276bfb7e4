"""`gedp run` from the outside: what it writes, what it refuses, what it spends, and how it ends."""

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gedp
from gedp import files
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import answer
from gedp.confidential.run import plan_run, run
from gedp.confidential.table import ConfidentialTable
from gedp.errors import FaultsError, GedpError, Refused, TableChangedError
from gedp.ledger import Ledger, LedgerLockedError
from gedp.policy import parse_spec, price, read_spec
from gedp.release import MANIFEST, ReleaseExistsError, ReleaseWriter, TamperedReleaseError, read_release
from tests.confidential.test_measure import Silence
from tests.helpers.ledgers import edit
from tests.helpers.runs import COMMAND, PRICE, SYNTHETIC, all_files, names, small_table, spent, write_case, write_spec
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")

LEDGER = "t.parquet.ledger"


def outcomes(folder: Path) -> list[str]:
    return [release.outcome for release in Ledger.open(folder / LEDGER, create=False).state().releases]


def one_message(text: str) -> bool:
    return text.startswith("gedp: ") and text.count("gedp: ") == 1 and "Traceback" not in text


def test_a_run_writes_a_release_and_says_what_it_promised_and_spent(tmp_path: Path) -> None:
    write_case(tmp_path)
    ended = command("run", "spec.toml", folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "Released 3 queries, 40 establishments, to out" in ended.out
    assert "Fitted 40 rows of microdata to all answers: out/microdata.parquet" in ended.out
    assert "N(0,1) from N(0.2829,1)" in ended.out  # rounded up, as on every page
    assert "spent mu = 0.282843 of a budget of 1" in ended.out
    assert "together" not in ended.out
    assert "NOT PROTECTED" not in ended.out
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]
    assert spent(tmp_path) == PRICE
    assert outcomes(tmp_path) == ["finished"]
    release = read_release(tmp_path / "out")
    assert release.identity().num_rows == 40
    assert release.answers("county").num_rows == 6
    assert release.answers("naics2 x county").num_rows == 9
    assert {p.relative_to(tmp_path / "out").as_posix() for p in all_files(tmp_path / "out")} == {
        "manifest.json",
        "identity.parquet",
        "tables/county.parquet",
        "tables/county.csv",
        "tables/naics2 x county.parquet",
        "tables/naics2 x county.csv",
        "microdata.parquet",
        "microdata.json",
        "report.html",
    }


def test_answers_only_stops_after_the_answers(tmp_path: Path) -> None:
    write_case(tmp_path)
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, "microdata" in ended.out) == (0, False)
    assert names(tmp_path / "out") == ["identity.parquet", "manifest.json", "tables"]


def test_the_manifest_says_everything_and_its_spec_is_the_spec(tmp_path: Path) -> None:
    spec = read_spec(write_case(tmp_path))
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    text = (tmp_path / "out" / MANIFEST).read_text(encoding="utf-8")
    manifest = json.loads(text)
    assert parse_spec(manifest["spec"]) == spec
    assert manifest["gedp"] == gedp.__version__
    assert manifest["entropy"] == "system"
    assert not manifest["synthetic"]
    assert manifest["establishments"] == 40
    assert Fraction(manifest["promise"]["mu_squared"]) == PRICE == price(spec).total.mu_squared
    assert manifest["promise"]["budget_mu"] == "1"
    assert manifest["promise"]["attributes"].keys() == {"emp", "wage"}
    assert [(p["query"], p["attribute"], p["mu"]) for p in manifest["prices"]] == [
        ("identity", "emp", "0.1"),
        ("identity", "wage", "0.1"),
        ("county", "emp", "0.2"),
        ("county", "wage", "0.1"),
        ("naics2 x county", "emp", "0.1"),
    ]
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest
    assert set(manifest["files"]) == {
        p.relative_to(tmp_path / "out").as_posix() for p in all_files(tmp_path / "out")
    } - {MANIFEST}
    (entry,) = Ledger.open(tmp_path / LEDGER).state().releases
    assert manifest["release"] == entry.reserve.release
    with closing(sqlite3.connect(tmp_path / LEDGER)) as connection:
        bodies = [json.loads(body) for (body,) in connection.execute("SELECT body FROM entries ORDER BY sequence")]
    assert hashlib.sha256(text.encode()).hexdigest() in json.dumps(bodies[-1])


def test_a_dry_run_spends_and_writes_nothing(tmp_path: Path) -> None:
    write_case(tmp_path)
    before = {path: path.read_bytes() for path in all_files(tmp_path)}
    ended = command("run", "spec.toml", "--answers-only", "--dry-run", folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "A release would leave mu = 0.959166 of the budget (there is no ledger yet; t.parquet.ledger" in ended.out
    assert {path: path.read_bytes() for path in all_files(tmp_path)} == before
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    before = {path: path.read_bytes() for path in all_files(tmp_path)}
    ended = command("run", "spec.toml", "--answers-only", "--dry-run", "--out", "other", folder=tmp_path)
    assert "would leave mu = 0.916515 of the budget (recorded in t.parquet.ledger). Nothing was spent." in ended.out
    assert {path: path.read_bytes() for path in all_files(tmp_path)} == before


def test_a_dry_run_refuses_what_the_run_would_refuse(tmp_path: Path) -> None:
    write_case(tmp_path, ("mu = 1\n", "mu = 0.3\n"))
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    taken = command("run", "spec.toml", "--answers-only", "--dry-run", folder=tmp_path)
    assert (taken.code, "exists already" in taken.err) == (1, True)
    poor = command("run", "spec.toml", "--answers-only", "--dry-run", "--force", folder=tmp_path)
    assert (poor.code, "over budget: " in poor.err) == (1, True)
    write_case(tmp_path, table=small_table().set_column(3, "emp", pa.array([-1] * 40)))
    faulty = command("run", "spec.toml", "--answers-only", "--dry-run", "--force", folder=tmp_path)
    assert (faulty.code, "40 rows have a negative value" in faulty.err) == (2, True)
    assert all(one_message(ended.err) for ended in (taken, poor, faulty))
    assert spent(tmp_path) == PRICE


def test_a_folder_that_is_taken_is_refused_before_there_is_a_ledger(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    before = all_files(tmp_path)
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (
        ended.code,
        "It is no release of this version, so it is not replaced. Choose another folder" in ended.err,
    ) == (1, True)
    assert all_files(tmp_path) == before


def test_twice_on_the_same_folder_refuses_and_spends_nothing(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "gedp: out exists already and nothing was spent. Use --force to replace it\n"
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest
    assert spent(tmp_path) == PRICE
    assert outcomes(tmp_path) == ["finished"]


def test_force_replaces_the_release_and_spends_again(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    first = read_release(tmp_path / "out")
    before = first.identity()
    ended = command("run", "spec.toml", "--answers-only", "--force", folder=tmp_path)
    assert ended.code == 0
    assert "Everything released from these data has spent mu = 0.4 together" in ended.out
    second = read_release(tmp_path / "out")
    assert second.manifest.release != first.manifest.release
    assert second.identity()["emp__psi"].to_pylist() != before["emp__psi"].to_pylist()
    assert spent(tmp_path) == 2 * PRICE
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]


def test_force_beyond_the_budget_leaves_the_old_release_intact(tmp_path: Path) -> None:
    write_case(tmp_path, ("mu = 1\n", "mu = 0.3\n"))
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    ended = command("run", "spec.toml", "--answers-only", "--force", folder=tmp_path)
    assert ended.code == 1
    assert "over budget: mu = 0.282843 is spent on this dataset" in ended.err
    assert one_message(ended.err)
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest
    read_release(tmp_path / "out")
    assert spent(tmp_path) == PRICE
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]


def test_force_never_replaces_what_is_no_release(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    for arguments in ((), ("--force",)):
        ended = command("run", "spec.toml", "--answers-only", *arguments, folder=tmp_path)
        assert (ended.code, "It is no release" in ended.err) == (1, True)
    assert names(tmp_path / "out") == ["thesis.tex"]
    assert spent(tmp_path) == 0


@pytest.mark.parametrize("system", ["linux", "elsewhere"])
def test_folders_are_swapped_or_left_as_they_were(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", system)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    files.swap(tmp_path / "new", tmp_path / "old")
    assert (names(tmp_path / "old"), names(tmp_path / "new"), names(tmp_path)) == (["new"], ["old"], ["new", "old"])
    shutil.rmtree(tmp_path / "new")
    with pytest.raises(FileNotFoundError):
        files.swap(tmp_path / "new", tmp_path / "old")
    assert (names(tmp_path / "old"), names(tmp_path)) == (["new"], ["old"])


def test_of_two_runs_into_one_folder_the_second_is_refused_and_pays_nothing(tmp_path: Path) -> None:
    """Also where both had found the folder free, and whether or not a release may be replaced."""
    plan = plan_run(read_spec(write_case(tmp_path)))
    refusals = []

    def other(what: str, done: int, of: int) -> None:
        for may_replace in (False, True):
            with pytest.raises(Refused, match="another process is writing to") as refused:
                run(replace(plan, replace=may_replace))
            refusals.append(refused)

    run(plan, progress=other)
    assert len(refusals) > 2
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["finished"])
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    with pytest.raises(Refused, match="exists already and nothing was spent"):
        run(plan)
    assert spent(tmp_path) == PRICE


def test_a_seed_is_for_synthetic_data_only_and_marks_the_release(tmp_path: Path) -> None:
    write_case(tmp_path)
    ended = command("run", "spec.toml", "--answers-only", "--seed", "7", folder=tmp_path)
    assert (ended.code, "seeded noise protects nothing" in ended.err) == (1, True)
    assert spent(tmp_path) == 0
    assert not (tmp_path / "out").exists()
    write_case(tmp_path / "synthetic", SYNTHETIC)
    seen = []
    for name in ("one", "two"):
        ended = command(
            "run", "spec.toml", "--answers-only", "--seed", "7", "--out", name, folder=tmp_path / "synthetic"
        )
        assert (ended.code, "NOT PROTECTED" in ended.out) == (0, True)
        assert "N(0,1)" not in ended.out
        release = read_release(tmp_path / "synthetic" / name)
        assert release.manifest.entropy == "seeded"
        seen.append((release.identity(), release.answers("county")))
    assert seen[0][0].equals(seen[1][0])
    assert seen[0][1].equals(seen[1][1])
    ended = command("run", "spec.toml", "--answers-only", "--out", "three", folder=tmp_path / "synthetic")
    unseeded = read_release(tmp_path / "synthetic" / "three")
    assert (unseeded.manifest.entropy, "NOT PROTECTED" in ended.out) == ("system", False)
    assert not unseeded.identity().equals(seen[0][0])
    assert names(tmp_path / "synthetic") == ["one", "spec.toml", "t.parquet", "three", "two"]  # no ledger


def test_a_named_ledger_counts_for_synthetic_data_too(tmp_path: Path) -> None:
    write_case(tmp_path, SYNTHETIC)
    assert command("run", "spec.toml", "--answers-only", "--ledger", "my.ledger", folder=tmp_path).code == 0
    assert spent(tmp_path, "my.ledger") == PRICE


def test_relative_paths_resolve_against_the_folder_of_the_spec(tmp_path: Path) -> None:
    study = tmp_path / "study"
    (study / "data").mkdir(parents=True)
    write_case(
        study, ("t.parquet", "data/t.parquet"), ("prefix = 2", 'map = "maps/sectors.csv"'), ('"out"', '"made/out"')
    )
    (study / "t.parquet").rename(study / "data" / "t.parquet")
    (study / "maps").mkdir()
    (study / "maps" / "sectors.csv").write_text("1111,A\n1122,A\n2222,B\n2361,C\n", encoding="utf-8")
    ended = command("run", "study/spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert names(study / "data") == ["t.parquet", LEDGER]
    release = read_release(study / "made" / "out")
    assert set(release.answers("naics2 x county")["naics2"].to_pylist()) == {"A", "B", "C"}
    assert names(tmp_path) == ["study"]


def test_parquet_csv_and_globs_of_both_agree(tmp_path: Path) -> None:
    """The same rows in every form, without noise: the same answers to the last bit."""
    table = small_table()
    write_case(tmp_path, SYNTHETIC, table=table)
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.csv.write_csv(table, tmp_path / "semicolon.csv", pa.csv.WriteOptions(delimiter=";"))
    for i in range(4):
        pq.write_table(table.slice(10 * i, 10), tmp_path / f"part-{i}.parquet")
        pa.csv.write_csv(table.slice(10 * i, 10), tmp_path / f"part-{i}.csv")
    pq.write_table(table.slice(0, 10).select(["wage", "emp", "naics", "cnty", "key"]), tmp_path / "part-0.parquet")
    (tmp_path / "odd [1] name").mkdir()
    shutil.copy(tmp_path / "t.parquet", tmp_path / "odd [1] name" / "it's.parquet")
    sources = ["t.parquet", "t.csv", "semicolon.csv", "part-*.parquet", "part-?.csv", "odd [1] name/it's.parquet"]
    seen = []
    for i, source in enumerate(sources):
        spec = read_spec(write_spec(tmp_path, SYNTHETIC, ("t.parquet", source)))
        release = run(plan_run(spec, out=tmp_path / f"out{i}", entropy=Silence()))
        seen.append([release.identity(), *(release.answers(q) for q in ("county", "naics2 x county"))])
    for tables in seen[1:]:
        assert all(one.equals(other) for one, other in zip(seen[0], tables, strict=True))


def test_a_glob_has_one_ledger_beside_its_files(tmp_path: Path) -> None:
    write_case(tmp_path, ("t.parquet", "part-*.parquet"))
    for i in range(2):
        pq.write_table(small_table().slice(20 * i, 20), tmp_path / f"part-{i}.parquet")
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert spent(tmp_path, "part.ledger") == PRICE
    write_spec(tmp_path, ("t.parquet", "*/x.parquet"))
    (tmp_path / "2024").mkdir()
    shutil.copy(tmp_path / "t.parquet", tmp_path / "2024" / "x.parquet")
    ended = command("run", "spec.toml", "--answers-only", "--out", "other", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert spent(tmp_path / "2024", "x.parquet.ledger") == PRICE


def test_files_of_a_glob_that_differ_are_not_rounded_to_the_first(tmp_path: Path) -> None:
    write_case(tmp_path, ("t.parquet", "part-*.parquet"))
    table = small_table()
    pq.write_table(table, tmp_path / "part-0.parquet")
    halves = pa.array([value + 0.5 for value in table["emp"].to_pylist()])
    keys = pa.array([f"other {key}" for key in table["key"].to_pylist()])
    pq.write_table(table.set_column(3, "emp", halves).set_column(0, "key", keys), tmp_path / "part-1.parquet")
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, "40 rows have no whole multiple of the unit 1" in ended.err) == (2, True)


@pytest.mark.parametrize("mechanism", ["auto", "pnc", "psi"])
@pytest.mark.parametrize("gamma", ["0.00001", "9000"])
@pytest.mark.parametrize("mu", ["0.00001", "40"])
def test_no_setting_that_passes_the_checks_fails_once_it_is_paid_for(
    mechanism: str, gamma: str, mu: str, tmp_path: Path
) -> None:
    """Noise far too small or far too large is still noise: what cannot be answered is refused before."""
    changes = [
        ("mu = 0.1\n", f"mu = {mu}\n"),
        ("emp = 0.2, wage = 0.1", f"emp = {mu}, wage = {mu}"),
        ("mu = 1\n", "mu = 900\n"),
    ]
    write_case(
        tmp_path, *changes, ("gamma = 0.5", f"gamma = {gamma}"), ('mechanism = "psi"', f'mechanism = "{mechanism}"')
    )
    dry = command("run", "spec.toml", "--answers-only", "--dry-run", folder=tmp_path)
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == dry.code, ended
    if ended.code:
        assert (ended.code, "no grid" in ended.err or "drowns everything" in ended.err) == (2, True)
        assert spent(tmp_path) == 0


def test_a_spec_without_identity_publishes_sums_only(tmp_path: Path) -> None:
    identity = '[[queries]]\nname = "identity"\nby = "establishment"\nmu = 0.1\n'
    write_case(tmp_path, (identity, ""), ('id = "key"\n', ""))
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 0, ended.err
    release = read_release(tmp_path / "out")
    assert not (tmp_path / "out" / "identity.parquet").exists()
    assert set(release.answers("county")["mechanism"].to_pylist()) == {"psi"}
    assert release.manifest.zeta is None
    assert spent(tmp_path) == PRICE - Fraction(2, 100)


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (("prefix = 2", 'map = "absent.csv"'), 2, "grouping naics2: its map file absent.csv cannot be read"),
        (("t.parquet", "absent.parquet"), 2, "there is no such file"),
        (('"cnty", "naics"]', '"cnty", "naics", "zip"]'), 2, "column zip: there is no such column"),
        (("mu = 1\n", "mu = 0.2\n"), 1, "over budget: the queries cost mu = 0.282843"),
        (('psi = "sqrt"', 'psi = "sqroot"'), 2, "'sqroot' is not known"),
        (('psi = "sqrt", gamma = 0.5', 'psi = "sqrt", gamma = 0.000001'), 2, "no grid"),
    ],
)
def test_bad_input_ends_with_one_message_and_nothing_spent(
    change: tuple[str, str], code: int, said: str, tmp_path: Path
) -> None:
    write_case(tmp_path, change)
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert one_message(ended.err)
    assert names(tmp_path) in (["spec.toml", "t.parquet"], ["spec.toml", "t.parquet", LEDGER])
    assert spent(tmp_path) == 0


def test_the_budget_holds_over_releases_to_the_last_digit(tmp_path: Path) -> None:
    write_case(tmp_path, ("mu = 1\n", "mu = 0.4\n"))  # 0.16, twice 0.08
    codes = [command("run", "spec.toml", "--answers-only", "--out", f"out{i}", folder=tmp_path).code for i in range(3)]
    assert codes == [0, 0, 1]
    assert spent(tmp_path) == 2 * PRICE
    assert not (tmp_path / "out2").exists()


def spoil(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


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


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["write_identity", "write_answers", "finish"])
def test_a_full_disk_ends_in_one_message_and_the_budget_stays_spent(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    target = {
        "write_identity": "rows.pq.ParquetWriter",
        "write_answers": "writer.pa.csv.write_csv",
        "finish": "writer._sync",
    }[step]
    with monkeypatch.context() as patch:
        patch.setattr(f"gedp.release.{target}", full_disk)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith("gedp: cannot write out: no space left on device. Noise may have been drawn, so mu = ")
    assert "0.282843 counts as spent" in ended.err
    assert ended.err.count("\n") == 1
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]
    assert outcomes(tmp_path) == ["abandoned"]
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert spent(tmp_path) == 2 * PRICE


def test_a_full_disk_while_replacing_leaves_the_old_release_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("gedp.release.writer.swap", full_disk)
        assert command("run", "spec.toml", "--answers-only", "--force", folder=tmp_path).code == 2
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest
    read_release(tmp_path / "out")
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]
    assert spent(tmp_path) == 2 * PRICE


@pytest.mark.parametrize("limit", [0, 60_000])
def test_files_that_may_not_grow(limit: int, tmp_path: Path) -> None:
    """A real limit on the size of files: none fit (not even the ledger), or all but the identity answers."""
    write_case(tmp_path, table=small_table(20_000))
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {COMMAND[2]}"
    ended = subprocess.run(
        [COMMAND[0], "-c", limited, "run", "spec.toml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert one_message(ended.stderr)
    assert ended.stderr.count("\n") == 1
    if limit:
        assert ended.stderr.startswith("gedp: cannot write out: file too large. Noise may have been drawn")
        assert outcomes(tmp_path) == ["abandoned"]
    assert not (tmp_path / "out").exists()
    assert not [name for name in names(tmp_path) if name.startswith(".out")]
    assert spent(tmp_path) == (PRICE if limit else 0)


def test_an_output_folder_that_cannot_be_is_refused_before_spending(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    for out, code in (("file", 1), ("file/out", 2), ("/proc/out", 2), ("loop", 1), ("loop/out", 2)):
        ended = command("run", "spec.toml", "--answers-only", "--out", out, folder=tmp_path)
        assert (ended.code, one_message(ended.err)) == (code, True), (out, ended)
        assert spent(tmp_path) == 0
    assert (tmp_path / "file").read_text(encoding="utf-8") == "in the way"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused_before_spending(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o555)
    ended = command("run", "spec.toml", "--answers-only", "--out", "closed/out", folder=tmp_path)
    assert (ended.code, "permission denied" in ended.err) == (2, True)
    assert spent(tmp_path) == 0


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to("there/release")
    for arguments in ((), ("--force",)):
        assert command("run", "spec.toml", "--answers-only", *arguments, folder=tmp_path).code == 0
        assert (tmp_path / "out").is_symlink()
        read_release(tmp_path / "out")
        assert names(tmp_path / "there") == ["release"]


def forge(path: Path) -> None:
    edit(path, lambda connection: connection.execute("UPDATE entries SET body = replace(body, '0.2', '0.1')"))


@pytest.mark.parametrize(
    ("harm", "code", "said"),
    [
        (forge, 1, "is not what was written, so nothing can be released"),
        (lambda path: path.write_bytes(b"no ledger at all, but long enough to be looked at " * 40), 2, "not a ledger"),
        (lambda path: path.write_bytes(b""), 2, "not a ledger (the file is empty"),
        (lambda path: path.write_bytes(path.read_bytes()[:9000]), 1, "is damaged and cannot be read"),
        (lambda path: (path.unlink(), path.mkdir()), 2, "there is no ledger at"),
    ],
)
def test_a_ledger_that_cannot_be_trusted_stops_the_run(
    harm: Callable[[Path], object], code: int, said: str, tmp_path: Path
) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    harm(tmp_path / LEDGER)
    before = {path: path.read_bytes() for path in all_files(tmp_path)}
    for arguments in (("--out", "other"), ("--force",), ("--dry-run", "--out", "other")):
        ended = command("run", "spec.toml", "--answers-only", *arguments, folder=tmp_path)
        assert (ended.code, said in ended.err, one_message(ended.err)) == (code, True, True), ended
    assert {path: path.read_bytes() for path in all_files(tmp_path)} == before


def test_a_locked_ledger_refuses_and_spends_nothing(tmp_path: Path) -> None:
    plan = plan_run(read_spec(write_case(tmp_path)))
    ledger = Ledger.open(tmp_path / LEDGER, wait=0.1)
    with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerLockedError, match="Nothing was spent"):
            answer(plan.prepared, out=tmp_path / "out", ledger=ledger)
        connection.execute("ROLLBACK")
    assert spent(tmp_path) == 0
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]


def test_a_release_is_whole_even_if_the_ledger_cannot_note_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)

    def locked(*arguments: object) -> None:
        raise LedgerLockedError("the ledger is in use")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", locked)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, one_message(ended.err)) == (1, True)
    assert "The release in out is whole and paid for" in ended.err
    read_release(tmp_path / "out")
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["reserved"])


def append_row(path: Path) -> None:
    pq.write_table(pa.concat_tables([small_table(), small_table().slice(0, 1)]), path)


def make_null(path: Path) -> None:
    pq.write_table(small_table().set_column(3, "emp", pa.array([None] * 40, pa.int64())), path)


def make_text(path: Path) -> None:
    pq.write_table(small_table().set_column(3, "emp", pa.array(["918273645546x"] * 40)), path)


def one_more(path: Path) -> None:
    emp = small_table()["emp"].to_pylist()
    pq.write_table(small_table().set_column(3, "emp", pa.array([emp[0] + 1, *emp[1:]])), path)


@pytest.mark.parametrize(
    "change", [append_row, make_null, make_text, one_more, Path.unlink, lambda p: p.write_bytes(b"")]
)
@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_table_that_changes_is_noticed(change: Callable[[Path], object], moment: str, tmp_path: Path) -> None:
    """Before the first pass nothing is spent; between two passes it is; either way nothing is published."""
    plan = plan_run(read_spec(write_case(tmp_path)))
    if moment == "before":
        change(tmp_path / "t.parquet")

    def between(what: str, done: int, of: int) -> None:
        if (what, done, moment) == ("establishments", of, "between"):
            change(tmp_path / "t.parquet")

    with pytest.raises(TableChangedError) as raised:
        run(plan, progress=between)
    assert "918273645" not in str(raised.value)
    assert spent(tmp_path) == (0 if moment == "before" else PRICE)
    assert not (tmp_path / "out").exists()
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_a_file_that_joins_the_glob_is_noticed(tmp_path: Path) -> None:
    plan = plan_run(read_spec(write_case(tmp_path, ("t.parquet", "*.parquet"))))
    shutil.copy(tmp_path / "t.parquet", tmp_path / "more.parquet")
    with pytest.raises(TableChangedError):
        run(plan)
    assert spent(tmp_path) == 0


def table_in_memory(tmp_path: Path) -> tuple[ConfidentialTable, gedp.Spec]:
    spec = read_spec(write_case(tmp_path))
    return gedp.open_table(LocalEngine(small_table()), spec.data, spec.policy.attributes, spec.groupers), spec


def test_from_python(tmp_path: Path) -> None:
    table, spec = table_in_memory(tmp_path)
    with gedp.Ledger.open(tmp_path / "my.ledger") as ledger:
        release = gedp.measure(table, spec, ledger=ledger, out=tmp_path / "release")
        assert ledger.total().mu_squared == PRICE
        with pytest.raises(ReleaseExistsError):
            gedp.measure(table, spec, ledger=ledger, out=str(tmp_path / "release"))
        assert ledger.total().mu_squared == PRICE
    assert gedp.read_release(tmp_path / "release").manifest == release.manifest


def test_an_interrupt_is_recorded_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path)

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ReleaseWriter, "write_answers", interrupt)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 130
    assert ended.err.strip().startswith(
        "gedp: interrupted. Noise may have been drawn, so mu = 0.282843 counts as spent"
    )
    assert ended.err.strip().count("\n") == 0
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]
    assert outcomes(tmp_path) == ["abandoned"]
