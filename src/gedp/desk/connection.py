"""One connection of the web server, which ends if nothing comes of it.

Whoever sends a request has to complete its head in time, whether it is the first on the connection or a later one, and
has to take the answer. Connections that do neither are ended after a while, or as soon as others need their place.
"""

import asyncio
from typing import Any, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


class Connection(H11Protocol):
    """Of the configuration it takes the most connections at a time, and the seconds that one may be idle."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._most, self.limit_concurrency = self.limit_concurrency, None  # which would answer everybody by 503
        self._timer: asyncio.TimerHandle | None = None
        self._since, self._unread = 0.0, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Makes room among the connections, and starts to wait for a request."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._wait()
        if self._most is not None and len(self.connections) > self._most:
            idle = (each for each in self.connections if isinstance(each, Connection) and not each.is_answering)
            oldest = min(idle, key=lambda each: each._since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def on_response_complete(self) -> None:
        """Starts to wait for the answer to be taken, and for the next request."""
        self._wait()
        super().on_response_complete()

    @property
    def is_answering(self) -> bool:
        """Whether there is a request that has not been answered yet."""
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _wait(self) -> None:
        self._since = self.loop.time()
        self._watch()

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.timeout_keep_alive, self._end_if_idle)

    def _end_if_idle(self) -> None:
        """Ends a connection without a request, and one whose answer nobody has taken any more of."""
        unread = self.transport.get_write_buffer_size()
        if unread < self._unread if unread else self.is_answering:
            self._watch()
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answers what is no request, with the headers of all answers."""
        headers = [*self.server_state.default_headers, (b"content-type", b"text/plain; charset=utf-8"), CLOSE_HEADER]
        start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (start, h11.Data(data=msg.encode("ascii")), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
