"""Partitions, by what plain Python finds about the same groups."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gedp.partitions import Partition


@st.composite
def partitions(draw: st.DrawFn, members: int) -> Partition:
    """Of so many members; groups may be empty."""
    count = draw(st.integers(1, 5))
    codes = draw(st.lists(st.integers(0, count - 1), min_size=members, max_size=members))
    return Partition(np.array(codes, dtype=np.int32), count)


@given(st.data(), st.integers(1, 12))
def test_sums_sizes_and_largest_are_those_of_every_group(data: st.DataObject, members: int) -> None:
    groups = data.draw(partitions(members))
    values = data.draw(st.lists(st.integers(-9, 9), min_size=members, max_size=members))
    listed = [[v for v, g in zip(values, groups.group_of, strict=True) if g == place] for place in range(groups.count)]
    assert groups.sums(np.array(values, dtype=np.int64)).tolist() == list(map(sum, listed))
    assert groups.largest(np.array(values, dtype=np.float64)).tolist() == [max(x, default=-np.inf) for x in listed]
    assert groups.sizes.tolist() == list(map(len, listed))
    assert groups.is_single == all(len(each) == 1 for each in listed)


@given(st.data(), st.integers(1, 8))
def test_one_partition_is_inside_another_if_no_group_is_cut(data: st.DataObject, members: int) -> None:
    fine, coarse = data.draw(partitions(members)), data.draw(partitions(members))
    pairs = set(zip(fine.group_of.tolist(), coarse.group_of.tolist(), strict=True))
    found = fine.inside(coarse)
    assert (found is not None) == (len({group for group, _ in pairs}) == len(pairs))
    if found is not None:
        assert fine.of_groups(found).is_same(coarse)


def test_a_partition_of_groups_divides_their_members() -> None:
    cells, halves = Partition(np.array([2, 0, 1, 1], dtype=np.int32), 3), Partition(np.array([0, 0, 1], np.int32), 2)
    assert cells.of_groups(halves).group_of.tolist() == [1, 0, 0, 0]
    assert Partition.single(3).is_single
    assert Partition.whole(3).sizes.tolist() == [3]
    assert np.arange(2)[Partition(halves.group_of, 2, has_rest=True).asked_for].tolist() == [0]
