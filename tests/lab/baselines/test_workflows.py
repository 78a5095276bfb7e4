"""Baselines as workflows of a comparison, against the formulas they are drawn from."""

from pathlib import Path

import numpy as np
import pytest

from gedp.errors import DomainError, FaultsError
from gedp.noise.entropy import SeededEntropy
from gedp.policy import read_spec
from gedp_lab.baselines.formal import LaplaceLog, smooth_gamma_scale
from gedp_lab.baselines.translation import pure_epsilon
from gedp_lab.baselines.workflows import (
    BASELINES,
    FITTED,
    BaselineDraw,
    Truths,
    affordable,
    noise_of,
    pool_mu,
    reference_of,
    require_affordable,
)
from gedp_lab.compare import compare
from gedp_lab.compare.plan import make_plan
from gedp_lab.compare.rehearsals import prepare_replicates
from gedp_lab.compare.workflows import parse_workflows
from gedp_lab.suppress.run import run_suppression
from tests.helpers.runs import write_case

SYNTHETIC = ('id = "key"', 'id = "key"\nsynthetic = true')
RICHER = (
    SYNTHETIC,
    ("mu = 1\n", "mu = 9\n"),
    ("mu = 0.1\n", "mu = 0.6\n"),
    ("emp = 0.2, wage = 0.1", "emp = 2, wage = 1"),
    ("{ emp = 0.1 }", "{ emp = 0.8 }"),
)


@pytest.fixture
def truths(tmp_path: Path) -> Truths:
    spec = read_spec(write_case(tmp_path, *RICHER))
    plan = make_plan(spec, str(tmp_path / "t.parquet"), workflows=["psi"])
    prepared = prepare_replicates(plan, plan.open_table())
    return Truths(prepared.public_rows, spec, {name: prepared.truth.values(name) for name in plan.attributes})


@pytest.mark.parametrize("name", list(FITTED))
def test_answers_are_unbiased_with_the_variances_that_the_fit_is_told(name: str, truths: Truths) -> None:
    """Noise that is 5% smaller would be found: its variance is 10% smaller, many standard errors."""
    draws, attribute, squares, spread = 1000, "emp", [], 3.0
    problems = [BaselineDraw(name, truths, SeededEntropy(seed)).problem(attribute) for seed in range(draws)]
    for place, group in enumerate(problems[0].groups):
        true = problems[0].cells.sums(truths.values[attribute])
        sums = group.groups.sums(true)
        assert group.noise is not None
        answers = np.array([problem.groups[place].answers for problem in problems])
        stated = group.noise.variance(sums)
        assert (np.abs(answers.mean(axis=0) - sums) < 5 * np.sqrt(stated / draws)).all()
        if name == "log-laplace":  # its answers may have no fourth moment, but their logarithms do
            psi, scale, spread = group.noise.psi, group.noise.sigma, 6.0
            assert isinstance(psi, LaplaceLog)
            noise = np.log((answers + psi.shift) / (1 - scale**2)) - psi(sums)
            squares.append(noise**2 / (2 * scale**2))
        else:
            squares.append(((answers - sums) ** 2 / stated)[:, sums > 10 * np.sqrt(stated)])  # there nearly Gaussian
    found = np.concatenate([each.ravel() for each in squares])
    error = np.sqrt((spread - 1) / len(found))  # fourth moment over the square of the second: 3, for Laplace 6
    assert abs(found.mean() - 1) < 4 * error
    assert abs(0.95**2 * found.mean() - 1) > 4 * error


def test_smooth_gamma_is_unbiased_and_as_far_off_as_its_scale_says(truths: Truths) -> None:
    """The noise has no third moment, so its mean distance is measured: 1/√2 of the scale. 5% less would be found."""
    cells, values = truths.public_rows.cells_of("emp"), truths.values["emp"]
    alpha = reference_of(truths.spec, "emp").alpha
    epsilon = pure_epsilon(pool_mu(truths.spec, "emp"))
    scale = smooth_gamma_scale(cells.largest(values), alpha, epsilon)
    true, noise = cells.sums(values), []
    for seed in range(20_000 // cells.count):
        rows = BaselineDraw("smooth-gamma", truths, SeededEntropy(seed)).rows("emp")
        noise.append((cells.sums(rows) - true) / scale)
    found = np.concatenate(noise)
    off = np.abs(found).mean() * np.sqrt(2)
    error = 1 / np.sqrt(len(found))  # of |Z|·√2: its second moment is 2, its mean 1
    assert abs(found.mean()) < 4 / np.sqrt(len(found))
    assert abs(off - 1) < 4 * error
    assert abs(0.95 * off - 1) > 4 * error


@pytest.mark.parametrize("name", list(FITTED))
def test_every_attribute_costs_what_the_spec_says(name: str, truths: Truths) -> None:
    prices = affordable(truths.spec, "emp", noise_of(name, truths.spec, "emp"))
    assert sum(mu**2 for mu in prices.values()) == pytest.approx(pool_mu(truths.spec, "emp") ** 2)


def test_at_the_reference_every_noise_hides_the_same_interval(truths: Truths) -> None:
    reference = reference_of(truths.spec, "emp")
    for name, rises in (("fourth-root", reference.size * reference.alpha), ("splitting", reference.half_width)):
        noise = noise_of(name, truths.spec, "emp")
        moved = noise.psi(reference.size + rises) - noise.psi(reference.size)
        assert moved / noise.scale(0.7) == pytest.approx(0.7)  # μ between the value and the end of its interval


def test_all_attributes_of_an_establishment_have_one_ezs_factor(truths: Truths) -> None:
    for name in ("ezs", "ezs-balanced"):
        drawing = BaselineDraw(name, truths, SeededEntropy(3))
        factors = [drawing.rows(attribute) / values for attribute, values in truths.values.items()]
        there = np.isfinite(factors[0]) & np.isfinite(factors[1])
        assert factors[0][there] == pytest.approx(factors[1][there])
        assert (np.abs(factors[0][there] - 1) > 0.09).all()


def test_baselines_that_cannot_answer_at_their_prices_are_refused_before_the_first_draw(tmp_path: Path) -> None:
    spec = read_spec(write_case(tmp_path, SYNTHETIC))
    plan = make_plan(spec, str(tmp_path / "t.parquet"), workflows=["psi", "smooth-gamma", "log-laplace", "splitting"])
    with pytest.raises(FaultsError, match="needs an epsilon above") as refused:
        prepare_replicates(plan, plan.open_table())
    assert "at which this baseline has a variance" in str(refused.value)
    assert refused.value.__notes__ == ["Or compare those that work: --workflow psi --workflow splitting"]


def test_what_looks_at_establishments_is_refused_where_a_spec_asks_for_none(tmp_path: Path) -> None:
    text = write_case(tmp_path, *RICHER).read_text()
    start, end = text.index("[[queries]]"), text.index('[[queries]]\nname = "county"')
    (tmp_path / "tables.toml").write_text(text[:start] + text[end:])
    spec = read_spec(tmp_path / "tables.toml")
    plan = make_plan(spec, str(tmp_path / "t.parquet"), workflows=["psi", "ezs", "smooth-gamma"], attributes=["emp"])
    with pytest.raises(FaultsError, match="ezs needs establishments"):
        prepare_replicates(plan, plan.open_table())
    with pytest.raises(DomainError, match="needs establishments, and no query asks for emp of every establishment"):
        run_suppression(spec, str(tmp_path / "t.parquet"), out=tmp_path / "out", attributes=["emp"])
    assert not (tmp_path / "out").exists()


def test_what_may_be_negative_is_refused(tmp_path: Path) -> None:
    signed = ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = { psi = "sqrt", gamma = 0.5, signed = true }')
    spec = read_spec(write_case(tmp_path, *RICHER, signed, ('mechanism = "psi"\n', "")))
    with pytest.raises(DomainError, match="emp may be negative"):
        require_affordable("ezs", spec, "emp")


def test_without_a_fit_there_are_no_weights_to_choose() -> None:
    assert [w.name for w in parse_workflows(["log-laplace", "splitting+quasi"])] == ["log-laplace", "splitting+quasi"]
    for name in ("ezs+quasi", "smooth-gamma+plug-in", "ezs+no fit"):
        with pytest.raises(DomainError, match="baselines to compare with: log-laplace"):
            parse_workflows([name])


def test_a_baseline_is_compared_and_never_named_as_the_winner(tmp_path: Path) -> None:
    spec = read_spec(write_case(tmp_path, *RICHER))
    names = ["psi", *BASELINES]
    found = compare(
        spec,
        tmp_path / "t.parquet",
        out=tmp_path / "out",
        replicates=2,
        workflows=names,
        attributes=["emp"],
        seed=1,
        workers=1,
    )
    assert {winner.workflow for winner in found.winners} == {"psi"}
    level = found.order.levels[-1]
    assert found.line("ezs", "emp", level).coverage is None
    assert found.line("fourth-root", "emp", level).coverage is not None
    assert found.line("ezs", "emp", level).mean_absolute > 0
