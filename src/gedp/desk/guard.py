"""What is rejected before anybody looks at it, and what every answer carries, also one that the server makes itself.

A page of a stranger can make a browser ask this server, by its address or, with a name of its own that suddenly leads
here, as if it were that name. So a host is an address, localhost, or a name that was allowed, and the API is not for
pages from elsewhere. Scripts and styles come from here alone, and never from within a page.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

MOST_CHARACTERS = 16_384  # of an address
METHODS = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Stands before an application."""

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self._app, self._names = app, {"localhost", *(name.casefold() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Rejects a request, or lets it pass."""
        if scope["type"] == "http":
            await (self._refusal(scope) or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.is_known(hosts[0]):
            return refused(421, "This server does not go by that name. Use its address, or localhost")
        if scope["method"] not in METHODS:
            return refused(405, "Only GET and HEAD are understood", {"Allow": ", ".join(METHODS)})
        if len(scope["query_string"]) > MOST_CHARACTERS or len(scope["path"]) > MOST_CHARACTERS:
            return refused(414, f"The address is longer than {MOST_CHARACTERS:,} characters. Ask for less at a time")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return refused(413, "A request has no content here", {"Connection": "close"})
        if scope["path"].startswith("/api/") and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return refused(403, "The API is not for pages from elsewhere")
        return None

    def is_known(self, host: str) -> bool:
        """Whether a Host header names this server: an address, localhost, or a name that was allowed."""
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, ""
        if port and not (port.isascii() and port.isdigit()):
            return False
        if name.casefold() in self._names:
            return True
        is_bracketed = name.startswith("[") and name.endswith("]")
        try:
            return ip_address(name[1:-1] if is_bracketed else name).version == (6 if is_bracketed else 4)
        except ValueError:
            return False


def refused(status: int, problem: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An answer that says why there is none."""
    return JSONResponse({"error": problem, "faults": []}, status, dict(headers or {}))
