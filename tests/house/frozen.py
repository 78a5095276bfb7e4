"""The program, frozen in all that differs from run to run without being a result.

Time stands still, ids are counted instead of random, and the version has no number. A checksum that the program writes
into its files is of what lasts in a file. So neither other versions of the libraries that write Parquet and Excel, nor
the last digits of a fit, change the ledger or whatever names a file by its checksum.
"""

import os
import secrets
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from itertools import count
from types import ModuleType
from typing import Self
from unittest.mock import patch

import gedp
import gedp.api
import gedp.cli.log
import gedp.files
from tests.house.lasting import checksum

#: Workers of Spark leave marks with ids, which must differ from worker to worker, and are not published.
AS_IT_IS = "gedp.confidential.engines.spark"


class _Noon(datetime):
    """A datetime whose now is always the same."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2026, 1, 2, 12, 0, 0, tzinfo=tz)


class _Counted:
    """Ids that are counted, in the place of `uuid4` and of the module `secrets`."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def token_bytes(self, size: int) -> bytes:
        return next(self._numbers).to_bytes(size)

    def token_hex(self, size: int) -> str:
        return self.token_bytes(size).hex()

    def uuid4(self) -> uuid.UUID:
        return uuid.UUID(bytes=self.token_bytes(16))


@contextmanager
def frozen() -> Iterator[None]:
    """Freezes every module of the program that has the clock, ids, the version or the checksum among its names."""
    counted = _Counted()
    stand_ins: dict[str, tuple[object, object]] = {
        "datetime": (datetime, _Noon),
        "uuid4": (uuid.uuid4, counted.uuid4),
        "secrets": (secrets, counted),
        "__version__": (gedp.__version__, "frozen"),
        "sha256": (gedp.files.sha256, checksum),
    }
    modules = _modules()
    with ExitStack() as patched:
        for module in modules.values():
            for name, (usual, instead) in stand_ins.items():
                if vars(module).get(name) is usual:
                    patched.enter_context(patch.object(module, name, instead))
        patched.enter_context(patch.dict(os.environ, LOGNAME="somebody"))
        yield
    late = [name for name, module in _modules().items() if name not in modules and stand_ins.keys() & vars(module)]
    assert not late, f"{', '.join(late)}: imported while the program was frozen. Import this module above"


def _modules() -> dict[str, ModuleType]:
    """The modules of the program that are there and can be frozen."""
    ours = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "gedp"}
    return {name: module for name, module in ours.items() if name != AS_IT_IS}
