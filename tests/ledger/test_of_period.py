"""Columns that hold values of other periods: what the ledger counts for every period, every year and all of them."""

import csv
import io
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gedp
from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.series import Charge
from gedp.errors import BudgetExceededError, DomainError
from gedp.ledger import EMPTY, InSeries, KnownBy, Ledger, LessPromisedError, Request, Reservation
from gedp.ledger.entries import Entry, Reserve, entry_text, read_entry, recorded
from gedp.ledger.export import csv_text
from gedp.ledger.judging import judge
from gedp.ledger.state import LedgerState, RecordedRelease
from gedp.ledger.statement import statement
from gedp.periods import Period
from gedp.policy import COUNT, pools, set_aside
from tests.helpers.builder import JOBS, without_price
from tests.helpers.ledgers import EMP, MANIFEST, SPEC, bodies, price_list, rewrite_all

pytestmark = pytest.mark.usefixtures("no_disk_waits")


def jobs(period: str, of_period: Any = None, *, mu: str = "1", **terms: Any) -> gedp.Spec:
    """The table of a quarter with one column, which may hold the jobs of another."""
    held = {} if of_period is None else {"of_period": of_period}
    return gedp.make_spec(
        data={"public": ["cnty"], "period": period},
        attributes={"emp": {**JOBS["emp"], **held}},
        budget={"mu": 2, **terms},
        queries=[{"name": "county", "by": ["cnty"], "mu": Decimal(mu)}],
    )


def release(ledger: Ledger, spec: gedp.Spec, name: str | None = None, **more: Any) -> Reservation:
    """Releases a file that is called after the period."""
    file = ledger.path.with_name(name or f"{spec.data.period}.csv")
    file.write_text(f"the table in {file.name}")
    reserved = ledger.prepare(Request.of(spec), KnownBy([file]), spec_digest=SPEC, **more).reserve()
    ledger.commit(reserved.release_id, MANIFEST)
    return reserved


def squares(state: LedgerState) -> dict[tuple[str, str], Fraction]:
    return {(stated.what, stated.span.name): stated.span.loss.mu_squared for stated in statement(state)}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "series.ledger")


def test_jobs_that_are_released_again_with_the_next_quarter_count_again(ledger: Ledger) -> None:
    """The jobs of 2016Q1 in two tables, each at mu = 1, can be told from others as by mu = 1.41."""
    release(ledger, jobs("2016Q1"))
    release(ledger, jobs("2016Q2", -1))
    assert squares(ledger.state()) == {
        ("period", "2016Q1"): 2,
        ("period", "2016Q2"): 0,
        ("year", "2016Q1 to 2016Q4"): 2,
        ("all", "2016Q1 to 2016Q2"): 2,
    }
    series = ledger.state().series
    assert series is not None
    assert "μ = 1.4143, spent on 2016Q1)" in series.sentences[0]


def test_the_budget_of_the_earlier_quarter_refuses_its_values_in_a_later_table(ledger: Ledger) -> None:
    for period in ("2016Q1", "2016Q2"):
        release(ledger, jobs(period, mu="1.5"))
    with pytest.raises(BudgetExceededError, match=r"mu = 1\.5 is spent on 2016Q1 and the release asks for mu = 1\.4"):
        release(ledger, jobs("2016Q2", -1, mu="1.4"), "another.csv")
    release(ledger, jobs("2016Q2", -1, mu="1.3"), "another.csv")  # 2.25 + 1.69 = 3.94 of 4
    assert squares(ledger.state())["period", "2016Q2"] == Fraction(9, 4), "its own budget is as it was"


def test_a_column_of_several_quarters_counts_in_each_and_once_for_them_together(ledger: Ledger) -> None:
    release(ledger, jobs("2016Q1"))
    reserved = release(ledger, jobs("2016Q2", [0, -1]))
    assert squares(ledger.state()) == {
        ("period", "2016Q1"): 2,
        ("period", "2016Q2"): 1,
        ("year", "2016Q1 to 2016Q4"): 2,
        ("all", "2016Q1 to 2016Q2"): 2,
    }
    assert reserved.remaining.mu_squared == 4 - 2, "the least that it leaves of any budget: that of 2016Q1"


def test_a_year_of_which_only_a_lagged_column_is_has_its_budget(ledger: Ledger) -> None:
    """The values of 2016Q4 are in a table of 2017Q4, and no year has both quarters."""
    for quarter in (1, 2, 3, 4):
        release(ledger, jobs(f"2016Q{quarter}", year=2))
    with pytest.raises(BudgetExceededError, match=r"on the year 2016Q1 to 2016Q4 and the release asks for mu = 0\.5"):
        release(ledger, jobs("2017Q4", -4, mu="0.5", year=2))
    release(ledger, jobs("2017Q4", mu="0.5", year=2))


def test_the_budget_of_all_periods_counts_every_answer_once(ledger: Ledger) -> None:
    release(ledger, jobs("2016Q1", series=2))
    release(ledger, jobs("2016Q2", [0, -1], series=2))
    release(ledger, jobs("2016Q3", [-1, -2], series=2))
    with pytest.raises(BudgetExceededError, match="spent on all periods"):
        release(ledger, jobs("2016Q4", mu="1.1", series=2))
    release(ledger, jobs("2016Q4", series=2))


def test_nulls_that_count_otherwise_in_a_column_of_the_same_quarter_need_a_decision(ledger: Ledger) -> None:
    def with_nulls(spec: gedp.Spec, number: int) -> Request:
        return Request(
            Request.of(spec).prices,
            spec.policy.attributes,
            missing={"emp": Decimal(number)},
            series=Request.of(spec).series,
        )

    ledger.prepare(with_nulls(jobs("2016Q1"), 0), KnownBy(tables=["a"]), spec_digest=SPEC).reserve()
    ledger.prepare(with_nulls(jobs("2016Q2"), 1), KnownBy(tables=["b"]), spec_digest=SPEC).reserve()
    with pytest.raises(LessPromisedError, match="a null counted as 0 and would count as 1"):
        ledger.prepare(with_nulls(jobs("2016Q3", -2), 1), KnownBy(tables=["c"]), spec_digest=SPEC).reserve()


# Any series of releases, against a count of all answers.

HELD = st.one_of(st.none(), st.integers(-5, 0), st.lists(st.integers(-5, 0), min_size=1, max_size=3, unique=True))
MUS = st.integers(1, 9).map(lambda tenths: Decimal(tenths) / 10)
ATTRIBUTES = ("a", "b", "c")
FIRST = Period.of("2016Q1")


@st.composite
def specs(draw: st.DrawFn) -> gedp.Spec:
    """A table of any quarter of two years, with sums, classes and a combination of columns that hold any quarters."""
    held = {name: draw(HELD) for name in ATTRIBUTES}
    asked = draw(st.lists(st.sampled_from(["classes", "combination"]), unique=True))
    queries: list[dict[str, Any]] = [
        {"name": "units", "by": "establishment", "mu": {name: draw(MUS) for name in ATTRIBUTES}},
        {"name": "county", "by": ["cnty"], "mu": {draw(st.sampled_from(ATTRIBUTES)): draw(MUS)}},
    ]
    if "classes" in asked:
        prices = {"establishments": draw(MUS), "b": draw(MUS)}
        queries.append({"name": "sizes", "by": ["cnty", "size"], "count": True, "mu": prices})
    if "combination" in asked:
        queries.append({"name": "combined", "by": ["cnty"], "mu": {"sum": draw(MUS), "gap": draw(MUS)}})
    if draw(st.booleans()):
        queries = [without_price(query) for query in queries]
    period = FIRST.moved(draw(st.integers(0, 7)))
    return gedp.make_spec(
        data={"public": ["cnty"], "period": str(period)},
        attributes={
            name: {"psi": "sqrt", "gamma": 1, **({} if of_period is None else {"of_period": of_period})}
            for name, of_period in held.items()
        },
        classes={"size": {"attribute": "a", "edges": [0, 5]}},
        combinations={"sum": "a + b", "gap": "b - c"},
        budget={"mu": 3, "year": 3.5, "series": 6},
        queries=queries,
    )


def answers(spec: gedp.Spec) -> Iterable[tuple[set[str], Fraction]]:
    """Every answer, or what is set aside for it, with the columns that it is computed from."""
    parts = {"sum": {"a", "b"}, "gap": {"b", "c"}}
    if spec.is_individual:
        yield from (({name}, pool.mu_squared) for name, pool in pools(spec).items())
    for query in spec.queries:
        by_class = {"b": {"a", "b"}, "a": {"a"}, COUNT: {"a"}} if query.classes else {}
        columns = {name: by_class.get(name) or parts.get(name) or {name} for name in query.asked}
        yield from ((columns[name], Fraction(mu) ** 2) for name, mu in query.mu.items())
        for name, by_attribute in set_aside(query, spec).items() if spec.is_individual else ():
            yield from ((columns[name], part.mu_squared) for part in by_attribute.values())


Answers = list[tuple[set[int], Fraction]]


def computed_from(spec: gedp.Spec) -> Answers:
    """Every answer of a release, with the numbers of the quarters whose values it is computed from."""
    own = spec.data.period
    assert own is not None
    held: dict[str, set[int]] = {}
    for name, attribute in spec.policy.attributes.items():
        back = [each for each in attribute.of_period if isinstance(each, int)] or [0]
        held[name] = {own.number + each for each in back}
    return [(set().union(*(held[name] for name in columns)), square) for columns, square in answers(spec)]


def counted(released: Answers, window: range) -> Fraction:
    """What is spent on a run of quarters: every answer once that is computed from a value of any of them."""
    return sum((square for quarters, square in released if not quarters.isdisjoint(window)), Fraction(0))


def with_release(state: LedgerState, request: Request) -> LedgerState:
    """The state of a ledger after one more release, without a file; its entry is written and read again."""
    reserve = Reserve(
        f"{len(state.releases):032x}",
        "0" * 64,
        SPEC,
        {name: recorded(attribute) for name, attribute in request.priced.items()},
        request.lines,
        request.prices.budget,
        series=request.series,
    )
    read = read_entry(entry_text(Entry(1, "0" * 64, "", "", reserve, reserve.loss))).event
    assert isinstance(read, Reserve)
    released = RecordedRelease(len(state.releases) + 1, "", "", read, "finished")
    return LedgerState(EMPTY.verification, (*state.releases, released), state.total + read.loss)


@settings(max_examples=60)
@given(st.lists(specs(), min_size=1, max_size=5))
def test_every_window_costs_exactly_the_answers_that_depend_on_its_values(asked: list[gedp.Spec]) -> None:
    """And a release is allowed exactly if every quarter, every year and all quarters stay within their budgets."""
    state, made = EMPTY, Answers()
    starts = range(FIRST.number - 12, FIRST.number + 12)
    runs = {length: [range(start, start + length) for start in starts] for length in (1, 4)}
    for spec in asked:
        new = computed_from(spec)
        after = made + new
        own = [window for window in runs[1] if counted(new, window)]
        years = [window for window in runs[4] if counted(new, window)]
        allowed = (
            all(counted(after, window) <= 9 for window in own)
            and all(counted(after, window) <= Fraction(49, 4) for window in years)
            and counted(after, range(10**6)) <= 36
        )
        request = Request.of(spec)
        try:
            judge(request, state, None)
        except BudgetExceededError:
            assert not allowed
            continue
        assert allowed
        state, made = with_release(state, request), after
        series = state.series
        assert series is not None
        for window in (*runs[1], *runs[4], *(range(start, start + 7) for start in starts)):
            assert series.of(Period(4, number) for number in window).mu_squared == counted(made, window)
        for stated in statement(state):
            window = range(stated.span.first.number, stated.span.last.number + 1)
            assert stated.span.loss.mu_squared == counted(made, window)
        worst = max(counted(made, window) for window in runs[4])
        assert max(s.span.loss.mu_squared for s in statement(state) if s.what == "year") == worst


# What is written.


def test_an_entry_says_what_counts_for_which_quarters(ledger: Ledger) -> None:
    release(ledger, jobs("2016Q1"))
    release(ledger, jobs("2016Q2", [0, -1]))
    release(ledger, jobs("2016Q3", 0))
    first, _, second, _, third, _ = bodies(ledger.path)
    assert first["series"] == {"period": "2016Q1"}
    charged = [{"periods": ["2016Q1", "2016Q2"], "mu_squared": "1/1"}]
    assert second["series"] == {"period": "2016Q2", "charged": charged}
    assert third["series"] == {"period": "2016Q3"}, "as without the key"
    assert ledger.verify().ok
    rows = [row for row in csv.DictReader(io.StringIO(csv_text(ledger.verify().entries))) if row["kind"] == "reserve"]
    assert [row["charged"] != "" for row in rows] == [False, True, False]


def test_a_release_without_such_columns_counts_for_the_period_of_its_table() -> None:
    loss = PrivacyLoss(Fraction(49, 100))
    assert InSeries(FIRST, PrivacyLoss(Fraction(9, 4))).charges(loss) == (Charge((FIRST,), loss),)


def test_a_ledger_of_quarters_without_such_columns_can_be_continued_with_one(ledger: Ledger) -> None:
    release(ledger, jobs("2016Q1"))
    release(ledger, jobs("2016Q2", -1))
    release(ledger, jobs("2016Q3"))
    assert squares(ledger.state())["period", "2016Q1"] == 2
    assert squares(ledger.state())["all", "2016Q1 to 2016Q3"] == 3


@pytest.mark.parametrize(
    "charged",
    [
        [{"periods": ["2016Q1"], "mu_squared": "1/2"}],  # not the price
        [{"periods": [], "mu_squared": "1/1"}],
        [{"periods": ["2016Q2", "2016Q1"], "mu_squared": "1/1"}],
        [{"periods": ["2016-01"], "mu_squared": "1/1"}],
        [{"periods": ["2016q1"], "mu_squared": "1/1"}],
        [{"periods": ["2016Q1"], "mu_squared": "1/1", "why": "because"}],
        [],
    ],
)
def test_an_entry_whose_charges_are_not_its_price_is_broken(ledger: Ledger, charged: list[Any]) -> None:
    release(ledger, jobs("2016Q2", -1))
    contents = bodies(ledger.path)
    contents[0]["series"]["charged"] = charged
    rewrite_all(ledger.path, contents, head_too=True)
    assert not ledger.verify().ok


def test_what_is_charged_must_be_the_price_and_be_worked_out(ledger: Ledger) -> None:
    charge = Charge((FIRST,), PrivacyLoss.of("0.5"))
    with pytest.raises(DomainError, match="what is charged to periods is not the price"):
        Request(price_list("1", "0.7"), {"emp": EMP}, series=InSeries(FIRST, charged=(charge,)))
    with pytest.raises(DomainError, match="nothing says for which periods"):
        Request.of(jobs("2016Q1"), prices=price_list("1", "0.7"))
