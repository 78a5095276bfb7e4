"""Variances of groups that are made of whole cells, beside the way that goes over rows."""

import numpy as np
import pytest

from gedp.arrays import CodeArray
from gedp.microdata import variances
from gedp.microdata.variances import group_variances
from gedp.microdata.weights import AttributeFit, fit_attribute
from gedp.partitions import Partition
from tests.microdata.test_pooled import attribute_problem, random_cells


@pytest.fixture(scope="module")
def fitted() -> tuple[AttributeFit, Partition]:
    rng = np.random.default_rng(3)
    cells = random_cells(rng, 40, 300)
    return fit_attribute(attribute_problem(rng, cells, clipped=True, smallest=5.0), "quasi"), cells


def over_rows(fit: AttributeFit, cells: Partition, groups: Partition, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    with monkeypatch.context() as patched:
        patched.setattr(Partition, "inside", lambda cells, groups: None)
        return group_variances(fit, cells, groups)


@pytest.mark.parametrize(
    ("of_cell", "is_measured"),
    [
        (np.arange(40), True),
        (np.arange(40) // 4, True),
        (9 - np.arange(40) // 4, True),  # the same groups in another order
        (np.zeros(40), True),
        (np.arange(40) // 8, False),
        (np.arange(40) % 10, False),  # as many groups as a query has, but others
    ],
)
def test_whole_cells(
    fitted: tuple[AttributeFit, Partition], of_cell: CodeArray, is_measured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fit, cells), of_cell = fitted, of_cell.astype(np.int32)
    groups = cells.of_groups(Partition(of_cell, int(of_cell.max()) + 1))
    inside = cells.inside(groups)
    assert inside is not None
    assert np.array_equal(inside.group_of, of_cell)
    assert fit.cell_fit is not None
    of_query = variances._of_measured(fit.cell_fit, inside)
    assert (of_query is not None) == (is_measured and groups.count < 40)  # finest cells are pooled, not in the system
    expected = over_rows(fit, cells, groups, monkeypatch)
    assert group_variances(fit, cells, groups) == pytest.approx(expected, rel=1e-9)


def test_groups_that_cut_through_a_cell_are_not_taken_for_whole_ones(
    fitted: tuple[AttributeFit, Partition], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, cells = fitted
    groups = Partition((np.arange(len(cells.group_of)) % 3).astype(np.int32), 3)
    assert cells.inside(groups) is None
    assert group_variances(fit, cells, groups) == pytest.approx(over_rows(fit, cells, groups, monkeypatch))
