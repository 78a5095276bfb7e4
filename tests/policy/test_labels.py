"""`[labels]` and `[publication]`: all faults with their lines, code lists, shapes, and back without loss."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.csvfiles import read_rows, write_rows
from gedp.errors import FaultsError
from gedp.policy import Attribute, Closeness, Data, Policy, Query, Spec, parse_spec, read_spec, write_spec
from gedp.policy.codelists import (
    CodeList,
    CodeListError,
    CodeName,
    make_code_list,
    read_code_list,
    read_code_lists,
)
from gedp.policy.labels import Label, Publication
from gedp.policy.shapes import read_shape, shape_text
from gedp.policy.values import SCALES

SPEC = """
[data]
source = "e.csv"
public = ["state", "cnty", "naics"]

[groupers]
naics3 = { column = "naics", prefix = 3 }

[attributes]
jobs = { psi = "sqrt", gamma = 0.5 }

[budget]
mu = 1

[[queries]]
name = "county"
title = "Jobs by county"
by = ["cnty"]
mu = 0.5
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(FaultsError) as raised:
        parse_spec(SPEC + text)
    return [str(fault) for fault in raised.value.faults]


def test_labels_are_read_as_they_stand() -> None:
    spec = parse_spec(
        SPEC
        + """
[labels]
jobs = { title = "Jobs", unit = "jobs", scale = 1000 }
cnty = { title = "County", codes = "counties.csv" }
naics3 = "Industry"

[publication]
publisher = "Office"
"""
    )
    assert spec.labels == {
        "jobs": Label("Jobs", "jobs", 1000),
        "cnty": Label("County", codes="counties.csv"),
        "naics3": Label("Industry"),
    }
    assert spec.publication == Publication(publisher="Office")
    assert spec.queries[0].title == "Jobs by county"
    assert parse_spec(SPEC).labels == {}


def test_every_fault_is_found_at_once_with_its_line() -> None:
    found = faults_of(
        """[labels]
jbos = "Jobs"
jobs = { title = "Jobs", codes = "jobs.csv", scale = 7 }
cnty = { title = "two\\nlines", unit = "counties", scale = 10 }
naics = 5

[publication]
titel = "x"
"""
    )
    assert [fault.split(":")[0] for fault in found] == [
        "line 21, labels.jbos",
        "line 22, labels.jobs.scale",
        "line 22, labels.jobs.codes",
        "line 23, labels.cnty.title",
        "line 23, labels.cnty.unit",
        "line 23, labels.cnty.scale",
        "line 24, labels.naics",
        "line 27, publication.titel",
    ]
    assert "Did you mean 'jobs'?" in found[0]


# Printable, and with spaces only inside.
visible = st.characters(codec="utf-8", exclude_categories=["C", "Z"])
inside = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], include_characters=" "), max_size=198)
titles = visible | st.tuples(visible, inside, visible).map("".join)
maybe = st.none() | titles


@given(
    st.builds(Label, maybe, maybe, st.sampled_from(list(SCALES))),
    st.builds(Label, maybe, codes=st.none() | st.just("c.csv")),
    st.builds(Publication, maybe, maybe, maybe, maybe),
    maybe,
)
def test_writing_and_reading_gives_the_same_labels(
    jobs: Label, cnty: Label, publication: Publication, title: str | None
) -> None:
    policy = Policy({"jobs": Attribute("jobs", Closeness("sqrt", Decimal("0.5")))}, Decimal(1))
    queries = (Query("county", ("cnty",), {"jobs": Decimal(1)}, title=title),)
    spec = Spec(Data("e.csv", ("cnty",)), policy, queries, labels={"jobs": jobs, "cnty": cnty}, publication=publication)
    assert parse_spec(write_spec(spec)) == spec


def test_a_spec_without_labels_is_written_as_before() -> None:
    text = write_spec(parse_spec(SPEC.replace('title = "Jobs by county"\n', "")))
    assert not any(word in text for word in ("label", "publication", "title"))


def test_a_code_list_has_names_points_and_shapes(tmp_path: Path) -> None:
    path = tmp_path / "counties.csv"
    path.write_text(
        "state;code;title;lat;lon;shape;remark\n"
        "34;001;Atlantic;39.5;-74.6;POLYGON ((0 0, 1 0, 1 1, 0 0));x\n"
        "36;001;Albany;;;;\n",
        encoding="utf-8-sig",
    )
    found = read_code_list(path, "cnty", {"state", "cnty"})
    ring = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0))
    assert found.within == ("state",)
    assert found.names == {
        ("34", "001"): CodeName("Atlantic", (-74.6, 39.5), (ring,)),
        ("36", "001"): CodeName("Albany"),
    }


def test_a_code_list_reports_every_fault_with_its_lines_and_quotes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "counties.csv"
    lines = [
        "code,title,lat,lon,shape",
        "1,A,,,",
        "1,again,,,",
        "2,,,,",
        "3,C,91,0,",
        "4,D,x,y,",
        "5,E,1,",
        "6,F,,,CIRCLE",
    ]
    path.write_text("\n".join([*lines, *(f"1,secret{n},,," for n in range(5))]), encoding="utf-8")
    with pytest.raises(CodeListError) as raised:
        read_code_list(path, "cnty")
    places = sorted(fault.place for fault in raised.value.faults)
    assert places == [f"counties.csv, line{text}" for text in (" 4", " 7", " 8", "s 3, 9, 10 and 3 more", "s 5, 6")]
    assert not any(word in str(raised.value) for word in ("secret", "CIRCLE", "again"))


@pytest.mark.parametrize("text", ["", "code,name\n1,A\n", "code,title,title\n1,A,B\n", "code,title\n", "a\n", '"x'])
def test_what_is_no_code_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.csv").write_text(text, encoding="utf-8")
    with pytest.raises(CodeListError):
        read_code_list(tmp_path / "c.csv", "cnty")


def test_all_code_lists_of_a_spec_are_checked_together(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(
        SPEC + '[labels]\ncnty = { codes = "counties.csv" }\nnaics = { codes = "naics.csv" }\n', encoding="utf-8"
    )
    (tmp_path / "naics.csv").write_text("code;x\n", encoding="utf-8")
    with pytest.raises(FaultsError) as raised:
        read_code_lists(read_spec(tmp_path / "spec.toml"))
    assert [fault.place for fault in raised.value.faults] == ["counties.csv", "naics.csv, line 1"]


numbers = st.floats(-90, 90).map(lambda x: round(x, 6) + 0.0)
rings = st.lists(st.tuples(numbers, numbers), min_size=4, max_size=6).map(tuple)


@given(st.lists(rings, max_size=3).map(tuple))
def test_shapes_survive_writing_and_reading(shape: tuple[tuple[tuple[float, float], ...], ...]) -> None:
    assert read_shape(shape_text(shape)) == shape


@given(
    st.dictionaries(
        titles.map(lambda text: (text,)),
        st.builds(CodeName, titles, st.none() | st.tuples(numbers, numbers), st.lists(rings, max_size=2).map(tuple)),
        min_size=1,
        max_size=4,
    )
)
def test_code_lists_survive_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, names: dict[tuple[str, ...], CodeName]
) -> None:
    path = tmp_path_factory.mktemp("codes") / "c.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(CodeList("cnty", (), names).rows(), file)
    with path.open(encoding="utf-8", newline="") as file:
        rows = read_rows(file)
    assert make_code_list(list(enumerate(rows, 1)), "cnty", (), "c.csv").names == names


@pytest.mark.parametrize(
    "text",
    [
        "POINT (1 2)",
        "POLYGON ((1 2, 3 4, 5 6))",
        "POLYGON ((1 2, 3 4, 5 6, 200 0))",
        "POLYGON ((1 2 3, 4 5 6))",
        "<svg>",
    ],
)
def test_what_is_no_polygon_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no"):
        read_shape(text)
