"""Controlled rounding: every value down or up, every kept total within one unit, fixed whole totals exact."""

from collections.abc import Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.arrays import CodeArray, FloatArray
from gedp.microdata.constraints.chains import chains_of
from gedp.microdata.constraints.flow import Bounds, Crossings, repaired
from gedp.microdata.constraints.rounding import ONE, Kept, round_rows, share_out
from gedp.microdata.solve import ConvergenceError
from gedp.partitions import Partition


def coarser(rng: np.random.Generator, of_cell: CodeArray, groups: int) -> CodeArray:
    codes: CodeArray = rng.integers(0, groups, int(of_cell.max()) + 1).astype(np.int32)[of_cell]
    return codes


@st.composite
def tables(draw: st.DrawFn, families: int = 2) -> tuple[FloatArray, Partition, list[Kept]]:
    """Values, their cells, and groupings in so many families, each of one to three inside each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = draw(st.integers(1, 60))
    rows = draw(st.integers(cells, 200))
    of_row = np.concatenate([np.arange(cells), rng.integers(0, cells, rows - cells)]).astype(np.int32)
    values = rng.normal(draw(st.sampled_from([0.0, 0.3, 40.0])), draw(st.sampled_from([0.4, 3.0])), rows)
    values[rng.random(rows) < draw(st.sampled_from([0.0, 0.5]))] = 7.0
    groupings = [Kept(Partition.whole(cells)), Kept(Partition.single(cells))]
    for _ in range(families):
        of_cell = rng.integers(0, draw(st.integers(1, 12)), cells).astype(np.int32)
        for _ in range(draw(st.integers(1, 3))):
            groupings.append(Kept(Partition(of_cell, int(of_cell.max()) + 2)))  # the last group is empty
            of_cell = coarser(rng, of_cell, 3)
    order = rng.permutation(len(groupings))
    return values, Partition(of_row, cells), [groupings[place] for place in order]


def largest_deviation(off: FloatArray, cells: Partition, groupings: Sequence[Kept]) -> float:
    found = 0.0
    for grouping in groupings:
        for group in range(grouping.groups.count):
            found = max(found, abs(off[grouping.groups.group_of[cells.group_of] == group].sum()))
    return found


@given(table=tables())
@settings(max_examples=150)
def test_two_families_of_nested_groupings_stay_within_one_unit(
    table: tuple[FloatArray, Partition, list[Kept]],
) -> None:
    values, cells, groupings = table
    rounded = round_rows(values, cells, groupings)
    off = rounded.values - values
    assert (np.abs(off) < 1).all()
    assert (rounded.values == np.rint(rounded.values)).all()
    assert rounded.sure == len(groupings)
    assert rounded.deviation == pytest.approx(largest_deviation(off, cells, groupings), abs=1e-9)
    assert rounded.deviation < 1 + 1e-9
    again = round_rows(rounded.values, cells, groupings)
    assert np.array_equal(again.values, rounded.values)
    assert again.deviation == 0


@given(table=tables(families=1), seed=st.integers(0, 10**6))
@settings(max_examples=100)
def test_whole_fixed_totals_are_met(table: tuple[FloatArray, Partition, list[Kept]], seed: int) -> None:
    values, cells, groupings = table
    rng = np.random.default_rng(seed)
    fixed = Partition(rng.integers(0, 4, cells.count).astype(np.int32), 4)
    # The values are moved so that the totals of the groups are nearly whole, but for the last, which nobody fixes.
    members = cells.of_groups(fixed).group_of
    exact = np.full(4, np.nan)
    for group in range(3):
        if (members == group).any():
            exact[group] = np.rint(values[members == group].sum())
            missing = exact[group] + rng.choice([-0.09, 0.09]) - values[members == group].sum()
            values[members == group] += missing / (members == group).sum()
    rounded = round_rows(values, cells, [*groupings, Kept(fixed, exact)])
    assert rounded.missed == 0
    assert (np.abs(rounded.values - values) < 1 + 1e-9).all()
    assert rounded.deviation < 1.1
    sums = np.bincount(members, weights=rounded.values, minlength=4)
    assert np.array_equal(sums[~np.isnan(exact)], exact[~np.isnan(exact)])


@given(table=tables(families=4))
@settings(max_examples=40)
def test_more_families_are_reported_as_they_come_out(table: tuple[FloatArray, Partition, list[Kept]]) -> None:
    values, cells, groupings = table
    rounded = round_rows(values, cells, groupings)
    off = rounded.values - values
    assert (np.abs(off) < 1).all()
    assert rounded.deviation == pytest.approx(largest_deviation(off, cells, groupings), abs=1e-9)
    assert rounded.deviation < 2.5  # plain rounding to the nearest is off by 10 and more
    if rounded.sure == len(groupings):
        assert rounded.deviation < 1 + 1e-9


@given(parts=st.lists(st.tuples(st.integers(0, 5), st.integers(0, ONE)), min_size=1, max_size=40), data=st.data())
def test_shares_add_up_to_what_their_parent_gets(parts: list[tuple[int, int]], data: st.DataObject) -> None:
    parent = np.array(sorted(p for p, _ in parts), dtype=np.int32)
    fractions = np.array([f for _, f in parts], dtype=np.int64)
    sums = [int(fractions[parent == p].sum()) for p in range(6)]
    up = np.array([data.draw(st.booleans()) if total % ONE else False for total in sums])
    risen = share_out(fractions, parent, up)
    assert [int(risen[parent == p].sum()) for p in range(6)] == [t // ONE + u for t, u in zip(sums, up, strict=True)]
    assert not risen[fractions == 0].any()
    assert risen[fractions == ONE].all()


@given(seed=st.integers(0, 10**6), count=st.integers(0, 5))
@settings(max_examples=60)
def test_there_are_no_fewer_chains(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    groupings = [rng.integers(0, 3, 6).astype(np.int32)]
    while len(groupings) < count:
        base = groupings[rng.integers(len(groupings))]
        fresh = rng.integers(0, 3, 6).astype(np.int32)
        groupings.append(fresh if rng.random() < 0.3 else base // 2 if rng.random() < 0.5 else base * 3 + fresh)
    partitions = [Partition(codes, int(codes.max()) + 1) for codes in groupings[:count]]
    chains = chains_of(partitions, [False] * count)
    assert sorted(place for chain in chains for place in chain) == list(range(count))
    for chain in chains:
        assert all(partitions[b].inside(partitions[a]) is not None for a, b in pairwise(chain))
    fewest = count
    for order in permutations(range(count)):
        breaks = sum(partitions[b].inside(partitions[a]) is None for a, b in pairwise(order))
        fewest = min(fewest, breaks + 1 if count else 0)
    assert len(chains) == fewest


def test_what_cannot_be_repaired_is_an_error() -> None:
    one, pairs = Partition.whole(2), Partition.single(2)
    crossings = Crossings(pairs, np.array([[0, 1], [0, 0]]), np.zeros(2, np.int64), np.ones(2, bool), np.zeros(2, bool))
    total = Bounds(one, np.array([0]), np.array([1]), is_fixed=False)
    both = Bounds(pairs, np.array([1, 1]), np.array([1, 1]), is_fixed=True)
    with pytest.raises(ConvergenceError, match="no rounding keeps"):
        repaired(crossings, [total, both], [])


def test_a_state_of_crossing_groupings_is_quick_and_within_one_unit() -> None:
    rng = np.random.default_rng(5)
    counties, industries, rows = 21, 300, 60_000
    cells = counties * industries
    county, industry = (
        (np.arange(cells) // industries).astype(np.int32),
        (np.arange(cells) % industries).astype(np.int32),
    )
    of_row = np.concatenate([np.arange(cells), rng.integers(0, cells, rows - cells)]).astype(np.int32)
    values = rng.lognormal(1, 1.5, rows)
    partitions = [Partition(county, counties), Partition(industry, industries), Partition.whole(cells)]
    groupings, of_rows = list(map(Kept, partitions)), Partition(of_row, cells)
    rounded = round_rows(values, of_rows, groupings)
    assert rounded.deviation < 1
    nearest = np.rint(values) - values
    assert largest_deviation(nearest, of_rows, groupings) > 10  # what plain rounding does
