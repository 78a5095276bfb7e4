"""One dataset has one ledger, however its files are spelled; what was spent is never forgotten."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import gedp as library
from gedp.accounting.ledger import Ledger
from gedp.engines.local import LocalEngine
from gedp.errors import Refused
from gedp.noise.entropy import SeededEntropy
from gedp.policy import read_spec
from gedp.run import plan_run
from tests.runs import PRICE, SYNTHETIC, gedp, names, small_table, spent, write_case, write_spec

LEDGER = "t.parquet.ledger"
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
    decided = ("--decided-by", "A. Weber", "--reason", "memo 12")
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
        assert (ended.code, "these data have a ledger already: " in ended.err) == (1, True), ended
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
    engine = LocalEngine(tmp_path / "t.parquet")
    table = library.open_table(engine, spec.data, spec.policy.attributes, spec.groupers)
    other = Ledger.open(tmp_path / "other")
    with pytest.raises(Refused, match="these data have a ledger"):
        library.measure(table, spec.policy, spec.queries, out=tmp_path / "again", ledger=other)
    claimed = read_spec(write_spec(tmp_path, SYNTHETIC))
    table = library.open_table(engine, claimed.data, spec.policy.attributes, spec.groupers)
    with pytest.raises(Refused, match="these data have a ledger"):
        library.measure(table, spec.policy, spec.queries, out=tmp_path / "again", entropy=SeededEntropy(1))
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
    (tmp_path / "dangling.ledger").symlink_to("nowhere")
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert spent(tmp_path) == PRICE


def test_a_broken_ledger_nearby_may_be_that_of_the_data(tmp_path: Path) -> None:
    write_case(tmp_path, ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", "--ledger", "a.ledger", folder=tmp_path).code == 0
    (tmp_path / LEDGER).unlink()
    content = bytearray((tmp_path / "a.ledger").read_bytes())
    place = content.index(b'"fingerprint"')
    content[place + 20] ^= 1
    (tmp_path / "a.ledger").write_bytes(bytes(content))
    ended = gedp("run", "spec.toml", "--out", "again", folder=tmp_path)
    assert (ended.code, "a.ledger is not what was written" in ended.err) == (1, True), ended


def test_a_new_ledger_is_announced_once(tmp_path: Path) -> None:
    write_case(tmp_path)
    ended = gedp("run", "spec.toml", "--answers-only", folder=tmp_path)
    line = f"A new ledger was made for these data, in which nothing was recorded before: {LEDGER}"
    assert line in ended.out.splitlines()
    assert "new ledger" not in gedp("run", "spec.toml", "--answers-only", "--force", folder=tmp_path).out


def test_files_that_are_not_hard_links_need_no_word(tmp_path: Path) -> None:
    assert plan_run(read_spec(write_case(tmp_path)), tmp_path).ledger_is_new


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
