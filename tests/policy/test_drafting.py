"""A first spec: runs as it is, and tells nothing of confidential values."""

import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import gedp
from gedp.cli import cli
from gedp.confidential.drafting import columns_of, read_shape
from gedp.errors import FaultsError
from gedp.explain.facts import warnings
from gedp.policy import parse_spec
from gedp.policy.drafting import TableShape, draft_spec

ROWS = 60


def nace_table(seed: int) -> pa.Table:
    """Public columns that are the same for every seed, and others that are not."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    return pa.table(
        {
            "unit": [f"u{place}" for place in range(ROWS)],
            "nuts3": fixed.choice(["FI1B1", "FI1C1", "FI1C2", "FI200", "SE110"], ROWS),
            "nace": fixed.choice(["01.11", "01.12", "01.21", "10.11"], ROWS),
            "jobs": rng.integers(0, 10**6, ROWS),
            "turnover": pa.array([Decimal(int(x)) / 100 for x in rng.integers(0, 10**9, ROWS)], pa.decimal128(15, 2)),
            "ratio": rng.random(ROWS).round(1) * 10,
        }
    )


TABLES: dict[str, tuple[pa.Table, str, str | None]] = {
    "nace": (nace_table(1), "nuts3,nace", "unit"),
    "naics": (pa.table({"naics": ["111110", "111120", "212111"] * 9, "emp": range(27)}), "naics", None),
    "isic": (pa.table({"ISIC": ["0111", "0112", "0210"] * 9, "a b": range(27)}), "ISIC", None),
    "plain": (pa.table({"Größe/Klasse": ["S", "M"] * 9, 'say "hi"': range(18)}), "Größe/Klasse", None),
    "one": (pa.table({"all": ["x"] * 5, "beds": range(5)}), "all", None),
}


def drafted(folder: Path, table: pa.Table, public: str, id_: str | None, *more: str, name: str = "t.parquet") -> str:
    path = folder / name
    pq.write_table(table, path) if path.suffix == ".parquet" else pyarrow.csv.write_csv(table, path)
    options = [
        "--public",
        public,
        "--out",
        str(folder / "spec.toml"),
        "--force",
        *(["--id", id_] if id_ else []),
        *more,
    ]
    said = CliRunner().invoke(cli, ["init", str(path), *options])
    assert said.exit_code == 0, said.output + repr(said.exception)
    assert "gedp plan" in said.output
    return (folder / "spec.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", ["t.parquet", "t.csv"])
def test_a_draft_runs_as_it_is(name: str, kind: str, tmp_path: Path) -> None:
    table, public, id_ = TABLES[name]
    numbers = [field.name for field in table.schema if field.type != pa.string()]
    more = []
    if kind == "t.csv":  # where no type says that turnover has decimals
        numbers = [name for name in numbers if name != "turnover"]
        more = ["--attributes", ",".join(numbers)]
    text = drafted(tmp_path, table, public, id_, *more, name=kind)
    spec = gedp.read_spec(tmp_path / "spec.toml")
    assert set(spec.policy.attributes) == set(numbers)
    assert 'source = "t.' in text
    assert float(gedp.check(spec).total.mu) == pytest.approx(1)


def test_hierarchical_codes_get_their_levels_and_tables(tmp_path: Path) -> None:
    drafted(tmp_path, *TABLES["nace"])
    spec = gedp.read_spec(tmp_path / "spec.toml")
    assert {name: grouper.prefix for name, grouper in spec.groupers.items()} == {
        "nuts32": 2,
        "nuts33": 3,
        "nuts34": 4,
        "nace2": 2,
        "nace4": 4,
    }
    assert [list(query.by) for query in spec.queries if not query.is_identity] == [
        [],
        *(["nuts32"], ["nuts33"], ["nuts34"], ["nuts3"], ["nace2"], ["nace4"], ["nace"], ["nuts3", "nace"]),
    ]
    units = {name: attribute.unit for name, attribute in spec.policy.attributes.items()}
    assert units == {"jobs": 1, "turnover": Decimal("0.01"), "ratio": 1}


@pytest.mark.parametrize("kind", ["t.parquet", "t.csv"])
def test_other_confidential_values_give_the_same_draft(kind: str, tmp_path: Path) -> None:
    drafts = set()
    for seed in (1, 2):
        table = nace_table(seed)
        if seed == 2:
            table = table.set_column(3, "jobs", pa.array([0] * ROWS))
        drafts.add(drafted(tmp_path, table, "nuts3,nace", "unit", "--attributes", "jobs,turnover", name=kind))
    assert len(drafts) == 1


def test_the_same_from_python(tmp_path: Path) -> None:
    text = drafted(tmp_path, *TABLES["nace"], "--protect", "jobs=10:2")
    found = gedp.draft_spec(tmp_path / "t.parquet", ["nuts3", "nace"], id="unit", protect={"jobs": ["10:2"]})
    assert found.replace(str(tmp_path / "t.parquet"), "t.parquet") == text


def test_a_column_called_total_leaves_a_name_for_the_total(tmp_path: Path) -> None:
    table = pa.table({"total": ["a", "b"] * 9, "grand total": ["x", "y"] * 9, "beds": range(18)})
    drafted(tmp_path, table, "total,grand total", None)
    queries = gedp.read_spec(tmp_path / "spec.toml").queries
    assert {query.name: list(query.by) for query in queries if not query.is_identity} == {
        "grand grand total": [],
        "total": ["total"],
        "grand total": ["grand total"],
        "total x grand total": ["total", "grand total"],
    }


def test_a_column_whose_name_is_taken_is_told_before_anything_is_written(tmp_path: Path) -> None:
    pq.write_table(pa.table({"std_error": ["a", "b"], "beds": [1, 2]}), tmp_path / "t.parquet")
    out = tmp_path / "spec.toml"
    said = CliRunner().invoke(cli, ["init", str(tmp_path / "t.parquet"), "--public", "std_error", "--out", str(out)])
    assert isinstance(said.exception, FaultsError)
    assert "std_error" in str(said.exception)
    assert not out.exists()


def test_keys_of_reading_are_known_and_written_as_they_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"county": ["a", "b"], "beds": [1, None]}), tmp_path / "t.parquet")
    with pytest.raises(FaultsError, match=r"encodign: this key is not known\. Did you mean 'encoding'"):
        gedp.draft_spec(tmp_path / "t.parquet", ["county"], reading={"encodign": "latin-1"})
    text = gedp.draft_spec(tmp_path / "t.parquet", ["county"], reading={"missing": {"beds": 0}})
    assert "missing = { beds = 0 }" in text
    assert parse_spec(text).data.reading.missing == {"beds": 0}


def test_a_draft_says_how_the_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("région;jobs\nÎle;1,5\nÎle;2,0\n".encode("latin-1"))
    spec = tmp_path / "spec.toml"
    options = ["--public", "région", "--encoding", "latin-1", "--decimal", ",", "--out", str(spec)]
    assert CliRunner().invoke(cli, ["init", str(tmp_path / "t.csv"), *options]).exit_code == 0
    text = spec.read_text(encoding="utf-8")
    assert 'encoding = "latin-1"\ndecimal = ","' in text
    spec.write_text(text.replace("unit = 1 }", "unit = 0.1 }"), encoding="utf-8")
    gedp.check(gedp.read_spec(spec))
    found = gedp.draft_spec(tmp_path / "t.csv", ["région"], reading={"encoding": "latin-1", "decimal": ","})
    assert found.replace(str(tmp_path / "t.csv"), "t.csv") == text
    with pytest.raises(FaultsError, match="encoding: 'latin1000' is not known"):
        gedp.draft_spec(tmp_path / "t.csv", ["région"], reading={"encoding": "latin1000"})


def test_columns_that_are_not_public_are_never_read(tmp_path: Path) -> None:
    """A text that is no number, a null and a damaged value in a confidential column change nothing."""
    path = tmp_path / "t.csv"
    path.write_text("region,jobs\nA,abc\nB,\nA,NaN\n", encoding="utf-8")
    shape = read_shape(path, ["region"])
    assert shape == TableShape(str(path), {"region": ["A", "B"]}, {"jobs": None})
    assert "abc" not in draft_spec(shape)
    assert columns_of(path) == {"region": "a code or a number", "jobs": "a code or a number"}


def test_what_was_decided_is_in_the_draft(tmp_path: Path) -> None:
    text = drafted(tmp_path, *TABLES["nace"], "--protect", "jobs=10:+2", "--protect", "jobs=1000:10%")
    assert 'jobs = { psi = "log", gamma = 0.105, shift = 10, unit = 1 }' in text
    assert "decide" not in next(line for line in text.splitlines() if line.startswith("jobs"))
    assert "decide psi and gamma" in next(line for line in text.splitlines() if line.startswith("turnover"))


@pytest.mark.parametrize("kind", ["t.parquet", "t.csv"])
def test_of_a_yes_or_no_both_values_are_close(kind: str, tmp_path: Path) -> None:
    """The draft runs as it is, nothing is remarked about it, and nobody looked whether the values are 0 and 1."""
    table = nace_table(1).select(["nuts3", "jobs"]).append_column("exports", pa.array([0, 1] * (ROWS // 2)))
    text = drafted(tmp_path, table, "nuts3", None, "--yes-no", "exports", name=kind)
    spec = gedp.read_spec(tmp_path / "spec.toml")
    assert list(spec.policy.attributes) == ["jobs", "exports"]
    assert spec.policy.attributes["exports"].protection.is_close(0, 1)
    assert not spec.policy.attributes["jobs"].protection.is_close(0, 1)
    assert warnings(spec, gedp.check(spec).total) == []
    again = gedp.draft_spec(tmp_path / kind, ["nuts3"], attributes=["jobs"], yes_no="exports")
    assert again.replace(str(tmp_path / kind), kind) == text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"public": ["Nuts3"]}, "public: there is no column 'Nuts3'. Did you mean 'nuts3'? The table has: unit"),
        ({"public": ["nuts3"], "id": "units"}, "id: there is no column 'units'. Did you mean 'unit'?"),
        ({"public": ["nuts3"], "attributes": ["nuts3"]}, "'nuts3' is named as two things"),
        ({"public": ["nuts3", "nace", "jobs", "turnover", "ratio"], "id": "unit"}, "no column is left"),
        ({"public": ["list"]}, "'list' has a type that no code has"),
        ({"public": ["nuts3"], "attributes": ["list"]}, "'list' has a type that no number has"),
        ({"public": ["nuts3"], "yes_no": ["list"]}, "yes_no: 'list' has a type that no number has"),
        ({"public": ["nuts3"], "yes_no": ["nuts3"]}, "'nuts3' is named as two things"),
        (
            {"public": ["nuts3"], "yes_no": ["jobs"], "protect": {"jobs": gedp.choose(["10:2"])[0]}},
            "'jobs' is named as",
        ),
    ],
)
def test_columns_that_cannot_be_are_refused(options: dict[str, Any], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(nace_table(1).append_column("list", pa.array([[1]] * ROWS)), path)
    with pytest.raises(FaultsError) as refused:
        read_shape(path, options.pop("public"), **options)
    assert problem in str(refused.value)


def test_what_a_table_needs_is_said_by_options(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("unit,region,jobs\n1,Åland,3\n".encode("latin-1"))
    with sqlite3.connect(tmp_path / "t.sqlite") as file:
        file.execute("CREATE TABLE a (region TEXT, jobs INTEGER)")
        file.execute("CREATE TABLE b (region TEXT, jobs INTEGER)")
    said = [
        CliRunner().invoke(cli, ["init", str(tmp_path / name), "--public", "region", "--out", str(tmp_path / "s")])
        for name in ("t.csv", "t.sqlite")
    ]
    assert "like --encoding cp1252" in str(said[0].exception)
    assert "--table: it is missing, and there are 2 tables" in str(said[1].exception)
    assert "[data]" not in str(said[0].exception)


def test_nobody_is_asked_where_nobody_is(tmp_path: Path) -> None:
    pq.write_table(nace_table(1), tmp_path / "t.parquet")
    command = [sys.executable, "-c", "from gedp.cli import main; main()", "init", "t.parquet"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert said.returncode == 2
    assert "--public names the public columns" in said.stderr
    assert "jobs: a code or a number" in said.stderr
    (tmp_path / "spec.toml").touch()
    taken = CliRunner().invoke(cli, ["init", "x", "--out", str(tmp_path / "spec.toml")])
    assert "exists" in taken.output
    wrong = CliRunner().invoke(
        cli, ["init", str(tmp_path / "t.parquet"), "--public", "nace", "--protect", "5", "--out", str(tmp_path / "n")]
    )
    assert "write it as COLUMN=SIZE:WIDTH" in wrong.output


def test_a_first_line_that_is_a_record_is_neither_shown_nor_drafted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Springfield,918273645\nShelbyville,5\n", encoding="utf-8")
    shown = CliRunner().invoke(cli, ["init", str(path), "--out", str(tmp_path / "n.toml")])
    assert (shown.exit_code, "918273645" in shown.output, "it may be a record" in shown.output) == (2, False, True)
    with pytest.raises(FaultsError, match="as if the first line were a record") as refused:
        read_shape(path, ["Springfield"])
    assert "918273645" not in str(refused.value)
    assert read_shape(path, ["Springfield"], attributes=["918273645"]).decimals == {"918273645": None}


def test_a_path_of_any_characters_is_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / 'a\\b"\u202e\U000e0001\n.parquet'
    pq.write_table(nace_table(1), path)
    spec = parse_spec(draft_spec(read_shape(path, ["nace"])))
    assert spec.data.source == str(path)


def test_on_a_terminal_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(nace_table(1), tmp_path / "t.parquet")
    monkeypatch.setattr("gedp.cli.init._is_terminal", lambda: True)
    said = CliRunner().invoke(
        cli, ["init", str(tmp_path / "t.parquet"), "--out", str(tmp_path / "n.toml")], input="nuts3, nace\nunit\n"
    )
    assert said.exit_code == 0, said.output
    assert gedp.read_spec(tmp_path / "n.toml").data.public == ("nuts3", "nace")
    assert gedp.read_spec(tmp_path / "n.toml").data.id == "unit"


def test_a_draft_asks_for_columns_with_values_of_other_periods(tmp_path: Path) -> None:
    text = drafted(tmp_path, *TABLES["nace"])
    question = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#"))
    assert "does a column repeat values of another period, or add them up" in question
    in_series = text.replace('# period = "2016Q1"', 'period = "2016Q2"')
    for example in ("of_period = -1", "of_period = [0, -1]", 'of_period = "2016Q1"'):
        assert example in question
        spec = parse_spec(in_series.replace("jobs = {", f"jobs = {{ {example},"))
        assert spec.policy.attributes["jobs"].of_period
