"""Pages in a real browser, and their text without one."""

import os
import re
from html import unescape
from pathlib import Path

import pytest
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


def serious_findings(page: Page) -> list[tuple[str, str]]:
    """What axe-core calls serious or worse, with an element that has it.

    Its file is too large to come with gedp. Where AXE_CORE does not name it, the test is skipped, or fails where it is
    required.
    """
    checker = os.environ.get("AXE_CORE")
    if not checker:
        message = (
            "axe-core did not look at this page: install it (npm install --prefix build axe-core) and name its file "
            "(AXE_CORE=build/node_modules/axe-core/axe.min.js)"
        )
        (pytest.fail if os.environ.get("GEDP_REQUIRE_AXE") else pytest.skip)(message)
    page.evaluate(Path(checker).read_text(encoding="utf-8"))  # not by a tag, which pages would not load
    found = page.evaluate("axe.run().then((result) => result.violations)")
    return [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]


def text_of(path: Path) -> str:
    """What a reader sees, without tags."""
    html = path.read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html[html.index("<body>") :])).split())
