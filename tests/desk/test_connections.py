"""Connections of which nothing comes: they keep nobody out, and end."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import h11
import pytest
import uvicorn

from gedp.desk import server
from gedp.desk.app import application
from gedp.desk.guard import HEADERS
from tests.helpers.desks import Served, serving

UNFINISHED = b"GET / HTTP/1.1\r\nHost: local"
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("begun", [b"", b"G", UNFINISHED, REQUEST + UNFINISHED])
def test_unfinished_requests_keep_nobody_out(begun: bytes, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 20)
    with serving(served.desk) as few, ExitStack() as open_ones:
        for _ in range(60):
            connection = open_ones.enter_context(socket.create_connection((server.LOOPBACK, few.port)))
            connection.sendall(begun)
        assert [few.get(path).status for path in ("/", "/api/release", "/api/table?rows=cnty")] == [200] * 3


def test_what_is_no_request_is_answered_with_the_headers(served: Served) -> None:
    said = served.send(b"no request\r\n\r\n").decode().lower()
    assert said.startswith("http/1.1 400 ")
    assert [line for line in (f"{name}: {value}".lower() for name, value in HEADERS.items()) if line not in said] == []


def test_every_header_is_sent_once(served: Served) -> None:
    head = served.send(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")).split(b"\r\n\r\n")[0].lower()
    assert [head.count(f"\r\n{name.lower()}:".encode()) for name in HEADERS] == [1] * len(HEADERS)


class Later:
    """A loop whose clock is moved by hand; what it is to do later is not done before."""

    def __init__(self) -> None:
        self.now, self.planned = 0.0, list[tuple[float, "Timer"]]()

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, action: Callable[[], None]) -> "Timer":
        timer = Timer(action)
        self.planned.append((self.now + delay, timer))
        return timer

    def create_task(self, work: Any) -> "Timer":
        work.close()
        return Timer(lambda: None)

    def move(self, seconds: float) -> None:
        """Lets time pass."""
        end = self.now + seconds
        while due := sorted((each for each in self.planned if each[0] <= end), key=lambda each: each[0]):
            self.now = due[0][0]
            self.planned.remove(due[0])
            due[0][1].ring()
        self.now = end


class Timer:
    """What is to be done later, unless it is cancelled; or a task that is never done."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action, self.is_cancelled = action, False

    def cancel(self) -> None:
        self.is_cancelled = True

    def add_done_callback(self, action: object) -> None: ...

    def ring(self) -> None:
        if not self.is_cancelled:
            self.action()


class Wire(asyncio.Transport):
    """The other end takes nothing by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.unread, self.has_ended = 0, False

    def write(self, data: Any) -> None:
        self.unread += len(data)

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.has_ended

    def close(self) -> None:
        self.has_ended = self.has_ended or not self.unread  # as the system has it: what was written is sent first

    def abort(self) -> None:
        self.has_ended = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


@pytest.fixture
def line(served: Served) -> tuple[Any, Wire, Later]:
    """A connection to a server, with a wire and a clock of its own."""
    made = server.make_server(application(served.desk))
    loop, wire = Later(), Wire()
    protocol: Any = made.config.http_protocol_class
    connection = protocol(made.config, uvicorn.server.ServerState(), {}, loop)
    connection.connection_made(wire)
    return connection, wire, loop


def answer(connection: Any, size: int) -> None:
    """The answer to the request that is waiting, of which so many bytes are not taken at once."""
    start = h11.Response(status_code=200, headers=[("content-length", str(size))])
    for event in (start, h11.Data(data=b"x" * size), h11.EndOfMessage()):
        connection.transport.write(connection.conn.send(event))
    connection.transport.unread = size
    connection.cycle.response_complete = True
    connection.on_response_complete()


@pytest.mark.parametrize("begun", [[], [b"G"], [UNFINISHED], [b"GET / HTTP/1.1\r\n", *[b"X: y\r\n"] * 9]])
def test_the_head_of_a_request_has_to_be_complete_in_time(begun: list[bytes], line: tuple[Any, Wire, Later]) -> None:
    connection, wire, loop = line
    for piece in begun:
        connection.data_received(piece)
        loop.move(1)
    loop.move(server.IDLE_SECONDS)
    assert wire.has_ended


def test_so_has_the_next_on_the_same_connection(line: tuple[Any, Wire, Later]) -> None:
    connection, wire, loop = line
    connection.data_received(REQUEST)
    loop.move(10 * server.IDLE_SECONDS)
    assert not wire.has_ended  # whoever has asked may wait
    answer(connection, 0)
    connection.data_received(UNFINISHED)
    loop.move(server.IDLE_SECONDS - 1)
    assert not wire.has_ended
    loop.move(1)
    assert wire.has_ended


def test_an_answer_may_be_taken_slowly_but_not_left(line: tuple[Any, Wire, Later]) -> None:
    connection, wire, loop = line
    connection.data_received(REQUEST)
    answer(connection, 100)
    for _ in range(9):
        wire.unread -= 10
        loop.move(server.IDLE_SECONDS)
        assert not wire.has_ended
    loop.move(server.IDLE_SECONDS)
    assert wire.has_ended
