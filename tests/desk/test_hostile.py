"""What strangers send: nothing but refusals come back, and no file."""

import io
import random
from pathlib import Path
from urllib.parse import quote

import pytest

from gedp.csvfiles import read_rows
from gedp.desk.guard import HEADERS, MOST_CHARACTERS, Guard
from gedp.microdata import tabulate
from gedp.microdata.cells import PublicRows, columns_alone
from gedp.microdata.ratios import BUILT_IN
from gedp.release import ProtectedAnswers
from tests.helpers.desks import Served


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        ("localhost", True),
        ("LocalHost:8350", True),
        ("127.0.0.1:1", True),
        ("192.0.2.7:80", True),
        ("[::1]:8350", True),
        ("[::1]", True),
        ("desk.example.org:443", True),
        ("evil.example.org", False),
        ("localhost.evil.example.org:8350", False),
        ("127.0.0.1.evil.example.org", False),
        ("localhost:8350@evil.example.org", False),
        ("localhost:x", False),
        ("::1", False),
        ("[127.0.0.1]", False),
        ("127.1", False),
        ("", False),
        ("localhost, evil.example.org", False),
    ],
)
def test_only_addresses_and_allowed_names_are_hosts(host: str, is_known: bool) -> None:
    async def nothing(*_: object) -> None: ...

    assert Guard(nothing, ["Desk.example.org"]).is_known(host) == is_known


def test_a_name_that_suddenly_leads_here_gets_nothing(served: Served) -> None:
    for path in ("/", "/api/release", "/assets/desk.js"):
        reply = served.get(path, {"Host": "evil.example.org"})
        assert reply.status == 421
        assert b"Harbor" not in reply.body
    two = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.org\r\n\r\n"
    assert b" 400 " in served.send(two).splitlines()[0]
    assert b" 4" in served.send(b"GET / HTTP/1.0\r\n\r\n").splitlines()[0]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_from_elsewhere_cannot_use_the_api_but_link_to_the_page(site: str, served: Served) -> None:
    assert served.get("/api/release", {"Sec-Fetch-Site": site}).status == 403
    assert served.get("/", {"Sec-Fetch-Site": site}).status == 200
    for own in ("same-origin", "none"):
        assert served.get("/api/release", {"Sec-Fetch-Site": own}).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_nothing_can_be_changed(method: str, served: Served) -> None:
    assert served.get("/api/release", method=method).status == 405


@pytest.mark.parametrize("path", ["/", "/api/release", "/openapi.json", "/assets/desk.css", "/nowhere", "/api/codes"])
def test_every_answer_carries_the_headers(path: str, served: Served) -> None:
    reply = served.get(path)
    for name, value in HEADERS.items():
        assert reply.headers[name.lower()] == value
    assert "server" not in reply.headers
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert served.get(path, method="HEAD").body == b""


OUTSIDE = [
    "../../../../../../etc/passwd",
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "..\\..\\..\\etc\\passwd",
    "/etc/passwd",
    "%00",
    "desk.js%00.css",
    "__init__.py",
    "report.html",
    "../manifest.json",
    "desk.js/",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_file_but_the_assets_is_read(name: str, served: Served) -> None:
    for before in ("/assets/", "/", "/api/"):
        said = served.send(f"GET {before}{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert said.split()[1] in (b"404", b"400")
        assert b"root:" not in said


def test_long_addresses_and_contents_are_refused(served: Served) -> None:
    assert served.get(f"/api/table?where=cnty={'0' * MOST_CHARACTERS}").status == 414
    assert "more than 400 parameters" in served.get(f"/api/table?{'&' * 1000}").json["error"]
    assert "more than 400 parameters" in served.get(f"/api/table?{'rows=a&' * 500}").json["error"]
    content = b"GET /api/release HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n"
    assert served.send(content).split()[1] == b"413"


def test_absurd_requests_are_answered_in_words(served: Served) -> None:
    assert served.get(f"/api/table?rows=naics{'9' * 5000}").status == 400
    assert served.get(f"/api/codes?key=naics{'9' * 5000}").status == 400
    assert served.get(f"/api/table.xlsx?rows=cnty&ratio=x={'9' * 200}*wage").status == 400
    assert served.get(f"/api/table.xlsx?rows=cnty&ratio=x={'9' * 30}*wage").body[:2] == b"PK"


TAKEN = [
    *("m3emp", "M3 EMP", "\uff4d3emp", "Jobs in March", "jobs in march (jobs)", "weekly-wage", "Average weekly wage"),
    *("cnty", "naics3", "establishments", "estimate"),
]


@pytest.mark.parametrize("name", TAKEN)
def test_a_link_cannot_show_a_formula_as_an_official_figure(name: str, served: Served) -> None:
    for route in ("table", "table.csv", "table.arrow", "table.xlsx"):
        reply = served.get(f"/api/{route}?rows=cnty&ratio={quote(f'{name}=1000*m3emp')}")
        assert (reply.status, "looks like the name of something official" in reply.json["error"]) == (400, True)


def test_whatever_a_link_computes_is_shown_with_its_formula(served: Served) -> None:
    asked = f"rows=cnty&attribute=m3emp&ratio=weekly-wage&ratio={quote('official jobs=1000*m3emp')}"
    heads = served.get(f"/api/table?{asked}").json["heads"]
    assert [head["formula"] for head in heads] == [None, BUILT_IN["weekly-wage"], "1000*m3emp"]
    assert [head["title"].endswith(f" = {head['formula']}") for head in heads] == [False, True, True]
    lines = read_rows(io.StringIO(served.get(f"/api/table.csv?{asked}").body.decode()))
    assert lines[0][:3] == ["cnty", "attribute", "formula"]
    assert {tuple(line[1:3]) for line in lines[1:]} == {
        ("m3emp", ""),
        ("weekly-wage", BUILT_IN["weekly-wage"]),
        ("official jobs", "1000*m3emp"),
    }


def test_a_filter_of_many_signs_is_read_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(source: ProtectedAnswers) -> PublicRows:
        made.append(source)
        return columns_alone(source)

    monkeypatch.setattr(tabulate, "columns_alone", counted)
    assert served.get(f"/api/table?where={'=' * 16_000}").status == 400
    assert len(made) <= 1


def test_what_fails_inside_says_nothing_about_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(served.desk.tables, "get", broken)
    reply = served.get("/api/table?rows=cnty")
    assert (reply.status, reply.json) == (500, {"error": "That failed, and is no fault of yours", "faults": []})
    assert reply.headers["content-security-policy"]


PIECES = [
    "<script>alert(1)</script>",
    "'; DROP TABLE x; --",
    "../../../../etc/passwd",
    "${jndi:x}",
    "\x00",
    "\r\nX: y",
    "%",
    "\ud7ff",
    "İ",
    "=cmd|' /C calc'!A0",
    "1e999",
    "-1",
    "NaN",
    "(" * 50,
    "9" * 400,
    "wage / (m1emp - m1emp)",
    "a=" * 50,
    "",
    " ",
    "cnty",
    "naics99999999999999999999",
    "naics0",
    "establishment",
    "primary_key",
    "attribute",
    "wage",
]
NAMES = ["rows", "columns", "attribute", "ratio", "where", "confidence", "sort", "descending", "offset", "limit", "key"]


def odd_path(chance: random.Random) -> str:
    """An address of odd pieces, some of them quoted and some as they are."""
    route = chance.choice(["table", "table.csv", "table.arrow", "table.xlsx", "codes", "levels", "release", "x"])
    fields = []
    for _ in range(chance.randrange(6)):
        name = chance.choice([*NAMES, chance.choice(PIECES)])
        value = "".join(chance.choices(PIECES, k=chance.randrange(1, 3)))
        value = f"{chance.choice(['cnty=', ''])}{value}" if name == "where" else value
        fields.append(f"{quote(name)}={quote(value)}")
    return f"/api/{route}?{'&'.join(fields)}"


def test_odd_requests_are_refused_in_words(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1)
    seen = set()
    for _ in range(250):
        path = odd_path(chance)
        reply = served.get(path)
        seen.add(reply.status)
        assert reply.status in (200, 400, 404), path
        if reply.status != 200:
            assert set(reply.json) == {"error", "faults"}
            assert reply.headers["content-type"] == "application/json"
    assert seen == {200, 400, 404}
    assert capfd.readouterr().err == ""


def test_bytes_that_are_no_request_end_quietly(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(2)
    for _ in range(60):
        served.throw(chance.randbytes(chance.randrange(1, 3_000)))
    endless = b"GET /" + b"a" * 1_000_000
    for sent in (
        endless,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX" + b": y\r\nX" * 20_000,
        b"\x16\x03\x01\x02\x00",
        b"GET",
        b"",
    ):
        served.throw(sent)
    assert served.get("/api/release").status == 200
    assert capfd.readouterr().err == ""


def test_the_page_asks_for_nothing_but_its_own(served: Served) -> None:
    """No address of another host in anything that a browser loads."""
    texts = [
        served.get("/").body,
        *(served.get(f"/assets/{path}").body for path in ("page.css", "desk.css", "desk.js")),
    ]
    for text in texts:
        assert b"http://" not in text.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in text
    assert not list(Path(__file__).parents[2].glob("src/gedp/web/*.min.js"))
