"""The report and the policy page of the demonstration before a checker of accessibility."""

import pytest
from playwright.sync_api import Browser

from tests.helpers.demonstration import Demonstration
from tests.helpers.pages import serious_findings

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["out/report.html", "policy.html"])
def test_an_accessibility_checker_finds_nothing_serious(
    name: str, width: int, browser: Browser, demonstration: Demonstration
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1400})
    page.goto((demonstration.folder / name).as_uri())
    assert serious_findings(page) == []
