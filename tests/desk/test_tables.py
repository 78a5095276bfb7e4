"""The tables of a desk: made once, remembered while there is room, and bounded."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from gedp.desk import app, making, tables
from gedp.desk.catalogue import Catalogue
from gedp.desk.command import tabulate_command
from gedp.desk.question import Question
from gedp.desk.source import MadeTable
from gedp.desk.tables import Tables, size_of
from gedp.errors import DomainError
from gedp.microdata.cells import MOST_PREFIXES
from tests.helpers.desks import Served


def table_of(question: Question) -> MadeTable:
    return MadeTable(pa.table({"attribute": list(question.attributes)}), None)


def test_whoever_asks_for_the_same_table_waits_for_it() -> None:
    made, go_on = [], threading.Event()

    def make(question: Question) -> MadeTable:
        made.append(question)
        assert go_on.wait(60)
        return table_of(question)

    asked = Tables(make)
    with ThreadPoolExecutor(8) as pool:
        same = [pool.submit(asked.get, Question(attributes=("a",))) for _ in range(7)]
        other = pool.submit(asked.get, Question(attributes=("b",)))
        go_on.set()
        assert {id(each.result()) for each in same} == {id(same[0].result())}
        assert other.result().figures == ["b"]
    assert sorted(question.attributes for question in made) == [("a",), ("b",)]


def test_a_failure_is_told_and_not_remembered() -> None:
    made = []

    def make(question: Question) -> MadeTable:
        made.append(question)
        if len(made) == 1:
            raise DomainError("no")
        return table_of(question)

    asked = Tables(make)
    with pytest.raises(DomainError):
        asked.get(Question(attributes=("a",)))
    assert asked.get(Question(attributes=("a",))).figures == ["a"]


def test_the_oldest_tables_are_forgotten_where_there_is_no_room() -> None:
    made = []

    def make(question: Question) -> MadeTable:
        made.append(question.attributes[0])
        return table_of(question)

    one = Question(attributes=("a",))
    asked = Tables(make, room=2 * size_of(one, table_of(one)))
    for name in "abacab":
        asked.get(Question(attributes=(name,)))
    assert made == ["a", "b", "c", "b"]  # a was asked for in between


def test_small_tables_take_room_too_and_their_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    long = [Question(attributes=(f"{place}" * 500,)) for place in range(100)]
    asked = Tables(lambda question: MadeTable(pa.table({"attribute": ["a"]}), None), room=100_000)
    for question in long:
        asked.get(question)
    assert sum(map(len, map(repr, asked._made))) < 100_000
    assert len(asked._made) < 20
    monkeypatch.setattr(tables, "MOST_TABLES", 3)
    many = Tables(table_of)
    for name in "abcde":
        many.get(Question(attributes=(name,)))
    assert [question.attributes for question in many._made] == [("c",), ("d",), ("e",)]


def test_a_table_of_very_many_groups_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST_GROUPS", 100)
    reply = served.get("/api/table?rows=naics&attribute=m1emp&confidence=0.5")
    assert (reply.status, "the table would have 147 groups" in reply.json["error"]) == (400, True)
    reply = served.get("/api/table?rows=naics&attribute=m1emp&confidence=0.5&where=domain=101")
    assert reply.status == 200


def test_the_groupings_that_were_asked_for_are_not_all_remembered(served: Served) -> None:
    for code in served.get("/api/codes?key=naics4").json["codes"][:20]:
        assert served.get(f"/api/table?rows=cnty&attribute=m1emp&where=naics4={code['code']}").status == 200
    assert isinstance(served.desk.source, Catalogue)
    assert len(served.desk.source.public_rows._cells) <= making.KEPT_CELLS


def test_the_first_characters_that_were_asked_for_are_not_all_remembered(served: Served) -> None:
    assert isinstance(served.desk.source, Catalogue)
    rows = served.desk.source.public_rows
    for number in range(1, 60):
        assert served.get(f"/api/codes?key=cnty{number}").status == 200
    assert sum(name.startswith("cnty") for name in rows._keys) <= MOST_PREFIXES + 1
    for name in ("cnty03", "cnty0", "cnty1000"):
        assert served.get(f"/api/codes?key={name}").status == 400


def test_a_queue_that_is_full_says_so(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_WAITING", 0)
    reply = served.get("/api/table?rows=cnty")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    assert served.get("/api/table?rows=cnty").status == 200


def test_many_at_once_get_each_their_own(served: Served) -> None:
    """Clients that ask for different tables in a row, all at the same time."""
    codes = [each["code"] for each in served.get("/api/codes?key=cnty").json["codes"]]

    def ask(client: int) -> None:
        for place in range(6):
            code = codes[(client + place) % len(codes)]
            lines = served.get(f"/api/table?rows=cnty&attribute=wage&where=cnty={code}").json["lines"]
            assert [line["codes"] for line in lines] == [[code]]

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(ask, range(24)))


def test_a_name_that_no_option_takes_has_no_command() -> None:
    assert tabulate_command(Question(rows=("a,b",)), "out") is None
    assert tabulate_command(Question(rows=(" a",)), "out") is None
    said = tabulate_command(Question(rows=("$(x)",), attributes=("-a'b",), where=(("k", ("=1", "2")),)), "my out")
    assert (
        said == """gedp tabulate 'my out' '--by=$(x)' '--attribute=-a'"'"'b' --where=k==1 --where=k=2 --out=table.csv"""
    )
