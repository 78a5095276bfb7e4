"""The errors that a plan predicts for tables by classes and of combinations, beside those of releases."""

from itertools import pairwise

import numpy as np
import pytest

import gedp
from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.microdata import fit_microdata
from gedp.planning.document import plan_page
from gedp.planning.layouts import BY_CLASSES, layouts
from gedp.planning.plan import Plan
from gedp.policy import COUNT, Spec
from gedp.release.rehearsal import Rehearsal
from tests.helpers.builder import ACCOUNTING, JOBS, rehearsed, spec_of, table_of

TABLE = table_of(900)
CLASSES = [("sizes", COUNT), ("wages", COUNT), ("wages", "wage"), ("wages", "emp")]
COMBINED = [("combined", "cost"), ("combined", "third"), ("costs", "cost")]


@pytest.fixture(scope="module", params=ACCOUNTING)
def spec(request: pytest.FixtureRequest) -> Spec:
    return spec_of("classes", "combinations", accounting=request.param, labels={"cost": "Labour cost"})


@pytest.fixture(scope="module")
def plan(spec: Spec) -> Plan:
    return gedp.plan(spec, TABLE, table=TABLE, mu=[2, 40], gamma_times=[2])


@pytest.fixture(scope="module")
def release(spec: Spec) -> Rehearsal:
    return rehearsed(spec, TABLE)


def released(release: Rehearsal, query: str, asked: str) -> FloatArray:
    table = release.tables[query].to_pandas()
    errors: FloatArray = np.sqrt(table[table["attribute"] == asked]["variance"].to_numpy())
    return errors


@pytest.mark.parametrize(("query", "asked"), CLASSES)
def test_errors_by_classes_are_those_of_the_noise(plan: Plan, release: Rehearsal, query: str, asked: str) -> None:
    """Bounds depend on identity answers, so that sums of another attribute than the one with the classes vary."""
    planned, noise = plan.of(query, asked).errors, released(release, query, asked)
    assert ((planned > 0) == (noise > 0)).all()
    assert 0 < np.sum(planned == 0) < len(planned)
    assert planned == pytest.approx(noise, rel=0.15 if asked == "wage" else 1e-3)
    assert np.mean(planned) == pytest.approx(np.mean(noise), rel=0.05)


@pytest.mark.parametrize(("query", "asked"), COMBINED)
def test_errors_of_combinations_are_those_of_the_fit(
    spec: Spec, plan: Plan, release: Rehearsal, query: str, asked: str
) -> None:
    by = {each.name: each.by for each in spec.queries}[query]
    fitted = fit_microdata(release).tabulate(by, [asked]).arrow["std_error"].to_numpy()
    assert np.mean(plan.of(query, asked).errors) == pytest.approx(np.mean(fitted), rel=0.05)
    assert np.mean(plan.of(query, asked).errors) < 0.9 * np.mean(released(release, query, asked))


def test_totals_are_those_of_the_establishments(plan: Plan) -> None:
    frame = TABLE.to_pandas()
    assert plan.of("sizes", COUNT).totals.sum() == len(frame)
    edges = [0, 1, 100, 1000, 5000, np.inf]
    by_class = [
        ((frame["cnty"] == county) & (frame["emp"] >= low) & (frame["emp"] < high)).sum()
        for county in sorted(frame["cnty"].unique())
        for low, high in pairwise(edges)
    ]
    assert plan.of("sizes", COUNT).totals.tolist() == by_class
    cost = (frame["wage"] + 500 * frame["emp"]).groupby(frame["cnty"]).sum()
    assert plan.of("combined", "cost").totals == pytest.approx(cost.to_numpy())


def test_other_settings_change_what_depends_on_them(plan: Plan) -> None:
    less, more, wider = (setting.errors for setting in plan.settings)
    for query, asked in (*CLASSES, *COMBINED):
        now = plan.of(query, asked).error
        assert more[query, asked] < now < less[query, asked]
        assert wider[query, asked] > now or asked == COUNT


def test_plan_and_page_list_what_no_attribute_stands_for(plan: Plan) -> None:
    assert plan.alike == (("emp",), ("wage",), (COUNT,), ("cost",), ("third",))
    errors = next(layouts(plan))
    assert [row[:2] for row in errors.rows[6:]] == [*CLASSES[:2], ("wages", "emp"), ("wages", "wage"), *COMBINED]
    assert errors.note.endswith(BY_CLASSES)
    page = plan_page(plan, "a title")
    assert "<h2>Labour cost: every cell</h2>" in page
    assert "<h2>Establishments: mean error by μ</h2>" in page
    with pytest.raises(DomainError, match="there are: establishments, emp, wage"):
        plan.of("wages", "cost")


def test_an_attribute_of_which_only_classes_are_asked_has_assumed_sizes() -> None:
    """All its classes are possible, as no answers are about it."""
    queries = [
        {"name": "county", "by": ["cnty"], "mu": {"emp": 1}},
        {"name": "pay", "by": ["cnty", "pay"], "count": True, "mu": 1},
    ]
    classes = {"pay": {"attribute": "wage", "edges": [0, 1000]}}
    wage = {"psi": "sqrt", "gamma": 3, "typical": 4000}
    spec = spec_of(attributes={**JOBS, "wage": wage}, classes=classes, queries=queries)
    found = gedp.plan(spec, table=TABLE.drop_columns(["emp", "wage"]), mu=[1]).of("pay", COUNT)
    assert found.totals.sum() == 900
    assert (found.totals > 0).all()
    assert found.errors == pytest.approx(np.full(6, np.sqrt(2 + 1 / 12)), rel=1e-3)


def test_settings_at_which_noise_drowns_everything_are_infinite() -> None:
    spec = spec_of("classes", "combinations", attributes={**JOBS, "wage": {"psi": "log", "gamma": 0.1, "shift": 1}})
    (setting,) = gedp.plan(spec, TABLE, table=TABLE, gamma_times=[1e5]).settings
    assert {setting.errors[asked] for asked in (*CLASSES, *COMBINED)} == {np.inf}
