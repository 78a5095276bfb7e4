"""The routes of the desk: a page, what it is made of, and the API that it uses itself."""

import asyncio
import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from gedp.desk.guard import refused
from gedp.desk.levels import errors_by_level
from gedp.desk.openapi import description
from gedp.desk.page import desk_page
from gedp.desk.question import (
    CODES,
    LEVELS,
    PART,
    SHOW,
    TABLE,
    GivenParameters,
    Parameter,
    Question,
    read_part,
    read_question,
)
from gedp.desk.shown import ShownTable
from gedp.desk.source import DeskSource, described, found_codes
from gedp.desk.tables import Tables
from gedp.errors import FaultsError, GedpError
from gedp.publication.formats import AS_FILES, AsFile
from gedp.web import asset

THREADS = 8
MOST_WAITING = 400  # requests that are worked on or wait for it
JSON = "application/json"
#: What a page loads, and nothing else: no path of a request ever becomes one of a file.
ASSETS = {
    "page.css": "text/css; charset=utf-8",
    "desk.css": "text/css; charset=utf-8",
    "desk.js": "text/javascript; charset=utf-8",
    "desk_charts.js": "text/javascript; charset=utf-8",
    "desk_page.js": "text/javascript; charset=utf-8",
}
Answer = Callable[[GivenParameters], "Content"]


@dataclass(frozen=True)
class Content:
    """What is answered, its type, and the name of the file that it may be saved as."""

    body: bytes
    kind: str = JSON
    file: str | None = None


class Desk:
    """What is asked and answered, whoever carries it."""

    def __init__(self, source: DeskSource) -> None:
        self.source, self.tables = source, Tables(source.table)

    @cached_property
    def described(self) -> dict[str, Any]:
        """What there is to ask for."""
        return described(self.source)

    def get_ready(self) -> None:
        """Works out what every first visitor asks for."""
        _ = self.described
        if self.source.offers(Question()):
            self.tables.get(Question())

    def release(self, request: GivenParameters) -> Content:
        """What there is to ask for."""
        return _json(self.described)

    def codes(self, request: GivenParameters) -> Content:
        """The codes of a key."""
        return _json(found_codes(self.source, request.text("key"), request.text("search"), request.whole("limit")))

    def levels(self, request: GivenParameters) -> Content:
        """How errors change from level to level."""
        asked = request.text("dimension"), request.text("attribute")
        return _json(errors_by_level(self.source, self.tables, *asked))

    def shown(self, request: GivenParameters) -> Content:
        """A part of a table, rows by columns."""
        question = self.question(request)
        part = ShownTable(question, self.tables.get(question), self.source).part(read_part(request))
        confidence = question.confidence or self.source.facts.confidence
        return _json({**part, "confidence": confidence, "command": self.source.command(question)})

    def download(self, form: AsFile, request: GivenParameters) -> Content:
        """A whole table in one of the formats, of a release as `gedp tabulate` writes it."""
        question = self.question(request)
        command, facts = self.source.command(question), self.source.facts
        made_by = [f"The same table: {command}"] if command else []
        notes = [facts.title, *facts.warnings, *facts.protection, facts.made, *made_by]
        file = io.BytesIO()
        form.write(self.tables.get(question).lines, file, notes)
        return Content(file.getvalue(), form.media_type, f"table{form.suffix}")

    def question(self, request: GivenParameters) -> Question:
        """The table that a request asks for."""
        return read_question(request, self.source.knows)


def routes(desk: Desk) -> list[Route]:
    """All routes. Those of the API say what they read, which is also what openapi.json says."""
    workers = Workers()
    table = TABLE if desk.source.facts.change is None else (*TABLE, SHOW)
    return [
        Route("/", partial(_fixed, Content(desk_page(desk.source).encode(), "text/html; charset=utf-8"))),
        Route("/assets/{name}", _asset),
        Route("/openapi.json", partial(_fixed, _json(description(table)))),
        Route("/api/release", workers.route((), desk.release)),
        Route("/api/codes", workers.route(CODES, desk.codes)),
        Route("/api/levels", workers.route(LEVELS, desk.levels)),
        Route("/api/table", workers.route((*table, *PART), desk.shown)),
        *(
            Route(f"/api/table.{name}", workers.route(table, partial(desk.download, form)))
            for name, form in AS_FILES.items()
        ),
    ]


class Workers:
    """A few threads that answer, and a queue before them that is not endless."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "desk")
        self._waiting = 0

    def route(self, parameters: Sequence[Parameter], answer: Answer) -> Callable[[HttpRequest], Any]:
        """What answers the requests of a route."""

        async def endpoint(http: HttpRequest) -> Response:
            if self._waiting >= MOST_WAITING:
                return refused(503, "Too many people ask at once. Try again in a moment", {"Retry-After": "1"})
            self._waiting += 1
            try:
                request = GivenParameters(http.scope["query_string"].decode("latin-1"), parameters)
                work = asyncio.get_running_loop().run_in_executor(self._pool, answer, request)
                return _response(await work)
            except FaultsError as error:
                faults = [vars(fault) for fault in error.faults]
                text = ". ".join(str(fault) for fault in error.faults)
                return Response(_json({"error": text, "faults": faults}).body, 400, media_type=JSON)
            except GedpError as error:
                return refused(400, str(error))
            finally:
                self._waiting -= 1

        return endpoint


def application(desk: Desk) -> Starlette:
    """The desk as a web application, without its guard."""

    async def not_found(http: HttpRequest, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return refused(status, "There is nothing here. /openapi.json describes what there is")

    async def failed(http: HttpRequest, error: Exception) -> Response:
        return refused(500, "That failed, and is no fault of yours")

    made = Starlette(routes=routes(desk), exception_handlers={HTTPException: not_found, Exception: failed})
    made.router.redirect_slashes = False  # nobody is sent anywhere
    return made


async def _fixed(content: Content, http: HttpRequest) -> Response:
    return _response(content)


async def _asset(http: HttpRequest) -> Response:
    name = http.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    return _response(Content(asset(name).encode(), ASSETS[name]))


def _response(content: Content) -> Response:
    headers = {"Cache-Control": "no-cache"}
    if content.file:
        headers["Content-Disposition"] = f'attachment; filename="{content.file}"'
    return Response(content.body, media_type=content.kind, headers=headers)


def _json(value: object) -> Content:
    return Content(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
