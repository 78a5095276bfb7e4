from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gedp.cli import cli
from gedp.errors import FaultsError
from gedp.files import WriteError
from tests.helpers.synth_cbp_files import make_establishments, names_in

needs_establishments = pytest.mark.skipif(
    find_spec("gedp.lab.synth.establishments") is None, reason="gedp.lab.synth.establishments is not in this checkout"
)
COLUMNS = """
year qtr state cnty naics naics5 naics4 naics3 sector supersector own m1emp m2emp m3emp wage primary_key
can_agg rectype
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["synth", *map(str, arguments)])


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("cli")
    pq.write_table(make_establishments(), folder / "world.parquet")
    return folder, run("publish", folder / "world.parquet", "--out", folder / "files")


def sources(folder: Path) -> list[object]:
    files = folder / "files"
    return ["--cbp", files / "cbp16co.txt", "--qwi", files / "qwi", "--efsy", files / "efsy_cbp_2016.csv"]


def test_publish_writes_the_files_and_says_what_is_withheld(published: tuple[Path, Result]) -> None:
    folder, result = published
    assert result.exit_code == 0, result.output
    assert names_in(folder / "files") == ["cbp16co.txt", "efsy_cbp_2016.csv", "qwi"]
    assert "county x NAICS-4" in result.output
    assert "50%" in result.output


@needs_establishments
@pytest.mark.parametrize("spread", ["skewed", "paper"])
def test_cbp_writes_establishments_and_reports(published: tuple[Path, Result], tmp_path: Path, spread: str) -> None:
    folder, _ = published
    out = tmp_path / "made.parquet"
    result = run("cbp", *sources(folder), "--out", out, "--state", "RI", "--seed", 3, "--spread", spread)
    assert result.exit_code == 0, result.output
    table = pq.read_table(out)
    assert table.column_names == COLUMNS.split()
    assert set(table["state"].to_pylist()) == {"44"}
    assert set(table["year"].to_pylist()) == {2016}
    assert f"{table.num_rows:,}" in result.output
    for part in ("R²", "outliers", "imputed CBP", "QWI earnings x jobs"):
        assert part in result.output
    assert names_in(tmp_path) == ["made.parquet"]


@needs_establishments
def test_bad_input_leaves_no_file(published: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = published
    result = run("cbp", *sources(folder), "--out", tmp_path / "made.parquet", "--state", "ZZ")
    assert isinstance(result.exception, FaultsError)
    assert "'ZZ': no such state" in str(result.exception)
    assert names_in(tmp_path) == []


def test_an_output_in_no_folder_is_refused_before_the_work(published: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = published
    result = run("cbp", *sources(folder), "--out", tmp_path / "nowhere" / "made.parquet")
    assert isinstance(result.exception, WriteError)
    assert "no such file or directory" in str(result.exception)


def test_help_names_the_subcommands() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name in ("cbp", "publish", "qcew"):
        assert name in result.output
