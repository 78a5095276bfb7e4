"""Tables in PostgreSQL, on a server of our own: the same release, one state for all passes, one ledger per table."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gedp
from gedp.confidential.engines import OrderedRows
from gedp.confidential.engines.choice import engine_of, held_note
from gedp.confidential.engines.sources import streams
from gedp.errors import FaultsError, Refused
from gedp.ledger import Ledger
from gedp.passes import Reads
from tests.helpers.runs import gedp as command
from tests.sources.test_same import TABLE, UNITS, release, spec_for

PASSWORD = "hunter2"


def asked(folder: Path, source: str = "adbc:postgresql", ledger: str = "own.ledger", **keys: str) -> Path:
    path = spec_for(folder, source, keys)
    path.write_text(path.read_text(encoding="utf-8") + f'\n[ledger]\nfile = "{ledger}"\n', encoding="utf-8")
    return path


def confidential(spec: Path) -> Path:
    spec.write_text(spec.read_text(encoding="utf-8").replace("synthetic = true\n", ""), encoding="utf-8")
    return spec


@pytest.fixture
def filled(database: Any) -> Iterator[Callable[[str], None]]:
    """What carries out a statement in a database that has the establishments, in no order."""
    with database.cursor() as cursor:
        cursor.execute("CREATE SCHEMA business")
        cursor.execute(
            "CREATE TABLE business.establishments "
            "(note json, wage numeric(12, 2), key text, cnty varchar(3), naics text, emp integer)"
        )
        shuffled = TABLE.take([*range(1, TABLE.num_rows, 2), *range(0, TABLE.num_rows, 2)])
        cursor.adbc_ingest("raw", shuffled, mode="create")
        cursor.execute(
            "INSERT INTO business.establishments (key, cnty, naics, emp, wage) "
            "SELECT key, cnty, naics, emp, wage FROM raw"
        )
        cursor.execute("CREATE VIEW by_county AS SELECT key, cnty, naics, emp, wage FROM business.establishments")

        def carry_out(statement: str) -> None:
            cursor.execute(statement)

        yield carry_out


QUERY = "SELECT key, cnty, naics, emp, wage FROM business.establishments;"


@pytest.mark.parametrize(
    "keys",
    [
        {"table": "business.establishments"},
        {"table": "BUSINESS.Establishments"},
        {"query": QUERY},
        {"table": "by_county"},
    ],
)
def test_a_table_gives_the_same_release_as_a_file(
    keys: dict[str, str], filled: Callable[[str], None], tmp_path: Path
) -> None:
    """In the order of their ids, which the file has; a wage comes before them there, and numbers are decimals."""
    (tmp_path / "memory").mkdir()
    expected = release(spec_for(tmp_path / "memory", "absent", {}), table=TABLE)
    assert release(asked(tmp_path, **keys)) == expected


def test_all_passes_see_one_state(
    filled: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    engine = engine_of(gedp.read_spec(asked(tmp_path, table="business.establishments")))
    assert isinstance(engine, OrderedRows)
    seen = []
    for change in ("UPDATE raw SET emp = 1", "UPDATE business.establishments SET emp = emp + 1", "TRUNCATE raw"):
        batches = list(engine.batches(Reads(amounts=UNITS, plain=["key"])))
        seen.append([pair for b in batches for pair in zip(b.plain[0].to_pylist(), b.amounts["emp"], strict=True)])
        filled(change)
    assert seen[0] == seen[1] == seen[2]
    assert dict(seen[0]) == dict(zip(TABLE["key"].to_pylist(), TABLE["emp"].to_pylist(), strict=True))
    assert engine.rows() == TABLE.num_rows


def test_a_pass_that_was_not_read_to_its_end_does_not_hinder_the_next(
    filled: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    engine = engine_of(gedp.read_spec(asked(tmp_path, table="business.establishments")))
    assert isinstance(engine, OrderedRows)
    next(iter(engine.batches(Reads(plain=["key"]))))
    assert engine.rows() == TABLE.num_rows


def test_a_table_has_one_ledger_however_it_is_spelled_and_reached(
    filled: Callable[[str], None], server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = confidential(asked(tmp_path, table="business.establishments"))
    gedp.run(spec, answers_only=True)
    (mark,) = Ledger.open(tmp_path / "own.ledger", create=False).marks()
    assert mark.path.endswith("/register/business.establishments")
    for keys in ({"table": '"business".ESTABLISHMENTS'}, {"query": QUERY}, {"table": "by_county"}):
        other = confidential(asked(tmp_path, ledger="other.ledger", **keys))
        with pytest.raises(Refused, match=r"already have a ledger: .*own\.ledger"):
            gedp.check(other, out=tmp_path / "second")
    monkeypatch.setenv("GEDP_DATABASE", f"postgresql:///register?host={server}/../{server.name}&application_name=x")
    filled("ALTER ROLE gedp IN DATABASE register SET search_path = business, public")
    other = confidential(asked(tmp_path, ledger="other.ledger", table="establishments"))
    with pytest.raises(Refused, match=r"already have a ledger: .*own\.ledger"):
        gedp.check(other, out=tmp_path / "second")
    filled("CREATE TABLE business.copied AS SELECT * FROM business.establishments")
    with pytest.raises(Refused, match=r"already have a ledger: .*own\.ledger"):
        gedp.check(confidential(asked(tmp_path, ledger="other.ledger", table="copied")), out=tmp_path / "second")
    filled(
        "CREATE TABLE business.others AS SELECT 'x' || key AS key, cnty, naics, emp + 7 AS emp, wage + 1 AS wage "
        "FROM business.establishments"
    )
    gedp.check(confidential(asked(tmp_path, ledger="other.ledger", table="others")), out=tmp_path / "second")


READING = """
CREATE FUNCTION rows_of(size integer) RETURNS SETOF by_county LANGUAGE plpgsql AS
$$ BEGIN RETURN QUERY SELECT * FROM by_county WHERE emp >= size; END $$
"""
WAGES = """
CREATE FUNCTION wage_of(wanted text) RETURNS numeric LANGUAGE plpgsql AS
$$ BEGIN RETURN (SELECT wage FROM business.establishments WHERE key = wanted); END $$
"""


def test_a_function_does_not_hide_the_tables_that_it_reads(filled: Callable[[str], None], tmp_path: Path) -> None:
    for statement in (READING, WAGES, "CREATE TABLE codes AS SELECT key, cnty, naics, emp FROM raw"):
        filled(statement)
    gedp.run(confidential(asked(tmp_path, table="business.establishments")), answers_only=True)
    for query in (
        "SELECT * FROM rows_of(0)",
        "SELECT (rows_of(1)).*",
        "SELECT *, wage_of(key) AS wage FROM codes",
        "SELECT c.*, e.wage FROM codes c, LATERAL (SELECT wage FROM rows_of(0) r WHERE r.key = c.key) e",
    ):
        other = confidential(asked(tmp_path, ledger="other.ledger", query=query))
        with pytest.raises(Refused, match=r"already have a ledger: .*own\.ledger"):
            gedp.check(other, out=tmp_path / "second")
    nothing = "SELECT 'k' AS key, 'c' AS cnty, 'n' AS naics, 1 AS emp, 1 AS wage"
    assert fault_of(asked(tmp_path, query=nothing)).startswith("data.query: it reads no table")


def test_parts_of_a_table_that_are_not_read_are_not_known(filled: Callable[[str], None], tmp_path: Path) -> None:
    """The table itself holds no rows."""
    filled("CREATE TABLE years (year integer, note text) PARTITION BY LIST (year)")
    for year in (2015, 2016):
        filled(f"CREATE TABLE year{year} PARTITION OF years FOR VALUES IN ({year})")
        filled(f"INSERT INTO years VALUES ({year}, 'x')")
    filled("ALTER TABLE years RENAME note TO key")
    columns = "key, key AS cnty, key AS naics, year AS emp, year AS wage"
    of_year = engine_of(gedp.read_spec(asked(tmp_path, query=f"SELECT {columns} FROM years WHERE year = 2016")))
    of_all = engine_of(gedp.read_spec(asked(tmp_path, query=f"SELECT {columns} FROM years")))
    assert [name.rpartition("/")[2] for name in of_year.identities()] == ["public.year2016"]
    assert [name.rpartition("/")[2] for name in of_all.identities()] == ["public.year2015", "public.year2016"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS x) AS a; DELETE FROM business.establishments; SELECT * FROM (SELECT 1 AS x",
        "SELECT 1 AS x) AS a; COMMIT; DELETE FROM business.establishments; SELECT * FROM (SELECT 1 AS x",
        "SELECT 1 AS x) TO STDOUT; COMMIT; DELETE FROM business.establishments; COPY (SELECT 1 AS x",
        "WITH gone AS (DELETE FROM business.establishments RETURNING *) SELECT * FROM gone",
        "SELECT set_config('transaction_read_only', 'off', false), empty() AS x",
        "SELECT *, empty() AS x FROM business.establishments",
    ],
)
def test_no_query_changes_the_database(
    query: str, filled: Callable[[str], None], database: Any, tmp_path: Path
) -> None:
    filled(
        "CREATE FUNCTION empty() RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN DELETE FROM business.establishments; RETURN 'x'; END $$"
    )
    with pytest.raises(FaultsError, match="the database does not carry it out"):
        engine_of(gedp.read_spec(asked(tmp_path, query=query)))
    with database.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM business.establishments")
        assert cursor.fetchall() == [(TABLE.num_rows,)]


def test_money_is_not_taken_for_its_cents(filled: Callable[[str], None], tmp_path: Path) -> None:
    """In cents, intervals would be a tenth as wide under sqrt, and nobody would notice."""
    filled("CREATE VIEW priced AS SELECT key, cnty, naics, emp, wage::money AS wage FROM business.establishments")
    assert fault_of(asked(tmp_path, table="priced")).startswith("column wage: it is of type money, which would be read")
    query = "SELECT key, cnty, naics, emp, wage::numeric FROM priced"
    engine = engine_of(gedp.read_spec(asked(tmp_path, query=query)))
    expected = sum(round(100 * wage) for wage in TABLE["wage"].to_pylist())
    assert engine.count_faults(UNITS).faults["wage"].total == expected


def test_nothing_of_the_connection_is_published(
    filled: Callable[[str], None], server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEDP_DATABASE", f"postgresql://gedp:{PASSWORD}@/register?host={server}")
    gedp.run(asked(tmp_path, table="business.establishments"), seed=1)
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in (PASSWORD.encode(), bytes(server)))


def fault_of(spec: Path) -> str:
    with pytest.raises(FaultsError) as raised:
        engine_of(gedp.read_spec(spec))
    (fault,) = raised.value.faults
    assert PASSWORD not in str(raised.value)
    return str(fault)


def test_what_is_wrong_is_named(
    filled: Callable[[str], None], server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fault_of(asked(tmp_path, table="absent")).startswith(
        "data.table: there is no table 'absent'. Check the name"
    )
    assert "does not carry it out (42601)" in fault_of(asked(tmp_path, query="SELEC 918273645"))
    assert "there is no such table" in fault_of(asked(tmp_path, query="SELECT * FROM absent"))
    assert "needs a table or a query" in fault_of(asked(tmp_path))
    assert "data.encoding: it says nothing about a database" in fault_of(asked(tmp_path, table="x", encoding="utf-8"))
    filled("DROP ROLE IF EXISTS reader")
    filled("CREATE ROLE reader LOGIN")
    monkeypatch.setenv("PGUSER", "reader")
    assert "permission denied" in fault_of(asked(tmp_path, table="by_county"))
    monkeypatch.setenv("GEDP_DATABASE", f"postgresql://gedp:{PASSWORD}@/register?host={server}/absent")
    assert "it cannot be reached, or refuses you" in fault_of(asked(tmp_path, table="by_county"))
    assert "it cannot be reached" in fault_of(asked(tmp_path, source="adbc:absent", table="by_county"))


def test_values_that_cannot_be_computed_are_not_quoted(filled: Callable[[str], None], tmp_path: Path) -> None:
    filled("INSERT INTO business.establishments (key, cnty, naics, emp, wage) VALUES ('918273645', '1', '1', 5, 7)")
    emp = "CASE WHEN key < 'k' THEN key::int2 ELSE 1 END AS emp"  # the row comes last
    query = f"SELECT key, cnty, naics, {emp}, wage FROM business.establishments"
    ended = command("run", str(asked(tmp_path, query=query)), "--dry-run", folder=tmp_path)
    assert (ended.code, "918273645" in ended.err, "cannot be read" in ended.err) == (2, False, True)


def test_other_databases_are_read_once_and_held(
    filled: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver of another name, which is PostgreSQL's after all; the manager of drivers finds it."""
    library = import_module("adbc_driver_postgresql")._driver_path()
    shared = f'manifest_version = 1\nname = "other"\n[Driver]\nshared = "{library}"\n'
    (tmp_path / "other.toml").write_text(shared, encoding="utf-8")
    monkeypatch.setenv("ADBC_DRIVER_PATH", str(tmp_path))
    monkeypatch.setenv("GEDP_DATABASE", "postgresql://")
    monkeypatch.setattr(streams, "HELD_BYTES", 0)
    spec = gedp.read_spec(asked(tmp_path, source="adbc:other", table="business.establishments"))
    assert "held in memory as a whole: this database" in str(held_note(spec))
    engine = engine_of(spec)
    filled("DELETE FROM business.establishments")
    assert engine.rows() == TABLE.num_rows
    assert engine.identities() == ["other:business.establishments"]
    assert held_note(gedp.read_spec(asked(tmp_path, table="business.establishments"))) is None
