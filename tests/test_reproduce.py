"""The paper's numbers, as printed."""

import numpy as np
from click.testing import CliRunner

from gedp.cli import cli
from gedp.reproduce import Comparison
from gedp.reproduce.frameworks import findings, framework_ratios, frameworks_page
from gedp.reproduce.intervals import intervals, people


def test_all_eight_intervals_agree() -> None:
    rows = intervals()
    assert len(rows) == 8
    assert all(low.agrees and high.agrees for low, high in rows)


def test_people_agree() -> None:
    assert all(row.agrees for row in people())


def test_a_wrong_digit_does_not_agree() -> None:
    assert Comparison("", 30.2, 30.25).agrees
    assert not Comparison("", 30.2, 30.3).agrees
    assert not Comparison("", 30.2, 30.14).agrees


def test_frameworks_show_what_is_claimed_and_its_exceptions() -> None:
    one, three, five = ratios = [framework_ratios(queries) for queries in (1, 3, 5)]
    assert all(r.zcdp_wins == 0 for r in ratios)
    assert 0.1 < one.pure_wins < 0.3
    assert 0 < three.pure_wins < 0.002
    assert five.pure_wins == 0
    np.testing.assert_allclose(three.pure, 3 * one.pure)
    said = findings(ratios)
    assert "never needs more variance than zCDP" in said[0]
    assert "everywhere" in said[-1]


def test_frameworks_page_stands_alone_with_alternative_text() -> None:
    page = frameworks_page([framework_ratios(1)])
    assert 'role="img" aria-label="Heat maps' in page
    assert "src=" not in page
    assert '<link rel="icon" href="data:,">' in page


def test_commands_print_and_agree() -> None:
    for name in ("intervals", "semantics", "frameworks"):
        result = CliRunner().invoke(cli, ["reproduce", name])
        assert result.exit_code == 0, result.output
        assert "NO" not in result.output.split()
