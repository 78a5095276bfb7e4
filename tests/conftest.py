"""Settings shared by all tests."""

from collections.abc import Iterator

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
