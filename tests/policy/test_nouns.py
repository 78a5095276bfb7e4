"""What records and units are called is said in the spec, and written again as it was read."""

import pytest

import gedp
from gedp.errors import FaultsError
from gedp.explain.facts import power_rows
from gedp.explain.released import explained_promise
from gedp.policy import price
from gedp.policy.nouns import Noun, Nouns
from gedp.policy.reader import parse_spec
from gedp.policy.writer import write_spec
from gedp.report.strength import _powers
from tests.helpers.builder import spec_of

NAMED = {"record": "local unit|local units", "unit": "enterprise|enterprises"}
ENTERPRISES = {"data": {"public": ["cnty", "naics", "unit"]}, "protect": {"unit": "unit"}}


def test_a_spec_names_records_and_units_and_is_written_as_it_was_read() -> None:
    spec = spec_of(labels={**NAMED, "cnty": "County"})
    assert spec.nouns == Nouns(Noun("local unit", "local units"), Noun("enterprise", "enterprises"))
    assert set(spec.labels) == {"cnty"}
    assert parse_spec(write_spec(spec), in_memory=True) == spec


def test_a_spec_without_names_is_written_without_them() -> None:
    assert spec_of().nouns == Nouns()
    assert "labels" not in write_spec(spec_of())


@pytest.mark.parametrize("given", ["local unit", "a|b|c", "|b", "a| ", "|"])
def test_a_name_is_two_texts_with_one_bar_between_them(given: str) -> None:
    with pytest.raises(FaultsError, match=r"labels\.record: it is not two texts"):
        spec_of(labels={"record": given})


def test_a_column_that_is_called_unit_keeps_its_title() -> None:
    assert spec_of(**ENTERPRISES, labels={"unit": "Firm"}, accounting="individual").labels["unit"].title == "Firm"
    named = spec_of(**ENTERPRISES, labels=NAMED, accounting="individual")
    assert named.nouns.unit == Noun("enterprise", "enterprises")
    assert not named.labels


@pytest.mark.parametrize(
    ("word", "after_article"),
    [("enterprise", "an enterprise"), ("unit", "a unit"), ("unincorporated firm", "an unincorporated firm")],
)
def test_articles_follow_the_sound(word: str, after_article: str) -> None:
    assert Noun(word, word).a == after_article


def test_the_promise_is_about_what_the_spec_names() -> None:
    records, units = spec_of(labels=NAMED), spec_of(**ENTERPRISES, labels=NAMED, accounting="individual")
    assert "the true values of a local unit from any other" in explained_promise(records)[0]
    assert "the true values of all records of one enterprise from" in explained_promise(units)[0]
    for spec in (records, units):
        said = [row.change for row in power_rows(gedp.price(spec).total, spec.policy.unit, spec.nouns)]
        assert not any(word in change for change in said for word in ("establishment", "firm"))


def test_no_name_of_a_record_hides_a_line_of_the_attackers_chances() -> None:
    usual, named = (_powers(price(spec), spec) for spec in (spec_of(), spec_of(labels={"record": "step|steps"})))
    assert "a firm&#x27;s 2 steps at once" in named
    assert named.count("<tr>") == usual.count("<tr>")
