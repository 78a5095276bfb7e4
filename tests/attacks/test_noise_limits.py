"""Noise beyond all use: refused before anything is spent, and at the edge of what is allowed everything works."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS
from gedp.confidential.mechanisms import PsiMechanism, psi_mechanism
from gedp.errors import DomainError
from gedp.neighbors import Linear, Log, NeighborFunction, Protection, Signed, Sqrt, narrow, widen
from gedp.neighbors.estimates import PsiAnswers, psi_variance
from gedp.noise.grid import psi_grid
from gedp.policy import Attribute, Closeness
from gedp.release import read_release
from tests.helpers.runs import gedp, names, write_case

LOG = Closeness("log", Decimal("0.1"))
LOG_SHIFTED = Closeness("log", Decimal("0.1"), Decimal(1))
LINEAR = Closeness("linear", Decimal(1))
SQRT = Closeness("sqrt", Decimal("0.5"))
ATTRIBUTES = {
    "log": Attribute("emp", LOG),
    "log in small units": Attribute("emp", LOG, unit=Decimal("1e-12")),
    "log with a shift": Attribute("emp", LOG_SHIFTED),
    "signed log": Attribute("emp", LOG_SHIFTED, signed=True),
    "widened log": Attribute("emp", LOG_SHIFTED, at_least=(LINEAR,)),
    "signed widened log": Attribute("emp", LOG_SHIFTED, at_least=(LINEAR,), signed=True),
    "widened sqrt": Attribute("emp", SQRT, at_least=(LINEAR,)),
    "sqrt": Attribute("emp", SQRT),
    "signed sqrt": Attribute("emp", SQRT, signed=True),
    "linear": Attribute("emp", LINEAR),
}
#: psi, gamma and more as they are written in a spec.
WRITTEN = {
    "log": 'psi = "log", gamma = 0.1',
    "log with a shift": 'psi = "log", gamma = 0.1, shift = 1',
    "signed log": 'psi = "log", gamma = 0.1, shift = 1, signed = true',
    "widened log": 'psi = "log", gamma = 0.1, shift = 1, at_least = { psi = "linear", gamma = 1 }',
    "sqrt": 'psi = "sqrt", gamma = 0.5',
    "linear": 'psi = "linear", gamma = 1',
}


def smallest_mu(attribute: Attribute) -> Fraction:
    """The smallest mu that is allowed, within a part of 1,000; at least 1e-12, as in every spec."""
    allowed, refused = Fraction(1), Fraction(1, 10**12)
    while allowed / refused > Fraction(1001, 1000):
        middle = Fraction(float(np.sqrt(float(allowed) * float(refused)))).limit_denominator(10**18)
        try:
            psi_mechanism(attribute, middle)
            allowed = middle
        except DomainError:
            refused = middle
    return allowed


def farthest(mechanism: PsiMechanism, sigmas: float) -> np.ndarray:
    """Noisy values of ψ this far beyond the least and the largest possible sum, and between."""
    psi, unit = mechanism.psi, mechanism.unit
    highest = float(psi(MOST_UNITS * unit))
    lowest = float(psi(unit)) if np.isinf(psi.at_zero) else psi.at_zero
    lowest = -highest if isinstance(psi, Signed) else lowest
    return np.linspace(lowest - sigmas * mechanism.sigma, highest + sigmas * mechanism.sigma, 257)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_what_is_allowed_has_finite_answers_and_the_next_is_refused(name: str) -> None:
    attribute = ATTRIBUTES[name]
    mechanism = psi_mechanism(attribute, smallest_mu(attribute))
    answers = PsiAnswers(mechanism.psi, farthest(mechanism, 11.9), mechanism.sigma)
    with np.errstate(over="raise", invalid="raise"):
        for numbers in (answers.estimate(), answers.variance(), *answers.interval(0.99)):
            assert np.isfinite(numbers).all()
            assert np.isfinite(numbers**2).all()


@pytest.mark.parametrize(
    ("attribute", "sigma"),
    [
        (ATTRIBUTES["signed log"], 100),
        (ATTRIBUTES["widened log"], 2500),
        (ATTRIBUTES["log"], 30),
        (ATTRIBUTES["log with a shift"], 30),
    ],
)
def test_noise_that_drowns_everything_is_refused_in_plain_words(attribute: Attribute, sigma: int) -> None:
    gamma = exact(attribute.closeness.gamma) if not attribute.at_least else 1
    with pytest.raises(DomainError, match=r"emp at mu = .* too large to be useful.* Take a larger mu or"):
        psi_mechanism(attribute, Fraction(gamma) / sigma)


@pytest.mark.parametrize("attribute", ['psi = "log", gamma = 3, shift = 1, signed = true', 'psi = "log", gamma = 3'])
def test_it_is_refused_before_anything_is_spent(attribute: str, tmp_path: Path) -> None:
    write_case(tmp_path, ('psi = "sqrt", gamma = 0.5', attribute), ('"psi"\n', '"auto"\n'))
    for arguments in (("--dry-run",), ()):
        ended = gedp("run", "spec.toml", *arguments, folder=tmp_path)
        assert (ended.code, "too large to be useful" in ended.err) == (2, True), ended
        assert names(tmp_path) == ["spec.toml", "t.parquet"]


@pytest.mark.parametrize("name", WRITTEN)
def test_at_the_edge_of_what_is_allowed_the_whole_chain_works(name: str, tmp_path: Path) -> None:
    mu = max(smallest_mu(ATTRIBUTES[name]), Fraction(1, 10**9))
    written = f"{float(mu) * 1.001:.12f}"
    changes = [
        ('psi = "sqrt", gamma = 0.5', WRITTEN[name]),
        (
            'mu = 0.1\n\n[[queries]]\nname = "county"',
            f'mu = {{ emp = {written}, wage = 0.1 }}\n\n[[queries]]\nname = "county"',
        ),
        ("emp = 0.2", f"emp = {written}"),
        ("emp = 0.1 }", f"emp = {written} }}"),
        ('"psi"\n', '"auto"\n'),
    ]
    write_case(tmp_path, *changes)
    for seed in range(3):
        ended = gedp("run", "spec.toml", "--out", f"out{seed}", folder=tmp_path)
        assert (ended.code, ended.err) == (0, ""), ended
        release = read_release(tmp_path / f"out{seed}")
        for table in (release.answers("county"), release.answers("naics2 x county")):
            assert np.isfinite(table["estimate"].to_numpy()).all()
            assert np.isfinite(table["variance"].to_numpy()).all()
        ended = gedp("tabulate", f"out{seed}", "--by", "cnty", "--out", "t.csv", folder=tmp_path)
        assert ended.code == 0, ended


functions: list[NeighborFunction] = [
    Linear(),
    Sqrt(),
    Sqrt(2),
    Log(),
    Log(0.5),
    Signed(Sqrt()),
    Signed(Log(1)),
    widen(Protection(Log(1), 0.1), Protection(Linear(), 1)).psi,
    widen(Protection(Sqrt(), 0.5), Protection(Log(), 0.1)).psi,
    narrow(Protection(Sqrt(), 0.5), Protection(Log(), 0.1)).psi,
    Signed(widen(Protection(Log(1), 0.1), Protection(Linear(), 1)).psi),
]


@given(st.sampled_from(functions), st.floats(-1e6, 1e6), st.floats(1e-3, 25))
@settings(max_examples=300)
def test_no_draw_however_far_raises_or_is_not_a_number(psi: NeighborFunction, omega: float, sigma: float) -> None:
    answers = PsiAnswers(psi, np.array([omega]), sigma)
    with np.errstate(over="ignore", invalid="ignore"):
        results = [answers.estimate(), answers.variance(), *answers.interval(0.95), answers.upper_bounds(7.0)]
        results += [psi_variance(psi, np.array([np.inf, 1.0]), sigma)]
    assert not np.isnan(np.concatenate(results)).any()


@pytest.mark.parametrize("unit", ["1e-12", "1e-9", "1e-8", "0.01", "1", "1000", "1e15"])
def test_whether_a_value_is_refused_depends_on_no_value(unit: str) -> None:
    """Without a shift log falls without bound at 0, and one unit is the smallest value that it may see."""
    attribute = Attribute("emp", LOG, unit=Decimal(unit))
    mechanism = psi_mechanism(attribute, Fraction(1, 10))
    units = np.array([1, 2, 11, 12, 10**6, MOST_UNITS])
    mechanism.grid.to_steps(mechanism.psi(units * mechanism.unit))


def test_the_grid_of_log_knows_the_smallest_value() -> None:
    protection = Protection(Log(), 0.1)
    small = psi_grid(protection, 0.1, largest_sum=1.0, smallest=1e-30)
    assert small.largest >= 30 * np.log(10)
    with pytest.raises(DomainError, match="beyond"):
        psi_grid(protection, 0.1, largest_sum=10.0, smallest=1.0).to_steps(float(np.log(1e-30)))
