"""Sensitivity rules against their definitions, cell by cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import DomainError
from gedp_lab.suppress.rules import Contributions, parse_rule

RULES = ("p:10", "p:25", "pq:10/80", "nk:1,75", "nk:2,85", "nk:3,60", "nk:1000000000000,90", "3-and-80")


def is_sensitive(rule: str, values: list[int]) -> bool:
    """The definition, in whole numbers."""
    total, ordered = sum(values), [*sorted(values, reverse=True), 0, 0, 0]
    kind, _, numbers = rule.partition(":")
    if kind == "p":
        return 100 * (total - ordered[0] - ordered[1]) < int(numbers) * ordered[0]
    if kind == "pq":
        p, q = map(int, numbers.split("/"))
        return q * (total - ordered[0] - ordered[1]) < p * ordered[0]
    if kind == "nk":
        n, k = map(int, numbers.split(","))
        return 100 * sum(ordered[:n]) > k * total
    return (len(values) < 3 and ordered[0] > 0) or 100 * ordered[0] > 80 * total


@given(st.lists(st.lists(st.integers(0, 200), min_size=1, max_size=6), min_size=1, max_size=8), st.sampled_from(RULES))
def test_every_rule_hides_the_cells_of_its_definition(cells: list[list[int]], text: str) -> None:
    rule = parse_rule(text)
    of_row = np.array([i for i, cell in enumerate(cells) for _ in cell], dtype=np.int32)
    values = np.array([value for cell in cells for value in cell], dtype=np.float64)
    mixed = np.random.default_rng(len(values)).permutation(len(values))
    found = rule.need(Contributions.of(of_row[mixed], values[mixed], len(cells), rule.looks_at))
    assert [need > 1e-9 for need in found] == [is_sensitive(text, cell) for cell in cells]


def test_a_cell_that_is_open_by_its_need_is_no_longer_sensitive() -> None:
    values = np.array([90.0, 6.0, 1.0])
    for text in ("p:10", "nk:1,75", "nk:2,85", "3-and-80"):
        rule = parse_rule(text)
        (need,) = rule.need(Contributions.of(np.zeros(3, dtype=np.int32), values, 1, rule.looks_at))
        assert need > 0
        others = np.full(1000, need / 1000)  # more establishments, each too small to matter
        more, cell = np.concatenate([values, others]), np.zeros(1003, dtype=np.int32)
        (left,) = rule.need(Contributions.of(cell, more, 1, rule.looks_at))
        assert left == pytest.approx(0, abs=1e-6)


def test_the_handbooks_examples_have_their_needs() -> None:
    cells = Contributions.of(np.zeros(3, dtype=np.int32), np.array([100.0, 20.0, 4.0]), 1, 2)
    assert parse_rule("p:10").need(cells)[0] == pytest.approx(10 - 4)
    assert parse_rule("pq:10/50").need(cells)[0] == pytest.approx(20 - 4)
    assert parse_rule("nk:1,80").need(cells)[0] == pytest.approx(125 - 124)


@pytest.mark.parametrize("text", ["", "p", "p:0", "p:101", "pq:10", "nk:0,80", "nk:2.5,80", "3-and-80:1", "q:10"])
def test_what_is_not_a_rule_is_refused(text: str) -> None:
    with pytest.raises(DomainError, match="Write p:10"):
        parse_rule(text)
