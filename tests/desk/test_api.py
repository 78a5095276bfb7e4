"""The API of the desk: figures are those of `gedp tabulate`, and everything is as openapi.json says."""

import io
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.ipc
import pytest
from openpyxl import load_workbook

from gedp.desk.app import routes
from gedp.desk.openapi import description
from gedp.publication.quality import Quality
from tests.helpers.demonstration import Demonstration
from tests.helpers.desks import Served
from tests.helpers.pages import text_of
from tests.helpers.runs import gedp

Fields = list[tuple[str, str]]
PARAMETERS = [
    (where, parameter["name"], parameter["schema"])
    for where, described in description()["paths"].items()
    for parameter in described["get"]["parameters"]
]
BY_COUNTY = [("rows", "cnty"), ("attribute", "wage")]
QUESTIONS: list[Fields] = [
    [],
    BY_COUNTY,
    [("rows", "cnty"), ("columns", "domain"), ("attribute", "m3emp"), ("attribute", "wage")],
    [("rows", "sector"), ("ratio", "weekly-wage"), ("ratio", "pay = wage / m3emp"), ("confidence", "0.9")],
    [("rows", "naics3"), ("attribute", "m1emp"), ("where", "cnty=003"), ("where", "cnty=005"), ("where", "domain=102")],
    [("columns", "cnty"), ("attribute", "wage")],
    [("rows", "domain"), ("rows", "cnty"), ("attribute", "m2emp"), ("where", "naics4=6211")],
]


def path(kind: str, fields: Fields) -> str:
    return f"/api/{kind}?{urlencode(fields)}"


@pytest.mark.parametrize("fields", QUESTIONS)
def test_figures_are_those_of_the_command_that_the_page_names(
    fields: Fields, served: Served, demonstration: Demonstration, tmp_path: Path
) -> None:
    command = served.get(path("table", fields)).json["command"]
    ended = gedp(*shlex.split(command)[1:], folder=tmp_path)
    assert ended.code == 0, ended.err
    reply = served.get(path("table.csv", fields))
    assert (reply.status, reply.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert reply.body == (tmp_path / "table.csv").read_bytes()


@pytest.mark.parametrize("fields", QUESTIONS)
def test_every_cell_is_a_line_of_the_table(fields: Fields, served: Served) -> None:
    lines = pa.ipc.open_stream(served.get(path("table.arrow", fields)).body).read_all().to_pylist()
    shown = served.get(path("table", [*fields, ("limit", "500")])).json
    cells = {}
    for line in shown["lines"]:
        for head, cell in zip(shown["heads"], line["cells"], strict=True):
            named = zip([*shown["rows"], *shown["columns"]], [*line["codes"], *head["codes"]], strict=True)
            if cell is not None:
                cells[frozenset(named), head["figure"]] = cell
    assert len(cells) == len(lines)
    for line in lines:
        keys = frozenset((key, line[key]) for key in (*shown["rows"], *shown["columns"]))
        cell = cells[keys, line["attribute"]]
        assert {
            name: line[name] for name in ("estimate", "std_error", "cv", "ci_low", "ci_high")
        }.items() <= cell.items()


def test_counts_of_establishments_are_the_public_ones(served: Served) -> None:
    lines = served.get(path("table", [("rows", "naics3"), ("columns", "cnty"), ("attribute", "wage")])).json["lines"]
    assert sum(line["establishments"] for line in lines) == served.desk.source.facts.establishments
    some = served.get(path("table", [("rows", "naics3"), ("where", "cnty=003"), ("attribute", "wage")])).json["lines"]
    whole = served.get(path("table", [*BY_COUNTY, ("where", "cnty=003")])).json["lines"]
    assert sum(line["establishments"] for line in some) == whole[0]["establishments"]


@pytest.mark.parametrize("descending", ["true", "false"])
@pytest.mark.parametrize("sort", ["label", "0", "1"])
def test_parts_are_the_whole_table_in_order(sort: str, descending: str, served: Served) -> None:
    fields = [("rows", "naics4"), ("attribute", "wage"), ("ratio", "percent-change")]
    fields += [("sort", sort), ("descending", descending)]
    whole = served.get(path("table", [*fields, ("limit", "500")])).json
    parts = [
        line
        for offset in range(0, whole["total_lines"], 50)
        for line in served.get(path("table", [*fields, ("limit", "50"), ("offset", str(offset))])).json["lines"]
    ]
    assert parts == whole["lines"]
    assert len(parts) == whole["total_lines"] > 100
    by = [line["codes"] if sort == "label" else line["cells"][int(sort)]["estimate"] for line in parts]
    known = [value for value in by if value is not None]
    assert known == sorted(known, reverse=descending == "true")
    assert by[len(known) :] == [None] * (len(by) - len(known))


def test_names_and_scales_are_those_of_the_labels(served: Served) -> None:
    shown = served.get(path("table", [*BY_COUNTY, ("limit", "1")])).json
    (line,) = shown["lines"]
    assert (line["codes"], line["names"]) == (["001"], ["Harbor County"])
    assert shown["heads"][0]["title"] == "Wages paid in the quarter (million US dollars)"
    text = float(line["cells"][0]["text"].replace(",", ""))
    assert text * 1e6 == pytest.approx(line["cells"][0]["estimate"], rel=1e-3)
    found = served.get(path("codes", [("key", "cnty"), ("search", "harb")])).json
    assert found == {"key": "cnty", "total": 1, "codes": [{"code": "001", "name": "Harbor County"}]}


def test_flags_say_how_reliable_totals_are(served: Served) -> None:
    fields = [("rows", "naics"), ("columns", "cnty"), ("attribute", "wage"), ("limit", "500")]
    cells = [cell for line in served.get(path("table", fields)).json["lines"] for cell in line["cells"] if cell]
    for cell in cells:
        expected = next(name for name, most in Quality().classes if cell["cv"] <= most)
        assert cell["quality"] == expected
    assert {cell["quality"] for cell in cells} == {"A", "B", "C", "D"}
    fields = [("rows", "naics"), ("ratio", "change"), ("limit", "500")]
    assert {line["cells"][0]["quality"] for line in served.get(path("table", fields)).json["lines"]} == {""}


def test_errors_grow_from_level_to_level(served: Served) -> None:
    found = served.get(path("levels", [("dimension", "industry"), ("attribute", "wage")])).json["levels"]
    assert [level["key"] for level in found][:3] == ["domain", "supersector", "sector"]
    groups = [level["groups"] for level in found]
    assert groups == sorted(groups)
    assert found[0]["median"] < found[2]["median"] < found[-1]["median"]
    assert all(level["low"] <= level["median"] <= level["high"] for level in found)


def test_a_workbook_has_numbers_and_no_formulas(served: Served) -> None:
    fields = [("rows", "cnty"), ("ratio", "=1+1 = wage / m3emp"), ("ratio", "@x = m1emp")]
    assert served.get(path("table.xlsx", fields)).status == 400  # a name cannot be empty
    reply = served.get(path("table.xlsx", [("rows", "cnty"), ("ratio", "@x = m1emp")]))
    assert reply.body == served.get(path("table.xlsx", [("rows", "cnty"), ("ratio", "@x = m1emp")])).body
    table, notes = load_workbook(io.BytesIO(reply.body)).worksheets
    rows = list(table.iter_rows(values_only=True))
    numbers = ("estimate", "std_error", "cv", "ci_low", "ci_high")
    assert rows[0] == ("cnty", "attribute", "formula", *numbers, "variance_kind")
    assert [row[:3] for row in rows[1:3]] == [("001", "@x", "m1emp"), ("003", "@x", "m1emp")]
    assert all(cell.data_type in "sn" for row in table.iter_rows() for cell in row)  # neither formulas nor errors
    assert all(isinstance(number, float) for row in rows[1:] for number in row[3:8])
    said = "\n".join(str(row[0]) for row in notes.iter_rows(values_only=True))
    assert "Nobody can tell the true values" in said
    assert "gedp tabulate" in said


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is as a schema says, as far as openapi.json uses schemas."""
    if "oneOf" in schema:
        return any(fits(value, one) for one in schema["oneOf"])
    kinds: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "null": type(None), "integer": int}
    kind = schema["type"]
    if kind == "object":
        return isinstance(value, dict) and set(value) == set(schema["required"]) and all(
            fits(each, schema["properties"][name]) for name, each in value.items()
        )  # fmt: skip
    if kind == "array":
        return isinstance(value, list) and all(fits(each, schema["items"]) for each in value)
    return any(isinstance(value, kinds[one]) for one in ([kind] if isinstance(kind, str) else kind)) and (
        value in schema.get("enum", [value])
    )


ANSWERS = {
    "/api/release": "",
    "/api/codes": "key=cnty",
    "/api/levels": "dimension=industry&attribute=wage",
    "/api/table": "rows=naics&columns=cnty&attribute=wage&ratio=weekly-wage",
}


def test_the_description_has_every_route_of_the_api(served: Served) -> None:
    described = served.get("/openapi.json").json
    assert described == description()
    assert set(described["paths"]) == {r.path for r in routes(served.desk) if r.path.startswith("/api/")}


@pytest.mark.parametrize("where", ANSWERS)
def test_answers_are_as_described(where: str, served: Served) -> None:
    described = description()["paths"][where]["get"]["responses"]
    answer = served.get(f"{where}?{ANSWERS[where]}").json
    assert fits(answer, described["200"]["content"]["application/json"]["schema"])
    refusal = served.get(f"{where}?nonsense=1&rows=1")
    assert refusal.status == 400
    assert fits(refusal.json, described["400"]["content"]["application/json"]["schema"])
    assert not fits({**answer, "more": 1}, described["200"]["content"]["application/json"]["schema"])


@pytest.mark.parametrize(("where", "name", "schema"), PARAMETERS)
def test_parameters_are_as_described(where: str, name: str, schema: dict[str, Any], served: Served) -> None:
    """Each that is described is read; too many of one, or a number out of range, is refused."""
    too_many = schema.get("maxItems", 1) + 1
    refusal = served.get(path(where.removeprefix("/api/"), [(name, "cnty=001")] * too_many))
    assert refusal.status == 400
    assert f"it is given {too_many} times" in refusal.json["error"]
    assert "there is no such parameter" not in refusal.json["error"]
    if "maximum" in schema:
        refusal = served.get(path(where.removeprefix("/api/"), [(name, str(schema["maximum"] * 2))]))
        assert "is not such a number" in refusal.json["error"]


def test_some_parameters_are_numbers_and_some_may_be_repeated() -> None:
    assert {key for _, _, schema in PARAMETERS for key in schema} >= {"maximum", "maxItems"}


def test_what_only_the_page_reads_is_no_parameter_of_the_api(served: Served) -> None:
    for name in ("chart", "drawn"):
        assert served.get(path("table", [(name, "1")])).status == 400


def test_every_fault_is_named_at_once(served: Served) -> None:
    reply = served.get("/api/table?rows=cnty&offset=x&limit=0&confidence=nan&other=1")
    assert reply.status == 400
    assert {fault["place"] for fault in reply.json["faults"]} == {"offset", "limit", "confidence", "other"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("rows", "nowhere")], "'nowhere' is not a public column or grouping"),
        ([("where", "cnty=nowhere")], "there is no 'nowhere' in cnty"),
        ([("attribute", "nothing")], "not fitted: nothing"),
        ([("ratio", "x = wage / (")], "an attribute or a number is missing"),
        ([("rows", "cnty"), ("sort", "9")], "there are 4 columns of figures"),
        ([("columns", "naics"), ("attribute", "wage")], "columns of figures, and at most 60 are shown"),
    ],
)
def test_what_cannot_be_had_is_said_without_the_name_of_the_folder(
    fields: Fields, said: str, served: Served, demonstration: Demonstration
) -> None:
    reply = served.get(path("table", fields))
    assert reply.status == 400
    assert said in reply.json["error"]
    assert demonstration.release.name not in reply.json["error"].split()
    assert str(demonstration.folder) not in reply.body.decode()


def test_what_was_protected_is_said_in_the_words_of_the_report(served: Served, demonstration: Demonstration) -> None:
    report = text_of(demonstration.release / "report.html")
    said = served.get("/api/release").json["protection"]
    (alike,) = [text for text in said if text.startswith("Jobs in January, Jobs in February and Jobs in March: nobody")]
    (named,) = [text for text in said if text.startswith("Protected: Jobs in January, ")]
    assert alike in report
    assert named in report
    assert said.index(alike) < next(place for place, text in enumerate(said) if "false alarms" in text)
