"""Tables that Spark would bend, cut short or compute anew: they are read as they are, or refused before any cost."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.engines.spark import SparkEngine
from gedp.errors import FaultsError, Refused
from tests.spark.test_spark import large_table, spec_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]

HEADER, LINES = "key,cnty,naics,emp,profit\n", "k1,001,1111,5,6\nk2,003,1111,7,8\n"
SECRET = "987654321"


def test_a_file_that_spark_would_pass_over_is_missed(session: Any, tmp_path: Path) -> None:
    for name in ("a.parquet", "_b.parquet"):
        pq.write_table(large_table(5), tmp_path / name)
    with pytest.raises(FaultsError, match=r"Spark reads 1 of the 2 files\. Rename those that begin with _ or a dot"):
        SparkEngine(tmp_path / "*.parquet", session)


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{HEADER}{LINES}",
        f"{HEADER}{LINES}".replace("\n", "\r\n"),
        f" key, cnty ,naics,emp,profit\n{LINES}",
        '"key","cn,ty",naics,emp,profit\n"k""1","0,1",1111,5,6\n',
        f"{HEADER}\n{LINES}\n",
        f"{HEADER}k,NULL,NA,5,\n",
        HEADER,
    ],
    ids=["byte order mark", "CRLF", "spaces", "quotes", "blank lines", "nothing", "no lines"],
)
def test_a_text_is_to_spark_what_it_is_to_the_local_engine(session: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    spark, local = SparkEngine(tmp_path / "t.csv", session), LocalEngine(tmp_path / "t.csv")
    assert spark.columns() == local.columns()
    assert spark.rows() == local.rows()
    assert spark.count_faults({}, spark.columns()) == local.count_faults({}, local.columns())
    seen = []
    for engine in (spark, local):
        texts, rows = engine.combinations(engine.columns())
        seen.append(sorted(map(str, zip(*texts.values(), rows.tolist(), strict=True))))
    assert seen[0] == seen[1]


def test_texts_that_are_not_utf_8_are_refused_with_all_other_faults(session: Any, tmp_path: Path) -> None:
    """Read by Spark, two counties that differ in such a letter are one."""
    (tmp_path / "t.csv").write_bytes(f"{HEADER}k1,0é,1111,5,6\nk2,0è,1111,5,6\nk3,001\n".encode("latin-1"))
    with pytest.raises(FaultsError) as raised:
        SparkEngine(tmp_path / "t.csv", session)
    irregular, undecoded = (fault.problem for fault in raised.value.faults)
    assert irregular == "1 of its lines do not have the columns of the first"
    assert undecoded == "2 of its lines are not UTF-8"


def test_any_name_of_a_column_works_to_the_end(session: Any, tmp_path: Path) -> None:
    """Dots and backticks have a meaning in Spark; commas, spaces and = in its files."""
    key, county, industry = "ke`y", "cn.ty", "na ics,=;{}()"
    table = large_table(30).rename_columns([key, county, industry, "em.p", "profit"])
    spec = gedp.make_spec(
        data={"public": [county, industry], "synthetic": True, "id": key},
        attributes={"em.p": {"psi": "sqrt", "gamma": 0.5}},
        budget={"mu": 10},
        queries=[{"name": "identity", "by": "establishment", "mu": 1}, {"name": "c", "by": [county], "mu": 1}],
    )
    release = gedp.run(spec, session.createDataFrame(table).repartition(3), out=tmp_path / "out")
    assert release.identity().column_names == [key, county, industry, "em.p__psi", "em.p"]
    assert sorted(release.identity()[key].to_pylist()) == table[key].to_pylist()
    assert release.answers("c").num_rows == 7


def test_comments_and_collations_of_columns_are_not_published(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame(large_table(30)).withMetadata("cnty", {"comment": SECRET})
    frame = frame.selectExpr("key", "cnty", "naics collate utf8_lcase AS naics", "emp", "profit")
    release = gedp.run(spec_of(), frame, out=tmp_path / "out")
    (part,) = (release.folder / "identity.parquet").iterdir()
    assert SECRET.encode() not in part.read_bytes()
    assert b"utf8_lcase" not in part.read_bytes().lower()


def test_no_rows_are_a_fault_and_not_a_failure(session: Any, tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="it has no rows"):
        gedp.run(spec_of(), session.createDataFrame(large_table(5)).where("1 = 0"), out=tmp_path / "out")


def test_one_row_is_released(session: Any, tmp_path: Path) -> None:
    release = gedp.run(spec_of(), session.createDataFrame(large_table(1)).repartition(3), out=tmp_path / "out")
    assert release.identity().num_rows == 1


def test_ids_that_are_repeated_in_another_part_are_found(session: Any, tmp_path: Path) -> None:
    table = session.createDataFrame(large_table(30))
    with pytest.raises(FaultsError, match="column key: 2 rows have an id that appeared before"):
        gedp.run(spec_of(), table.union(table.limit(2)), out=tmp_path / "out")


@pytest.mark.parametrize("what", ["cast(rand() * 1000 as long)", "emp + shuffle(array(0, 1))[0]"])
def test_a_table_of_chance_is_refused_unless_it_is_kept(session: Any, tmp_path: Path, what: str) -> None:
    """Sums of one pass and noisy rows of another would be about different values."""
    frame = session.createDataFrame(large_table(30)).selectExpr("key", "cnty", "naics", f"{what} AS emp", "profit")
    with pytest.raises(FaultsError, match="other rows or values each time"):
        gedp.run(spec_of(synthetic=False), frame, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert list(tmp_path.iterdir()) == []
    assert gedp.run(spec_of(), frame.persist(), out=tmp_path / "out").identity().num_rows == 30
    frame.unpersist()


def test_a_column_that_nobody_asked_for_may_have_any_type(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame(large_table(20)).selectExpr("*", "make_interval(1) AS other")
    assert not SparkEngine(frame, session).can_be_amount("other")
    assert gedp.run(spec_of(), frame, out=tmp_path / "out").manifest.establishments == 20


def test_a_value_that_cannot_be_computed_is_not_quoted(session: Any, tmp_path: Path) -> None:
    table = large_table(20).set_column(0, "key", pa.array([SECRET + str(place) for place in range(20)]))
    frame = session.createDataFrame(table).selectExpr(
        "key", "cnty", "naics", "cast(raise_error(key) as long) AS emp", "profit"
    )
    with pytest.raises(FaultsError, match=r"it cannot be read \(\w+\)") as raised:
        gedp.run(spec_of(), frame, out=tmp_path / "out")
    assert SECRET not in f"{raised.value} {raised.value.__context__} {raised.value.__cause__}"


def test_a_session_of_another_kind_is_refused() -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(Refused, match="session of Spark Connect"):
        SparkEngine("t.parquet", remote)
