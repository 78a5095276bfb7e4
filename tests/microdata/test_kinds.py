"""Microdata whose rows stay on file, beside those that are fitted in memory."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import gedp
from gedp.cli import cli
from gedp.completing import complete
from gedp.confidential.engines import part
from gedp.confidential.engines.choice import engine_for, on_file
from gedp.confidential.engines.local import LocalEngine
from gedp.errors import FaultsError, Refused, TableChangedError
from gedp.microdata import Microdata, fit_microdata, kinds
from gedp.microdata.by_kind import read_kinds
from gedp.microdata.kinds import Kinds, Sums, need_all_rows
from gedp.microdata.on_file import microdata_to_report, read_microdata
from gedp.passes import OnFile, PartialResults, Pass, Rewriting, StoredRows
from gedp.release import ReleaseFolder, TamperedReleaseError
from gedp.release.manifest import part_name
from gedp.release.parts import digest, files_of, pattern_of, read_columns
from gedp.release.reader import foreign_files
from gedp.release.signing import make_key, sign, verify
from gedp.report import write_report
from tests.helpers.builder import JOBS, spec_of, table_of

QUERIES: list[dict[str, Any]] = [
    {"name": "identity", "by": "establishment", "mu": 1},
    {"name": "total", "by": [], "mu": Decimal("0.5")},
    {"name": "county", "by": ["cnty"], "mu": 1, "mechanism": "pnc"},
    {"name": "sector", "by": ["naics2"], "mu": Decimal("0.7")},
    {"name": "cells", "by": ["cnty", "naics2"], "mu": {"emp": 1}},
]


class InTwoParts(LocalEngine):
    """Leaves rewritten rows in a folder of parts, as Spark does."""

    def rewrite(self, run: Rewriting, target: Path) -> None:
        super().rewrite(run, target.with_name("whole"))
        rows = pq.read_table(target.with_name("whole"))
        target.mkdir()
        pq.write_table(rows[:3], target / part_name(0))
        pq.write_table(rows[3:], target / part_name(1))


def opened(table: Path) -> StoredRows:
    return engine_for(pattern_of(table))


def opened_in_parts(table: Path) -> StoredRows:
    return InTwoParts(pattern_of(table))


ALWAYS, IN_PARTS = OnFile(opened, always=True), OnFile(opened_in_parts, always=True)


def release_of(rows: int, seed: int, out: Path, **changes: Any) -> ReleaseFolder:
    """Small and large establishments, so that noise takes many below 0."""
    rng = np.random.default_rng(seed)
    table = table_of(
        rows,
        cnty=rng.integers(1, 4, rows).astype(str),
        naics=rng.choice(["1111", "1122", "2211"], rows),
        emp=rng.poisson(rng.choice([0.3, 4, 300], rows)),
        wage=rng.poisson(rng.choice([1.0, 90, 4000], rows)) * 5,
    )
    attributes = {**JOBS, "wage": {"psi": "sqrt", "gamma": 3}}
    usual = {"attributes": attributes, "budget": {"mu": 100}, "queries": QUERIES}
    return gedp.run(spec_of(**usual | changes), table, out=out, seed=seed, answers_only=True)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(max_examples=6)
def test_rows_on_file_are_fitted_as_in_memory(
    tmp_path_factory: pytest.TempPathFactory, rows: int, seed: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("release")
    release = release_of(rows, seed, folder / "out")
    memory = fit_microdata(release)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(part, "BATCH_ROWS", batch)
        here = fit_microdata(release, on_file=ALWAYS)
        here.write(folder / "here.parquet")
    assert here.public_rows.listed == memory.public_rows.count == rows
    memory.write(folder / "memory.parquet")
    are_alike(memory, here)
    one, two = pq.read_table(folder / "memory.parquet"), pq.read_table(folder / "here.parquet")
    assert one.schema.equals(two.schema)
    assert one.select(["key", "cnty", "naics"]).equals(two.select(["key", "cnty", "naics"]))
    for name, fit in memory.fits.items():
        assert fit.row_variances is not None
        error = np.abs(one[name].to_numpy() - two[name].to_numpy()) / np.sqrt(fit.row_variances)
        assert error.max() < 1e-8


def are_alike(memory: Microdata, here: Microdata) -> None:
    """Whether both make the same tables, of workload and of other groupings."""
    for name, fit in memory.fits.items():
        assert here.fits[name].rounds == fit.rounds
    for by in ([], ["cnty"], ["naics2"], ["naics"], ["cnty", "naics"]):
        one, two = memory.tabulate(by).arrow, here.tabulate(by).arrow
        assert one.select([*by, "attribute"]).equals(two.select([*by, "attribute"]))
        errors = one["std_error"].to_numpy()
        assert two["std_error"].to_numpy() == pytest.approx(errors, rel=1e-8)
        assert np.abs(one["estimate"].to_numpy() - two["estimate"].to_numpy()).max() < 1e-7 * errors.max()


def test_combinations_by_keys_of_their_own_are_tabulated_as_in_memory(tmp_path: Path) -> None:
    queries = [*(q for q in QUERIES if q["name"] in ("identity", "total")), {"name": "costs", "by": ["naics"]}]
    queries[-1]["mu"] = {"cost": 1}
    release = release_of(60, 3, tmp_path / "out", queries=queries, combinations={"cost": "wage + 5 * emp"})
    memory, here = fit_microdata(release), fit_microdata(release, on_file=ALWAYS)
    for by in ([], ["naics2"], ["naics"]):
        one, two = memory.tabulate(by).arrow, here.tabulate(by).arrow
        assert one["attribute"].unique().to_pylist() == ["emp", "wage", "cost"]
        assert two["estimate"].to_pylist() == pytest.approx(one["estimate"].to_pylist())
        assert two["std_error"].to_pylist() == pytest.approx(one["std_error"].to_pylist())


def test_fits_of_several_attributes_share_their_passes(tmp_path: Path) -> None:
    release, passes = release_of(200, 5, tmp_path / "out"), list[Pass]()

    class Counting(LocalEngine):
        """Notes the passes over its rows."""

        def reduce(self, run: Pass) -> PartialResults:
            passes.append(run)
            return super().reduce(run)

    def counted(table: Path) -> StoredRows:
        return Counting(pattern_of(table))

    both = fit_microdata(release, on_file=OnFile(counted, always=True))
    together, passes[:] = len(passes), ()
    alone = {}
    for name in both.fits:
        fit_microdata(release, attributes=[name], on_file=OnFile(counted, always=True))
        alone[name], passes[:] = len(passes), ()
    assert max(alone.values()) <= together <= max(alone.values()) + 1  # a first pass may not have been waited for


def test_microdata_in_parts_are_microdata_like_any(tmp_path: Path) -> None:
    release = release_of(40, 7, tmp_path / "out")
    published = complete(release, on_file=IN_PARTS)
    folder = release.folder / "microdata.parquet"
    assert [path.name for path in files_of(folder)] == [part_name(0), part_name(1)]
    assert published.microdata_file == folder
    assert "Fitted 40 rows" in published.summary
    assert foreign_files(release.folder, release.manifest) == []
    for on_file_ in (None, IN_PARTS):
        found = read_microdata(release, on_file=on_file_)
        are_alike(fit_microdata(release), found)
        assert found.is_on_file
        assert microdata_to_report(release, on_file=on_file_).is_on_file
    assert (release.folder / "report.html").read_text("utf-8").count("40 rows") == 1
    write_report(read_microdata(release, on_file=IN_PARTS), tmp_path / "again.html")
    key = make_key(tmp_path / "key")
    assert any(part_name(1) in name for name in sign(release, tmp_path / "key"))
    verify(release.folder, key)
    fit_microdata(release).write()  # a file in the place of the folder, and the folder again
    assert folder.is_file()
    fit_microdata(release, on_file=IN_PARTS).write()
    assert folder.is_dir()
    before = digest(folder)
    rows = pq.read_table(folder / part_name(1))
    pq.write_table(rows.set_column(3, "emp", pa.array([0.0] * len(rows))), folder / part_name(1))
    assert digest(folder) != before
    with pytest.raises(TamperedReleaseError, match=r"microdata\.parquet is not as"):
        read_microdata(release, on_file=IN_PARTS)
    (folder / "mine.txt").touch()
    with pytest.raises(gedp.GedpError, match="neither a file nor a folder of the parts"):
        fit_microdata(release, on_file=IN_PARTS).write()
    assert foreign_files(release.folder, release.manifest) == ["microdata.parquet/mine.txt"]
    assert not list(release.folder.glob(".*"))


def test_other_values_or_rows_on_file_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(40, 3, tmp_path / "out")
    microdata = fit_microdata(release, on_file=ALWAYS)
    path = microdata.write()
    monkeypatch.setattr("gedp.microdata.on_file.read_description", lambda _: microdata.described())
    rows = pq.read_table(path)
    for changed, problem in (
        (rows.set_column(3, "emp", pa.array(rows["emp"].to_numpy() + 1.0)), "emp: not what a fit"),
        (rows.drop_columns(["wage"]), "wage: not among its columns"),
    ):
        pq.write_table(changed, path)
        with pytest.raises(FaultsError, match=problem):
            read_microdata(release, on_file=ALWAYS)
    pq.write_table(rows[1:], path)
    with pytest.raises(TableChangedError):
        read_microdata(release, on_file=ALWAYS)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attributes": {"emp": {"psi": "log", "gamma": 0.3, "shift": 1}}, "queries": QUERIES[:2]}, "psi is not sqrt"),
        ({"queries": [{**QUERIES[0], "mu": {"emp": 1}}, QUERIES[1]]}, "wage: no answers for establishments"),
        ({"queries": [{"name": "county", "by": ["cnty"]}]}, "individual accounting has two answers"),
    ],
)
def test_what_needs_all_rows_is_fitted_in_memory(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    release = release_of(30, 5, tmp_path / "out", **changes)
    assert reason in "; ".join(need_all_rows(release.manifest.spec))
    with pytest.raises(Refused, match=f"cannot be fitted with Spark: .*{reason}"):
        fit_microdata(release, on_file=ALWAYS)
    assert fit_microdata(release, on_file=on_file()).public_rows.kinds is None


def test_options_that_need_all_rows_are_refused(tmp_path: Path) -> None:
    release = release_of(30, 5, tmp_path / "out")
    options: Sequence[dict[str, Any]] = (
        {"nonnegative": True},
        {"whole": True},
        {"weights": "plug-in"},
        {"fixed": pa.table({"cnty": ["1"], "emp": [1]})},
    )
    for option in options:
        with pytest.raises(Refused, match="worked out row by row"):
            fit_microdata(release, on_file=ALWAYS, **option)


def test_many_rows_stay_on_file_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(40, 11, tmp_path / "out")
    expected = fit_microdata(release)
    monkeypatch.setattr(kinds, "MOST_IN_MEMORY", 79)  # 40 establishments with two attributes are more
    out = str(release.folder)
    said = CliRunner().invoke(cli, ["microdata", out])
    assert said.exit_code == 0, said.output
    assert "Wrote 40 establishments" in said.output
    found = gedp.read_release(out).microdata()
    assert found.public_rows.kinds is not None
    are_alike(expected, found)
    assert repr(found) == "Microdata(40 rows, emp, wage)"
    assert found._repr_html_().startswith("<p>Microdata")
    with pytest.raises(Refused, match="the rows are on file"):
        found.table()
    assert CliRunner().invoke(cli, ["report", out]).exit_code == 0
    shown = CliRunner().invoke(cli, ["tabulate", out, "--by", "naics2", "--out", "-"])
    assert shown.exit_code == 0, shown.output
    wrong = CliRunner().invoke(cli, ["tabulate", out, "--by", "floor"])
    assert "'floor' is not a public column" in str(wrong.exception)
    monkeypatch.setattr(kinds, "MOST_IN_MEMORY", 80)
    assert gedp.read_release(out).microdata().public_rows.kinds is None


def test_sums_of_kinds_are_those_of_plain_python(tmp_path: Path) -> None:
    release = release_of(50, 2, tmp_path / "out")
    rows = read_kinds(release, ALWAYS)
    found = rows.kinds
    assert found is not None
    table = release.identity()
    of_kind: dict[tuple[str, str], list[float]] = {}
    for cnty, naics, emp in zip(*(table[name].to_pylist() for name in ("cnty", "naics", "emp")), strict=True):
        of_kind.setdefault((cnty, naics), []).append(emp)
    listed = zip(found.texts["cnty"], found.texts["naics"], strict=True)
    expected = [of_kind[kind] for kind in listed]
    assert found.counts.tolist() == list(map(len, expected))
    assert found.together("emp").sums == pytest.approx(list(map(sum, expected)))
    assert found.together("emp").highest == pytest.approx(list(map(max, expected)))
    with pytest.raises(TableChangedError):
        Kinds(found.establishments, ALWAYS, found.texts, found.counts + 1, ["emp"]).together("emp")
    assert Sums(found.lookup, ["emp"]).reads.plain == ("emp",)


def test_all_columns_of_a_table_in_parts_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "t[1]"
    folder.mkdir()
    for number in range(2):
        pq.write_table(pa.table({"a": [number], "b": ["x"]}), folder / part_name(number))
    assert read_columns(folder).to_pydict() == {"a": [0, 1], "b": ["x", "x"]}
    assert read_columns(folder, ["a"]).column_names == ["a"]
    assert LocalEngine(pattern_of(folder)).rows() == 2
