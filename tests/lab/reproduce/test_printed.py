"""The paper's numbers, as printed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import ncx2

from gedp.cli import cli
from gedp.neighbors.estimates import PsiAnswers
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import Steps, scaled_gaussian
from gedp_lab.reproduce.items.coverage import coverage
from gedp_lab.reproduce.items.frameworks import findings, framework_ratios
from gedp_lab.reproduce.items.intervals import intervals
from gedp_lab.reproduce.items.semantics import people
from gedp_lab.reproduce.printed import PrintedNumber


def test_all_eight_intervals_agree() -> None:
    rows = intervals()
    assert len(rows) == 8
    assert all(low.agrees and high.agrees for low, high in rows)


def test_people_agree() -> None:
    assert all(row.agrees for row in people())


def test_a_wrong_digit_does_not_agree() -> None:
    assert PrintedNumber("", 30.2, 30.25).agrees
    assert not PrintedNumber("", 30.2, 30.3).agrees
    assert not PrintedNumber("", 30.2, 30.14).agrees


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


def test_frameworks_page_stands_alone_with_alternative_text(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["reproduce", "frameworks", "--html", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'role="img" aria-label="Heat maps' in page
    assert "src=" not in page
    assert "index.html" not in page
    assert '<link rel="icon" href="data:,">' in page


def test_commands_print_and_agree() -> None:
    for name in ("intervals", "semantics", "frameworks", "coverage"):
        result = CliRunner().invoke(cli, ["reproduce", name])
        assert result.exit_code == 0, result.output
        assert "NO" not in result.output.split()


def test_intervals_cover_what_theory_says_they_do() -> None:
    """ω/σ is normal around √x/σ, so each share is a probability of a (squared) normal."""
    draws = 100_000
    for row in coverage(draws, seed=5):
        chance = 5 * np.sqrt(0.95 * 0.05 / draws)
        assert row.covered == pytest.approx(0.95, abs=chance)
        assert row.unbiased
        if row.psi.startswith("log"):
            assert row.cut == row.nothing == 0
            continue
        shift = np.sqrt(row.jobs) * float(row.mu) / 0.5
        # |ω| > 1.96σ where ω is above 1.96σ, so nothing is cut, or below −1.96σ, so nothing but [0, 0] is left.
        beyond = float(ncx2.sf(1.96**2, 1, shift**2))
        assert (1 - row.cut) + row.nothing == pytest.approx(beyond, abs=5 * np.sqrt(0.25 / draws))
    assert [row.jobs for row in coverage(1000, seed=5)][:2] == [5, 20]


def noise_times(factor: float) -> Callable[[int, float, Entropy], Steps]:
    return lambda n, scale, entropy: np.rint(scaled_gaussian(n, scale, entropy) * factor).astype(np.int64)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_noise_of_the_wrong_size_is_found(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gedp.noise.gaussian.scaled_gaussian", noise_times(factor))
    result = CliRunner().invoke(cli, ["reproduce", "coverage"])
    assert result.exit_code == 1
    assert result.output.count("NO") > 40  # 92.5% or 97.06% are covered; chance is 0.05%


def test_a_bias_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PsiAnswers, "estimate", lambda answers: answers.psi.inverse(np.maximum(answers.omega, 0)))
    assert sum(not row.unbiased for row in coverage(100_000, seed=5)) > 40
