"""One dataset has one ledger, however its files are spelled; what was spent is never forgotten."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import gedp as library
from gedp.confidential.run import plan_run
from gedp.errors import Refused
from gedp.ledger import Ledger
from gedp.noise.entropy import SeededEntropy
from gedp.policy import read_spec
from gedp.release import read_release
from tests.helpers.runs import LEDGER, PRICE, SYNTHETIC, gedp, names, small_table, spent, write_case, write_spec

#: A budget of 1 holds 12 releases, 0.3 one alone.
ONE_RELEASE = ("mu = 1\n", "mu = 0.3\n")


def symbolic(link: Path) -> None:
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(link.parents[link.parent.name == "elsewhere"] / "t.parquet")


def copied(copy: Path) -> None:
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(copy.parents[copy.parent.name == "elsewhere"] / "t.parquet", copy)


def unchanged(path: Path) -> None:
    (path.parent if path.parent.name != ".." else path.parent.parent).mkdir(exist_ok=True)


#: Another name of t.parquet, and how it comes about.
ALIASES: dict[str, Callable[[Path], None]] = {
    "t.parque[t]": unchanged,
    "t.parq*t": unchanged,
    "?.parquet": unchanged,
    "./elsewhere/../t.parquet": unchanged,
    "link.parquet": symbolic,
    "elsewhere/link.parquet": symbolic,
    "hard.parquet": lambda path: os.link(path.with_name("t.parquet"), path),
    "copy.parquet": copied,
    "elsewhere/copy.parquet": copied,
}


@pytest.mark.parametrize("alias", ALIASES)
def test_another_spelling_of_the_data_is_the_same_dataset(alias: str, tmp_path: Path) -> None:
    write_case(tmp_path, ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    ALIASES[alias](tmp_path / alias)
    write_spec(tmp_path, ONE_RELEASE, ("t.parquet", alias))
    for dry in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", *dry, folder=tmp_path)
        assert (ended.code, ended.err.startswith("gedp: over budget")) == (1, True), ended
    assert [path.name for path in tmp_path.rglob("*.ledger")] == [LEDGER]
    assert spent(tmp_path) == PRICE
    write_spec(tmp_path, ("t.parquet", alias))
    decided = ("--decided-by", "the registrar", "--reason", "memo 12")
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", *decided, folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "new ledger" not in ended.out
    assert spent(tmp_path) == 2 * PRICE


def test_a_hard_link_in_a_folder_without_a_ledger_is_refused(tmp_path: Path) -> None:
    """Its other name may have a ledger beside it, and nothing tells where that is."""
    write_case(tmp_path / "a", ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "a").code == 0
    (tmp_path / "b").mkdir()
    os.link(tmp_path / "a" / "t.parquet", tmp_path / "b" / "t.parquet")
    write_spec(tmp_path / "b", ONE_RELEASE)
    ended = gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "b")
    assert (ended.code, "hard link" in ended.err) == (1, True)
    ended = gedp("run", "spec.toml", "--answers-only", "--ledger", f"../a/{LEDGER}", folder=tmp_path / "b")
    assert (ended.code, "over budget" in ended.err) == (1, True)
    assert names(tmp_path / "b") == ["spec.toml", "t.parquet"]


def test_a_second_ledger_beside_the_first_is_refused(tmp_path: Path) -> None:
    write_case(tmp_path, ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    for dry in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--out", "again", "--ledger", "other.ledger", *dry, folder=tmp_path)
        assert (ended.code, "these data already have a ledger: " in ended.err) == (1, True), ended
    assert not (tmp_path / "other.ledger").exists()


@pytest.mark.parametrize("ledger", ["books/mine.ledger", "mine.db"])
def test_a_ledger_elsewhere_is_found_without_being_named(ledger: str, tmp_path: Path) -> None:
    write_case(tmp_path, ONE_RELEASE)
    (tmp_path / "books").mkdir()
    ended = gedp("run", "spec.toml", "--answers-only", "--ledger", ledger, folder=tmp_path)
    assert (ended.code, "new ledger" in ended.out) == (0, True)
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", folder=tmp_path)
    assert (ended.code, "over budget" in ended.err) == (1, True)
    assert (tmp_path / LEDGER).is_symlink()
    assert (tmp_path / LEDGER).samefile(tmp_path / ledger)


def test_a_ledger_that_is_named_does_not_replace_that_of_the_spec(tmp_path: Path) -> None:
    """A table in memory or in a database has no place where the spec's own would be found."""
    spec = write_spec(tmp_path, ("[output]", '[ledger]\nfile = "own.ledger"\n\n[output]'))
    (tmp_path / "elsewhere").mkdir()
    library.run(spec, small_table(), out=tmp_path / "first", answers_only=True)
    with pytest.raises(Refused, match=r"the spec names another ledger: .*own\.ledger\. Name this one, or none"):
        library.check(spec, small_table(), out=tmp_path / "second", ledger=tmp_path / "elsewhere" / "x.ledger")
    (tmp_path / "link.ledger").symlink_to("own.ledger")
    library.check(spec, small_table(), out=tmp_path / "second", ledger=tmp_path / "link.ledger")


def test_synthetic_does_not_make_a_ledger_forget(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(tmp_path, SYNTHETIC)
    for more in ([], ["--seed", "1"], ["--ledger", LEDGER, "--seed", "1"], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", *more, folder=tmp_path)
        assert (ended.code, "releases from them as confidential data" in ended.err) == (1, True), ended
    assert not (tmp_path / "again").exists()
    assert spent(tmp_path) == PRICE


def test_from_python_another_ledger_or_none_is_refused_too(tmp_path: Path) -> None:
    spec = read_spec(write_case(tmp_path))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    table = library.open_table(spec)
    other = Ledger.open(tmp_path / "other")
    with pytest.raises(Refused, match="these data have a ledger"):
        library.measure(table, spec, out=tmp_path / "again", ledger=other)
    claimed = read_spec(write_spec(tmp_path, SYNTHETIC))
    table = library.open_table(claimed)
    with pytest.raises(Refused, match="these data have a ledger"):
        library.measure(table, claimed, out=tmp_path / "again", entropy=SeededEntropy(1))
    assert other.total().mu_squared == 0


def test_a_corrected_or_renamed_file_keeps_its_ledger(tmp_path: Path) -> None:
    write_case(tmp_path, ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_case(tmp_path, ONE_RELEASE, table=small_table(41))
    assert gedp("run", "spec.toml", "--out", "again", folder=tmp_path).code == 1
    write_case(tmp_path, ONE_RELEASE)
    (tmp_path / "t.parquet").rename(tmp_path / "moved.parquet")
    write_spec(tmp_path, ONE_RELEASE, ("t.parquet", "moved.parquet"))
    assert gedp("run", "spec.toml", "--out", "again", folder=tmp_path).code == 1
    shutil.move(tmp_path, tmp_path.with_name("moved"))
    assert gedp("run", "spec.toml", "--out", "again", folder=tmp_path.with_name("moved")).code == 1


def test_one_file_of_several_is_known_to_their_ledger_and_the_other_way_round(tmp_path: Path) -> None:
    """The files lie in folders of their own, so the ledger of all lies above them."""
    for year in ("2015", "2016"):
        write_case(tmp_path / year, table=small_table(40 if year == "2015" else 30))
    write_spec(tmp_path, ONE_RELEASE, ("t.parquet", "*/t.parquet"), ('id = "key"\n', ""))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(tmp_path, ONE_RELEASE, ("t.parquet", "2016/t.parquet"))
    assert gedp("run", "spec.toml", "--out", "again", folder=tmp_path).code == 1
    write_case(tmp_path / "2017", table=small_table(20))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "2017").code == 0
    write_spec(tmp_path, ("t.parquet", "201[67]/t.parquet"), ('id = "key"\n', ""))
    ended = gedp("run", "spec.toml", "--out", "again", folder=tmp_path)
    assert (ended.code, "several ledgers" in ended.err) == (1, True)


def test_somebody_elses_ledgers_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "household.ledger").write_text("2016/01/01 bread 3.50\n")
    (tmp_path / "folder.ledger").mkdir()
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert spent(tmp_path) == PRICE


def test_a_link_to_a_ledger_that_is_not_there_is_no_permission_to_start_anew(tmp_path: Path) -> None:
    """Its disk may be unplugged; and the data may have got another name since."""
    write_case(tmp_path, ONE_RELEASE)
    (tmp_path / "books").mkdir()
    assert gedp("run", "spec.toml", "--answers-only", "--ledger", "books/a.ledger", folder=tmp_path).code == 0
    (tmp_path / "books").rename(tmp_path / "unplugged")
    (tmp_path / "t.parquet").rename(tmp_path / "other.parquet")
    write_spec(tmp_path, ONE_RELEASE, ("t.parquet", "other.parquet"))
    for dry in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--out", "again", *dry, folder=tmp_path)
        assert (ended.code, "leads to a ledger that is missing" in ended.err) == (1, True), ended


def test_what_a_seed_or_a_public_column_gave_away_is_not_protected_afterwards(tmp_path: Path) -> None:
    write_case(tmp_path / "a", SYNTHETIC)
    assert gedp("run", "spec.toml", "--seed", "1", "--ledger", LEDGER, folder=tmp_path / "a").code == 0
    write_spec(tmp_path / "a")
    ended = gedp("run", "spec.toml", "--out", "again", folder=tmp_path / "a")
    assert (ended.code, "took its noise from a seed" in ended.err) == (1, True), ended
    write_case(
        tmp_path / "b",
        ('public = ["cnty", "naics"]', 'public = ["cnty", "naics", "emp"]'),
        ('emp = { psi = "sqrt", gamma = 0.5 }\n', ""),
        ("mu = { emp = 0.2, wage = 0.1 }", "mu = 0.1"),
        ("mu = { emp = 0.1 }", "mu = 0.1"),
        table=small_table(30),
    )
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "b").code == 0
    write_spec(tmp_path / "b")
    ended = gedp("run", "spec.toml", "--out", "again", folder=tmp_path / "b")
    assert (ended.code, "emp: an earlier release from these data published it as it is" in ended.err) == (1, True), (
        ended
    )


@pytest.mark.parametrize("source", ["file:{0}/real/t.parquet", "~/real/t.parquet"])
def test_the_file_that_is_read_is_the_file_that_is_known(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB knows addresses and ~; a decoy at the literal path used to be accounted, and another file read."""
    monkeypatch.setenv("HOME", str(tmp_path))
    write_case(tmp_path / "real", table=small_table(60))
    name = source.format(tmp_path)
    decoy = tmp_path / "case" / name
    write_case(tmp_path / "case", ("t.parquet", name))
    decoy.parent.mkdir(parents=True)
    (tmp_path / "case" / "t.parquet").rename(decoy)
    ended = gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "case")
    assert ended.code == 0, ended
    assert read_release(tmp_path / "case" / "out").manifest.establishments == 40


def test_a_folder_called_like_a_column_replaces_nothing(tmp_path: Path) -> None:
    write_case(tmp_path / "emp=77" / "cnty=999")
    plan = plan_run(read_spec(tmp_path / "emp=77" / "cnty=999" / "spec.toml"))
    assert plan.prepared.table.engine.distinct("cnty") == ["001", "003", "005"]
    assert plan.prepared.table.engine.columns() == small_table().column_names


def test_a_broken_ledger_nearby_may_be_that_of_the_data(tmp_path: Path) -> None:
    write_case(tmp_path, ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", "--ledger", "a.ledger", folder=tmp_path).code == 0
    (tmp_path / LEDGER).unlink()
    content = bytearray((tmp_path / "a.ledger").read_bytes())
    place = content.index(b'"fingerprint"')
    content[place + 20] ^= 1
    (tmp_path / "a.ledger").write_bytes(bytes(content))
    ended = gedp("run", "spec.toml", "--out", "again", folder=tmp_path)
    assert (ended.code, "a.ledger is not as it was written" in ended.err) == (1, True), ended


def test_a_new_ledger_is_announced_once(tmp_path: Path) -> None:
    write_case(tmp_path)
    ended = gedp("run", "spec.toml", "--answers-only", folder=tmp_path)
    line = f"A new ledger was created for these data; nothing had been recorded before: {LEDGER}"
    assert line in ended.out.splitlines()
    assert "new ledger" not in gedp("run", "spec.toml", "--answers-only", "--force", folder=tmp_path).out


def test_files_that_are_not_hard_links_need_no_word(tmp_path: Path) -> None:
    assert plan_run(read_spec(write_case(tmp_path))).ledger_is_new


@pytest.mark.parametrize(
    "command",
    [
        "report out --out NAME",
        "microdata out --out NAME.parquet",
        "tabulate out --out NAME.csv",
        "ledger export t.parquet.ledger --out NAME.csv",
        "explain spec.toml --html NAME",
    ],
)
def test_no_result_takes_the_place_of_a_ledger(command: str, tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", folder=tmp_path).code == 0
    words = command.split()
    target = words[-1].replace("NAME", LEDGER)
    if target != LEDGER:
        (tmp_path / target).write_bytes((tmp_path / LEDGER).read_bytes())
    before = (tmp_path / target).read_bytes()
    ended = gedp(*words[:-1], target, folder=tmp_path)
    assert (ended.code, "it is a ledger" in ended.err) == (2, True), ended
    assert (tmp_path / target).read_bytes() == before
