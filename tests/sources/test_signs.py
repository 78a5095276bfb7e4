"""Decimal commas, separators of thousands and nulls, beside an oracle in plain Python that reads one text at a time."""

import re
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError
from gedp.passes import Reads
from gedp.policy import Attribute, Closeness, Data, parse_spec, write_spec
from gedp.policy.keys import THOUSANDS
from gedp.policy.reading import Reading
from tests.helpers.runs import SPEC, changed

UNIT = Fraction(1, 100)
pieces = st.lists(st.sampled_from([*"0123456789", "00", "123", ".", ",", "'", " ", "+", "-", "x"]), max_size=7)
texts = st.tuples(pieces.map("".join), st.sampled_from(["", "", "e2", "E-1"])).map("".join)


def oracle(text: str, decimal: str, thousands: str | None) -> Fraction | None:
    """The number that a text is, by its parts."""
    match = re.fullmatch(r"\s*([+-]?)([^eE]*?)(?:[eE]([+-]?[0-9]+))?\s*", text)
    if not match:
        return None
    sign, digits, exponent = match.groups()
    whole, point, part = digits.partition(decimal)
    groups = whole.split(thousands) if thousands else [whole]
    grouped = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    plain = "".join(groups)
    if not grouped or not re.fullmatch("[0-9]*", plain + part) or not (plain or (point and part)):
        return None
    if len(groups) > 1 and not all(groups):
        return None
    size = Fraction(int(plain + part or "0"), 10 ** len(part)) * Fraction(10) ** int(exponent or 0)
    return -size if sign == "-" else size


@given(st.lists(texts, min_size=1, max_size=8), st.sampled_from(".,"), st.sampled_from([None, *THOUSANDS[:4]]))
@example(["1.234,50", "1.23,5", "12.345.678", "1234,5", ",5", "5,", ".5", "1.5", "1..234", "-1.234,5e1"], ",", ".")
@example(["1 234.5", "1  234", " 1 234 ", "1 2345"], ".", " ")
def test_numbers_with_other_signs_are_read_as_by_hand(rows: list[str], decimal: str, thousands: str | None) -> None:
    if decimal == thousands:
        return
    engine = LocalEngine(pa.table({"x": rows}), Reading(decimal=decimal, thousands=thousands))
    found = engine.count_faults({"x": UNIT}).faults["x"]
    numbers = [oracle(text, decimal, thousands) for text in rows]
    known = [number for number in numbers if number is not None]
    in_units = [number / UNIT for number in known if (number / UNIT).denominator == 1]
    assert found.not_numbers == len(rows) - len(known)
    assert found.not_whole == len(known) - len(in_units)
    assert found.total == sum(map(abs, in_units))
    assert (found.negatives, found.zeros) == (sum(n < 0 for n in known), sum(n == 0 for n in known))


def test_codes_keep_their_signs() -> None:
    """Only numbers have decimal signs; 01.11 is a code."""
    engine = LocalEngine(pa.table({"nace": ["01.11", "1.234"], "x": ["1", "2"]}), Reading(decimal=",", thousands="."))
    assert engine.distinct("nace") == ["01.11", "1.234"]


EMP = Attribute("emp", Closeness("sqrt", Decimal("0.5")), unit=Decimal("0.5"))
DATA = Data("x", ("cnty",), None, synthetic=True)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, None, 5]),
        pa.array([3.0, None, 5.0]),
        pa.array(["3", None, "5,0"]),
        pa.array([Decimal("3.0"), None, Decimal("5.0")], pa.decimal128(9, 1)),
        pa.array([3, None, 5], pa.uint64()),
    ],
)
def test_a_null_counts_as_the_number_that_the_spec_says(column: pa.Array) -> None:
    table = pa.table({"cnty": ["1", "1", "1"], "emp": column})
    signs = Reading(decimal=",")
    with pytest.raises(FaultsError, match="1 row has null"):
        open_table(LocalEngine(table, signs), DATA, {"emp": EMP})
    filled = LocalEngine(table, Reading(decimal=",", missing={"emp": Decimal("1.5")}))
    open_table(filled, DATA, {"emp": EMP})
    (batch,) = filled.batches(Reads(amounts={"emp": Fraction(1, 2)}))
    assert batch.amounts["emp"].tolist() == [6, 3, 10]
    counts = filled.count_faults({"emp": Fraction(1, 2)}).faults["emp"]
    assert (counts.nulls, counts.zeros, counts.total) == (0, 0, 19)


def test_a_null_that_counts_as_0_is_one_where_log_has_no_value() -> None:
    log = Attribute("emp", Closeness("log", Decimal("0.1")))
    engine = LocalEngine(pa.table({"cnty": ["1", "1"], "emp": [3, None]}), Reading(missing={"emp": Decimal(0)}))
    with pytest.raises(FaultsError, match="1 row has 0, where log has no value"):
        open_table(engine, DATA, {"emp": log})


KEYS = 'source = "t.csv"\nencoding = "cp1252"\ndelimiter = ";"\ndecimal = ","\nthousands = "."\nmissing = { emp = 0 }\n'


def test_keys_of_the_spec_survive_being_written_and_say_nothing_by_default() -> None:
    spec = parse_spec(changed(SPEC, ('source = "t.parquet"\n', KEYS)) + '[ledger]\nfile = "l.ledger"\n')
    assert parse_spec(write_spec(spec)) == spec
    assert spec.data.reading == Reading(None, None, None, "cp1252", ";", ",", ".", {"emp": Decimal(0)})
    assert spec.ledger == "l.ledger"
    refusing = parse_spec(changed(SPEC, ('"t.parquet"\n', '"t.parquet"\nmissing = "refuse"\ndecimal = "."\n')))
    assert write_spec(refusing) == write_spec(parse_spec(SPEC))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('table = "a"\nquery = "SELECT 1"', "data.query: table and query are both set. Give one of the two"),
        ('encoding = "klingon"', "data.encoding: 'klingon' is not known. Give one like"),
        ('encoding = "base64"', "data.encoding: 'base64' is not known. Give one like"),
        ('delimiter = "ab"', "data.delimiter: it cannot stand between columns"),
        ('delimiter = "\\""', "data.delimiter: it cannot stand between columns"),
        ('decimal = ";"', "data.decimal: ';' is not known. Use one of: '.', ','"),
        ('thousands = "."', "data.thousands: it is the decimal sign as well"),
        ("missing = { wages = 0 }", "data.missing.wages: there is no attribute 'wages'. Did you mean 'wage'?"),
        ("missing = { emp = 0.5 }", "data.missing.emp: it is not a whole multiple of the unit 1"),
        ('missing = "zero"', "data.missing: it says nothing about nulls that is known"),
    ],
)
def test_keys_that_cannot_be_are_named(keys: str, message: str) -> None:
    with pytest.raises(FaultsError) as raised:
        parse_spec(changed(SPEC, ('source = "t.parquet"', f'source = "t.csv"\n{keys}')))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://reader:hunter2@db.example.org/register",
        "postgresql://reader:hunter2@/register",
        "host=db password=hunter2",
        "postgresql://db/register?password=hunter2",
        "postgresql://db/register?sslpassword=hunter2",
        "s3a://KEY:hunter2/+x@bucket/t.parquet",
        "t.db\"\nquery = \"SELECT * FROM dblink('host=db password=hunter2', 'SELECT 1') AS (x int)",
        "t.db\"\nquery = \"SELECT * FROM dblink('postgresql://reader:hunter2@db', 'SELECT 1') AS (x int)",
        't.db"\ntable = "postgresql://reader:hunter2@db',
    ],
)
def test_a_password_is_refused_and_not_repeated(source: str) -> None:
    with pytest.raises(FaultsError, match="there is a password in it, and a spec is published") as raised:
        parse_spec(changed(SPEC, ("t.parquet", source)))
    assert "hunter2" not in str(raised.value)


def test_a_port_is_no_password() -> None:
    source = "hdfs://head:8020/home/me@office/t.parquet"
    assert parse_spec(changed(SPEC, ("t.parquet", source))).data.source == source


def test_a_database_needs_a_ledger_and_no_address() -> None:
    with pytest.raises(FaultsError, match=r"ledger\.file: it is missing, and a database has no folder"):
        parse_spec(changed(SPEC, ('"t.parquet"', '"adbc:postgresql"\ntable = "x"')))
    with pytest.raises(FaultsError, match="it is more than the name of a driver"):
        parse_spec(changed(SPEC, ('"t.parquet"', '"adbc:postgresql://db/register"')))


def test_spark_is_not_asked_for_what_it_cannot_read() -> None:
    spec = parse_spec(changed(SPEC, ('source = "t.parquet"\n', KEYS)))
    with pytest.raises(FaultsError) as raised:
        gedp.check(spec, session=object())
    assert [fault.place for fault in raised.value.faults] == [f"data.{key}" for key in spec.data.reading.given()]
    database = changed(SPEC, ('"t.parquet"', '"adbc:postgresql"')) + '[ledger]\nfile = "l"\n'
    with pytest.raises(FaultsError, match="workers of Spark would each connect"):
        gedp.check(parse_spec(database), session=object())
