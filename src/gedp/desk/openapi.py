"""The description of the API, from the same parameters that requests are read with."""

from collections.abc import Mapping, Sequence
from typing import Any

from gedp._version import __version__
from gedp.desk.question import CODES, LEVELS, PART, TABLE, Parameter
from gedp.publication.formats import AS_FILES

_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_WHOLE = {"type": "integer"}
_NUMBER = {"type": ["number", "null"]}


def _record(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list_of(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


FAULT = _record(place=_TEXT, problem=_TEXT, suggestion=_TEXT)
ERROR = _record(error=_TEXT, faults=_list_of(FAULT))
MEANING = _record(name=_TEXT, meaning=_TEXT)
RELEASE = _record(
    title=_TEXT,
    establishments=_WHOLE,
    confidence={"type": "number"},
    is_seeded={"type": "boolean"},
    dimensions=_list_of(_record(name=_TEXT, title=_TEXT, keys=_TEXTS)),
    keys=_list_of(_record(name=_TEXT, title=_TEXT, codes=_WHOLE, is_class={"type": "boolean"})),
    attributes=_list_of(_record(name=_TEXT, title=_TEXT)),
    ratios=_list_of(_record(name=_TEXT, title=_TEXT, formula=_TEXT)),
    is_finished={"type": "boolean"},
    tables=_list_of(_record(title=_TEXT, by=_TEXTS, figures=_TEXTS, file=_TEXT)),
    quality=_list_of(MEANING),
    change={"oneOf": [_record(since=_TEXT, keys=_TEXTS, figures=_TEXTS, flags=_list_of(MEANING)), {"type": "null"}]},
    protection=_TEXTS,
    citation=_TEXT,
)
FOUND_CODES = _record(key=_TEXT, total=_WHOLE, codes=_list_of(_record(code=_TEXT, name=_TEXT)))
LEVEL = _record(key=_TEXT, groups=_WHOLE, low=_NUMBER, median=_NUMBER, high=_NUMBER)
ERRORS_BY_LEVEL = _record(dimension=_TEXT, attribute=_TEXT, levels=_list_of(LEVEL))
CELL = _record(
    estimate=_NUMBER,
    std_error=_NUMBER,
    cv=_NUMBER,
    ci_low=_NUMBER,
    ci_high=_NUMBER,
    variance_kind=_TEXT,
    quality=_TEXT,
    text=_TEXT,
    margin=_TEXT,
    relative=_TEXT,
)
LINE = _record(
    codes=_TEXTS,
    names=_TEXTS,
    establishments={"type": ["integer", "null"]},
    cells=_list_of({"oneOf": [CELL, {"type": "null"}]}),
)
SHOWN = _record(
    rows=_TEXTS,
    columns=_TEXTS,
    heads=_list_of(
        _record(codes=_TEXTS, names=_TEXTS, figure=_TEXT, formula={"type": ["string", "null"]}, kind=_TEXT, title=_TEXT)
    ),
    lines=_list_of(LINE),
    total_lines=_WHOLE,
    offset=_WHOLE,
    confidence={"type": "number"},
    command={"type": ["string", "null"]},
)


def description(table: Sequence[Parameter] = TABLE) -> dict[str, Any]:
    """OpenAPI 3.1, where tables are asked for by these parameters."""
    whole = "The whole table, a line for every group and figure: what `gedp tabulate` writes"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gedp desk",
            "version": __version__,
            "description": "Tables of a protected release, with errors. The page at / uses nothing else.",
        },
        "paths": {
            "/api/release": _get("What can be asked for, and what was protected", (), _json(RELEASE)),
            "/api/codes": _get("The codes of a key", CODES, _json(FOUND_CODES)),
            "/api/levels": _get("Relative errors by level of a dimension", LEVELS, _json(ERRORS_BY_LEVEL)),
            "/api/table": _get("A part of a table, rows by columns", (*table, *PART), _json(SHOWN)),
            **{f"/api/table.{name}": _get(whole, table, _file(form.media_type)) for name, form in AS_FILES.items()},
        },
    }


def _get(summary: str, parameters: Sequence[Parameter], content: Mapping[str, Any]) -> dict[str, Any]:
    answers = {"200": {"description": summary, "content": content}}
    failures = {"400": "What is wrong with the request", "503": "Too many requests at once; try again"}
    errors = {status: {"description": text, "content": _json(ERROR)} for status, text in failures.items()}
    described = [
        {"name": each.name, "in": "query", "description": each.meaning, "schema": each.schema} for each in parameters
    ]
    return {"get": {"summary": summary, "parameters": described, "responses": {**answers, **errors}}}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _file(media_type: str) -> dict[str, Any]:
    return {media_type.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}}
