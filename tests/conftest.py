"""Settings shared by all tests."""

import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.helpers.demonstration import Demonstration, made_once

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]

# A job in the background starts with these ignored, and so would the commands that tests interrupt.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Speed is measured in benchmarks/: machines are busy. Everybody gets the same examples; `make fuzz` tries new ones.
settings.register_profile(
    "default", deadline=None, max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("many", settings.get_profile("default"), max_examples=200, derandomize=False)
settings.register_profile("mutants", settings.get_profile("default"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("default")


@pytest.fixture(scope="module")
def no_disk_waits() -> Iterator[None]:
    """Ledgers that would not survive a power failure: a busy disk may take a second for each commit."""
    from gedp.ledger import store

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "SYNCHRONOUS", "OFF")
        yield


@pytest.fixture(scope="session")
def processes() -> Any:
    """Children start from a server that has everything imported, so that a signal hits the work and not an import."""
    context = multiprocessing.get_context("forkserver")
    helpers = ("run_processes", "ledger_processes", "interrupting")
    context.set_forkserver_preload([f"tests.helpers.{name}" for name in helpers])
    return context


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demonstration]:
    """The demonstration state and its release, one for all workers: what a test changes, it copies.

    Whoever asks first waits 4 seconds for it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    made = made_once(shared / "demonstration")
    before = made.state()
    yield made
    assert made.state() == before, "a test has changed what others read"


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    """A browser that is installed already; without one the test is skipped, or fails where it is required."""
    if not CHROMIUM:
        message = "no chromium found: install it (Debian: apt-get install chromium) to test the pages"
        (pytest.fail if os.environ.get("GEDP_REQUIRE_BROWSER") else pytest.skip)(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: "Browser") -> Iterator["Browser"]:
    """The browser, with no page open before the test and none after it."""
    yield chromium
    for context in chromium.contexts:
        context.close()
