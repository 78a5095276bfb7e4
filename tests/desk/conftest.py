"""One desk of the demonstration state for all tests."""

from collections.abc import Iterator

import pytest

from gedp.desk.app import Desk
from gedp.desk.package import read_package
from tests.helpers.demonstration import Demonstration
from tests.helpers.desks import Served, desk_of, serving


@pytest.fixture(scope="session")
def served(demonstration: Demonstration) -> Iterator[Served]:
    """The desk of the demonstration, listening."""
    with serving(desk_of(demonstration.release)) as served:
        yield served


@pytest.fixture(scope="session")
def packed(demonstration: Demonstration) -> Iterator[Served]:
    """The desk of the demonstration's package, listening."""
    with serving(Desk(read_package(demonstration.folder / "package"))) as served:
        yield served
