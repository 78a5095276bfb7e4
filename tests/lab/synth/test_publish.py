from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import gedp_lab.synth.publish
from gedp.errors import FaultsError
from gedp.folders import PlaceTakenError, new_folder
from gedp_lab.synth.cbp.codes import parent_of
from gedp_lab.synth.publish import PublishedFiles, Rates, publish
from gedp_lab.synth.publish.county_patterns import EMPLOYMENT_FLAGS, employment_flag, noise_flag
from gedp_lab.synth.publish.leaves import (
    LARGEST_NOISE,
    OUTSIDE_CBP,
    SMALLEST_NOISE,
    cbp_naics,
    noise_factors,
    read_leaves,
    whole_at_random,
)
from gedp_lab.synth.publish.tabulate import riskiest
from gedp_lab.synth.sizes import CBP_CLASSES
from tests.helpers.synth_cbp_files import make_establishments, names_in, publish_world, read_rows

LAYOUT = """
fipstate fipscty naics empflag emp_nf emp qp1_nf qp1 ap_nf ap est n1_4 n5_9 n10_19 n20_49 n50_99 n100_249
n250_499 n500_999 n1000 n1000_1 n1000_2 n1000_3 n1000_4 censtate cencty
"""
DATA_DICTIONARY = Path(__file__).parents[4] / "shared" / "data" / "cbp16co-DataDictionary.txt"
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, PublishedFiles]:
    return publish_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def cbp(world: tuple[pa.Table, PublishedFiles]) -> Rows:
    return read_rows(world[1].cbp)


@pytest.fixture(scope="module")
def truth(world: tuple[pa.Table, PublishedFiles]) -> dict[tuple[str, str, str], dict[str, int]]:
    """The establishments that CBP covers, summed one by one at every level."""
    sums: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    covered = world[0].filter(pc.invert(pc.match_substring_regex(world[0]["naics"], OUTSIDE_CBP)))
    codes = cbp_naics(covered["naics"])
    for row in covered.set_column(covered.column_names.index("naics"), "naics", codes).to_pylist():
        if row["m1emp"] + row["m2emp"] + row["m3emp"] + row["wage"] == 0:
            continue
        code = row["naics"]
        size = [name for name, least in CBP_CLASSES.items() if row["m3emp"] >= least][-1]
        while True:
            cell = sums[row["state"], row["cnty"], code]
            cell["est"] += 1
            cell["emp"] += row["m3emp"]
            cell["wage"] += row["wage"]
            cell[size] += 1
            if not code:
                break
            code = parent_of(code)
    return sums


def key_of(row: dict[str, str]) -> tuple[str, str, str]:
    return row["fipstate"], row["fipscty"], row["naics"].rstrip("-/")


def test_cbp_has_the_columns_of_the_record_layout(cbp: Rows) -> None:
    assert list(cbp[0]) == LAYOUT.split()


@pytest.mark.skipif(not DATA_DICTIONARY.exists(), reason="no ../shared/data with the CBP record layout")
def test_the_columns_are_those_of_the_census_bureau() -> None:
    text = DATA_DICTIONARY.read_text(errors="replace").splitlines()
    fields = [line.split()[0].lower() for line in text if len(line.split()) > 1 and line.split()[1] in ("C", "N")]
    assert fields == LAYOUT.split()


def test_establishments_and_size_classes_are_exact(
    cbp: Rows, truth: dict[tuple[str, str, str], dict[str, int]]
) -> None:
    assert {key_of(row) for row in cbp} == set(truth)
    for row in cbp:
        cell = truth[key_of(row)]
        assert int(row["est"]) == cell["est"]
        for name in CBP_CLASSES:
            assert int(row[name]) == cell[name]
        assert int(row["n1000"]) == sum(int(row[f"n1000_{part}"]) for part in (1, 2, 3, 4))


def test_published_figures_are_near_the_truth_and_flagged_by_how_near(
    cbp: Rows, truth: dict[tuple[str, str, str], dict[str, int]]
) -> None:
    assert {row["qp1_nf"] for row in cbp} == {"D", "G", "H", "J"}
    for row in cbp:
        cell = truth[key_of(row)]
        if row["qp1_nf"] == "D":
            assert (row["emp_nf"], row["emp"], row["qp1"]) == ("D", "0", "0")
            letters = [letter for letter, least in EMPLOYMENT_FLAGS.items() if cell["emp"] >= least]
            assert row["empflag"] == letters[-1]
            continue
        assert row["empflag"] == ""
        assert 1000 * int(row["qp1"]) == pytest.approx(cell["wage"], rel=LARGEST_NOISE, abs=500)
        error = abs(1000 * int(row["qp1"]) - cell["wage"])
        limits = {"G": (0, 0.02), "H": (0.02, 0.05), "J": (0.05, 1)}[row["qp1_nf"]]
        assert limits[0] * cell["wage"] - 500 <= error <= limits[1] * cell["wage"] + 500


def test_noise_adds_up(cbp: Rows) -> None:
    emp = {key_of(row): int(row["emp"]) for row in cbp if row["emp_nf"] != "D"}
    children: dict[tuple[str, str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for row in cbp:
        state, county, code = key_of(row)
        if code:
            children[state, county, parent_of(code)].append((state, county, code))
    whole = [parent for parent, inside in children.items() if parent in emp and all(key in emp for key in inside)]
    assert len(whole) > 20
    for parent in whole:
        assert emp[parent] == sum(emp[key] for key in children[parent])


def test_suppressed_shares_are_the_papers(world: tuple[pa.Table, PublishedFiles]) -> None:
    aims = {"CBP payroll": [0, 0.18, 0.36, 0.50, 0.58, 0.61], "QWI Emp": [0.43], "QWI EmpEnd": [0.43]}
    aims |= {"QWI EmpS": [0.42], "QWI EarnBeg": [0.02]}
    for source, shares in aims.items():
        tables = [table for table in world[1].tables if table.source == source]
        for table, share in zip(tables, shares, strict=True):
            assert table.aim == share
            assert table.withheld == round(share * table.cells)


def test_reported_shares_are_those_in_the_files(world: tuple[pa.Table, PublishedFiles], cbp: Rows) -> None:
    reported = {table.level: (table.cells, table.withheld) for table in world[1].tables if "CBP" in table.source}
    for digits, level in ((2, "county x sector"), (4, "county x NAICS-4"), (6, "county x NAICS-6")):
        rows = [row for row in cbp if len(key_of(row)[2]) == digits]
        assert reported[level] == (len(rows), sum(row["qp1_nf"] == "D" for row in rows))
    qwi = [row for path in world[1].qwi.glob("*_n4_*.csv") for row in read_rows(path)]
    for table in world[1].tables:
        if table.source.startswith("QWI"):
            name = table.source.removeprefix("QWI ")
            assert (table.cells, table.withheld) == (len(qwi), sum(row[f"s{name}"] == "5" for row in qwi))


def test_small_and_dominated_cells_go_first() -> None:
    establishments = np.array([1, 2, 3, 40, 50, 60])
    dominance = np.array([1.0, 0.6, 0.5, 0.9, 0.2, 0.1])
    withheld = riskiest(establishments, dominance, 0.5, np.random.default_rng(0))
    assert withheld.tolist() == [True, True, False, True, False, False]


def test_the_imputed_cbp_adds_up_and_keeps_what_is_published(world: tuple[pa.Table, PublishedFiles], cbp: Rows) -> None:
    imputed = {key_of(row): int(row["emp"]) for row in read_rows(world[1].efsy)}
    assert set(imputed) == {key_of(row) for row in cbp}
    inside: dict[tuple[str, str, str], int] = defaultdict(int)
    for (state, county, code), emp in imputed.items():
        if code:
            inside[state, county, parent_of(code)] += emp
    for key, emp in inside.items():
        assert imputed[key] == emp
    for row in cbp:
        if row["emp_nf"] != "D":
            assert imputed[key_of(row)] == int(row["emp"])


def test_the_imputed_cbp_is_right_on_average_where_cbp_is_silent(
    world: tuple[pa.Table, PublishedFiles], cbp: Rows, truth: dict[tuple[str, str, str], dict[str, int]]
) -> None:
    imputed = {key_of(row): int(row["emp"]) for row in read_rows(world[1].efsy)}
    silent = [key_of(row) for row in cbp if row["emp_nf"] == "D" and len(key_of(row)[2]) == 6]
    guess = np.array([imputed[key] for key in silent], dtype=np.float64)
    actual = np.array([truth[key]["emp"] for key in silent], dtype=np.float64)
    assert guess.sum() == pytest.approx(actual.sum(), rel=0.05)
    assert np.corrcoef(guess, actual)[0, 1] > 0.9
    assert (guess != actual).mean() > 0.3  # it is a guess, not the truth


def test_qwi_is_near_the_truth(world: tuple[pa.Table, PublishedFiles]) -> None:
    establishments, files = world
    sums: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(5))
    for row in establishments.to_pylist():
        months = [row["m1emp"], row["m2emp"], row["m3emp"]]
        for industry in ("00", row["naics"][:4]):
            key = (row["state"] + row["cnty"], industry)
            sums[key] += [months[0], months[2], min(months), sum(months), row["wage"]]
    rows = [row for path in files.qwi.glob("*.csv") for row in read_rows(path) if row["ind_level"] in "A4"]
    assert {row["geo_level"] for row in rows} == {"C"}
    for row in rows:
        begin, end, least, jobs, wage = sums[row["geography"], row["industry"]]
        if row["Emp"]:
            assert int(row["Emp"]) == pytest.approx(begin, rel=LARGEST_NOISE, abs=0.5)
            assert (row["sEmp"] == "9") == (abs(int(row["Emp"]) - begin) > 0.05 * max(begin, 1)) or begin < 100
        if row["EmpEnd"]:
            assert int(row["EmpEnd"]) == pytest.approx(end, rel=LARGEST_NOISE, abs=0.5)
        if row["EmpS"]:
            assert int(row["EmpS"]) <= least * (1 + LARGEST_NOISE) + 0.5
            assert not row["Emp"] or int(row["EmpS"]) <= int(row["Emp"])
        if row["EarnBeg"]:
            assert int(row["EarnBeg"]) == pytest.approx(wage / jobs, rel=0.2)
        assert row["ind_level"] == "4" or row["sEmp"] in "19"


def test_qwi_covers_industries_that_cbp_does_not(world: tuple[pa.Table, PublishedFiles], cbp: Rows) -> None:
    qwi = {row["industry"] for path in world[1].qwi.glob("*_n4_*.csv") for row in read_rows(path)}
    in_cbp = {key_of(row)[2] for row in cbp}
    assert qwi - {code for code in in_cbp if len(code) == 4} == {"1111", "8141"}
    assert {row["industry"] for path in world[1].qwi.glob("*_ns_*.csv") for row in read_rows(path)} >= {
        "00",
        "31-33",
    }


def test_codes_that_only_qcew_has() -> None:
    codes = pa.chunked_array([["238111", "238992", "238110", "999999", "236116", "541511"]])
    assert cbp_naics(codes).to_pylist() == ["238110", "238990", "238110", "999990", "236116", "541511"]


def test_noise_factors_keep_their_distance_and_their_mean() -> None:
    factors = noise_factors(200_000, np.random.default_rng(1))
    distance = np.abs(factors - 1)
    assert distance.min() >= SMALLEST_NOISE
    assert distance.max() <= LARGEST_NOISE
    assert factors.mean() == pytest.approx(1, abs=0.001)
    assert (distance < 0.06).mean() == pytest.approx(0.75, abs=0.01)  # the triangle's nearer half


def test_rounding_at_random_is_right_on_average() -> None:
    rounded = whole_at_random(np.full(100_000, 2.3), np.random.default_rng(2))
    assert set(rounded.tolist()) == {2, 3}
    assert rounded.mean() == pytest.approx(2.3, abs=0.01)


def test_flags_by_hand() -> None:
    withheld = np.array([False, False, False, True])
    noisy = np.array([101.0, 103, 108, 100])
    assert noise_flag(noisy, np.full(4, 100.0), withheld).tolist() == ["G", "H", "J", "D"]
    assert employment_flag(np.array([19.0, 20, 99_999, 100_000]), np.full(4, True)).tolist() == [
        "A",
        "B",
        "L",
        "M",
    ]


def test_results_do_not_depend_on_the_batches(tmp_path: Path) -> None:
    path = tmp_path / "world.parquet"
    pq.write_table(make_establishments(), path, row_group_size=700)
    whole = read_leaves(path, 3).table
    parts = read_leaves(path, 3, batch_rows=611).table
    assert whole.column_names == parts.column_names
    for name in whole.column_names:
        if pa.types.is_floating(whole[name].type):
            np.testing.assert_allclose(whole[name].to_numpy(), parts[name].to_numpy(), rtol=1e-12)
        else:
            assert whole[name].equals(parts[name].cast(whole[name].type))


def test_the_same_seed_publishes_the_same_files(world: tuple[pa.Table, PublishedFiles], tmp_path: Path) -> None:
    source = world[1].cbp.parents[1] / "world.parquet"
    again = publish(source, tmp_path / "again", seed=5)
    other = publish(source, tmp_path / "other", seed=6)
    assert again.cbp.read_bytes() == world[1].cbp.read_bytes()
    assert again.efsy.read_bytes() == world[1].efsy.read_bytes()
    assert other.cbp.read_bytes() != world[1].cbp.read_bytes()


def test_other_rates(world: tuple[pa.Table, PublishedFiles], tmp_path: Path) -> None:
    source = world[1].cbp.parents[1] / "world.parquet"
    open_rates = Rates(
        cbp=dict.fromkeys((0, 2, 3, 4, 5, 6), 0.0), qwi={"Emp": 0.0, "EmpEnd": 0, "EmpS": 0, "EarnBeg": 0}
    )
    published = publish(source, tmp_path / "open", rates=open_rates)
    assert {table.withheld for table in published.tables} == {0}
    assert all(row["qp1_nf"] != "D" for row in read_rows(published.cbp))


def bad(table: pa.Table, tmp_path: Path) -> str:
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(FaultsError) as caught:
        publish(tmp_path / "bad.parquet", tmp_path / "out")
    assert names_in(tmp_path) == ["bad.parquet"]
    return str(caught.value)


def set_column(table: pa.Table, name: str, values: list[str] | npt.NDArray[np.int64]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def test_bad_establishments_leave_nothing_behind(tmp_path: Path) -> None:
    table = make_establishments()
    count = table.num_rows
    assert "lacks the columns m2emp, wage" in bad(table.drop_columns(["m2emp", "wage"]), tmp_path)
    assert "no private establishment" in bad(set_column(table, "own", ["3"] * count), tmp_path)
    mixed = set_column(table, "qtr", np.arange(count) % 2 + 1)
    message = bad(set_column(mixed, "m1emp", np.full(count, -1)), tmp_path)
    for part in ("more than one quarter", "not of quarter 1", f"{count} figures are below 0"):
        assert part in message


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "text.csv").write_text("a,b\n")
    with pytest.raises(FaultsError, match="is not a Parquet file"):
        publish(tmp_path / "text.csv", tmp_path / "out")
    with pytest.raises(FaultsError, match="does not exist"):
        publish(tmp_path / "nowhere.parquet", tmp_path / "out")
    assert names_in(tmp_path) == ["text.csv"]


def test_an_interruption_leaves_nothing_behind(
    world: tuple[pa.Table, PublishedFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gedp_lab.synth.publish, "write_efsy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(world[1].cbp.parents[1] / "world.parquet", tmp_path / "out")
    assert names_in(tmp_path) == []


def test_a_folder_that_another_process_fills_is_refused(world: tuple[pa.Table, PublishedFiles], tmp_path: Path) -> None:
    with new_folder(tmp_path / "out"), pytest.raises(PlaceTakenError, match="another process is writing to"):
        publish(world[1].cbp.parents[1] / "world.parquet", tmp_path / "out")
    assert names_in(tmp_path) == ["out"]


def test_a_folder_in_use_is_not_overwritten(world: tuple[pa.Table, PublishedFiles]) -> None:
    source = world[1].cbp.parents[1] / "world.parquet"
    before = world[1].cbp.read_bytes()
    with pytest.raises(FaultsError, match="not an empty folder"):
        publish(source, world[1].cbp.parent)
    assert world[1].cbp.read_bytes() == before
