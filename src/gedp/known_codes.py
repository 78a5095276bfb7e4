"""Codes whose coarser levels are known: a public column of such codes can be grouped by a level without a map file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gedp.industries import INDUSTRY_LEVELS, NAICS, ancestor_of


@dataclass(frozen=True)
class CodeTree:
    """A classification: levels above the codes of a public column, and first characters of the codes themselves."""

    dimension: str  # what all its levels together are called
    column: str  # what a public column of its codes is called
    signs: str  # what a code consists of
    levels: Mapping[str, int]  # depths of the levels, from coarse to fine
    ancestor: Callable[[str, int], str | None]  # the code at a depth that a code belongs to, if there is one
    decisive: int  # so many first characters of a code determine its levels
    prefixes: tuple[int, ...]  # lengths of codes between the levels and whole codes

    @property
    def coarser(self) -> tuple[str, ...]:
        """Keys above the codes themselves, from coarse to fine."""
        return (*self.levels, *(f"{self.column}{length}" for length in self.prefixes))


TREES = (CodeTree("industry", NAICS, "digits", INDUSTRY_LEVELS, ancestor_of, decisive=2, prefixes=(3, 4, 5)),)
TREE_OF_COLUMN = {tree.column: tree for tree in TREES}
TREE_OF_LEVEL = {level: tree for tree in TREES for level in tree.levels}
