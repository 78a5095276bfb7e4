"""Settings shared by all tests."""

import multiprocessing
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)  # the machine may be busy; speed is measured in benchmarks/
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")


@pytest.fixture(scope="module")
def no_disk_waits() -> Iterator[None]:
    """Ledgers that would not survive a power failure: a busy disk may take a second for each commit."""
    from gedp.accounting.ledger import store

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "SYNCHRONOUS", "OFF")
        yield


@pytest.fixture(scope="session")
def processes() -> Any:
    """Children start from a server that has everything imported, so that a signal hits the work and not an import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.run_processes", "tests.ledger_processes"])
    return context
