"""Files that cannot be read, and the one message that each gets: the cause, and nothing that a file holds."""

import gzip
import io
import json
import os
import resource
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest

import gedp
from gedp.confidential.engines import in_order
from gedp.confidential.engines.choice import engine_of
from gedp.confidential.engines.sources import sheets
from gedp.confidential.engines.sources.files import unread
from gedp.confidential.engines.sources.kinds import require_readable
from gedp.confidential.engines.sources.streams import text_of as as_text
from gedp.confidential.table import open_table
from gedp.errors import FaultsError, GedpError
from gedp.passes import Reads
from gedp.policy.reading import make_reading
from tests.helpers.runs import gedp as command
from tests.helpers.runs import small_table
from tests.helpers.sources import CASES, rows_of, text_of, write_workbook
from tests.sources.test_same import Require, spec_for

CANARY = "918273645"
TABLE = small_table(20)
TEXT = text_of(TABLE)


def fault_of(folder: Path, source: str, **keys: Any) -> str:
    """The one fault of a source, which quotes nothing."""
    spec = gedp.read_spec(spec_for(folder, source, keys))
    with pytest.raises(FaultsError) as raised:
        open_table(engine_of(spec), spec.data, spec.policy.attributes, spec.groupers)
    (fault,) = raised.value.faults
    assert CANARY not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None
    return str(fault)


def with_sheet(content: bytes, *changes: bytes) -> bytes:
    """A workbook in whose sheet some bytes are replaced by others."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            for before, after in zip(changes[::2], changes[1::2], strict=True):
                part = part.replace(before, after) if name.endswith("sheet1.xml") else part
            new.writestr(name, part)
    return made.getvalue()


def workbook(folder: Path, name: str = "t.xlsx") -> bytes:
    write_workbook(folder / name, {"Register": rows_of(TABLE)})
    return (folder / name).read_bytes()


def zip_file(folder: Path) -> bytes:
    with zipfile.ZipFile(folder / "z.zip", "w") as file:
        file.writestr("t.csv", TEXT)
    return (folder / "z.zip").read_bytes()


def damaged(kind: str, keep: float) -> Callable[[Path], bytes]:
    """The first part of a file of some kind."""

    def content(folder: Path) -> bytes:
        path = folder / CASES[kind].source
        CASES[kind].write(TABLE, path)
        whole = path.read_bytes()
        path.unlink()
        return whole[: int(len(whole) * keep)]

    return content


def text(*changes: tuple[str, str], encoding: str = "utf-8") -> Callable[[Path], bytes]:
    """The table as a text, with something changed."""

    def content(folder: Path) -> bytes:
        changed = TEXT
        for old, new in changes:
            assert old in changed
            changed = changed.replace(old, new, 1)
        return changed.encode(encoding)

    return content


ENCODINGS = 'Say which encoding it has, like encoding = "cp1252" or "latin-1" under [data], or save it as UTF-8'
NULLS = "Fill in numbers, or say what a null counts as: missing = { ATTRIBUTE = 0 } under [data]"
SIGNS = 'If it is the decimal sign, set decimal = "," under [data]; if it separates thousands, thousands = ","'
QUOTES = 'Put values with quotation marks in quotation marks, and write "" for each inside'

#: Name, content, keys of [data], message.
WRONG: dict[str, tuple[str, Callable[[Path], bytes], dict[str, Any], str]] = {
    "a workbook named .csv": (
        "t.csv",
        workbook,
        {},
        "the file: it is an Excel or OpenDocument workbook. Name it .xlsx, .xlsm, .xlsb, .xls or .ods",
    ),
    "an archive named .csv": ("t.csv", zip_file, {}, "the file: it is a ZIP archive. Unpack it"),
    "latin-1": (
        "t.csv",
        text(("k0007", "é"), encoding="latin-1"),
        {},
        f"the file: line 9 has bytes that are not utf-8. {ENCODINGS}",
    ),
    "bytes that cp1252 lacks": (
        "t.csv",
        text(("k0003", "\x81"), encoding="latin-1"),
        {"encoding": "cp1252"},
        f"the file: line 5 has bytes that are not cp1252. {ENCODINGS}",
    ),
    "UTF-16": (
        "t.csv",
        text(encoding="utf-16"),
        {},
        'the file: it is in UTF-16. Set encoding = "utf-16" under [data], or save it as UTF-8',
    ),
    "decimal commas": (
        "t.csv",
        lambda _: text_of(TABLE, ";", ",").encode(),
        {},
        f"column wage: 20 rows have a number with a comma. {SIGNS}",
    ),
    "points, where commas were announced": (
        "t.csv",
        lambda _: text_of(TABLE, ";").encode(),
        {"decimal": ","},
        "column wage: 20 rows have something that is not a number. Write numbers like 1234,5, as data.decimal says",
    ),
    "a line with more columns": (
        "t.csv",
        text(("k0004,", f"k0004,{CANARY},")),
        {},
        "the file: line 6 has more columns than the first. Correct the line",
    ),
    "the same in latin-1": (
        "t.csv",
        text(("k0004,", "k0004")),
        {"encoding": "latin-1"},
        "the file: line 6 has fewer columns than the first. Correct the line",
    ),
    "an open quotation mark": (
        "t.csv",
        text(("k0002", '"k0002')),
        {},
        "the file: line 4 has a quotation mark that is not closed, or inside a value, or a value without end. "
        + QUOTES,
    ),
    "half a gzip file": (
        "t.csv.gz",
        lambda _: gzip.compress(TEXT.encode())[:100],
        {},
        "the file: it is damaged or incomplete (gzip). Get a complete copy",
    ),
    "half a zstd file": (
        "t.csv.zst",
        damaged("CSV in zstd", 0.5),
        {},
        "the file: it is damaged or incomplete (zstd). Get a complete copy",
    ),
    "a text named .csv.zst": (
        "t.csv.zst",
        text(),
        {},
        "the file: it is not compressed with zstd. Name it .csv",
    ),
    "half a Parquet file": (
        "t.parquet",
        damaged("Parquet", 0.5),
        {},
        "the file: it cannot be read: it is damaged or incomplete. Get a complete copy",
    ),
    "half an Arrow file": (
        "t.arrow",
        damaged("Arrow", 0.5),
        {},
        "the file: it cannot be read: it is damaged or incomplete. Get a complete copy",
    ),
    "an Arrow file with a hole": (
        "t.arrow",
        lambda folder: b"ARROW1" + damaged("Arrow", 1)(folder)[-100:],
        {},
        "the file: it cannot be read: it is damaged or incomplete. Get a complete copy",
    ),
    "Stata named .sav": ("t.sav", lambda _: b"<stata_dta>...", {}, "the file: it is a Stata file. Name it .dta"),
    "a text named .sav": (
        "t.sav",
        text(),
        {},
        "the file: it is not an SPSS file. Get a complete copy, or save it again",
    ),
    "gzip named .sav": (
        "t.sav",
        lambda _: gzip.compress(b"x"),
        {},
        "the file: it is not an SPSS file, but compressed with gzip. Decompress it; texts alone are read so",
    ),
    "half a SQLite file": (
        "t.sqlite",
        damaged("SQLite table", 0.5),
        {"table": "establishments"},
        "the file: it is damaged, or not a SQLite file (DatabaseError). Get a complete copy",
    ),
    "half a DuckDB file": (
        "t.duckdb",
        damaged("DuckDB table", 0.2),
        {"table": "establishments"},
        "the file: it is damaged, or not a DuckDB file",
    ),
    "no table named": (
        "t.db",
        damaged("SQLite table", 1),
        {},
        "data.table: it is missing, and there are 3 tables. Use one of: 'establishments', 'other', 'all_of_them'",
    ),
    "a wrong table": (
        "t.duckdb",
        damaged("DuckDB table", 1),
        {"table": "establishment"},
        "data.table: there is no table 'establishment'. Did you mean 'establishments'?",
    ),
    "a wrong query": (
        "t.duckdb",
        damaged("DuckDB table", 1),
        {"query": f"SELECT {CANARY} FORM x"},
        "data.query: the database does not carry it out (ParserException). Try it in the database; only SELECT",
    ),
    "a query that writes": (
        "t.sqlite",
        damaged("SQLite table", 1),
        {"query": "DELETE FROM establishments"},
        "data.query: the database does not carry it out (OperationalError). Try it in the database; only SELECT",
    ),
    "a query to another file": (
        "t.duckdb",
        damaged("DuckDB table", 1),
        {"query": "SELECT * FROM read_csv('other.csv')"},
        "data.query: the database does not carry it out (PermissionException)",
    ),
    "an encoding of a Parquet file": (
        "t.parquet",
        damaged("Parquet", 1),
        {"encoding": "latin-1"},
        "data.encoding: it is for a text, and this is a Parquet file. Remove it, or check the source",
    ),
    "a text that is not UTF-16": (
        "t.csv",
        lambda _: TEXT.encode("latin-1"),
        {"encoding": "utf-16"},
        "the file: line 1 has bytes that are not utf-16. Say which encoding it has",
    ),
    "no column of this name": (
        "t.csv",
        text(("emp", "EMP")),
        {},
        "column emp: there is no such column. Did you mean 'EMP'?",
    ),
    "an address": (
        "s3://bucket/t.parquet",
        text(),
        {},
        "data.source: it is an address, and not a file. Name a file or, with --engine spark, an address that",
    ),
}
WRONG["a null"] = (
    "t.csv",
    lambda _: TEXT.replace(f",{TABLE['emp'][3].as_py()},", ",,", 1).encode(),
    {},
    f"column emp: 1 row has null. {NULLS}",
)


@pytest.mark.parametrize(("name", "content", "keys", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_file_that_cannot_be_read_says_why(
    name: str, content: Callable[[Path], bytes], keys: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "made").mkdir()
    if "://" not in name:
        (tmp_path / name).write_bytes(content(tmp_path / "made"))
    assert fault_of(tmp_path, name, **keys).startswith(message)


WRONG_WITH_READERS: dict[str, tuple[str, str, Callable[[Path], bytes], dict[str, Any], str]] = {
    "half a Stata file": (
        "pyreadstat",
        "t.dta",
        damaged("Stata", 0.5),
        {},
        "the file: it is damaged, or not a Stata file. Get a complete copy, or save it again",
    ),
    "a text named .dta": ("pyreadstat", "t.dta", text(), {}, "the file: it is damaged, or not a Stata file"),
    "half an SPSS file": ("pyreadstat", "t.sav", damaged("SPSS", 0.7), {}, "the file: it is damaged, or not an SPSS"),
    "a damaged SAS file": (
        "pyreadstat",
        "t.sas7bdat",
        lambda _: bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(999),
        {},
        "the file: it is damaged, or not a SAS file",
    ),
    "half a workbook": (
        "python_calamine",
        "t.xlsx",
        lambda folder: workbook(folder)[:900],
        {},
        "the file: it is damaged, or not an Excel or OpenDocument workbook. Get a complete copy, or save it again",
    ),
    "a workbook of few bytes and more cells than any memory has": (
        "python_calamine",
        "t.xlsx",
        lambda folder: with_sheet(workbook(folder), b'<row r="2">', b'<row r="1048576"><c r="XFD1048576"><v>1</v></c>'),
        {},
        "the file: its sheet does not fit into memory. Save it as CSV or Parquet",
    ),
    "an empty sheet": (
        "python_calamine",
        "t.xlsx",
        lambda folder: with_sheet(workbook(folder), b"<sheetData>", b"<sheetData/><!--", b"</sheetData>", b"-->"),
        {},
        "the sheet: it is empty",
    ),
    "no such sheet": (
        "python_calamine",
        "t.xlsx",
        workbook,
        {"sheet": "Regster"},
        "data.sheet: there is no sheet 'Regster'. Did you mean 'Register'?",
    ),
    "an old document": (
        "python_calamine",
        "t.xls",
        lambda _: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        {},
        "the file: it is damaged, or not an Excel or OpenDocument workbook",
    ),
}


@pytest.mark.parametrize(
    ("needs", "name", "content", "keys", "message"), WRONG_WITH_READERS.values(), ids=WRONG_WITH_READERS.keys()
)
def test_a_file_that_its_reader_refuses_says_why(
    needs: str,
    name: str,
    content: Callable[[Path], bytes],
    keys: dict[str, Any],
    message: str,
    require: Require,
    tmp_path: Path,
) -> None:
    require(needs)
    (tmp_path / "made").mkdir()
    (tmp_path / name).write_bytes(content(tmp_path / "made"))
    assert fault_of(tmp_path, name, **keys).startswith(message)


@pytest.mark.parametrize("encoding", ["utf-99", "rot13", "idna", "unicode_escape"])
def test_what_is_no_encoding_of_tables_is_not_known(encoding: str) -> None:
    with pytest.raises(FaultsError, match=f"encoding: '{encoding}' is not known"):
        make_reading({"encoding": encoding})


def test_sheets_that_are_empty_or_several(require: Require, tmp_path: Path) -> None:
    require("python_calamine")
    write_workbook(tmp_path / "t.xlsx", {"a": [], "b": rows_of(TABLE), "c": [TABLE.column_names]})
    assert (
        fault_of(tmp_path, "t.xlsx") == "data.sheet: it is missing, and there are 3 sheets. Use one of: 'a', 'b', 'c'"
    )
    assert fault_of(tmp_path, "t.xlsx", sheet="a") == "the sheet: it is empty. Check the sheet"
    assert "it has no rows" in fault_of(tmp_path, "t.xlsx", sheet="c")


def test_values_of_a_workbook_are_read_as_people_see_them(require: Require, tmp_path: Path) -> None:
    """Rows without a value are passed over; a column that nobody asked for may hold anything."""
    require("python_calamine")
    rows: list[list[Any]] = [
        ["key", "cnty", "naics", "emp", "wage"],
        ["a", 1, "01.11", 5.0, 0.25],
        [None] * 5,
        ["b", 2.5, "x", 7, 1e3],
    ]
    write_workbook(tmp_path / "t.xlsx", {"only": rows})
    engine = in_order(engine_of(gedp.read_spec(spec_for(tmp_path, "t.xlsx", {}))))
    (batch,) = engine.batches(
        Reads(amounts={"emp": Fraction(1), "wage": Fraction(1, 100)}, plain=["key", "cnty", "naics"])
    )
    assert batch.plain.to_pydict() == {"key": ["a", "b"], "cnty": ["1", "2.5"], "naics": ["01.11", "x"]}
    assert [batch.amounts[name].tolist() for name in ("emp", "wage")] == [[5, 7], [25, 100_000]]
    assert "t.xlsx is held in memory as a whole" in command("run", "spec.toml", "--dry-run", folder=tmp_path).out


def test_single_precision_has_its_own_digits_and_missing_values_are_null(require: Require, tmp_path: Path) -> None:
    require("pyreadstat")
    single = pa.array([0.1, 1.25, None], pa.float32())
    table = pa.table(
        {"key": ["a", "b", "c"], "cnty": [1, 2, 2], "naics": ["", "y", "z"], "emp": single, "wage": single}
    )
    table.to_pandas().to_stata(tmp_path / "t.dta", write_index=False)  # pyreadstat would write doubles
    spec = gedp.read_spec(spec_for(tmp_path, "t.dta", {}))
    counts = engine_of(spec).count_faults({"emp": Fraction(1), "wage": Fraction(1, 100)}, ["naics"])
    wage = counts.faults["wage"]
    assert (wage.not_whole, wage.total, wage.nulls) == (0, 135, 1)
    assert counts.blanks == {"naics": 1}
    assert engine_of(spec).distinct("cnty") == ["1", "2"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("", None),
        ("001", "001"),
        (True, "true"),
        (5.0, "5"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e22, "1e+22"),
        (float("nan"), "nan"),
        (2**70, str(2**70)),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 12, tzinfo=None), "2026-01-31T12:00:00"),  # noqa: DTZ001 - as files have them
        (time(12, 30), "12:30:00"),
        (timedelta(hours=1), "1:00:00"),
    ],
)
def test_values_become_texts(value: object, text: str | None) -> None:
    assert as_text(value) == text


def test_a_database_that_somebody_writes_to_is_locked(tmp_path: Path) -> None:
    CASES["SQLite table"].write(TABLE, tmp_path / "t.sqlite")
    writer = sqlite3.connect(tmp_path / "t.sqlite", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    locked = "the file: somebody is writing to it (locked). Run again once it is free"
    assert fault_of(tmp_path, "t.sqlite", table="establishments") == locked
    writer.close()


def test_a_duckdb_file_that_another_process_writes_to_is_locked(tmp_path: Path) -> None:
    CASES["DuckDB table"].write(TABLE, tmp_path / "t.duckdb")
    holding = f"import duckdb, sys; c = duckdb.connect({str(tmp_path / 't.duckdb')!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert "somebody is writing to it (locked)" in fault_of(tmp_path, "t.duckdb", table="establishments")
        process.communicate("\n")


def test_a_writer_of_a_sqlite_file_is_noticed(tmp_path: Path) -> None:
    """In a log beside the file, where the rows that are read stay as they were."""
    CASES["SQLite table"].write(TABLE, tmp_path / "t.sqlite")
    writer = sqlite3.connect(tmp_path / "t.sqlite", isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    spec = gedp.read_spec(spec_for(tmp_path, "t.sqlite", {"table": "establishments"}))
    engine = engine_of(spec)
    engine.require_unchanged()
    writer.execute("DELETE FROM establishments")
    with pytest.raises(GedpError, match="the table changed"):
        engine.require_unchanged()
    writer.close()


@pytest.mark.parametrize("name", ["t.xlsx", "t.dta"])
def test_a_missing_reader_is_named_with_the_command_that_installs_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("python_calamine", "pyreadstat"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "t.dta").write_bytes(b"<stata_dta>")
    workbook(tmp_path)
    assert fault_of(tmp_path, name).endswith(
        "which is not installed. Install what is missing: pip install '.[sources]' in a checkout of gedp, or "
        "pip install 'WHEEL[sources]' with its wheel"
    )


def test_a_missing_driver_is_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("adbc_driver_postgresql.dbapi", "adbc_driver_manager.dbapi"):
        monkeypatch.setitem(sys.modules, module, None)
    path = spec_for(tmp_path, "adbc:postgresql", {"table": "x"})
    path.write_text(path.read_text(encoding="utf-8") + '\n[ledger]\nfile = "x.ledger"\n', encoding="utf-8")
    ended = command("run", str(path), "--dry-run", folder=tmp_path)
    assert (ended.code, "adbc-driver-postgresql, which is not installed" in ended.err) == (2, True)


@pytest.mark.parametrize("address", ["{}", "file:{}", "file://{}?mode=ro", "sqlite://{}"])
def test_a_driver_does_not_lead_past_the_ledger_of_a_file(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a t.sqlite").touch()
    monkeypatch.setenv("GEDP_DATABASE", address.format(str(tmp_path / "a t.sqlite").replace(" ", "%20")))
    path = spec_for(tmp_path, "adbc:sqlite", {"table": "x"})
    path.write_text(path.read_text(encoding="utf-8") + '\n[ledger]\nfile = "x.ledger"\n', encoding="utf-8")
    ended = command("run", str(path), "--dry-run", folder=tmp_path)
    assert (ended.code, "GEDP_DATABASE: it leads to a file. Name the file as the source" in ended.err) == (2, True)


def test_files_without_permission_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the system is asked to refuse."""
    (tmp_path / "t.csv").write_bytes(TEXT.encode())

    def refuse(path: Path, *arguments: Any, **more: Any) -> Any:
        raise PermissionError(13, os.strerror(13))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.raises(FaultsError, match=r"the file: it cannot be read \(permission denied\)"):
            require_readable("t.csv", [tmp_path / "t.csv"])
    monkeypatch.setattr(os, "stat", refuse)
    assert "permission denied" in str(unread(str(tmp_path / "closed" / "t.csv")))


def test_several_workbooks_are_not_one_table(tmp_path: Path) -> None:
    for name in ("a.duckdb", "b.duckdb"):
        CASES["DuckDB table"].write(TABLE, tmp_path / name)
    assert fault_of(tmp_path, "*.duckdb").startswith("the table: 2 files match, and one can be read")


def test_files_of_other_columns_are_not_one_table(tmp_path: Path) -> None:
    for name, table in (("a", TABLE), ("b", TABLE.drop_columns("emp"))):
        pyarrow.feather.write_feather(table, str(tmp_path / f"{name}.arrow"))
        (tmp_path / f"{name}.csv").write_bytes(text_of(table).encode("latin-1"))
    assert fault_of(tmp_path, "*.arrow").startswith("the table: the files have other columns")
    assert "the files have other names of columns" in fault_of(tmp_path, "*.csv", encoding="latin-1")


def test_values_that_are_neither_numbers_nor_texts_are_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.sqlite")
    connection.execute("CREATE TABLE t (key, cnty, naics, emp, wage)")
    connection.execute("INSERT INTO t VALUES (?, '1', '1', 1, 1)", [CANARY.encode()])
    connection.commit()
    connection.close()
    assert fault_of(tmp_path, "t.sqlite") == "the table: it cannot be read (TypeError). Check the file"


def test_a_failure_in_the_middle_of_a_stream_quotes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gedp.confidential.engines.sources.streams.HELD_BYTES", -1)
    monkeypatch.setattr("gedp.confidential.engines.sources.databases.PIECE_ROWS", 5)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("rows", pa.concat_tables([TABLE]))
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    query = f"SELECT key, cnty, naics, wage, CASE WHEN emp >= 0 THEN ('{CANARY}x')::INTEGER END AS emp FROM t"
    assert "it cannot be read" in fault_of(tmp_path, "t.duckdb", query=query)


def test_a_sheet_is_read_within_a_limit_of_memory(
    require: Require, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where nothing may be limited."""
    require("python_calamine")
    limits = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limit: limits.append((kind, limit[0])))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    workbook(tmp_path)
    written = io.BytesIO()
    sheets.write_sheet(written, str(tmp_path / "t.xlsx"))
    rows = pa.ipc.open_stream(written.getvalue()).read_all()
    assert limits == [(resource.RLIMIT_AS, sheets.memory_limit())]
    assert json.loads((rows.schema.metadata or {})[sheets.NAMES]) == TABLE.column_names
    assert rows.column(0).to_pylist() == TABLE.column(0).to_pylist()
    written = io.BytesIO()
    sheets.write_sheet(written, str(tmp_path / "t.xlsx"), "no such")
    assert sheets.FAULT in (pa.ipc.open_stream(written.getvalue()).schema.metadata or {})
