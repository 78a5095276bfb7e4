"""Whoever shows the promise of a release says when there are others from the same data, and what holds for all."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gedp
from gedp.explain.over_periods import planned_series
from gedp.explain.released import released_promise
from gedp.neighbors import Log, Protection, Sqrt
from tests.helpers.builder import JOBS, spec_of, table_of
from tests.helpers.desks import catalogue_of
from tests.helpers.runs import gedp as command
from tests.helpers.runs import write_case

ALONE = "From this release alone, nobody can tell"
TOGETHER = "The ledger of these data counts 2 releases. Together they promise μ = "


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two releases of one table."""
    folder = tmp_path_factory.mktemp("twice")
    write_case(folder)
    for name in ("one", "two"):
        done = command("run", "spec.toml", "--out", name, folder=folder)
        assert done.code == 0, done.err
    return folder


def test_the_first_release_is_all_there_is(releases: Path) -> None:
    (said,) = released_promise(gedp.read_release(releases / "one").manifest)
    assert said.startswith("Nobody can tell")


def test_package_desk_and_report_say_what_holds_over_all_releases(releases: Path) -> None:
    package = releases / "package"
    gedp.publish(gedp.read_release(releases / "two"), package, formats=["csv"])
    report = (releases / "two" / "report.html").read_text(encoding="utf-8")
    for said in (
        (package / "README.md").read_text(encoding="utf-8"),
        (package / "publication.json").read_text(encoding="utf-8"),
        " ".join(catalogue_of(releases / "two").facts.protection),
        report,
    ):
        assert ALONE in said
        assert TOGETHER in said
    assert "from this release alone, at 5% false alarms" in report


def test_explain_says_what_holds_over_all_releases(releases: Path) -> None:
    shown = command("explain", "two", "--html", "two.html", folder=releases)
    assert shown.code == 0, shown.err
    for said in (shown.out, (releases / "two.html").read_text(encoding="utf-8")):
        words = " ".join(said.split())
        assert ALONE in words
        assert TOGETHER in words
    assert ALONE not in command("explain", "spec.toml", folder=releases).out


def test_a_year_of_tables_with_columns_of_other_quarters_counts_those_of_the_next_year_that_hold_values_of_it() -> None:
    jobs = {"psi": "sqrt", "gamma": 0.5}
    columns = {"jobs": jobs, "before": {**jobs, "of_period": -1}, "half": {**jobs, "of_period": [0, -1]}}
    spec = spec_of(
        data={"period": "2016Q1"},
        attributes=columns,
        budget={"mu": 1},
        queries=[{"name": "county", "by": ["cnty"], "mu": 0.4}],
    )
    counts, _, quarter, year, *_ = planned_series(spec)
    both = "μ = 0.4 for each of 2015Q4, 2016Q1 and once for them together"
    assert f"μ = 0.4 for 2015Q4; {both}; μ = 0.4 for 2016Q1." in counts
    assert "(μ = 0.8, spent on 2016Q1)" in quarter  # by its own table twice, and twice by that of 2016Q2
    # Four tables with jobs, four with those of the quarter before, five with sums of two quarters: 13 x 0.16.
    assert "(μ = 1.4423, spent on 2016Q1 to 2016Q4)" in year


def test_intervals_that_are_narrower_in_the_seventh_digit_are_said_to_be(tmp_path: Path) -> None:
    """After a release with gamma = 0.4999999, what holds for all is narrower than what one with 0.5 says."""
    manifests = {}
    for gamma in ("0.4999999", "0.5", "0.50"):
        spec = spec_of(
            attributes={"emp": {"psi": "sqrt", "gamma": Decimal(gamma)}}, queries=[{"name": "all", "by": [], "mu": 1}]
        )
        out = tmp_path / gamma
        gedp.run(spec, table=table_of(), out=out, ledger=tmp_path / "t.ledger", seed=1, answers_only=True)
        manifests[gamma] = gedp.read_release(out).manifest
    first, *others = (" ".join(released_promise(manifest)) for manifest in manifests.values())
    assert "narrower" not in first
    for said in others:
        assert "these narrower intervals hold: emp: psi = sqrt(x), gamma = 0.4999999." in said


def test_a_single_release_is_not_one_of_several_however_its_price_is_rounded(tmp_path: Path) -> None:
    """μ² = 44: rounded up to six places and then to four, μ would be more than what it is rounded to at once."""
    spec = spec_of(
        attributes=JOBS, queries=[{"name": n, "by": [], "mu": mu} for n, mu in (("a", 6), ("b", 2), ("c", 2))]
    )
    gedp.run(spec, table=table_of(), out=tmp_path / "out", ledger=tmp_path / "t.ledger", seed=1, answers_only=True)
    (said,) = released_promise(gedp.read_release(tmp_path / "out").manifest)
    assert said.startswith("Nobody can tell")


@given(number=st.floats(min_value=1e-300, max_value=1e300))
def test_protections_that_differ_are_written_differently(number: float) -> None:
    near = Protection(Sqrt(), float(np.nextafter(number, np.inf)))
    assert str(near) != str(Protection(Sqrt(), number))
    assert str(Protection(Log(number), 1)) != str(Protection(Log(near.gamma), 1))
