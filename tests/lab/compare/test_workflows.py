"""Workflows: their names, and what they make of a spec."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp.confidential.measure import rehearse
from gedp.confidential.preparing import require_sound
from gedp.errors import BudgetExceededError, DomainError, FaultsError, Refused
from gedp.neighbors.estimates import ZETA, no_clipping_tau
from gedp.policy import COUNT, Spec, price, read_spec
from gedp_lab.compare.accounts import without_prices
from gedp_lab.compare.plan import make_plan
from gedp_lab.compare.rehearsals import prepare_replicates, replicate, true_groups
from gedp_lab.compare.workflows import DEFAULT, USUAL_WEIGHTS, parse_workflows, spec_for, with_attributes
from tests.helpers.builder import SECTIONS, spec_of, table_of
from tests.helpers.canaries import CANARY, sings
from tests.helpers.runs import small_table, write_case

SYNTHETIC = ('id = "key"', 'id = "key"\nsynthetic = true')


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return read_spec(write_case(tmp_path, SYNTHETIC))


def test_names_say_what_is_unusual() -> None:
    names = ["psi", "psi+plug-in", "psi+quasi", "auto+quasi", "auto+oracle", "gdp"]
    assert [w.name for w in parse_workflows(names)] == ["psi", "psi+quasi", "auto", "auto+oracle", "gdp"]
    assert [w.name for w in parse_workflows(DEFAULT)] == list(DEFAULT)
    for name in ("nonsense", "psi+nonsense", "", "+quasi"):
        with pytest.raises(DomainError, match="There are: psi, pnc, auto, gdp, individual, floors, alone or with"):
            parse_workflows([name])


def test_a_mechanism_is_for_groups_alone(spec: Spec) -> None:
    for mechanism in ("psi", "pnc", "auto"):
        made = spec_for(spec, mechanism, {})
        assert [q.mechanism for q in made.queries if not q.is_identity] == [mechanism] * 2
        assert (made.policy, [q.mu for q in made.queries]) == (spec.policy, [q.mu for q in spec.queries])


def test_gaussian_dp_hides_the_largest_establishment(spec: Spec, tmp_path: Path) -> None:
    """Against the table itself: every answer has noise of the largest value over its mu."""
    plan = make_plan(spec, str(tmp_path / "t.parquet"), workflows=["gdp"])
    table = plan.open_table()
    made = prepare_replicates(plan, table).specs["as in the spec", "gdp"]
    assert price(made).total == price(spec).total
    rows = small_table()
    rehearsed = rehearse(table, made)
    for answered in rehearsed.manifest.answered:
        for name, noise in answered.noise.items():
            largest = max(rows[name].to_pylist())
            assert noise.sigma_psi == pytest.approx(largest / float(answered.query.mu[name]), rel=1e-5)
    variances = rehearsed.answers("county")["variance"].to_pylist()
    largest = {"emp": max(rows["emp"].to_pylist()) / 0.2, "wage": max(rows["wage"].to_pylist()) / 0.1}
    assert variances == pytest.approx([largest["emp"] ** 2] * 3 + [largest["wage"] ** 2] * 3, rel=1e-5)
    draws = np.array([rehearse(table, made).answers("county")["estimate"] for _ in range(200)])
    spread = draws.std(axis=0) / np.sqrt(variances)
    assert np.all((spread > 0.75) & (spread < 1.3))  # 5 standard errors


def test_noise_for_a_largest_establishment_beyond_all_grids_is_refused_without_its_size(tmp_path: Path) -> None:
    table = small_table()
    giant = table.set_column(4, "wage", pa.array([float(CANARY), *[1.0] * (table.num_rows - 1)]))
    plan = make_plan(read_spec(write_case(tmp_path, table=giant)), str(tmp_path / "t.parquet"), attributes=["wage"])
    with pytest.raises(FaultsError, match="workflow gdp: no grid carries the noise") as raised:
        prepare_replicates(plan, plan.open_table())
    assert not sings(f"{raised.value} {raised.value.faults} {raised.value.__notes__}")


def test_attributes_may_be_left_out_at_unchanged_prices_and_bounds(spec: Spec) -> None:
    fewer = with_attributes(spec, ["wage"])
    assert list(fewer.policy.attributes) == ["wage"]
    assert [(q.name, q.mu) for q in fewer.queries] == [
        ("identity", {"wage": Decimal("0.1")}),
        ("county", {"wage": Decimal("0.1")}),
    ]
    plan = make_plan(spec, "t.parquet", attributes=["wage"])
    assert math.isclose(no_clipping_tau(40, 1, plan.zeta), no_clipping_tau(40, 2, ZETA), rel_tol=1e-3)
    assert make_plan(spec, "t.parquet").zeta == ZETA


@pytest.mark.parametrize("chosen", ["emp", "wage", "profit", "profit_gain"])
def test_what_is_about_other_attributes_is_left_out_with_them(chosen: str, tmp_path: Path) -> None:
    """Gain and loss, classes, combinations, labels and nulls: a replicate is drawn all the same."""
    spec = spec_of(
        *("split", "classes", "combinations"),
        data={"missing": {"profit": 0, "wage": 0}},
        labels={"profit": {"title": "Profit"}, "size": {"title": "Size"}, "wage": {"title": "Pay"}},
    )
    pq.write_table(table_of(), path := tmp_path / "t.parquet")
    plan = make_plan(spec, str(path), workflows=["psi"], attributes=[chosen], by=[["cnty"]])
    assert set(plan.attributes) == set(spec.policy.split_columns.get(chosen, [chosen]))
    table = plan.open_table()
    found = replicate(plan, table, prepare_replicates(plan, table), 0)
    assert set(found["attribute"].to_pylist()) == set(plan.figures) == {chosen, *plan.attributes}


@pytest.mark.parametrize("accounting", ["prices", "individual"])
def test_classes_and_combinations_cost_the_same_under_every_workflow(accounting: str) -> None:
    """To the places that prices are rounded down to."""
    spec = spec_of("classes", "combinations", accounting=accounting)
    for mechanism in USUAL_WEIGHTS:
        made = require_sound(spec_for(spec, mechanism, dict.fromkeys(spec.policy.attributes, Fraction(9999))))
        assert math.isclose(price(made).total.mu, price(spec).total.mu, rel_tol=1e-7), mechanism
        assert [query.asked for query in made.queries] == [query.asked for query in spec.queries]
    assert all(query.is_plain for query in spec_for(spec, "ezs", {}).queries)


def test_a_figure_keeps_what_its_answers_depend_on_and_the_prices_of_it() -> None:
    spec = spec_of("split", "classes", "combinations")
    others = [query for query in spec.queries if not query.is_plain]
    for figure in ("cost", "establishments", "wage"):
        plan = make_plan(spec, "t.parquet", attributes=[figure])
        assert plan.figures == (figure,)
        assert list(plan.spec.policy.attributes) == ["emp", "wage"]
        assert [query for query in plan.spec.queries if not query.is_plain] == others
    alone = make_plan(spec, "t.parquet", attributes=["profit"])
    assert all(query.is_plain for query in alone.spec.queries)


def test_baselines_are_named_where_they_do_not_answer(tmp_path: Path) -> None:
    spec = spec_of("classes", "combinations", attributes=SECTIONS["attributes"])
    pq.write_table(table_of(), path := tmp_path / "t.parquet")
    plan = make_plan(spec, str(path), workflows=["auto", "splitting", "ezs"], by=[["cnty"], ["cnty", "size"]], seed=1)
    assert plan.left_out == (
        "splitting, ezs in sizes, wages, combined, costs, as baselines answer sums by public groups alone",
    )
    table = plan.open_table()
    prepared = prepare_replicates(plan, table)
    found = replicate(plan, table, prepared, 0).to_pylist()
    sums = {(name, "county total") for name in ("emp", "wage")}
    rest = {("cost", "county total"), ("third", "county total"), (COUNT, "cnty x size")}
    for workflow, wanted in (("auto", sums | rest), ("splitting", sums), ("ezs", sums)):
        assert {(row["attribute"], row["level"]) for row in found if row["workflow"] == workflow} == wanted
    known = {(row["attribute"], row["level"], row["group"]) for row in true_groups(plan, prepared).to_pylist()}
    assert {(row["attribute"], row["level"], row["group"]) for row in found} == known


def test_tables_by_classes_that_no_constraint_keeps_in_agreement_are_named_and_left_out(tmp_path: Path) -> None:
    spec = spec_of("classes", microdata={"nonnegative": True})
    pq.write_table(table_of(), path := tmp_path / "t.parquet")
    plan = make_plan(spec, str(path), workflows=["auto"], by=[["size"], ["size", "naics2"]], seed=1)
    table = plan.open_table()
    found = replicate(plan, table, prepare_replicates(plan, table), 0)
    assert set(found["attribute"].to_pylist()) == {"emp", "wage"}  # each in one table, unlike numbers
    assert plan.left_out[0].startswith("establishments by classes, as several tables cannot agree")


def test_clipping_fails_as_rarely_as_the_spec_says(tmp_path: Path) -> None:
    zeta = ("[budget]\n", "[clipping]\nzeta = 0.2\n\n[budget]\n")
    spec = read_spec(write_case(tmp_path, SYNTHETIC, zeta))
    plan = make_plan(spec, str(tmp_path / "t.parquet"), workflows=["pnc"], attributes=["wage"])
    assert plan.zeta == Fraction(1, 10)  # of the two attributes, one is left
    table = plan.open_table()
    assert replicate(plan, table, prepare_replicates(plan, table), 0).num_rows > 0


def test_some_attributes_of_a_series_have_no_limits_in_the_terms_of_another_budget(spec: Spec) -> None:
    """A year's budget of rho = 0.02 is mu = 0.2, and never mu = 0.02."""
    in_rho = replace(spec.policy, mu=Decimal("0.1"), rho=Decimal("0.005"), year=Decimal("0.02"), series=Decimal("0.08"))
    priced = replace(spec, policy=in_rho)
    asked = tuple(replace(q, mu={}, importance=dict.fromkeys(q.mu, Decimal(1))) for q in spec.queries)
    fewer = with_attributes(replace(priced, queries=asked), ["wage"]).policy
    swept = make_plan(priced, "t.parquet", sweep="mu=0.5").spec.policy
    individual = without_prices(replace(spec, policy=replace(spec.policy, year=Decimal(2)))).policy
    assert [each.year_budget or each.series_budget for each in (fewer, swept, individual)] == [None] * 3


def test_a_sweep_is_of_the_whole_spec_even_if_attributes_are_left_out(spec: Spec) -> None:
    whole, fewer = (make_plan(spec, "t.parquet", attributes=a, sweep="mu=0.5") for a in (None, ["wage"]))
    assert fewer.spec.queries[0].mu["wage"] == whole.spec.queries[0].mu["wage"]


@pytest.mark.parametrize("sweep", [None, "query:county=0.1"])
def test_the_budget_is_for_the_whole_spec_even_if_attributes_are_left_out(spec: Spec, sweep: str | None) -> None:
    poor = replace(spec, policy=replace(spec.policy, mu=Decimal("0.2")))
    assert price(with_attributes(poor, ["wage"])).within_budget
    with pytest.raises(BudgetExceededError, match=r"cost mu = 0\.28\d* in all and the budget is 0\.2\."):
        make_plan(poor, "t.parquet", attributes=["wage"], sweep=sweep)
    make_plan(poor, "t.parquet", attributes=["wage"], sweep="mu=0.1,5")  # each is its own budget


def test_what_cannot_be_is_refused(spec: Spec) -> None:
    confidential = replace(spec, data=replace(spec.data, synthetic=False))
    with pytest.raises(Refused, match="oracle weights are made from the true values"):
        make_plan(confidential, "t.parquet", workflows=["psi", "auto+oracle"])
    with pytest.raises(Refused, match="seeded noise can be subtracted"):
        make_plan(confidential, "t.parquet", seed=1)
    with pytest.raises(FaultsError, match="2 faults"):
        make_plan(spec, "t.parquet", attributes=["nope", "emp", "neither"])


def test_a_workflow_that_some_query_cannot_have_is_refused_before_any_replicate(tmp_path: Path) -> None:
    path = write_case(tmp_path, SYNTHETIC, ('by = "establishment"', 'by = ["naics"]'))
    plan = make_plan(read_spec(path), str(tmp_path / "t.parquet"), workflows=["pnc+quasi", *DEFAULT])
    with pytest.raises(
        FaultsError, match=r"workflow pnc\+quasi, pnc: the sums of emp need the identity query"
    ) as raised:
        prepare_replicates(plan, plan.open_table())
    assert len(raised.value.faults) == 2  # each attribute once, and no lines of a file that nobody wrote
    assert "line" not in str(raised.value)
    assert raised.value.__notes__ == ["Or compare those that work: --workflow psi --workflow auto --workflow gdp"]
    plan = make_plan(read_spec(path), str(tmp_path / "t.parquet"), workflows=["pnc"])
    with pytest.raises(FaultsError, match="workflow pnc: the sums of wage") as raised:
        prepare_replicates(plan, plan.open_table())
    assert not hasattr(raised.value, "__notes__")


def test_the_workflows_that_work_without_establishments_do(tmp_path: Path) -> None:
    path = write_case(tmp_path, SYNTHETIC, ('by = "establishment"', 'by = ["naics"]'))
    plan = make_plan(read_spec(path), str(tmp_path / "t.parquet"), workflows=["psi", "auto", "gdp"])
    table = plan.open_table()
    assert replicate(plan, table, prepare_replicates(plan, table), 0).num_rows > 0


def test_where_none_is_named_those_that_can_answer_the_spec_are_compared(tmp_path: Path) -> None:
    path = write_case(tmp_path, SYNTHETIC, ('by = "establishment"', 'by = ["naics"]'))
    plan = make_plan(read_spec(path), str(tmp_path / "t.parquet"))
    assert [workflow.name for workflow in plan.workflows] == ["psi", "auto", "gdp"]
    problem = "the sums of emp need the identity query for emp, and there is none"
    assert plan.left_out == (f"pnc, as it cannot answer this spec: {problem}",)
    signed = write_case(tmp_path, SYNTHETIC, ("gamma = 0.5 }", "gamma = 0.5, signed = true }"), ('"psi"', '"auto"'))
    plan = make_plan(read_spec(signed), str(tmp_path / "t.parquet"))
    assert [workflow.name for workflow in plan.workflows] == ["pnc", "auto"]
    table = plan.open_table()
    assert replicate(plan, table, prepare_replicates(plan, table), 0).num_rows > 0


@pytest.mark.parametrize("workflow", ["psi", "gdp", "log-laplace", "ezs", "smooth-gamma"])
def test_a_workflow_that_protects_single_records_is_rejected_where_units_are_protected(
    tmp_path: Path, workflow: str
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table_of(60, firm=np.arange(60) // 3), path)
    data = {"public": ["cnty", "naics", "firm"]}
    units = spec_of(accounting="individual", data=data, protect={"unit": "firm"})
    plan = make_plan(units, str(path), workflows=["individual", workflow], seed=1)
    with pytest.raises(FaultsError, match=f"workflow {workflow}: every query has a mu, which a unit of n records"):
        prepare_replicates(plan, plan.open_table())
