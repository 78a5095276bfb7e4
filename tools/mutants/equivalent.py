"""Changes that no test can notice, or need notice, each with a reason."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.changes import Mutant

FILE = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Equivalent:
    """Keys of changes."""

    keys: frozenset[str]

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def unmatched(self, room: str, mutants: Sequence[Mutant]) -> list[str]:
        """Those of a room that are none of its changes."""
        there = {mutant.key for mutant in mutants}
        return sorted(key for key in self.keys - there if key.startswith(f"{room}/"))


def read(path: Path = FILE) -> Equivalent:
    """Every key of every reason."""
    reasons = tomllib.loads(path.read_text(encoding="utf-8")).get("reason", [])
    return Equivalent(frozenset(key for reason in reasons for key in reason["changes"]))
