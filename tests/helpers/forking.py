"""Processes forked from one that has everything imported: a case is then the command alone, and takes no second."""

import os
import traceback
from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages

import gedp

_NOT_NEEDED = ("gedp_lab.synth.cbp", "gedp_lab.cli.synth.cbp", "gedp.__main__")


def preload() -> None:
    """Imports all of gedp, and what its libraries import only when they are used."""
    for module in walk_packages(gedp.__path__, "gedp."):
        if not module.name.startswith(_NOT_NEEDED):
            import_module(module.name)
    import_module("pyarrow.dataset")


def in_a_child(work: Callable[[], object]) -> None:
    """Does the work in a child, so that this process starts no threads, which a fork would lose."""
    process = os.fork()
    if not process:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status:
        raise RuntimeError("the work of a child failed; see above")
