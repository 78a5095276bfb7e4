"""Ratios: formulas against Python's own arithmetic, errors against dense covariances, intervals against chance."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import gedp
from gedp.arrays import FloatArray
from gedp.errors import DomainError, FaultsError, GedpError
from gedp.estimates import Estimates, Figures
from gedp.microdata import Microdata, fit_microdata
from gedp.microdata.comparing import beside
from gedp.microdata.ratios import BUILT_IN, CLEAR, Ratio, estimate, parse_ratios
from gedp.policy.formulas import parse_formula
from tests.helpers.builder import spec_of, table_of
from tests.microdata.test_fit import (
    EVERYTHING,
    IDENTITY,
    Row,
    query,
    rehearsals,
    release_of,
    rows_of_tables,
    some_rows,
)
from tests.microdata.test_tabulate import dense_covariance, group_of

Z = float(ndtri(0.975))
AMOUNTS = {"emp": Fraction(7), "wage": Fraction(11, 3), "area": Fraction(-5, 2)}


def coefficients() -> st.SearchStrategy[str]:
    return st.decimals("0.01", "99", places=2).map(str) | st.integers(1, 99).map(str)


@st.composite
def sums(draw: st.DrawFn) -> str:
    """Such as `- 2 * emp + (wage - area * 3) / 7`."""
    text = draw(st.sampled_from(["", "-", "+ "]))
    for place in range(draw(st.integers(1, 4))):
        name, number = draw(st.sampled_from(sorted(AMOUNTS))), draw(coefficients())
        forms = [name, f"{number} * {name}", f"{name}*{number}/3", f"(-{name})", f"({name} - emp / {number})"]
        text += (draw(st.sampled_from([" + ", " - ", "-"])) if place else "") + draw(st.sampled_from(forms))
    return text


@st.composite
def quotients(draw: st.DrawFn) -> str:
    top, bottom, number = draw(sums()), draw(sums()), draw(coefficients())
    forms = [top, f"({top}) / ({bottom})", f"{number} * ({top}) / ({bottom})", f"({top}) / (({bottom}) / {number})"]
    return draw(st.sampled_from([*forms, f"({top}) / ({bottom}) - {number}", f"1 - ({top}) / (2 * ({bottom}))"]))


@given(quotients())
@settings(max_examples=80)
def test_a_formula_means_what_it_means_in_python(text: str) -> None:
    refused = ""
    try:
        numerator, denominator = parse_formula(text)
    except DomainError as error:  # as of emp - emp
        refused = str(error)
    if refused:
        assert refused in ("it divides by 0", "there is no attribute in its numerator")
        return
    top = sum(float(AMOUNTS[name]) * a for name, a in numerator.items())
    bottom = sum(float(AMOUNTS[name]) * b for name, b in denominator.items()) if denominator else 1.0
    exactly = re.sub(r"([\d.]+)", r"Fraction('\1')", text)
    try:
        expected = float(eval(exactly, {"Fraction": Fraction, **AMOUNTS}))
    except ZeroDivisionError:  # as by emp - 1.4 * 5
        assert bottom == pytest.approx(0, abs=1e-9)
    else:
        assert top / bottom == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("", "missing"),
        ("wage /", "missing"),
        ("wage / 0", "divides by 0"),
        ("wage / (emp - emp)", "divides by 0"),
        ("wage / (emp / 3 - emp * (1 / 3))", "divides by 0"),
        ("wage * emp", "multiplied"),
        ("wage / emp / area", "divided more than once"),
        ("wage / emp + area", "multiplied"),
        ("wage + 1", "a number is added"),
        ("wage / (emp + 1)", "a number is added"),
        ("1 / emp", "no attribute in its numerator"),
        ("13", "no attribute in its numerator"),
        ("emp - emp", "no attribute in its numerator"),
        ("(wage", "not closed"),
        ("wage)", "it should end before"),
        ("wage emp", "it should end before"),
        ("2 wage", "it should end before"),
        ("wage ** 2", "missing"),
        ("wage.sum()", "cannot be read from '.sum()'"),
        ("__import__('os')", "cannot be read from \"'os')"),
        ("wage; emp", "cannot be read"),
        ("9" * 400 + " * wage", "a number is too large"),
        ("9" * 200 + " * wage", "a number is too large"),
        ("wage / " + "9" * 400, "too small"),
        ("(" * 30 + "wage" + ")" * 30, "parentheses"),
        ("-" * 30 + "wage", "missing"),
        ("wage" + " + wage" * 200, "longer than"),
    ],
)
def test_what_is_no_ratio_of_sums_is_refused(formula: str, problem: str) -> None:
    with pytest.raises(GedpError) as refused:
        parse_formula(formula)
    assert problem in str(refused.value)
    with pytest.raises(FaultsError, match="2 faults"):
        parse_ratios([f"x = {formula}", "change", "nonsense"])


def test_ratios_by_name_and_of_columns_with_any_name() -> None:
    weekly, change = parse_ratios(["weekly-wage", "change"], {"m1emp": "january", "wage": "pay"})
    jobs = {name: b / weekly.numerator["pay"] for name, b in weekly.denominator.items()}
    assert jobs == pytest.approx({"january": 13 / 3, "m2emp": 13 / 3, "m3emp": 13 / 3})
    assert change == Ratio("change", {"m3emp": 1.0, "january": -1.0})
    (written,) = parse_ratios(['pay of "all" = 2 * "gross pay" / "jobs-1"'])
    assert written == Ratio('pay of "all"', {"gross pay": 2.0}, {"jobs-1": 1.0})
    assert len(parse_ratios(list(BUILT_IN))) == 4
    with pytest.raises(FaultsError, match="no name"):
        parse_ratios(["= wage"])


# Errors and intervals, from a release.

RATIOS = ["pay = wage / (emp + 2 * area)", "share = emp / (emp + area)", "gap = 2 * emp - area / 4"]


def groups_of(rows: Sequence[Row], by: Sequence[str]) -> dict[tuple[str, ...], FloatArray]:
    keys = [group_of(row, by) for row in rows]
    return {key: np.array([float(other == key) for other in keys]) for key in keys}


@given(rows=rows_of_tables, by=st.sampled_from([(), ("cnty",), ("cnty", "naics2"), ("floor",)]))
@settings(max_examples=8)
def test_errors_are_those_of_the_dense_covariance(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], by: tuple[str, ...]
) -> None:
    release = release_of(rows, [IDENTITY, *EVERYTHING[1:4]], tmp_path_factory.mktemp("r"))
    microdata = fit_microdata(release, weights="plug-in", attributes=["emp", "wage", "area"])
    covariances = {name: dense_covariance(microdata, name) for name in microdata.fits}
    members = groups_of(rows, by)
    for ratio in parse_ratios(RATIOS):
        table = microdata.tabulate(by, ratios=[ratio]).arrow.to_pylist()
        assert len(table) == len(members)
        for line in table:
            check_line(line, ratio, microdata, covariances, members[tuple(line[key] for key in by)])


def check_line(
    line: Mapping[str, Any], ratio: Ratio, microdata: Microdata, covariances: dict[str, FloatArray], inside: FloatArray
) -> None:
    """The estimate from the establishments, its error by the gradient, its interval by what it must solve."""

    def weighted(side: dict[str, float]) -> tuple[float, dict[str, FloatArray]]:
        weights = {name: side.get(name, 0.0) * inside for name in covariances}
        return sum(float(weights[name] @ microdata.fits[name].values) for name in weights), weights

    def spread(weights: dict[str, FloatArray]) -> float:
        return float(np.sqrt(sum(w @ covariances[name] @ w for name, w in weights.items())))

    n, tops = weighted(dict(ratio.numerator))
    if not ratio.denominator:
        assert line["estimate"] == pytest.approx(n, rel=1e-9, abs=1e-7)
        assert line["std_error"] == pytest.approx(spread(tops), rel=1e-6)
        assert line["variance_kind"] == "estimated"
        return
    d, bottoms = weighted(dict(ratio.denominator))
    assert line["estimate"] == pytest.approx(n / d, rel=1e-6)
    if abs(d) <= CLEAR * spread(bottoms):
        assert line["variance_kind"] == "unknown"
        assert line["std_error"] is line["ci_low"] is line["ci_high"] is line["cv"] is None
        return
    assert line["variance_kind"] == "delta"
    gradient = {name: tops[name] / d - n / d**2 * bottoms[name] for name in tops}
    assert line["std_error"] == pytest.approx(spread(gradient), rel=1e-5)
    assert line["ci_low"] < line["estimate"] < line["ci_high"]
    for end in (line["ci_low"], line["ci_high"]):  # N − r D is exactly z standard errors from 0
        off = spread({name: tops[name] - end * bottoms[name] for name in tops})
        assert abs(n - end * d) == pytest.approx(Z * off, rel=1e-5)


def test_exact_errors_stay_exact_in_sums_and_unknown_ones_unknown(tmp_path: Path) -> None:
    queries = [query("identity", ["establishment"], "area"), query("cells", ["cnty"], "emp", "area")]
    microdata = fit_microdata(release_of(some_rows(20), queries, tmp_path), weights="plug-in")
    asked = ["twice = 2 * area", "half = area / 2 + emp", "r = emp / area"]
    kinds = {
        line["attribute"]: line["variance_kind"] for line in microdata.tabulate([], ratios=asked).arrow.to_pylist()
    }
    assert kinds == {"twice": "exact", "half": "estimated", "r": "delta"}
    cut = microdata.tabulate(["floor"], ["area"], ratios=asked).arrow.to_pylist()
    assert {line["variance_kind"] for line in cut if line["attribute"] in ("half", "r")} == {"unknown"}
    assert list(dict.fromkeys(line["attribute"] for line in cut)) == ["area", "twice", "half", "r"]
    with pytest.raises(FaultsError, match="ratio 'r': more than one line would be called so"):
        microdata.tabulate([], ["area"], ratios=["r = emp / area", "r = emp"])
    with pytest.raises(GedpError, match="not fitted: jobs"):
        microdata.tabulate([], ratios=["r = jobs / area"])
    with pytest.raises(FaultsError, match="2 faults"):
        microdata.tabulate([], ratios=["r = jobs /", Ratio("x", {"emp": 1.0}), "nonsense"])


OFFICIAL = [
    *(
        "jobs",
        "JOBS",
        "j o b s",
        "\uff4a\uff4f\uff42\uff53",
        "jobs.",
        "jobs\u3164",
        "jobs\ufe0f",
        "*jobs*",
        "Employment",
        "employment (persons)",
    ),
    *(
        "balance",
        "balance gain",
        "balance_loss",
        "cost",
        "region",
        "county",
        "Region",
        "county2",
        "size",
        "key",
        "establishment",
        "Establishments",
    ),
    *("attribute", "estimate", "std error", "CI low", "quality", "formula", "change_ci_low", "jobs__psi", "sector"),
    *("weekly-wage", "Weekly Wage", "Average weekly wage", "change", "jobs: change", "Employment, change in percent"),
]


@pytest.fixture(scope="module")
def titled(tmp_path_factory: pytest.TempPathFactory) -> Microdata:
    """Of attributes with titles, one of them split; with classes and a combination."""
    spec = spec_of(
        data={"public": ["county", "naics"], "id": "key", "synthetic": True},
        groupers={"region": {"column": "county", "prefix": 1}},
        attributes={
            "jobs": {"psi": "sqrt", "gamma": 0.5},
            "wage": {"psi": "sqrt", "gamma": 2, "unit": 0.01},
            "balance": {"psi": "sqrt", "gamma": 2, "split": True},
        },
        combinations={"cost": "jobs + wage"},
        classes={"size": {"attribute": "jobs", "edges": [0, 10]}},
        queries=[
            {"name": "identity", "by": "establishment", "mu": 3},
            {"name": "county", "by": ["county"], "mu": 1},
        ],
        labels={"jobs": {"title": "Employment", "unit": "persons"}},
    )
    table = table_of(balance=range(-10, 50)).rename_columns({"cnty": "county", "emp": "jobs"})
    return gedp.run(spec, table, out=tmp_path_factory.mktemp("titled") / "out", seed=1, answers_only=True).microdata()


@pytest.mark.parametrize("name", OFFICIAL)
def test_a_formula_cannot_be_called_like_anything_official(name: str, titled: Microdata) -> None:
    for ratio in (f"{name} = 1000 * jobs", Ratio(name, {"jobs": 1000.0})):
        with pytest.raises(FaultsError, match="looks like the name of something official"):
            titled.tabulate("county", ratios=["fine = jobs", ratio])


@pytest.mark.parametrize(
    "name", ["x" * 81, "jobs \uff1d jobs", "jobs \ufe66 1", "a\u202eb", "a\u200bb", "a\nb", "", " "]
)
def test_names_of_formulas_are_short_and_all_of_them_is_seen(name: str) -> None:
    with pytest.raises(FaultsError, match=r"its name is longer than 80|no name that can be printed"):
        parse_ratios([f"{name} = 1000 * jobs"])


def test_what_is_computed_has_its_formula_beside_it(titled: Microdata) -> None:
    asked: list[str | Ratio] = [
        "jobs per profit =\n jobs /  balance",
        "growth = jobs - 2 * jobs / 3",
        Ratio("third", {"jobs": 1 / 3}, {"balance": 2.0}),
    ]
    table = titled.tabulate([], ["jobs"], ratios=asked)
    lines = {line["attribute"]: line["formula"] for line in table.arrow.to_pylist()}
    assert lines == {
        "jobs": None,
        "jobs per profit": "jobs / balance",
        "growth": "jobs - 2 * jobs / 3",
        "third": "(0.333333333333 * jobs) / (2 * balance)",
    }
    assert "growth = jobs - 2 * jobs / 3" in table._repr_html_()
    assert "formula" not in titled.tabulate([], ["jobs"]).arrow.column_names
    before = titled.tabulate("county", ["jobs"], ratios=asked[:1]).arrow
    first, *_ = counties = before["county"].to_pylist()
    changed = beside(before.filter(pa.array([county != first for county in counties])), before, ["county"])
    assert changed["formula"].to_pylist() == [None] * 3 + ["jobs / balance"] * 3
    (renamed,) = parse_ratios(["weekly-wage"], {"wage": "gross pay", "m1emp": "january"})
    assert renamed.formula == '"gross pay" / (13 * (january + m2emp + m3emp) / 3)'


# Laws, on numbers alone.

numbers = st.floats(-1e6, 1e6)
spreads = st.floats(1e-3, 1e3)


def totals(**pairs: tuple[float, float]) -> dict[str, Estimates]:
    """Estimate and standard error of each attribute, in one group."""
    return {name: Estimates.of_kind(np.array([x]), np.array([s * s]), "exact") for name, (x, s) in pairs.items()}


def only(estimates: Figures) -> tuple[float, float, float, float]:
    found = (estimates.estimate, estimates.std_error, estimates.ci_low, estimates.ci_high)
    return tuple(float(values[0]) for values in found)  # type: ignore[return-value]


@given(x=numbers, s=spreads, y=st.floats(1, 1e6), precision=st.floats(0.5, 100), factor=st.floats(0.01, 100))
def test_laws_of_ratios(x: float, s: float, y: float, precision: float, factor: float) -> None:
    known = totals(x=(x, s), y=(y, y / precision))
    r, error, low, high = only(estimate(Ratio("r", {"x": 1.0}, {"y": 1.0}), known, 0.95))
    assert r == pytest.approx(x / y)
    assert np.isfinite([error, low, high]).all() == (precision > CLEAR) or precision == pytest.approx(CLEAR)
    scaled = only(estimate(Ratio("r", {"x": factor}, {"y": 1 / factor}), known, 0.95))
    assert scaled == pytest.approx(tuple(factor**2 * value for value in (r, error, low, high)), rel=1e-6, nan_ok=True)
    mirrored = only(estimate(Ratio("r", {"x": -1.0}, {"y": 1.0}), known, 0.95))
    assert mirrored == pytest.approx((-r, error, -high, -low), rel=1e-9, nan_ok=True)
    if not np.isfinite(error):
        return
    assert low <= r <= high
    narrower = only(estimate(Ratio("r", {"x": 1.0}, {"y": 1.0}), known, 0.5))
    assert low <= narrower[2] <= narrower[3] <= high
    # The share of a part: of itself it is 1, without an error.
    whole = only(estimate(Ratio("one", {"y": 2.0}, {"y": 2.0}), known, 0.95))
    assert whole == pytest.approx((1, 0, 1, 1), abs=1e-6)
    # Where the denominator is almost exact, the interval is the estimate and its error.
    sure = only(estimate(Ratio("r", {"x": 1.0}, {"y": 1.0}), totals(x=(x, s), y=(y, y * 1e-9)), 0.95))
    assert sure[1] == pytest.approx(s / y, rel=1e-3, abs=abs(x / y) * 1e-8)
    assert sure[2:] == pytest.approx((x / y - Z * sure[1], x / y + Z * sure[1]), rel=1e-6, abs=1e-6 * s / y)


def test_a_high_confidence_needs_a_denominator_further_from_0() -> None:
    known = totals(x=(5, 1), y=(3.2, 1))
    for confidence, has in ((0.99, True), (0.999, False)):  # z is 2.58 and 3.29
        *_, error, low, high = only(estimate(Ratio("r", {"x": 1.0}, {"y": 1.0}), known, confidence))
        assert np.isfinite([error, low, high]).tolist() == [has] * 3
    zero = estimate(Ratio("r", {"x": 1.0}, {"y": 1.0}), totals(x=(5, 1), y=(0, 1)), 0.95)
    assert np.isnan(only(zero)).all()
    assert zero.columns()["estimate"].to_pylist() == [None]


def test_intervals_cover_what_normal_noise_hides() -> None:
    """Fieller's are exact for normal noise; the denominator is 7 errors from 0, so that all but a few have one."""
    chance, draws = np.random.default_rng(0), 40_000
    drawn = {"x": (30.0, 4.0), "y": (18.0, 2.0), "z": (3.0, 0.5)}
    known = {
        name: Estimates.of_kind(chance.normal(mean, spread, draws), np.full(draws, spread**2), "exact")
        for name, (mean, spread) in drawn.items()
    }
    found = estimate(Ratio("r", {"x": 1.0, "z": 2.0}, {"y": 1.0, "z": -1.0}), known, 0.95)
    truth = 36 / 15
    assert np.isfinite(found.std_error).mean() > 0.999
    covered = (found.ci_low < truth) & (found.ci_high > truth)
    assert covered.mean() == pytest.approx(0.95, abs=0.004)
    below, above = (found.ci_low > truth).mean(), (found.ci_high < truth).mean()
    assert below == pytest.approx(above, abs=0.004)  # a plain interval would miss on one side


# Coverage over releases.

PAY = ["pay = wage / emp", "density = emp / area", "gap = 2 * emp - area / 20"]


def coverage(folder: Path, releases: int) -> dict[str, list[bool]]:
    """Whether the truth is in the 95% interval, for measured and unmeasured groupings of a table of 300 rows."""
    rows = some_rows(300, seed=3)
    names = ("emp", "wage", "area")
    queries = [
        query("identity", ["establishment"], *names),
        query("total", [], *names),
        query("county", ["cnty"], *names),
        query("naics", ["naics"], *names),
    ]
    amounts = {
        name: np.array([float(row[place]) for row in rows]) for name, place in zip(names, (3, 4, 5), strict=True)
    }
    groupings: list[tuple[str, ...]] = [(), ("cnty",), ("naics2",), ("cnty", "naics"), ("floor",)]
    hits: dict[str, list[bool]] = {}
    truths = {
        by: {
            key: {name: float(inside @ amounts[name]) for name in names} for key, inside in groups_of(rows, by).items()
        }
        for by in groupings
    }
    for rehearsal in rehearsals(rows, queries, folder, releases):
        microdata = fit_microdata(rehearsal, attributes=names)
        for by in groupings:
            truth = truths[by]
            for ratio in parse_ratios(PAY):
                for line in microdata.tabulate(by, ratios=[ratio]).arrow.to_pylist():
                    true = truth[tuple(line[key] for key in by)]
                    n = sum(a * true[name] for name, a in ratio.numerator.items())
                    d = sum(b * true[name] for name, b in ratio.denominator.items()) if ratio.denominator else 1.0
                    if line["std_error"] is not None:
                        hits.setdefault(f"{ratio.name} by {by}", []).append(line["ci_low"] < n / d < line["ci_high"])
    return hits


def test_intervals_cover_roughly(tmp_path: Path) -> None:
    hits = [hit for each in coverage(tmp_path, 8).values() for hit in each]
    assert 0.9 < np.mean(hits) < 0.99


@pytest.mark.slow
def test_intervals_cover_over_releases(tmp_path: Path) -> None:
    releases = 200
    hits = coverage(tmp_path, releases)
    room = 3 * np.sqrt(0.95 * 0.05 / releases)  # groups of one release are correlated
    for what, each in hits.items():
        assert abs(np.mean(each) - 0.95) < room, (what, np.mean(each))
    assert 0.92 < np.mean([hit for each in hits.values() for hit in each]) < 0.98
