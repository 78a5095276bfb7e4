"""A desk that is served on this machine for the length of a test."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gedp.desk.app import Desk, application
from gedp.desk.catalogue import Catalogue
from gedp.desk.server import LOOPBACK, listen, make_server
from gedp.microdata.on_file import find_microdata
from gedp.release import read_release


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A desk and where it listens."""

    desk: Desk
    port: int

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Reply:
        """Asks for a path, as it is written."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        try:
            connection.request(method, path, headers=dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def send(self, sent: bytes) -> bytes:
        """Whatever comes back for these bytes until the server closes, as it does after what is no request."""
        with socket.create_connection((LOOPBACK, self.port), timeout=60) as connection:
            connection.sendall(sent)
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    def throw(self, sent: bytes) -> None:
        """Sends bytes, and says that there will be no more; the server may have closed before that."""
        with suppress(ConnectionError), socket.create_connection((LOOPBACK, self.port), timeout=60) as connection:
            connection.sendall(sent)
            with suppress(OSError):  # not connected any more
                connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass


def desk_of(folder: Path, against: Path | None = None) -> Desk:
    """A desk of the release in a folder, which may be compared with an earlier one."""
    earlier = None if against is None else catalogue_of(against)
    return Desk(replace(catalogue_of(folder), earlier=earlier))


def catalogue_of(folder: Path) -> Catalogue:
    """What a desk offers of the release in a folder."""
    return Catalogue(find_microdata(read_release(folder)), str(folder))


@contextmanager
def serving(desk: Desk) -> Iterator[Served]:
    """The desk, listening at a port that was free."""
    with listen(LOOPBACK, 0) as listening:
        server = make_server(application(desk))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Served(desk, listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()
