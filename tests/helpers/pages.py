"""Pages in a real browser, and their text without one."""

import re
from html import unescape
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page


def labels_of(figures: Locator) -> list[str]:
    """What is said of figures to those who do not see them."""
    every = figures.all()
    assert all(figure.get_attribute("role") == "img" for figure in every)
    return [figure.get_attribute("aria-label") or "" for figure in every]


def opened(browser: Browser, path: Path, html: str, width: int = 1000) -> tuple[Page, list[str], list[str]]:
    """The page, the addresses it asks for beyond its own file, and the errors it logs."""
    path.write_text(html, encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 1400})
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    return page, [url for url in requests if url != path.as_uri() and not url.startswith("data:")], errors


def text_of(path: Path) -> str:
    """What a reader sees, without tags."""
    html = path.read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html[html.index("<body>") :])).split())
