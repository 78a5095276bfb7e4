from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gedp.cli import cli
from gedp.errors import FaultsError
from gedp.files import WriteError
from gedp_lab.synth.sizes import CBP_CLASSES, cbp_class
from tests.helpers.synth_cbp_files import make_establishments, names_in, read_rows

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


@pytest.mark.parametrize("spread", ["classes", "skewed", "paper"])
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
    for part in ("donors", "from 2 states", "imputed CBP", "QWI earnings x jobs", f"spread {spread}"):
        assert part in result.output
    assert names_in(tmp_path) == ["made.parquet"]


def test_the_published_size_classes_come_out_in_every_cell(published: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = published
    assert run("cbp", *sources(folder), "--out", tmp_path / "made.parquet").exit_code == 0
    made: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    names = [*CBP_CLASSES]
    for row in pq.read_table(tmp_path / "made.parquet").to_pylist():
        made[row["state"], row["cnty"], row["naics"]][names[cbp_class(row["m3emp"])]] += 1
    there = [row for row in read_rows(folder / "files" / "cbp16co.txt") if row["naics"].isdigit()]
    assert {(row["fipstate"], row["fipscty"], row["naics"]) for row in there} == set(made)
    for row in there:
        counts = made[row["fipstate"], row["fipscty"], row["naics"]]
        assert [counts[name] for name in names] == [int(row[name]) for name in names]


def rows_with(folder: Path, out: Path, *options: object) -> Any:
    result = run("cbp", *sources(folder), "--out", out, "--state", "RI", *options)
    assert result.exit_code == 0, result.output
    return pq.read_table(out)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (["--impute", "regression"], ["m1emp"]),
        (["--impute", "regression", "--noise", "mean"], ["m1emp"]),
        (["--county-adjustment", "printed"], ["m1emp"]),
        (["--eta", "400"], ["m2emp"]),
        (["--spread", "skewed", "--size-spread", "0.5"], ["m3emp"]),
        (["--spread", "paper"], ["m3emp"]),
        (["--spread", "paper", "--gamma", "2", "50"], ["m3emp"]),
        (["--spread", "paper", "--establishment-eta", "40"], ["m2emp"]),
    ],
)
def test_every_option_reaches_the_establishments(
    published: tuple[Path, Result], tmp_path: Path, options: list[str], columns: list[str]
) -> None:
    folder, _ = published
    base = options[:2] if len(options) > 2 else []
    plain, changed = (rows_with(folder, tmp_path / f"{at}.parquet", *given) for at, given in enumerate([base, options]))
    assert plain.num_rows == changed.num_rows
    for column in columns:
        assert not plain[column].equals(changed[column])


def test_the_defaults_of_the_help_are_those_of_the_paper(published: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = published
    spelled = ["--spread", "paper", "--gamma", 10, 200, "--establishment-eta", 0.5, "--eta", 1.69]
    given = rows_with(
        folder, tmp_path / "given.parquet", *spelled, "--county-adjustment", "share", "--impute", "donors"
    )
    assert given.equals(rows_with(folder, tmp_path / "default.parquet", "--spread", "paper"))
    skewed = rows_with(folder, tmp_path / "skewed.parquet", "--spread", "skewed")
    assert skewed.equals(rows_with(folder, tmp_path / "1.3.parquet", "--spread", "skewed", "--size-spread", 1.3))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gamma", "2", "50"], "--gamma is for --spread paper"),
        (["--spread", "paper", "--size-spread", "2"], "--size-spread is for --spread skewed"),
        (["--establishment-eta", "2"], "--establishment-eta is for --spread paper"),
        (["--noise", "mean"], "--noise is for --impute regression"),
        (["--eta", "0"], "--eta"),
        (["--spread", "paper", "--gamma", "-1", "200"], "--gamma"),
        (["--spread", "beta"], "--spread"),
    ],
)
def test_options_without_effect_or_sense_are_refused(
    published: tuple[Path, Result], tmp_path: Path, options: list[str], said: str
) -> None:
    folder, _ = published
    result = run("cbp", *sources(folder), "--out", tmp_path / "made.parquet", *options)
    assert result.exit_code == 2
    assert said in result.output
    assert names_in(tmp_path) == []


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
