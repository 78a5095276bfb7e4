"""Libraries that only some sources need, and how to get them."""

from collections.abc import Callable
from types import ModuleType

from gedp.errors import Fault, FaultsError, how_to_install

INSTALL = f"Install what is missing: {how_to_install('sources')}"


def needed(load: Callable[[], ModuleType], library: str, source: str, what: str) -> ModuleType:
    """The module of a library, or the command that installs it."""
    try:
        return load()
    except ImportError:
        pass
    raise FaultsError(source, [Fault("the table", f"{what} is read by {library}, which is not installed", INSTALL)])
