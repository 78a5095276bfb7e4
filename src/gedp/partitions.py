"""Partitions: rows or cells divided into groups, and which partitions are inside others."""

from dataclasses import dataclass, field

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, Number, NumberArray, max_by, sum_by


@dataclass(frozen=True, repr=False)
class Partition:
    """The group of every member. Members are rows or cells; a group may have none."""

    group_of: CodeArray
    count: int
    has_rest: bool = field(default=False, kw_only=True)  # whether the last group is of all that nobody asked for
    _asked: "list[tuple[Partition, Partition | None]]" = field(default_factory=list, init=False, compare=False)

    @classmethod
    def single(cls, members: int) -> "Partition":
        """Every member is a group of its own."""
        return Partition(np.arange(members, dtype=np.int32), members)

    @classmethod
    def whole(cls, members: int) -> "Partition":
        """All members are one group."""
        return Partition(np.zeros(members, dtype=np.int32), 1)

    @property
    def asked_for(self) -> slice:
        """All groups but the rest."""
        return slice(self.count - self.has_rest)

    @property
    def sizes(self) -> IntArray:
        """How many members every group has."""
        return np.bincount(self.group_of, minlength=self.count)

    @property
    def is_single(self) -> bool:
        """Whether every member is a group of its own, in whatever order, and no group is empty."""
        return self.count == len(self.group_of) and bool(self._has_member().all())

    def is_same(self, other: "Partition") -> bool:
        """Whether the groups are the same, in the same order."""
        return self.count == other.count and np.array_equal(self.group_of, other.group_of)

    def sums(self, values: NumberArray[Number]) -> NumberArray[Number]:
        """What the members of every group add up to."""
        return sum_by(self.group_of, values, self.count)

    def largest(self, values: FloatArray) -> FloatArray:
        """The largest value in every group; −inf where it has no member."""
        return max_by(self.group_of, values, self.count)

    def of_groups(self, groups: "Partition") -> "Partition":
        """The members divided as a partition of these groups divides them."""
        return Partition(groups.group_of[self.group_of], groups.count, has_rest=groups.has_rest)

    def shared(self, codes: CodeArray) -> CodeArray | None:
        """The code that all members of a group have, of every group; None if some group has several."""
        of_group = np.zeros(self.count, dtype=codes.dtype)
        of_group[self.group_of] = codes
        return of_group if np.array_equal(of_group[self.group_of], codes) else None

    def inside(self, groups: "Partition") -> "Partition | None":
        """The groups divided into coarser groups of the same members; None where these cut through one.

        The last answer is remembered, since one attribute after another asks for it.
        """
        for known, found in list(self._asked):
            if known is groups:
                return found
        codes = self.shared(groups.group_of)
        result = None if codes is None else Partition(codes, groups.count, has_rest=groups.has_rest)
        self._asked[:] = [(groups, result)]
        return result

    def _has_member(self) -> BoolArray:
        found = np.zeros(self.count, dtype=bool)
        found[self.group_of] = True
        return found
