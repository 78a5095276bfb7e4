"""The order of a confidential file gives its values away. Nothing that is published shows it."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from gedp.confidential.engines import part
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.confidential.tally import CellTally, DrawnCells
from gedp.microdata import fit_microdata
from gedp.noise.entropy import Entropy, SeededEntropy
from gedp.passes import Batch, PartialResults, nothing
from gedp.passes.lookup import make_lookup
from gedp.policy import Attribute, Closeness, Data, Policy, Query
from gedp.release import ReleaseFolder, rows
from tests.helpers.specs import measured

EMP = {"emp": Attribute("emp", Closeness("sqrt", Decimal("0.5")))}


def released(
    source: pa.Table | Path, out: Path, *, with_id: bool, mu: str = "1", entropy: Entropy | None = None
) -> ReleaseFolder:
    data = Data("t", ("cnty",), "key" if with_id else None, synthetic=True)
    table = open_table(LocalEngine(source), data, EMP)
    queries = [Query("identity", ("establishment",), {"emp": Decimal(mu)}), Query("all", (), {"emp": Decimal(mu)})]
    return measured(table, Policy(EMP, Decimal(100)), queries, out=out, entropy=entropy)


def establishments(count: int) -> pa.Table:
    """Few counties, sizes like those of businesses, and keys that say nothing."""
    rng = np.random.default_rng(11)
    sizes = np.floor(np.exp(rng.normal(1.5, 1.2, count))).astype(np.int64) + 1
    keys = rng.permutation(count)
    return pa.table({"key": keys, "cnty": rng.choice(["001", "003", "005"], count), "emp": sizes})


@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("order", [[("emp", "ascending")], [("cnty", "ascending"), ("emp", "descending")]])
def test_smoothing_along_the_rows_recovers_no_more_than_the_estimates_do(
    tmp_path: Path, with_id: bool, order: list[tuple[str, str]]
) -> None:
    """In a file sorted by size, isotonic regression along the published rows used to find 3 of 4 values exactly."""
    table = establishments(20_000).sort_by(order)
    release = released(table, tmp_path / "out", with_id=with_id)
    for published in (release.identity(), fit_microdata(release).table()):
        truth = _truth_beside(published, table, with_id)
        estimates = published["emp"].to_numpy()
        alone = np.mean(np.rint(estimates) == truth)
        for county in ("001", "003", "005"):
            inside = np.array(published["cnty"].to_pylist()) == county
            for direction in (1, -1):
                along = isotonic_regression(estimates[inside][::direction]).x[::direction]
                assert np.mean(np.rint(along) == truth[inside]) <= alone + 0.05


def _truth_beside(published: pa.Table, table: pa.Table, with_id: bool) -> np.ndarray:
    """The true values of the published rows; without ids, in the order of the file, as the attacker hopes."""
    if not with_id:
        ordered = table.take(pa.array(np.argsort(table["cnty"].to_numpy(zero_copy_only=False), kind="stable")))
        return np.asarray(ordered["emp"].to_numpy())
    of_key = dict(zip(table["key"].to_pylist(), table["emp"].to_pylist(), strict=True))
    return np.array([of_key[key] for key in published["key"].to_pylist()])


def test_the_first_id_of_two_tells_nothing(tmp_path: Path) -> None:
    """Two close worlds, each file sorted by size: the first published id was the smaller one's in every release."""
    first = set()
    for world, sizes in enumerate(([9, 10], [10, 9])):
        for i in range(5):
            table = pa.table({"key": ["a", "b"], "cnty": ["001", "001"], "emp": sizes}).sort_by("emp")
            release = released(table, tmp_path / f"{world}-{i}", with_id=True, mu="0.01")
            first.add(tuple(release.identity()["key"].to_pylist()))
    assert first == {("a", "b")}


def test_without_ids_the_first_row_is_either_alike(tmp_path: Path) -> None:
    """With little noise the rows can be told apart: which comes first is a fair coin."""
    table = pa.table({"key": ["a", "b"], "cnty": ["001", "001"], "emp": [1, 900]})
    smaller_first = 0
    for i in range(30):
        smaller, larger = released(table, tmp_path / str(i), with_id=False, mu="9").identity()["emp"].to_pylist()
        smaller_first += smaller < larger
    assert 0 < smaller_first < 30  # both wrong once in 2**29


@pytest.mark.parametrize("with_id", [True, False])
def test_files_batches_and_row_groups_show_nothing_of_the_original_order(
    tmp_path: Path, with_id: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the rows lie in files, the release of the same establishments is laid out alike."""
    monkeypatch.setattr(part, "BATCH_ROWS", 2048)
    monkeypatch.setattr(rows, "ROWS_PER_GROUP", 5000)
    table = establishments(12_000)
    sorted_by_size, reversed_in_parts = tmp_path / "one.parquet", tmp_path / "parts"
    pq.write_table(table.sort_by("emp"), sorted_by_size, row_group_size=3000)
    reversed_in_parts.mkdir()
    for i in range(3):
        piece = table.sort_by([("emp", "descending")]).slice(4000 * i, 4000)
        pa.csv.write_csv(piece, reversed_in_parts / f"{i}.csv")
    layouts = []
    for name, source in (("a", sorted_by_size), ("b", reversed_in_parts / "*.csv")):
        release = released(source, tmp_path / name, with_id=with_id)
        written = pq.ParquetFile(release.folder / "identity.parquet")
        keys = written.read(["key" if with_id else "cnty"]).column(0).to_pylist()
        assert keys == sorted(keys)
        layouts.append([written.metadata.row_group(i).num_rows for i in range(written.num_row_groups)])
    assert layouts == [[5000, 5000, 2000]] * 2


def test_rows_that_wait_and_their_sorting_leave_nothing_behind(tmp_path: Path) -> None:
    release = released(establishments(5000), tmp_path / "out", with_id=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert sorted(path.name for path in release.folder.iterdir()) == ["identity.parquet", "manifest.json", "tables"]


@given(st.permutations(range(12)), st.booleans())
@settings(max_examples=15)
def test_the_choice_of_mechanisms_does_not_depend_on_the_order_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, order: Sequence[int], with_id: bool
) -> None:
    """Sums in floating point depend on it; those of the estimates, which decide between mechanisms, must not."""
    rng = np.random.default_rng(5)
    estimates = np.concatenate([rng.normal(0, 1e15, 6), rng.normal(0, 1e-3, 3), [np.inf, -np.inf, 2.0**60]])
    cells = np.array([0, 1] * 6, dtype=np.int32)
    run = DrawnCells(make_lookup({}, {}, cells, 2), {"x": Fraction(1)})
    tallies = []
    for places in (np.arange(12), np.array(order)):
        found = nothing(run)
        for place in places:
            column = pa.array(estimates[[place]])
            row = pa.RecordBatch.from_arrays([column, column], ["x__psi", "x"])
            found |= run(Batch({}, {}, row, 1, cells[[place]]))
        rows = PartialResults({"x": np.zeros(2, dtype=np.int64)}, {"x": np.zeros(2)})
        tallies.append(CellTally.of("x", rows, found).estimates)
    assert np.array_equal(tallies[0], tallies[1])


def test_a_seeded_release_is_the_same_whatever_the_machine_does(tmp_path: Path) -> None:
    table = establishments(3000)
    seen = [
        released(table, tmp_path / str(i), with_id=False, entropy=SeededEntropy(4)).manifest.files for i in range(2)
    ]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()])
@pytest.mark.parametrize("order", ["in order", "last row first", "one swapped at the end", "reversed"])
def test_rows_that_come_in_order_are_published_like_those_that_are_sorted(
    tmp_path: Path, kind: pa.DataType, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not sorting what is in order already saves time, and changes not a byte but noise."""
    monkeypatch.setattr(part, "BATCH_ROWS", 2048)
    monkeypatch.setattr(rows, "ROWS_PER_GROUP", 1000)
    count = 5000
    keys = pa.array(range(10_000, 10_000 + count)).cast(kind)
    places = np.arange(count)
    if order == "last row first":
        places = np.roll(places, 1)
    elif order == "one swapped at the end":
        places[[-1, -2]] = places[[-2, -1]]
    elif order == "reversed":
        places = places[::-1]
    table = pa.table({"key": keys, "cnty": ["001"] * count, "emp": np.arange(count)}).take(pa.array(places))
    release = released(table, tmp_path / "out", with_id=True, mu="9")
    assert release.identity()["key"].to_pylist() == keys.to_pylist()
    assert np.corrcoef(release.identity()["emp"].to_numpy(), np.arange(count))[0, 1] > 0.99
    written = pq.ParquetFile(release.folder / "identity.parquet").metadata
    assert [written.row_group(i).num_rows for i in range(written.num_row_groups)] == [1000] * 5
    assert sorted(path.name for path in release.folder.iterdir()) == ["identity.parquet", "manifest.json", "tables"]
