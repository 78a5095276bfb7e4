"""The file of establishments: columns, sums, reproducibility, and whole or absent."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gedp.errors import FaultsError, GedpError
from gedp.files import WriteError, require_writable
from gedp_lab.synth.cells import ATTRIBUTES, CELL_SCHEMA, CLASS_SCHEMA, KEYS, check_cells
from gedp_lab.synth.demo import demo_cells
from gedp_lab.synth.establishments import SCHEMA, write_establishments
from gedp_lab.synth.sizes import CBP_CLASSES, cbp_class, count_by_size


def two_states() -> pa.Table:
    """The demonstration state twice, as two states."""
    first = demo_cells(1)
    other = first.set_column(0, "state", pa.array(["44"] * first.num_rows))
    return pa.concat_tables([other, first.slice(0, 900)]).combine_chunks()


def write(cells: pa.Table, out: Path, spread: str = "skewed", seed: int = 5, batch: int = 10_000) -> pa.Table:
    write_establishments(cells, out, year=2016, quarter=1, seed=seed, spread=spread, batch=batch)
    return pq.read_table(out)


def test_the_columns_are_the_papers(tmp_path: Path) -> None:
    made = write(two_states(), tmp_path / "e.parquet")
    assert ",".join(made.column_names) == (
        "year,qtr,state,cnty,naics,naics5,naics4,naics3,sector,supersector,own,"
        "m1emp,m2emp,m3emp,wage,primary_key,can_agg,rectype"
    )
    assert made.schema.equals(SCHEMA)
    assert sum(column.null_count for column in made.columns) == 0
    row = made.filter(pc.equal(made["naics"], "325412")).slice(0, 1).to_pylist()[0]
    codes = {name: row[name] for name in ("naics5", "naics4", "naics3", "sector", "supersector")}
    assert codes == {
        "naics5": "32541",
        "naics4": "3254",
        "naics3": "325",
        "sector": "31-33",
        "supersector": "1013",
    }
    constants = [row[name] for name in ("year", "qtr", "own", "can_agg", "rectype")]
    assert constants == [2016, 1, "5", "Y", "C"]
    assert pc.count_distinct(made["primary_key"]).as_py() == made.num_rows


@pytest.mark.parametrize("spread", ["skewed", "paper"])
def test_adding_up_gives_the_cells_back(tmp_path: Path, spread: str) -> None:
    cells = two_states()
    write(cells, tmp_path / "e.parquet", spread)
    sums = ", ".join(f"sum({name})::bigint" for name in ATTRIBUTES)
    query = f"select state, cnty, naics, own, count(*), {sums} from read_parquet(?) group by all"
    found = duckdb.execute(query, [str(tmp_path / "e.parquet")]).fetchall()
    assert sorted(found) == sorted(zip(*(column.to_pylist() for column in cells.columns), strict=True))


@pytest.mark.parametrize("spread", ["skewed", "paper"])
def test_the_file_does_not_depend_on_batches_or_other_states(tmp_path: Path, spread: str) -> None:
    cells = two_states()
    whole = write(cells, tmp_path / "a.parquet", spread, batch=10**6)
    assert write(cells, tmp_path / "b.parquet", spread, batch=777).equals(whole)
    alone = write(
        cells.filter(pc.equal(cells["state"], "44")), tmp_path / "c.parquet", spread, batch=5000
    ).drop_columns("primary_key")
    assert alone.equals(whole.filter(pc.equal(whole["state"], "44")).drop_columns("primary_key"))
    assert not write(cells, tmp_path / "d.parquet", spread, seed=6).equals(whole)


def test_the_summary_says_what_is_in_the_file(tmp_path: Path) -> None:
    out = tmp_path / "e.parquet"
    seen: list[int] = []
    summary = write_establishments(two_states(), out, year=2016, quarter=1, seed=5, progress=seen.append, batch=4000)
    made = pq.read_table(out)
    assert summary.establishments == made.num_rows == sum(seen)
    assert len(seen) > 3
    assert summary.wage == pc.sum(made["wage"]).as_py()
    assert summary.sizes == tuple(count_by_size(made["m3emp"].to_numpy()).tolist())
    assert summary.largest == pc.max(made["m3emp"]).as_py()
    assert summary.counties == 14 + len(np.unique(demo_cells(1).slice(0, 900)["cnty"].to_pylist()))


def test_several_times_are_the_same_establishments_with_ids_of_their_own(tmp_path: Path) -> None:
    once = write(two_states(), tmp_path / "once.parquet")
    out = tmp_path / "thrice.parquet"
    make = partial(write_establishments, two_states(), out, year=2016, quarter=1, seed=5, batch=3000)
    summary = make(times=3)
    thrice, rows = pq.read_table(out), once.num_rows
    assert summary.establishments == thrice.num_rows == 3 * rows
    assert thrice["primary_key"].to_pylist() == list(range(1, 3 * rows + 1))
    for time in range(3):
        again = thrice.slice(time * rows, rows)
        assert again.drop_columns("primary_key").equals(once.drop_columns("primary_key"))
    with pytest.raises(GedpError, match="1 or more"):
        make(times=0)


def test_size_classes_begin_where_they_say() -> None:
    jobs = [0, 1, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100, 249, 250, 499, 500, 999, 1000, 40_000]
    assert count_by_size(jobs).tolist() == [1] + [2] * 9


def test_an_interrupt_leaves_no_file_and_spares_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "e.parquet"
    out.write_text("what was there before")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_establishments(two_states(), out, year=2016, quarter=1, seed=5, progress=interrupt, batch=2000)
    assert [path.name for path in tmp_path.iterdir()] == ["e.parquet"]
    assert out.read_text() == "what was there before"


def test_a_full_disk_is_one_message_and_no_file(tmp_path: Path) -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "from pathlib import Path; from gedp_lab.synth.demo import make_demo\n"
        "from gedp.files import WriteError\n"
        "try: make_demo(Path(sys.argv[1]))\n"
        "except WriteError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_unwritable_places_are_named(tmp_path: Path) -> None:
    for place, message in (
        (tmp_path / "nowhere" / "e.parquet", "no such file"),
        (tmp_path, "it is a folder"),
    ):
        with pytest.raises(WriteError, match=message):
            require_writable(place)
    with pytest.raises(WriteError, match="no such file"):
        write(two_states(), tmp_path / "nowhere" / "e.parquet")
    require_writable(tmp_path / "e.parquet")
    assert list(tmp_path.iterdir()) == []


def test_cells_are_checked_all_at_once(tmp_path: Path) -> None:
    row = ["44", "007", "722511", "5", 3, 1, 2, 3, 400]
    good = pa.table({name: [value] for name, value in zip(CELL_SCHEMA.names, row, strict=True)}, schema=CELL_SCHEMA)
    check_cells(good)
    bad = pa.table({name: [value] * 2 for name, value in zip(CELL_SCHEMA.names, row, strict=True)}, schema=CELL_SCHEMA)
    bad = bad.set_column(1, "cnty", pa.array(["7", "7"])).set_column(2, "naics", pa.array(["7225", "7225"]))
    bad = bad.set_column(4, "estabs", pa.array([0, 0])).set_column(8, "wage", pa.array([-1, 5]))
    with pytest.raises(FaultsError) as caught:
        check_cells(bad)
    places = [fault.place for fault in caught.value.faults]
    assert places == ["column cnty", "column naics", "rows", "column estabs", "column wage"]
    with pytest.raises(FaultsError, match="column wage: missing"):
        check_cells(good.drop_columns("wage"))
    with pytest.raises(FaultsError, match="column wage: is double"):
        check_cells(good.set_column(8, "wage", pa.array([1.5])))
    with pytest.raises(FaultsError, match="column m1emp: 1 nulls"):
        check_cells(good.set_column(5, "m1emp", pa.array([None], pa.int64())))
    with pytest.raises(FaultsError, match="there are none"):
        check_cells(good.slice(1))
    with pytest.raises(GedpError, match="no such spread"):
        write(good, tmp_path / "e.parquet", spread="even")
    with pytest.raises(GedpError, match="seed -1"):
        write(good, tmp_path / "e.parquet", seed=-1)
    assert list(tmp_path.iterdir()) == []


def cells_by_class(folder: Path) -> pa.Table:
    """Two states with the size classes of the establishments that `skewed` makes of them."""
    cells = two_states()
    made = write(cells, folder / "skewed.parquet")
    counted = {
        name: (cbp_class(made["m3emp"].to_numpy()) == at).astype(np.int64) for at, name in enumerate(CBP_CLASSES)
    }
    keyed = pa.table({name: made[name] for name in KEYS} | counted)
    sums = keyed.group_by(list(KEYS)).aggregate([(name, "sum") for name in CBP_CLASSES])
    classes = sums.rename_columns([*KEYS, *CBP_CLASSES])
    joined = cells.join(classes, list(KEYS)).select(CLASS_SCHEMA.names)
    return joined.combine_chunks()


def test_establishments_have_the_size_classes_of_their_cells(tmp_path: Path) -> None:
    cells = cells_by_class(tmp_path)
    made = write(cells, tmp_path / "classes.parquet", "classes")
    again = write(cells, tmp_path / "again.parquet", "classes", batch=777)
    assert made.equals(again)
    before, after = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("skewed", "classes"))
    for file in (before, after):
        assert file.num_rows == sum(cells["estabs"].to_pylist())
    query = "select state, cnty, naics, own, {} as class, count(*) from made group by all order by all"
    bucket = " + ".join(f"(m3emp >= {least})::int" for least in CBP_CLASSES.values())
    counts = []
    for file in (before, after):
        with duckdb.connect() as connection:
            connection.register("made", file)
            counts.append(connection.execute(query.format(bucket)).fetchall())
    assert counts[0] == counts[1]


def test_all_faults_of_size_classes_come_at_once(tmp_path: Path) -> None:
    cells = cells_by_class(tmp_path)
    estabs = cells["estabs"].to_numpy().copy()
    estabs[:2] += 1
    jobs = cells["m3emp"].to_numpy().copy()
    jobs[:3] = 10**9
    spoilt = cells.set_column(4, "estabs", pa.array(estabs)).set_column(7, "m3emp", pa.array(jobs))
    with pytest.raises(FaultsError) as error:
        write(spoilt, tmp_path / "never.parquet", "classes")
    assert [fault.problem for fault in error.value.faults] == [
        "2 cells have another number of establishments than their classes add up to",
        "3 cells have fewer or more jobs in month 3 than their classes allow",
    ]
    with pytest.raises(FaultsError, match="n1000_4"):
        write(cells.drop_columns(["n1000_4"]), tmp_path / "never.parquet", "classes")
    negative = cells.set_column(9, "n1_4", pa.array(np.full(cells.num_rows, -1)))
    with pytest.raises(FaultsError, match="below 0"):
        write(negative, tmp_path / "never.parquet", "classes")
    assert not (tmp_path / "never.parquet").exists()
