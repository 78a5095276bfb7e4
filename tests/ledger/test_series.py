"""One ledger for the tables of a series: what is spent on a period and on any year, and nothing twice."""

import csv
import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError, Refused
from gedp.ledger import EMPTY, DecidedBy, InSeries, KnownBy, Ledger, LessPromisedError, Request, Reservation
from gedp.ledger.contents import PLACES, TableContent
from gedp.ledger.export import csv_text, json_lines
from gedp.ledger.judging import judge
from gedp.ledger.statement import for_next, statement, statement_csv
from gedp.periods import Period
from gedp.policy import Attribute, Closeness
from tests.helpers.ledger_processes import keep_releasing_periods, race_in_a_year
from tests.helpers.ledgers import EMP, MANIFEST, SPEC, bodies, price_list, spend

YEAR = "1.5"
pytestmark = pytest.mark.usefixtures("no_disk_waits")


def asked(
    period: str,
    mu: str = "0.7",
    *,
    budget: str = "1",
    year: str | None = YEAR,
    series: str | None = None,
    attribute: Attribute = EMP,
) -> Request:
    terms = (None if number is None else PrivacyLoss.of(number) for number in (year, series))
    return Request(price_list(budget, mu), {"emp": attribute}, series=InSeries(Period.of(period), *terms))


def release(ledger: Ledger, request: Request, name: str | None = None, **options: Any) -> Reservation:
    """Releases a file that is called after the period, made if there is none."""
    assert request.series is not None
    file = ledger.path.with_name(name or f"{request.series.period}.csv")
    if not file.exists():
        file.write_text(f"the table in {file.name}")
    reserved = ledger.prepare(request, KnownBy([file]), spec_digest=SPEC, **options).reserve()
    ledger.commit(reserved.release_id, MANIFEST)
    return reserved


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "series.ledger")


def unchanged(ledger: Ledger) -> Callable[[], bool]:
    before = hashlib.sha256(ledger.path.read_bytes()).digest()
    return lambda: hashlib.sha256(ledger.path.read_bytes()).digest() == before


def test_four_quarters_are_stated_exactly(ledger: Ledger) -> None:
    mus = {"2016Q1": "0.7", "2016Q2": "0.6", "2016Q3": "0.5", "2016Q4": "0.4", "2017Q1": "0.1"}
    for period, mu in mus.items():
        release(ledger, asked(period, mu))
    lines = {(stated.what, stated.span.name): stated for stated in statement(ledger.state())}
    squares = {key: stated.span.loss.mu_squared for key, stated in lines.items()}
    assert squares == {
        **{("period", period): Fraction(mu) ** 2 for period, mu in mus.items()},
        ("year", "2016Q1 to 2016Q4"): Fraction(126, 100),
        ("year", "2016Q2 to 2017Q1"): Fraction(78, 100),
        ("all", "2016Q1 to 2017Q1"): Fraction(127, 100),
    }
    left = lines["year", "2016Q1 to 2016Q4"].left
    assert left == PrivacyLoss(Fraction(225 - 126, 100))
    rows = list(csv.DictReader(io.StringIO(statement_csv(ledger.state()))))
    assert [row["mu_squared"] for row in rows if row["what"] == "year"] == ["63/50", "39/50"]


def test_a_budget_of_a_year_may_be_used_up_and_not_exceeded(ledger: Ledger) -> None:
    for period, mu in {"2016Q1": "0.9", "2016Q2": "0.8", "2016Q3": "0.8"}.items():
        release(ledger, asked(period, mu))
    same = unchanged(ledger)
    with pytest.raises(BudgetExceededError, match=r"on the year 2016Q1 to 2016Q4 .* The budget is 1\.5, so mu = 0\.4"):
        release(ledger, asked("2016Q4", "0.41"))
    assert same()
    coming = for_next(ledger.state())
    assert coming is not None
    assert (str(coming[0].period), coming[1].left()) == ("2016Q4", PrivacyLoss.of("0.4"))
    assert release(ledger, asked("2016Q4", "0.4")).remaining == PrivacyLoss.of(0)  # 0.81 + 0.64 + 0.64 + 0.16 = 2.25
    release(ledger, asked("2017Q1", "0.9"))  # the year from 2016Q2 on has as much left as 2016Q1 had spent
    with pytest.raises(BudgetExceededError, match="2016Q2 to 2017Q1"):
        release(ledger, asked("2017Q1", "0.01"))


def test_a_year_is_any_four_consecutive_quarters_not_a_calendar_year(ledger: Ledger) -> None:
    release(ledger, asked("2016Q3", "0.9"))
    release(ledger, asked("2016Q4", "1"))
    with pytest.raises(BudgetExceededError, match="2016Q2 to 2017Q1"):
        release(ledger, asked("2017Q1", "0.7"))
    with pytest.raises(BudgetExceededError, match="2016Q1 to 2016Q4"):  # nor by going back
        release(ledger, asked("2016Q1", "0.7"))
    release(ledger, asked("2017Q4", "0.7"))


def test_a_period_has_a_budget_of_its_own_and_a_corrected_table_counts_again(ledger: Ledger) -> None:
    release(ledger, asked("2016Q1"))
    ledger.path.with_name("2016Q1.csv").write_text("the corrected table")
    release(ledger, asked("2016Q1"))
    release(ledger, asked("2016Q2"))
    series = ledger.state().series
    assert series is not None
    assert [span.loss.mu_squared for span in series.periods] == [Fraction(98, 100), Fraction(49, 100)]
    with pytest.raises(BudgetExceededError, match="spent on 2016Q1 and"):
        release(ledger, asked("2016Q1", "0.3"))
    with pytest.raises(BudgetExceededError, match="2016Q1 and"):  # another file for it is no other budget
        release(ledger, asked("2016Q1", "0.3"), "another.csv")


def test_a_budget_over_all_periods_ends_the_series(ledger: Ledger) -> None:
    for year in range(2016, 2020):
        release(ledger, asked(f"{year}", "1", year=None, series="2"))
    same = unchanged(ledger)
    with pytest.raises(BudgetExceededError, match="spent on all periods"):
        release(ledger, asked("2020", "0.1", year=None, series="2"))
    assert same()


@given(data=st.data())
def test_a_release_is_judged_as_by_counting_every_run(data: st.DataObject) -> None:
    """Whatever the order of releases: allowed exactly if its period and every run of a year that has it are within."""
    per_year = data.draw(st.sampled_from([4, 12]))
    mus = st.integers(1, 10)
    spent: list[tuple[int, int]] = []
    state = EMPTY
    year, budget = data.draw(st.integers(10, 30)), data.draw(st.integers(5, 10))
    for number in data.draw(st.lists(st.integers(24_000, 24_000 + 2 * per_year), min_size=1, max_size=8)):
        mu = data.draw(mus)
        period = Period(per_year, number)
        runs = [
            sum(m * m for n, m in spent if start <= n < start + per_year)
            for start in range(number - per_year + 1, number + 1)
        ]
        own = sum(m * m for n, m in spent if n == number)
        allowed = own + mu * mu <= budget * budget and max(runs) + mu * mu <= year * year
        request = Request(price_list(str(budget), str(mu)), {"emp": EMP}, series=InSeries(period, PrivacyLoss.of(year)))
        try:
            judge(request, state, None)
        except BudgetExceededError:
            assert not allowed
            continue
        assert allowed
        spent.append((number, mu))
        state = state_with(spent, per_year, budget, year)


def state_with(spent: list[tuple[int, int]], per_year: int, budget: int, year: int) -> Any:
    """A ledger's state after these releases, without a file."""
    from gedp.ledger.entries import Reserve
    from gedp.ledger.state import LedgerState, RecordedRelease

    releases = []
    for place, (number, mu) in enumerate(spent):
        terms = InSeries(Period(per_year, number), PrivacyLoss.of(year))
        prices = price_list(str(budget), str(mu)).lines
        reserve = Reserve(f"{place:032x}", "0" * 64, SPEC, {"emp": EMP}, prices, PrivacyLoss.of(budget), series=terms)
        releases.append(RecordedRelease(place + 1, "", "", reserve, "finished"))
    total = PrivacyLoss(Fraction(sum(mu * mu for _, mu in spent)))
    return LedgerState(EMPTY.verification, tuple(releases), total)


# One table, one period.


def test_a_table_is_of_one_period_under_every_name(ledger: Ledger) -> None:
    release(ledger, asked("2016Q1"))
    folder = ledger.path.parent
    first = folder / "2016Q1.csv"
    (folder / "copy.csv").write_bytes(first.read_bytes())
    (folder / "link.csv").symlink_to(first)
    os.link(first, folder / "hard.csv")
    for name in ("2016Q1.csv", "copy.csv", "link.csv", "hard.csv"):
        same = unchanged(ledger)
        with pytest.raises(Refused, match="was released as 2016Q1, and would now count as 2016Q2"):
            release(ledger, asked("2016Q2"), name)
        with pytest.raises(Refused, match="was released as 2016Q1"):
            ledger.require_possible(asked("2016Q2"), KnownBy([folder / name]))
        assert same()
    first.rename(folder / "renamed.csv")
    with pytest.raises(Refused, match="was released as 2016Q1"):
        release(ledger, asked("2016Q2"), "renamed.csv")


def test_another_content_under_the_same_path_is_of_the_same_period(ledger: Ledger) -> None:
    release(ledger, asked("2016Q1"))
    file = ledger.path.with_name("2016Q1.csv")
    os.link(file, ledger.path.with_name("hard.csv"))
    with file.open("a") as text:
        text.write("one more row")
    for name in ("2016Q1.csv", "hard.csv"):  # edited in place: neither the bytes nor, for the link, the path is known
        with pytest.raises(Refused, match="was released as 2016Q1"):
            release(ledger, asked("2016Q2"), name)


def test_a_table_of_a_database_is_of_one_period(ledger: Ledger) -> None:
    ledger.prepare(asked("2016Q1"), KnownBy(tables=["postgresql:db.public.register"]), spec_digest=SPEC).reserve()
    with pytest.raises(Refused, match="was released as 2016Q1"):
        ledger.prepare(asked("2016Q2"), KnownBy(tables=["postgresql:db.public.register"]), spec_digest=SPEC).reserve()
    ledger.prepare(asked("2016Q2"), KnownBy(tables=["postgresql:db.public.register_q2"]), spec_digest=SPEC).reserve()


def test_a_table_in_memory_is_of_one_period_and_one_that_cannot_be_known_is_refused(ledger: Ledger) -> None:
    one, other = (TableContent(3, name, {"emp": name}, [None] * PLACES, has_ids=True) for name in (b"1", b"2"))
    ledger.prepare(asked("2016Q1"), KnownBy(content=lambda: one), spec_digest=SPEC).reserve()
    with pytest.raises(Refused, match="a table with these rows was released as 2016Q1"):
        ledger.prepare(asked("2016Q2"), KnownBy(content=lambda: one), spec_digest=SPEC).reserve()
    ledger.prepare(asked("2016Q2"), KnownBy(content=lambda: other), spec_digest=SPEC).reserve()
    with pytest.raises(Refused, match="nothing tells the table of 2016Q3"):
        ledger.prepare(asked("2016Q3"), spec_digest=SPEC).reserve()


def test_with_and_without_periods_do_not_mix(ledger: Ledger, tmp_path: Path) -> None:
    release(ledger, asked("2016Q1"))
    with pytest.raises(Refused, match=r"holds a series .* Give --period"):
        spend(ledger, "1", "0.1")
    with pytest.raises(Refused, match=r"a series of quarters .* 2016-04 is a month"):
        release(ledger, asked("2016-04"))
    plain = Ledger.open(tmp_path / "plain.ledger")
    spend(plain, "1", "0.1")
    with pytest.raises(Refused, match="holds releases without a period"):
        release(plain, asked("2016Q1"), "x.csv")


# Promising less than before.


def test_a_budget_of_a_year_is_raised_or_removed_by_a_decision_alone(ledger: Ledger) -> None:
    release(ledger, asked("2016Q1", series="3"))
    for less, what in (
        ({"year": "1.6", "series": "3"}, r"budget of a year raised from mu = 1\.5 to mu = 1\.6"),
        ({"year": None, "series": "3"}, r"budget of a year removed, which was mu = 1\.5"),
        ({"series": "4"}, "budget of all periods raised"),
        ({"series": None}, "budget of all periods removed"),
        ({"budget": "1.1", "series": "3"}, "budget raised from mu = 1 to"),
    ):
        request = asked("2016Q2", **less)
        with pytest.raises(LessPromisedError, match=what):
            release(ledger, request)
    release(ledger, asked("2016Q2", year="1.6", series="3"), decided_by=DecidedBy("the registrar", "memo 12"))
    assert "budget of a year raised" in ledger.promise().statement


def test_intervals_are_narrowed_for_no_period_in_silence(ledger: Ledger) -> None:
    release(ledger, asked("2016Q1"))
    narrower = Attribute("emp", Closeness("sqrt", Decimal("0.4")))
    with pytest.raises(LessPromisedError, match="intervals narrowed"):
        release(ledger, asked("2016Q2", attribute=narrower))


def test_nulls_may_count_otherwise_in_another_period(ledger: Ledger) -> None:
    release(ledger, replace(asked("2016Q1", "0.3"), missing={"emp": Decimal(0)}))
    release(ledger, replace(asked("2016Q2", "0.3"), missing={"emp": Decimal(1)}))
    with pytest.raises(LessPromisedError, match="a null counted as 0 and would count as 1"):
        release(ledger, replace(asked("2016Q1", "0.3"), missing={"emp": Decimal(1)}))


def test_what_somebody_adds_counts_for_every_period_and_every_year(ledger: Ledger) -> None:
    release(ledger, asked("2016Q1"))
    ledger.decide("back to Monday's copy", add=PrivacyLoss.of("0.6"))
    series = ledger.state().series
    assert series is not None
    assert series.in_every == PrivacyLoss.of("0.6")
    with pytest.raises(BudgetExceededError, match=r"mu = 0\.6 is spent on 2030Q1"):
        release(ledger, asked("2030Q1", "0.9"))
    release(ledger, asked("2030Q1", "0.8"))


def test_what_was_given_up_before_noise_is_of_no_period(ledger: Ledger) -> None:
    file = ledger.path.with_name("q.csv")
    file.write_text("the table")
    reserved = ledger.prepare(asked("2016Q1"), KnownBy([file]), spec_digest=SPEC).reserve()
    ledger.abandon(reserved.release_id, "the wrong period", before_noise=True)
    assert ledger.state().series is None
    release(ledger, asked("2016Q2"), "q.csv")


# What is written.


def test_entries_have_a_period_only_in_a_series(ledger: Ledger, tmp_path: Path) -> None:
    release(ledger, asked("2016Q1"))
    assert bodies(ledger.path)[0]["series"] == {"period": "2016Q1", "year_budget": "9/4"}
    other = Ledger.open(tmp_path / "other.ledger")
    spend(other, "1", "0.1")
    assert "series" not in bodies(other.path)[0]


def test_exports_have_the_period(ledger: Ledger) -> None:
    release(ledger, replace(asked("2016Q1"), missing={"emp": Decimal(0)}))
    entries = ledger.verify().entries
    row = next(csv.DictReader(io.StringIO(csv_text(entries))))
    assert (row["period"], row["year_budget"], row["series_budget"]) == ("2016Q1", "9/4", "")
    assert row["missing"] == '{"emp": "0"}'
    assert '"period": "2016Q1"' in json_lines(entries)


# Several processes.


def test_of_two_processes_that_race_for_the_last_of_a_year_exactly_one_wins(tmp_path: Path, processes: Any) -> None:
    ledgers = [tmp_path / f"{number}" / "series.ledger" for number in range(10)]
    for path in ledgers:
        path.parent.mkdir()
        for name in ("2016Q1", "2016Q2", "2016Q3"):
            path.with_name(f"{name}.csv").write_text(name)
        release(Ledger.open(path), asked("2016Q1", "1"))  # 1 of 2.25: one more of 0.8² is left, and not two
    barrier = processes.Barrier(2)
    pipes = [processes.Pipe(duplex=False) for _ in range(2)]
    racers = [
        processes.Process(target=race_in_a_year, args=(ledgers, period, barrier, send))
        for period, (_, send) in zip(("2016Q2", "2016Q3"), pipes, strict=True)
    ]
    for racer, (_, send) in zip(racers, pipes, strict=True):
        racer.start()
        send.close()
    answers = [[receive.recv() for _ in ledgers] for receive, _ in pipes]
    for racer in racers:
        racer.join(30)
        assert racer.exitcode == 0
    for path, one, other in zip(ledgers, *answers, strict=True):
        assert one != other, "exactly one wins"
        state = Ledger.open(path, create=False).state()
        assert state.verification.ok
        assert state.total == PrivacyLoss(Fraction(181, 100))


def test_a_killed_process_counts_in_its_period_and_its_year(tmp_path: Path, processes: Any) -> None:
    path = tmp_path / "series.ledger"
    Ledger.open(path)
    receive, send = processes.Pipe(duplex=False)
    child = processes.Process(target=keep_releasing_periods, args=(path, send))
    child.start()
    send.close()
    told = [receive.recv() for _ in range(4)]
    child.kill()
    child.join(30)
    state = Ledger.open(path, create=False).state()
    assert state.verification.ok
    assert state.releases[-1].outcome == "reserved", "killed between reserve and commit"
    series = state.series
    assert series is not None
    assert [str(period) for period in series.of_period][:4] == told
    assert series.of([Period.of(told[-1])]) == PrivacyLoss.of("0.5")
    assert series.years[0].loss == PrivacyLoss.of(1)
    with pytest.raises(BudgetExceededError, match=f"on {told[-1]} and"):
        release(Ledger.open(path), asked(told[-1], "0.9", year="10"))
