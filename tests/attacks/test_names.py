"""Names that files, SQL or results choke on: faults of the spec, or shown to work from the table to the last page."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp.errors import FaultsError
from gedp.estimates import Estimates, table_columns
from gedp.policy import parse_spec
from gedp.policy.model import PSI_SUFFIX, TABLE_COLUMNS
from gedp.release import ANSWER_SCHEMA, read_release
from gedp.release.estimated import FORMULA
from gedp.release.reader import NOISE
from tests.helpers.runs import SPEC, gedp, names, small_table, write_case


def toml(name: str) -> str:
    """As a TOML string: like JSON, but that DEL is escaped too."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007F")


def spec_with(role: str, name: str) -> str:
    old, new = {
        "id": ('id = "key"', f"id = {toml(name)}"),
        "public": ('["cnty", "naics"]', f'["cnty", "naics", {toml(name)}]'),
        "grouping": ("naics2 = {", f'{toml(name)} = {{ column = "naics", prefix = 3 }}\nnaics2 = {{'),
        "attribute": ("wage = {", f'{toml(name)} = {{ psi = "sqrt", gamma = 1 }}\nwage = {{'),
        "query": ('"county"', toml(name)),
        "map": ("naics2 = {", f'{toml(name)} = {{ column = "naics", map = "m.csv" }}\nnaics2 = {{'),
    }[role]
    assert old in SPEC
    return SPEC.replace(old, new, 1)


def faults_of(text: str) -> list[str]:
    with pytest.raises(FaultsError) as raised:
        parse_spec(text)
    return [str(fault) for fault in raised.value.faults]


COLUMNS = ["id", "public", "grouping", "attribute"]


@pytest.mark.parametrize("role", COLUMNS)
@pytest.mark.parametrize("name", ["a\x00b", "a\nb", "a\tb", "\x1b[31m", " ", "\u200b", "a\u2028b", "\u202eabc", "\x7f"])
def test_names_that_cannot_be_printed(role: str, name: str) -> None:
    (fault,) = faults_of(spec_with(role, name))
    assert fault.startswith("line ")
    assert "cannot be printed. Rename the column" in fault
    assert name.strip() == "" or name not in fault


@pytest.mark.parametrize("role", ["public", "grouping"])
@pytest.mark.parametrize("name", ["attribute", "Estimate", "variance", "std_error", "cv", "ci_low", "cell", "one"])
def test_keys_cannot_be_called_like_columns_of_results(role: str, name: str) -> None:
    (fault,) = faults_of(spec_with(role, name))
    assert f"{name!r} is a reserved name" in fault
    assert fault.startswith("line ")


def test_the_reserved_names_are_those_of_the_tables() -> None:
    nothing = np.empty(0)
    tabulated = table_columns(Estimates.of_kind(nothing, nothing, "exact").with_interval(0.95))
    assert set(TABLE_COLUMNS) == {*ANSWER_SCHEMA.names, NOISE, *tabulated, FORMULA, "cell", "one"}


@pytest.mark.parametrize("role", COLUMNS)
@pytest.mark.parametrize("name", ["EMP", "Emp", "Cnty", "NAICS2", "\uff45mp"])
def test_names_that_differ_by_case_or_spelling_alone(role: str, name: str) -> None:
    assert any(
        "are one name where case or the spelling of accents does not count" in f
        for f in faults_of(spec_with(role, name))
    )


def test_accents_can_be_spelt_in_two_ways() -> None:
    text = (
        spec_with("public", "caf\u00e9")
        .replace("wage = {", '"cafe\u0301" = {', 1)
        .replace("wage = 0.1", '"cafe\u0301" = 0.1')
    )
    assert any("are one name" in fault for fault in faults_of(text))


@pytest.mark.parametrize("role", COLUMNS)
@pytest.mark.parametrize("name", ["emp__psi", "Wage__PSI", "emp__psi2", "wage__sigma2"])
def test_names_of_columns_that_the_release_adds(role: str, name: str) -> None:
    (fault,) = faults_of(spec_with(role, name))
    assert "the release has a column" in fault
    assert f"{name!r} is one of yours. Rename one of the columns" in fault


def test_the_suffix_is_that_of_the_release(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert f"emp{PSI_SUFFIX}" in read_release(tmp_path / "out").identity().column_names


@pytest.mark.parametrize("role", ["query", "map"])
@pytest.mark.parametrize("name", ["\U0001d49c" * 100, "é" * 101, "a" * 201], ids=["4 bytes", "2 bytes", "1 byte"])
def test_names_of_files_have_room_for_what_is_added(role: str, name: str) -> None:
    assert any("cannot be a file name" in fault for fault in faults_of(spec_with(role, name)))


@pytest.mark.parametrize("name", ["é" * 100, "a" * 200, "\U0001d49c" * 50], ids=["2 bytes", "1 byte", "4 bytes"])
def test_the_longest_names_of_files_work(name: str, tmp_path: Path) -> None:
    write_case(tmp_path, ('"county"', f'"{name}"'))
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert f"{name}.parquet" in names(tmp_path / "out" / "tables")
    assert read_release(tmp_path / "out").answers(name).num_rows == 6


ODD = [
    "source",
    "codes of cnty",
    "value",
    "text",
    "keys",
    "keys0",
    "codes",
    "rowid",
    "filename",
    "file_row_number",
    "column0",
    "select",
    "group",
    "a.b",
    "a b",
    " a",
    'a"b',
    "a'b",
    "a,b",
    "a;b",
    "a%s",
    "{a}",
    "*",
    "$1",
    "?",
    "--",
    "<b>",
    "[1]",
    "=1+1",
    "größe",
    "規模",
    "\U0001f3ed",
    "x" * 300,
]


def spec_of(some: Sequence[str]) -> str:
    """Every name is a public column, the start of a grouping and of an attribute; the first starts the id."""
    queries = [
        f'[[queries]]\nname = "q{place}"\nby = [{toml(name)}, {toml(name + " g")}]\n'
        f"mu = {{ {toml(name + ' e')} = 0.2 }}"
        for place, name in enumerate(some)
    ]
    return "\n".join(
        [
            f'[data]\nsource = "t.parquet"\nid = {toml(some[0] + " k")}',
            f'public = ["naics", {", ".join(map(toml, some))}]\n[groupers]',
            *(f'{toml(name + " g")} = {{ column = "naics", prefix = 2 }}' for name in some),
            "[attributes]",
            *(f'{toml(name + " e")} = {{ psi = "sqrt", gamma = 0.5 }}' for name in some),
            '[budget]\nmu = 9\n[[queries]]\nname = "identity"\nby = "establishment"\nmu = 0.1',
            *queries,
            '[output]\ndir = "out"',
        ]
    )


@pytest.mark.parametrize("some", [ODD[start::4] for start in range(4)])
def test_odd_names_work_from_the_table_to_the_report(some: list[str], tmp_path: Path) -> None:
    table = small_table()
    columns = {f"{some[0]} k": table["key"], "naics": table["naics"]} | dict.fromkeys(some, table["cnty"])
    amounts = [f"{name} e" for name in some]
    pq.write_table(pa.table(columns | dict.fromkeys(amounts, table["emp"])), tmp_path / "t.parquet")
    (tmp_path / "spec.toml").write_text(spec_of(some), encoding="utf-8")
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    release = read_release(tmp_path / "out")
    identity = release.identity()
    assert identity.column_names == [*columns, *(drawn for name in amounts for drawn in (f"{name}__psi", name))]
    assert pq.read_table(tmp_path / "out" / "microdata.parquet").column_names == [*columns, *amounts]
    for place, name in enumerate(some):
        assert release.answers(f"q{place}").column_names == [name, f"{name} g", *ANSWER_SCHEMA.names]
        assert identity[name].to_pylist() == table["cnty"].to_pylist()
        if "," not in name and name == name.strip():  # as names on the command line are separated and stripped
            ended = gedp("tabulate", "out", "--by", f"{name},{name} g", "--out", f"{place}.csv", folder=tmp_path)
            assert (ended.code, ended.err) == (0, ""), ended
    ended = gedp("evaluate", "out", "--truth", "t.parquet", folder=tmp_path)
    assert (ended.code, ended.err) == (0, ""), ended


@pytest.mark.parametrize("name", ["keys", "keys0", "codes", "source", "a.b", 'a"b', "select"])
def test_odd_names_work_without_an_identity_query(name: str, tmp_path: Path) -> None:
    table = small_table().rename_columns(["key", name, "naics", "emp", "wage"])
    identity = SPEC[SPEC.index("[[queries]]") : SPEC.index('[[queries]]\nname = "county"')]
    text = SPEC.replace(identity, "").replace('"cnty"', toml(name))
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "spec.toml").write_text(text, encoding="utf-8")
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert (ended.code, ended.err) == (0, ""), ended
    ended = gedp("tabulate", "out", "--by", name, "--attribute", "emp", "--out", "table.csv", folder=tmp_path)
    assert (ended.code, ended.err) == (0, ""), ended
