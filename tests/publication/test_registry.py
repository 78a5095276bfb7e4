"""Every format in the registry: one table as a file, and the tables of a package."""

import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

import gedp
from gedp.publication.formats import AS_FILES, FORMATS, IN_PACKAGES, AsFile
from tests.helpers.builder import JOBS, spec_of, table_of
from tests.helpers.runs import gedp as command

TEXTS = pyarrow.csv.ConvertOptions(column_types={"cnty": pa.string()}, strings_can_be_null=True)
READERS: dict[str, Callable[[Path], list[list[object]]]] = {
    ".csv": lambda path: rows_of(pyarrow.csv.read_csv(path, convert_options=TEXTS)),
    ".parquet": lambda path: rows_of(pq.read_table(path)),
    ".xlsx": lambda path: [[*row] for row in load_workbook(path)["Table"].iter_rows(min_row=2, values_only=True)],
    ".arrows": lambda path: rows_of(pa.ipc.open_stream(path.read_bytes()).read_all()),
}


def rows_of(table: pa.Table) -> list[list[object]]:
    return [[*row.values()] for row in table.to_pylist()]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    spec = spec_of(attributes=JOBS, queries=[{"name": "county", "by": ["cnty"], "mu": 1}])
    gedp.run(spec, table=table_of(), out=folder / "out", ledger=folder / "t.ledger", seed=1, answers_only=True)
    return folder / "out"


@pytest.mark.parametrize("form", AS_FILES.values(), ids=AS_FILES)
def test_a_table_is_the_same_in_every_format(form: AsFile, release: Path) -> None:
    written = command("tabulate", "out", "--by", "cnty", "--out", f"table{form.suffix}", folder=release.parent)
    assert written.code == 0, written
    expected = rows_of(gedp.fit_microdata(gedp.read_release(release)).tabulate(["cnty"]).arrow)
    assert len(expected) > 1
    for row, same in zip(READERS[form.suffix](release.parent / f"table{form.suffix}"), expected, strict=True):
        assert row == [pytest.approx(value, rel=1e-12) if isinstance(value, float) else value for value in same]


def test_a_workbook_has_what_was_said_about_its_table(release: Path) -> None:
    file = io.BytesIO()
    AS_FILES["xlsx"].write(pa.table({"a": ["=1+1"], "b": [True]}), file, ["Left out: nothing."])
    book = load_workbook(file)
    assert [[cell.value for cell in row] for row in book["Table"].iter_rows()] == [["a", "b"], ["=1+1", True]]
    assert book["Table"]["A2"].data_type == "s"
    assert book["Notes"]["A1"].value == "Left out: nothing."


def test_a_package_has_every_format_of_packages_where_its_readme_says(release: Path, tmp_path: Path) -> None:
    package = gedp.publish(gedp.read_release(release), tmp_path / "package")
    readme = (package.folder / "README.md").read_text(encoding="utf-8")
    for form in IN_PACKAGES.values():
        assert (package.folder / form.place).exists()
        assert f"- `{form.place}`: {form.contents}" in readme
    assert {each.name for each in FORMATS} == {*AS_FILES, *IN_PACKAGES}
