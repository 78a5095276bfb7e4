"""Items that need no data: two straight pieces, nine Gamma distributions, the example of suppression."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gedp.cli import cli
from gedp_lab.reproduce.context import Context, State
from gedp_lab.reproduce.items import deduction, piecewise
from gedp_lab.reproduce.items.deduction import ESTABLISHMENTS, cells, deducible
from gedp_lab.reproduce.items.distribution import distribution, run
from gedp_lab.reproduce.items.gamma import ESTABLISHMENTS as TEN
from gedp_lab.reproduce.items.gamma import divide, expected_deviations
from gedp_lab.reproduce.items.piecewise import LARGE, SMALL, inverse, psi, relative_length


def test_the_numbers_of_the_example_on_two_pieces() -> None:
    assert relative_length(SMALL) == pytest.approx(0.129, abs=5e-4)
    assert relative_length(LARGE) == pytest.approx(1.031, abs=5e-4)
    assert relative_length(LARGE) / relative_length(SMALL) == pytest.approx(7.97, abs=5e-3)


@given(st.floats(0, 1e6))
def test_the_inverse_of_two_pieces_is_one(x: float) -> None:
    assert inverse(psi(x)) == pytest.approx(x, abs=1e-9, rel=1e-9)
    printed = 10 * x if x <= 10 else x / 100 + 99.9
    assert psi(x) == pytest.approx(printed)


def test_a_neighbor_function_instead_of_two_pieces_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CliRunner().invoke(cli, ["reproduce", "piecewise"]).exit_code == 0
    monkeypatch.setattr(piecewise, "psi", np.sqrt)
    assert CliRunner().invoke(cli, ["reproduce", "piecewise"]).exit_code == 1


@pytest.mark.parametrize(("shape", "scale"), [(1, 20), (10, 200), (100, 2)])
def test_proportions_vary_as_theory_says(shape: float, scale: float) -> None:
    """Across establishments 1/√shape, nearly; over repetitions √((n − 1)/(n·shape·scale)), nearly."""
    across, over = expected_deviations(shape, scale, np.random.default_rng(1))
    assert across == pytest.approx(np.sqrt((TEN - 1) / (TEN * shape + 1)), rel=0.06)
    assert over == pytest.approx(np.sqrt((TEN - 1) / (TEN * shape * scale)), rel=0.2)
    found = divide(shape, scale, 2000, np.random.default_rng(2))
    assert found.proportions.shape == (2000, TEN)
    np.testing.assert_allclose(found.proportions.sum(axis=1), 1)
    assert found.over_repetitions == pytest.approx(over, rel=0.35)  # of one set, which may be uneven


def test_a_linear_attacker_deduces_what_can_be_solved() -> None:
    assert deducible(["X"]) == ["Bob"]
    assert deducible(["total", "Y", "Z"]) == ["Bob"]
    assert deducible(["Z", "23", "11"]) == []
    assert deducible(list(cells())) == ["Bob"]  # nobody else is alone
    sums = {name: np.array(row) @ np.array([1, 2, 4, 8, 16]) for name, row in cells().items()}
    assert sums == {"total": 31, "X": 1, "Y": 6, "Z": 24, "52": 1, "23": 10, "11": 20}
    assert len(ESTABLISHMENTS) == 5


def test_the_example_of_suppression_disagrees_where_the_paper_slips() -> None:
    result = deduction.run(Context())
    outcomes = [each.outcome for each in result.claims]
    assert outcomes == ["agrees", "agrees", "disagrees", "disagrees", "agrees", "agrees"]
    assert result.is_as_expected
    assert "Rank 3; 57%" in result.ours


def test_a_distribution_counts_every_establishment_and_sees_a_light_tail(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    heavy = np.exp(generator.normal(2, 1.5, 20_000)).astype(np.int64)
    flat = generator.integers(0, 1000, 20_000)
    pq.write_table(pa.table({"m3emp": heavy, "wage": flat}), tmp_path / "t.parquet")
    state = State("demo", "00", tmp_path / "t.parquet")
    jobs, wages = distribution(state, "m3emp"), distribution(state, "wage")
    assert jobs.counts.sum() == wages.counts.sum() == 20_000
    assert jobs.first == np.mean(heavy < heavy.max() / 50)
    assert (jobs.hidden > 5, wages.hidden) == (True, 0)
    context = Context(tmp_path)
    context.__dict__["states"] = (state,)
    assert [each.outcome for each in run(context).claims] == ["in part"]
