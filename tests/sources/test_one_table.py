"""Ways to give the same rows again: which are one table, about which a person is asked, and which nobody notices.

docs/ledger.md has the table. Every way starts from a budget for one release, which is spent.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import tomli_w

import gedp as library
from gedp.errors import Refused
from gedp.ledger import Ledger, LessPromisedError
from tests.helpers.runs import LEDGER, PRICE, SYNTHETIC, gedp, names, small_table, spent, write_case, write_spec
from tests.helpers.sources import CASES, text_of

pytestmark = pytest.mark.usefixtures("no_disk_waits")

ONE_RELEASE = ("mu = 1\n", "mu = 0.3\n")
TABLE = small_table()
DECIDED = ("--decided-by", "the registrar", "--reason", "memo 12")
Changes = tuple[tuple[str, str], ...]
Require = Callable[[str | None], None]


def source_is(name: str, **keys: Any) -> tuple[str, str]:
    return 'source = "t.parquet"\n', tomli_w.dumps({"source": name, **keys})


@dataclass(frozen=True)
class Way:
    """Writes the rows in another way, and says what the spec has to say about it."""

    write: Callable[[Path], Changes]
    needs: str | None = None


def parquet(table: pa.Table, *changes: tuple[str, str]) -> Callable[[Path], Changes]:
    def write(folder: Path) -> Changes:
        pq.write_table(table, folder / "again.parquet")
        return source_is("again.parquet"), *changes

    return write


def text(content: str) -> Callable[[Path], Changes]:
    def write(folder: Path) -> Changes:
        (folder / "again.csv").write_text(content, encoding="utf-8")
        return (source_is("again.csv"),)

    return write


def in_two_files(folder: Path) -> Changes:
    for number, half in enumerate((TABLE.slice(15), TABLE.slice(0, 15))):
        pq.write_table(half, folder / f"half{number}.parquet")
    return (source_is("half*.parquet"),)


def linked(link: Callable[[Path, Path], None]) -> Callable[[Path], Changes]:
    def write(folder: Path) -> Changes:
        link(folder / "t.parquet", folder / "again.parquet")
        return (source_is("again.parquet"),)

    return write


def file_of(case: str) -> Callable[[Path], Changes]:
    def write(folder: Path) -> Changes:
        name = f"again-{CASES[case].source}"
        CASES[case].write(TABLE, folder / name)
        return (source_is(name, **CASES[case].keys),)

    return write


def typed() -> pa.Table:
    """Jobs as decimals, wages as texts with more zeros than they need, codes as numbers and ids as categories."""
    return pa.table(
        {
            "key": TABLE["key"].dictionary_encode(),
            "cnty": TABLE["cnty"].cast(pa.int16()),
            "naics": TABLE["naics"].cast(pa.float64()),
            "emp": pa.array([Decimal(n).quantize(Decimal("1.00")) for n in TABLE["emp"].to_pylist()]),
            "wage": [f" {n:.3f}e0" for n in TABLE["wage"].to_pylist()],
        }
    )


RENAMED = {"key": "unit", "cnty": "kreis", "naics": "wz", "emp": "jobs", "wage": "pay"}
NAMED_OTHERWISE = (
    ('"key"', '"unit"'),
    ('["cnty", "naics"]', '["kreis", "wz"]'),
    ("column = ", "column = "),
    ('{ column = "naics"', '{ column = "wz"'),
    ("emp = {", "jobs = {"),
    ("wage = {", "pay = {"),
    ('by = ["cnty"]', 'by = ["kreis"]'),
    ("{ emp = 0.2, wage = 0.1 }", "{ jobs = 0.2, pay = 0.1 }"),
    ('"naics2", "cnty"', '"naics2", "kreis"'),
    ("mu = { emp = 0.1 }", "mu = { jobs = 0.1 }"),
)
ORDER = np.random.default_rng(1).permutation(TABLE.num_rows)

SAME: dict[str, Way] = {
    **{case: Way(file_of(case), CASES[case].needs) for case in CASES},
    "another order": Way(parquet(TABLE.take(ORDER))),
    "other types": Way(parquet(typed())),
    "blank lines": Way(text(text_of(TABLE).replace("\r\n", "\n") + "\n\n")),
    "several files": Way(in_two_files),
    "a symbolic link": Way(linked(lambda old, new: new.symlink_to(old))),
    "a hard link": Way(linked(lambda old, new: os.link(old, new))),
    "a column more": Way(parquet(TABLE.append_column("note", pa.array(["x"] * TABLE.num_rows)))),
    "columns in another order": Way(parquet(TABLE.select(TABLE.column_names[::-1]))),
    "other names": Way(parquet(TABLE.rename_columns(list(RENAMED.values())), *NAMED_OTHERWISE)),
    "another unit": Way(parquet(TABLE.take(ORDER), ("unit = 0.01", "unit = 0.001"))),
    "without ids": Way(parquet(TABLE.drop_columns(["key"]), ('id = "key"\n', ""))),
    "one attribute of two corrected": Way(parquet(TABLE.set_column(3, "emp", pc.add(TABLE["emp"], 1)))),
}


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with a table whose budget is spent."""
    write_case(tmp_path, ONE_RELEASE)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    return tmp_path


@pytest.mark.parametrize("way", SAME.values(), ids=SAME.keys())
def test_the_same_rows_have_the_same_ledger(way: Way, released: Path, require: Require) -> None:
    require(way.needs)
    changes = way.write(released)
    write_spec(released, ONE_RELEASE, *changes)
    before = names(released)
    for more in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", *more, folder=released)
        assert (ended.code, ended.err.startswith("gedp: over budget")) == (1, True), ended
    for other in ("other.ledger", "elsewhere.db"):
        ended = gedp("run", "spec.toml", "--out", "again", "--ledger", other, folder=released)
        assert (ended.code, "these data already have a ledger: " in ended.err, LEDGER in ended.err) == (1, True, True)
    assert names(released) == before
    assert spent(released) == PRICE


def changed_values() -> pa.Table:
    return TABLE.set_column(3, "emp", pc.add(TABLE["emp"], 1)).set_column(4, "wage", pc.add(TABLE["wage"], 1))


OTHERS = TABLE.slice(0, 30).set_column(0, "key", pa.array([f"other {i}" for i in range(30)]))
NO_IDS = ('id = "key"\n', "")
#: Each with what the message says.
ASKED: dict[str, tuple[Way, str]] = {
    "a subset of the rows": (Way(parquet(TABLE.slice(0, 9))), "of the establishments"),
    "more rows": (Way(parquet(pa.concat_tables([TABLE, OTHERS]))), "of the establishments"),
    "every attribute corrected": (Way(parquet(changed_values())), "about 100% of the establishments"),
    "other establishments with the same columns": (Way(parquet(OTHERS)), "the same columns and lie in the same folder"),
}


@pytest.mark.parametrize(("way", "said"), ASKED.values(), ids=ASKED.keys())
def test_about_rows_that_are_nearly_the_same_a_person_decides(way: Way, said: str, released: Path) -> None:
    write_spec(released, ONE_RELEASE, *way.write(released))
    before = names(released)
    for more in ([], ["--dry-run"], ["--ledger", "other.ledger"]):
        ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", *more, folder=released)
        assert (ended.code, said in ended.err, f"--ledger {LEDGER}" in ended.err) == (1, True, True), ended
    assert names(released) == before, "no ledger, no link, no release"
    ended = gedp("run", "spec.toml", "--out", "again", "--ledger", LEDGER, folder=released)
    assert (ended.code, "over budget" in ended.err) == (1, True), "the first way out"
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", *DECIDED, folder=released)
    assert ended.code == 0, ended.err
    shown = gedp("ledger", "show", "again.parquet.ledger", folder=released).out
    assert f"these count as other data than those of {LEDGER}" in " ".join(shown.split())
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "third", folder=released)
    assert "over budget" in ended.err, "it was decided once"


def test_a_file_that_is_overwritten_with_known_rows_is_asked_about(released: Path) -> None:
    way, _ = ASKED["other establishments with the same columns"]
    write_spec(released, ONE_RELEASE, *way.write(released))
    assert gedp("run", "spec.toml", "--answers-only", "--out", "others", *DECIDED, folder=released).code == 0
    pq.write_table(TABLE.slice(5), released / "again.parquet")
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "third", folder=released)
    assert (ended.code, "of the establishments are the same" in ended.err) == (1, True), ended


def test_without_ids_public_columns_tell_which_tables_are_alike(tmp_path: Path) -> None:
    write_case(tmp_path, NO_IDS)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    (tmp_path / "below").mkdir()
    write_case(tmp_path / "below", NO_IDS, table=changed_values())
    ended = gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "below")
    assert (ended.code, "about 100% of the combinations of public columns" in ended.err) == (1, True), ended


def test_what_is_out_of_reach_or_another_attribute_is_not_noticed(tmp_path: Path) -> None:
    """As docs/ledger.md says."""
    for name, table in {"a": TABLE, "b": TABLE.take(ORDER)}.items():
        write_case(tmp_path / name, table=table)
        assert "new ledger" in gedp("run", "spec.toml", "--answers-only", folder=tmp_path / name).out
    table = changed_values().rename_columns(["key", "cnty", "naics", "jobs", "pay"])
    pq.write_table(table, tmp_path / "a" / "again.parquet")
    renamed = [(old, new) for old, new in NAMED_OTHERWISE if "jobs" in new or "pay" in new]
    write_spec(tmp_path / "a", source_is("again.parquet"), *renamed)
    assert "new ledger" in gedp("run", "spec.toml", "--answers-only", "--out", "again", folder=tmp_path / "a").out
    write_case(tmp_path / "c", table=small_table(2000))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "c").code == 0
    write_case(tmp_path / "c" / "few", table=small_table(2000).slice(700, 4))
    assert "new ledger" in gedp("run", "spec.toml", "--answers-only", folder=tmp_path / "c" / "few").out


def test_ledgers_elsewhere_are_in_reach_if_the_environment_names_them(
    released: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    write_case(folder, ONE_RELEASE, table=TABLE.take(ORDER))
    assert gedp("run", "spec.toml", "--dry-run", folder=folder).code == 0
    for place in (released, released / LEDGER):
        monkeypatch.setenv("GEDP_LEDGERS", os.pathsep.join([str(folder), str(place)]))
        ended = gedp("run", "spec.toml", folder=folder)
        assert (ended.code, "over budget" in ended.err) == (1, True), ended
    monkeypatch.setenv("GEDP_LEDGERS", str(folder / "gone"))
    ended = gedp("run", "spec.toml", folder=folder)
    assert (ended.code, "GEDP_LEDGERS names" in ended.err) == (1, True), ended


def test_a_data_frame_of_known_rows_takes_their_ledger_and_no_other(released: Path) -> None:
    spec = library.read_spec(released / "spec.toml")
    frame = pl.DataFrame(TABLE.take(ORDER))
    memory = library.make_spec(
        data={"public": ["cnty", "naics"], "id": "key"},
        attributes={"emp": {"psi": "sqrt", "gamma": 0.5}},
        budget={"mu": 0.3},
        queries=[{"name": "county", "by": ["cnty"], "mu": 0.1}],
    )
    for other in (released / "other.ledger", released / "other.db"):
        with pytest.raises(Refused, match="these data already have a ledger"):
            library.check(memory, frame, out=released / "again", ledger=other)
        with pytest.raises(Refused, match="these data already have a ledger"):
            ask_total(memory, frame, released / "answer.json", other)
    opened = library.open_table(memory, frame)
    with pytest.raises(Refused, match="these data have a ledger"):
        library.measure(opened, memory, out=released / "again", ledger=Ledger.open(released / "other.ledger"))
    (released / "other.ledger").unlink()
    subset = library.open_table(memory, frame.head(9))
    with pytest.raises(LessPromisedError, match="of the establishments are the same"):
        library.measure(subset, memory, out=released / "again", ledger=Ledger.open(released / "other.ledger"))
    with pytest.raises(LessPromisedError, match="of the establishments are the same"):
        ask_total(memory, frame.head(9), released / "answer.json", released / "new.ledger")
    assert spec.data.source == "t.parquet"
    assert spent(released) == PRICE


def ask_total(spec: library.Spec, table: Any, out: Path, ledger: Path) -> None:
    library.ask(
        spec,
        lambda columns: np.minimum(columns["emp"], 10).sum(),
        table=table,
        name="capped jobs",
        attributes=["emp"],
        mu=0.1,
        sensitivity=10,
        largest=1000,
        out=out,
        ledger=ledger,
    )


def test_a_table_of_a_database_is_known_by_its_rows(database: Any, released: Path) -> None:
    with database.cursor() as cursor:
        cursor.adbc_ingest("firms", TABLE)
    source = source_is("adbc:postgresql", table="firms")
    ledger = ("[output]", '[ledger]\nfile = "other.ledger"\n\n[output]')
    write_spec(released, ONE_RELEASE, source, ledger)
    ended = gedp("run", "spec.toml", "--out", "again", folder=released)
    assert (ended.code, "these data already have a ledger" in ended.err) == (1, True), ended


def test_synthetic_data_are_neither_asked_about_nor_forgotten(released: Path) -> None:
    write_spec(released, SYNTHETIC, *parquet(OTHERS)(released))
    assert gedp("run", "spec.toml", "--answers-only", "--out", "synthetic", folder=released).code == 0
    assert not (released / "again.parquet.ledger").exists()
    write_spec(released, SYNTHETIC, *parquet(TABLE.take(ORDER))(released))
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "again", "--seed", "1", folder=released)
    assert (ended.code, "releases from them as confidential data" in ended.err) == (1, True), ended


@contextmanager
def mounted(source: Path, place: Path) -> Iterator[None]:
    """A file or folder at another place too, as a container has one that is given with -v."""
    done = subprocess.run(["mount", "--bind", source, place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("mounts are not permitted here")
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def container(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder without a ledger in which the file is mounted."""
    place = tmp_path_factory.mktemp("a container") / "t.parquet"
    place.touch()
    with mounted(released / "t.parquet", place):
        yield place.parent


def test_a_folder_that_is_mounted_hides_the_ledgers_above_it(tmp_path: Path) -> None:
    """As docs/ledger.md says."""
    inside, outside = tmp_path / "a" / "inside", tmp_path / "container"
    write_case(inside, ONE_RELEASE)
    outside.mkdir()
    ended = gedp("run", "spec.toml", "--answers-only", "--ledger", "../above.ledger", folder=inside)
    assert ended.code == 0
    (inside / LEDGER).unlink()  # the link to it, which would lead nowhere and be refused
    with mounted(inside, outside):
        assert "would be created" in gedp("run", "spec.toml", "--out", "x", "--dry-run", folder=outside).out
    ended = gedp("run", "spec.toml", "--out", "x", "--dry-run", folder=inside)
    assert (ended.code, "over budget" in ended.err) == (1, True)


def test_a_file_that_is_mounted_needs_its_ledger_named(container: Path, released: Path) -> None:
    write_spec(container, ONE_RELEASE)
    for more in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--answers-only", *more, folder=container)
        assert (ended.code, "it is mounted here" in ended.err) == (1, True), ended
    ended = gedp("run", "spec.toml", "--answers-only", "--ledger", str(released / LEDGER), folder=container)
    assert (ended.code, "over budget" in ended.err) == (1, True), ended
    assert names(container) == ["spec.toml", "t.parquet"]


# One table, one period.

SERIES = (
    ('source = "t.parquet"', 'source = "2016Q1.csv"\nperiod = "2016Q1"'),
    ("[output]", '[ledger]\nfile = "register.ledger"\n[output]'),
)


@pytest.fixture
def first_quarter(tmp_path: Path) -> Path:
    write_spec(tmp_path, *SERIES)
    (tmp_path / "2016Q1.csv").write_text(text_of(TABLE))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    return tmp_path


def second(folder: Path, table: pa.Table | str, *more: str) -> Any:
    (folder / "2016Q2.csv").write_text(table if isinstance(table, str) else text_of(table))
    options = ("--source", "2016Q2.csv", "--period", "2016Q2", "--out", "second", "--answers-only", *more)
    return gedp("run", "spec.toml", *options, folder=folder)


@pytest.mark.parametrize("content", [text_of(TABLE) + "\r\n", text_of(TABLE.take(ORDER), ";")], ids=["blank", "order"])
def test_a_quarter_is_not_had_twice_by_another_text_of_its_table(content: str, first_quarter: Path) -> None:
    for more in ([], ["--dry-run"], DECIDED):
        ended = second(first_quarter, content, *more)
        assert ended.code == 1, ended
    assert (
        "a table with these rows was released as 2016Q1, and would now count as 2016Q2"
        in second(first_quarter, content).err
    )
    assert spent(first_quarter, "register.ledger") == PRICE


def test_an_attribute_may_keep_its_values_for_a_quarter(first_quarter: Path) -> None:
    """Whether it does is confidential, so nobody is asked: the decision would be published."""
    kept = TABLE.set_column(3, "emp", pc.add(TABLE["emp"], 1))
    assert second(first_quarter, kept).code == 0


def test_the_next_quarter_of_the_same_establishments_needs_no_word(first_quarter: Path) -> None:
    assert second(first_quarter, changed_values()).code == 0
