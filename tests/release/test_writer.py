"""Files of a release are written in the background: whole, in order, the same for the same seed, and not silently."""

import json
import shutil
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.confidential.engines import part
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError, GedpError
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Attribute, Closeness, Data, Grouper, Policy, Query
from gedp.release import ReleaseFolder, ReleaseWriter, TamperedReleaseError, read_release
from tests.helpers.specs import measured

ROWS = 20_000
ATTRIBUTES = {name: Attribute(name, Closeness("sqrt", Decimal("0.5"))) for name in ("emp", "wage")}
QUERIES = [
    Query("identity", ("establishment",), dict.fromkeys(ATTRIBUTES, Decimal(1))),
    Query("county", ("cnty",), dict.fromkeys(ATTRIBUTES, Decimal(1))),
]


def released(folder: Path, name: str) -> ReleaseFolder:
    """A seeded release of a table that takes several batches."""
    source = folder / "t.parquet"
    if not source.exists():
        rng = np.random.default_rng(3)
        columns = {
            "key": np.arange(ROWS),
            "cnty": rng.choice(["001", "003"], ROWS),
            "emp": rng.integers(0, 900, ROWS),
            "wage": rng.integers(0, 10**6, ROWS),
        }
        pq.write_table(pa.table(columns), source, row_group_size=2500)
    table = open_table(LocalEngine(source), Data("x", ("cnty",), "key", synthetic=True), ATTRIBUTES)
    policy = Policy(ATTRIBUTES, Decimal(10))
    return measured(table, policy, QUERIES, out=folder / name, entropy=SeededEntropy(9))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "BATCH_ROWS", 2048)


def test_batches_are_written_in_order_and_the_same_for_the_same_seed(tmp_path: Path) -> None:
    releases = [released(tmp_path, name) for name in ("a", "b")]
    assert releases[0].manifest.files == releases[1].manifest.files
    written = pq.ParquetFile(releases[0].folder / "identity.parquet")
    assert written.read(["key"]).column("key").to_pylist() == list(range(ROWS))


def test_a_table_is_the_same_in_parquet_and_csv(tmp_path: Path) -> None:
    release = released(tmp_path, "out")
    texts = pa.csv.ConvertOptions(column_types=release.answers("county").schema)
    again = pa.csv.read_csv(release.folder / "tables" / "county.csv", convert_options=texts)
    assert again.equals(release.answers("county").combine_chunks())


def test_only_columns_that_repeat_get_a_dictionary(tmp_path: Path) -> None:
    release = released(tmp_path, "out")

    def coded(file: str) -> set[str]:
        group = pq.ParquetFile(release.folder / file).metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        return {column.path_in_schema for column in columns if column.dictionary_page_offset is not None}

    assert coded("identity.parquet") == {"cnty"}
    assert coded("tables/county.parquet") == {"cnty", "attribute", "mechanism", "variance_kind"}


@pytest.mark.parametrize(
    ("where", "function"), [(pq.ParquetWriter, "write_table"), (pq, "write_table"), (pa.csv, "write_csv")]
)
def test_a_full_disk_ends_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, function: str
) -> None:
    released(tmp_path, "good")

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(where, function, full)
    with pytest.raises(GedpError, match=r"cannot write .*no space left"):
        released(tmp_path, "bad")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good", "t.parquet"]


def changed(folder: Path, path: Sequence[str | int], value: object) -> None:
    """Puts another value, or none, into the manifest of a release."""
    content = json.loads((folder / "manifest.json").read_text("utf-8"))
    place = content
    for key in path[:-1]:
        place = place[key]
    if value is ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")


ABSENT = object()
WRONG: dict[tuple[str | int, ...], Sequence[object]] = {
    ("format",): [1, 7, 9, "8", None, ABSENT],
    ("gedp",): [None, 7, "", ABSENT],
    ("created",): ["yesterday", None, 5, ABSENT],
    ("release",): [7, ABSENT],
    ("entropy",): ["dice", None, ABSENT],
    ("synthetic",): [False, "no", ABSENT],
    ("establishments",): ["3", 0, True, None, ABSENT],
    ("promise",): [{}, None, ABSENT],
    ("promise", "mu_squared"): ["1/100"],
    ("promise", "attributes", "emp"): ["psi = sqrt(x), gamma = 5"],
    ("together",): [{}, "all", ABSENT],
    ("estimates",): [None, {"emp": 5}, ABSENT],
    ("clipping",): [None, [], {"zeta": "abc"}, {"zeta": "1/0"}, {"zeta": "2"}, {"zeta": 0.01}, ABSENT],
    ("prices",): [[], None, ABSENT],
    ("promise", "mu"): [0.1, "1", ABSENT],
    ("promise", "rho"): ["1/3", 1, ABSENT],
    ("promise", "renyi", "2"): [0.1, None, ABSENT],
    ("promise", "epsilon_by_delta"): [{}, {"1e-06": 0.1}, ABSENT],
    ("promise", "missed_by_false_alarms", "0.05"): [0.99, ABSENT],
    ("promise", "in_words"): [ABSENT],
    ("prices", 0, "mu"): ["2"],
    ("queries",): [{}, None, [], ["q"], ABSENT],
    ("queries", 0, "name"): ["county", "other", 7, ABSENT],
    ("queries", 1, "by"): [[], ["naics"], None, ABSENT],
    ("queries", 1, "file"): ["../t.parquet", "tables/../tables/county.parquet", "identity.parquet", ABSENT],
    ("queries", 1, "groups"): ["1", 0, 3, None, ABSENT],
    ("queries", 1, "asked"): [{}, None, ABSENT],
    ("queries", 1, "asked", "emp", "sigma_psi"): ["x", -1, 0, None, True, ABSENT],
    ("queries", 1, "asked", "emp", "mechanisms"): [
        {"pnc": -1},
        {"psi": "1"},
        {"psi": 1},
        {"count": 2},
        {},
        None,
        ABSENT,
    ],
    ("queries", 1, "asked", "emp", "certain"): [-1, 3, None, ABSENT],
    ("queries", 1, "asked", "emp", "mu"): ["0.5", 1, ABSENT],
    ("spec",): [None, "", "nonsense", "[data]", ABSENT],
    ("files",): [{}, None, [], ABSENT],
    ("files", "tables/county.csv"): [7, None, ABSENT],
    ("files", "../t.parquet"): ["0" * 64],
    ("files", "/etc/hostname"): ["0" * 64],
    ("more",): ["than is known"],
}


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, values in WRONG.items() for value in values])
def test_a_manifest_that_makes_no_sense_is_refused(
    tmp_path: Path, good: ReleaseFolder, path: Sequence[str | int], value: object
) -> None:
    folder = tmp_path / "altered"
    shutil.copytree(good.folder, folder)
    read_release(folder)
    changed(folder, path, value)
    with pytest.raises(FaultsError, match="manifest") as refused:
        read_release(folder)
    assert refused.value.faults
    assert str(path[0]) in str(refused.value)


LARGE = '{"format": ' + "9" * 9999 + "}"


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "\xff", "[" * 100_000, '{"format": 1e9999}', LARGE])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(FaultsError, match=r"manifest\.json"):
        read_release(tmp_path)


def test_every_fault_of_a_manifest_is_named_at_once(tmp_path: Path, good: ReleaseFolder) -> None:
    folder = tmp_path / "altered"
    shutil.copytree(good.folder, folder)
    for path in (("gedp",), ("establishments",), ("queries", 0, "groups"), ("files", "tables/county.csv")):
        changed(folder, path, None)
    with pytest.raises(FaultsError) as refused:
        read_release(folder)
    said = [fault.place for fault in refused.value.faults]
    assert {"gedp", "establishments", "queries[1].groups", "files.tables/county.csv"} <= set(said)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> ReleaseFolder:
    return released(tmp_path_factory.mktemp("good"), "out")


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))))
@settings(max_examples=15)
def test_a_map_file_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, groups: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("r")
    (folder / "m.csv").write_text("1111,Farms\n", encoding="utf-8")
    rows = LocalEngine(pa.table({"naics": ["1111"], "emp": [5]}))
    attributes = {"emp": Attribute("emp", Closeness("sqrt", Decimal(1)))}
    groupers = {"sector": Grouper("sector", "naics", map="m.csv")}
    table = open_table(rows, Data("t", ("naics",), synthetic=True), attributes, groupers, folder)
    table.lookups["sector"][1].update(groups)
    queries = [Query("q", (), {"emp": Decimal(1)})]
    release = measured(table, Policy(attributes, Decimal(2)), queries, out=folder / "out")
    assert read_release(release.folder).map("sector") == {"1111": "Farms", **groups}
    (release.folder / "maps" / "sector.csv").write_text("1111,Other\n", encoding="utf-8")
    with pytest.raises(TamperedReleaseError, match=r"maps/sector\.csv"):
        read_release(release.folder)


def test_a_release_holds_map_files_whole_and_no_list_of_codes(tmp_path: Path) -> None:
    """Which codes occur is nobody's business: prefixes leave no file, and map files are written in full."""
    mapped = "\ufeff1111,Farms\n\n2222,Shops\n9999,Elsewhere\n"
    (tmp_path / "sectors.csv").write_text(mapped, encoding="utf-8")
    groupers = {
        "sector": Grouper("sector", "naics", map="sectors.csv"),
        "unused": Grouper("unused", "naics", map="sectors.csv"),
        "naics2": Grouper("naics2", "naics", prefix=2),
    }
    rows = LocalEngine(pa.table({"naics": ["1111", "2222"], "emp": [5, 7]}))
    attributes = {"emp": Attribute("emp", Closeness("sqrt", Decimal(1)))}
    table = open_table(rows, Data("t", ("naics",), synthetic=True), attributes, groupers, tmp_path)
    queries = [Query("q", ("sector",), {"emp": Decimal(1)}), Query("p", ("naics2",), {"emp": Decimal(1)})]
    release = measured(table, Policy(attributes, Decimal(2)), queries, out=tmp_path / "out", entropy=SeededEntropy(1))
    assert sorted(path.name for path in (release.folder / "maps").iterdir()) == ["sector.csv", "unused.csv"]
    assert release.map("sector") == {"1111": "Farms", "2222": "Shops", "9999": "Elsewhere"}


def test_leaving_early_waits_for_what_is_being_written(tmp_path: Path) -> None:
    batch = pa.table({"cnty": ["001"] * 1000, "emp": np.arange(1000.0)})

    def leave_early() -> NoReturn:
        with ReleaseWriter(tmp_path / "out") as writer:
            for _ in range(3):
                writer.write_identity(batch, ["cnty"], ["cnty"], [])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave_early()
    assert list(tmp_path.iterdir()) == []
