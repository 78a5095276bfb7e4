"""`gedp run` from the outside: what it writes, what it says and promises, what it spends, and what it refuses."""

import hashlib
import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import gedp
from gedp.cli.run import _gain
from gedp.completing import complete
from gedp.confidential.table import ConfidentialTable
from gedp.ledger import Ledger
from gedp.policy import parse_spec, price, read_spec
from gedp.release import MANIFEST, Individual, ReleaseExistsError, read_release
from tests.helpers.builder import spec_of, table_of
from tests.helpers.runs import (
    LEDGER,
    PRICE,
    SYNTHETIC,
    all_files,
    names,
    one_message,
    outcomes,
    small_table,
    spent,
    write_case,
)
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


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
    assert (taken.code, "already exists" in taken.err) == (1, True)
    poor = command("run", "spec.toml", "--answers-only", "--dry-run", "--force", folder=tmp_path)
    assert (poor.code, "over budget: " in poor.err) == (1, True)
    write_case(tmp_path, table=small_table().set_column(3, "emp", pa.array([-1] * 40)))
    faulty = command("run", "spec.toml", "--answers-only", "--dry-run", "--force", folder=tmp_path)
    assert (faulty.code, "40 rows have a negative value" in faulty.err) == (2, True)
    assert all(one_message(ended.err) for ended in (taken, poor, faulty))
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
        assert (ended.code, "no grid" in ended.err or "too large to be useful" in ended.err) == (2, True)
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


def test_rows_that_are_groups_are_called_groups(tmp_path: Path) -> None:
    gedp.run(spec_of(queries=["county"]), table_of(), out=tmp_path / "out", seed=1, answers_only=True)
    completed = complete(read_release(tmp_path / "out"))
    assert completed.summary.startswith("Fitted 3 groups of microdata to all answers")


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


def table_in_memory(tmp_path: Path) -> tuple[ConfidentialTable, gedp.Spec]:
    spec = read_spec(write_case(tmp_path))
    return gedp.open_table(spec, small_table()), spec


def test_from_python(tmp_path: Path) -> None:
    table, spec = table_in_memory(tmp_path)
    with gedp.Ledger.open(tmp_path / "my.ledger") as ledger:
        release = gedp.measure(table, spec, ledger=ledger, out=tmp_path / "release")
        assert ledger.total().mu_squared == PRICE
        with pytest.raises(ReleaseExistsError):
            gedp.measure(table, spec, ledger=ledger, out=str(tmp_path / "release"))
        assert ledger.total().mu_squared == PRICE
    assert gedp.read_release(tmp_path / "release").manifest == release.manifest


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((0.5, 0.81, 1), "; the tables' errors are predicted 19% smaller than if all paid alike"),
        ((1, 1 + 1e-10), "; the tables' errors are predicted no larger than if all paid alike"),
        ((), ""),
    ],
)
def test_what_individual_accounting_gains_is_never_negative(parts: tuple[float, ...], said: str) -> None:
    floor = {str(place): 7.0 for place in range(len(parts))}
    errors = {str(place): 7 * part for place, part in enumerate(parts)}
    assert _gain([Individual(Decimal(1), 3.0, {}, {}, 1.0, errors, floor)]) == said
