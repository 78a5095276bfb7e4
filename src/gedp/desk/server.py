"""The web server of the desk: one socket, on this machine alone unless told otherwise."""

import ipaddress
import socket
from collections.abc import Collection

import uvicorn
from starlette.types import ASGIApp

from gedp.desk.connection import Connection
from gedp.desk.guard import HEADERS, Guard
from gedp.errors import Refused

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 800  # of the 1,024 files that a process may have open on many systems
LONGEST_HEAD = 65_536  # bytes of a request before its content
IDLE_SECONDS = 15  # until the head of a request is complete, or some of an answer was taken


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes any that is free."""
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=1_024)
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise Refused(
            f"cannot listen at {host}, port {port}: {why}. Choose another --port, or --port 0 for any"
        ) from None


def address_of(listening: socket.socket) -> str:
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def is_for_this_machine(listening: socket.socket) -> bool:
    """Whether nobody else can reach it."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


def make_server(app: ASGIApp, names: Collection[str] = ()) -> uvicorn.Server:
    """A server that logs nothing but its own failures, says nothing about itself, and guards whatever it answers."""
    config = uvicorn.Config(
        Guard(app, names),
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        access_log=False,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        headers=list(HEADERS.items()),
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )
    config.load()
    server = uvicorn.Server(config)
    server.server_state.default_headers = config.encoded_headers  # from the first answer on
    return server
