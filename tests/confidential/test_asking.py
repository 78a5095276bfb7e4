"""A query of one's own: what is stated is tried first, the price comes before the table, and nothing else gets out."""

import json
import math
import traceback
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import gedp
from gedp.confidential.asking import OwnQuery, QueryFailedError, _moved_too_far
from gedp.ledger import LedgerLockedError
from tests.helpers.canaries import CANARY, sings
from tests.helpers.runs import gedp as command

Columns = Mapping[str, Any]
EDGES = [1, 10, 100, 1000, 10**9]
SECTIONS: dict[str, Any] = {
    "attributes": {"jobs": {"psi": "sqrt", "gamma": 0.5}, "pay": {"psi": "log", "gamma": 0.1, "unit": 0.01}},
    "budget": {"mu": 1},
    "queries": [{"name": "county", "by": ["county"], "mu": 0.5}],
}
ROOT_2 = math.sqrt(2)


def spec_of(*, synthetic: bool = False, **sections: Any) -> gedp.Spec:
    return gedp.make_spec(data={"public": ["county"], "synthetic": synthetic}, **{**SECTIONS, **sections})


def rows(n: int = 60) -> pa.Table:
    jobs = [1 + 7 * i % 900 for i in range(n)]
    return pa.table({"county": ["003", "001"] * (n // 2), "jobs": jobs, "pay": [100.25 + i for i in range(n)]})


def by_size(columns: Columns) -> Any:
    return np.histogram(columns["jobs"], EDGES)[0]


class Asked:
    """Asks about the same data, with the same ledger."""

    def __init__(self, folder: Path, spec: gedp.Spec | None = None, table: pa.Table | None = None) -> None:
        self.folder, self.spec = folder, spec or spec_of()
        self.table = rows() if table is None else table
        self.ledger = gedp.Ledger.open(folder / "x.ledger")
        self.count = 0

    def __call__(self, query: Callable[[Columns], Any] = by_size, **options: Any) -> gedp.Answer:
        self.count += 1
        given = {"name": "size", "attributes": ["jobs"], "mu": 0.5, "sensitivity": ROOT_2, "largest": 1e7, **options}
        out = self.folder / f"answer {self.count}.json"
        return gedp.ask(self.spec, query, table=self.table, **{"out": out, "ledger": self.ledger.path, **given})

    @property
    def spent(self) -> Fraction:
        return self.ledger.total().mu_squared


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


def test_an_answer_is_priced_recorded_sealed_and_read_again(asked: Asked) -> None:
    answer = asked(labels=["1 to 9", "10 to 99", "100 to 999", "1,000 or more"])
    path = asked.folder / "answer 1.json"
    assert gedp.read_answer(path) == answer
    assert asked.spent == answer.loss.mu_squared == Fraction(1, 4)
    (release,) = asked.ledger.state().releases
    assert (release.outcome, release.reserve.release) == ("finished", answer.release)
    assert "sensitivity 1.4142135623730951 as stated" in release.reserve.note
    assert answer.table()["label"][0] == "1 to 9"
    assert answer.std_error == pytest.approx(ROOT_2 / 0.5, rel=1e-3)
    said = command("ledger", "verify", str(asked.ledger.path), "--release", str(path), folder=asked.folder)
    assert "is the one that was sealed" in said.out
    path.write_text(path.read_text().replace('"query": "size"', '"query": "sise"'))
    assert command("ledger", "verify", "x.ledger", "--release", str(path), folder=asked.folder).code == 1
    assert "size" in command("ledger", "show", "x.ledger", folder=asked.folder).out


def test_several_attributes_cost_once_and_all_enter_the_promise(asked: Asked) -> None:
    asked(lambda c: float((c["jobs"] * c["pay"] > 1e5).sum()), attributes=["pay", "jobs"], sensitivity=1)
    assert asked.spent == Fraction(1, 4)
    assert asked.ledger.promise().promise.protections.keys() == {"jobs", "pay"}


def test_the_budget_holds_over_answers_and_releases(asked: Asked) -> None:
    asked(mu="0.6")
    asked(mu="0.8")
    with pytest.raises(gedp.BudgetExceededError):
        asked(mu="0.001")
    with pytest.raises(gedp.BudgetExceededError):
        gedp.run(asked.spec, asked.table, out=asked.folder / "out", ledger=asked.ledger.path)
    assert asked.spent == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sensitivity": None}, "sensitivity: without one there is no privacy"),
        *(({"sensitivity": s}, "sensitivity: .* does not fit") for s in (0, -1, math.inf, math.nan, "x", True)),
        ({"largest": None}, "largest: this key is missing"),
        ({"mu": 0}, "mu: 0 does not fit"),
        ({"attributes": []}, "attributes: there are none"),
        ({"attributes": ["jbos"]}, "'jbos' is not a confidential attribute. Did you mean 'jobs'"),
        ({"attributes": ["county"]}, "'county' is not a confidential attribute"),
        ({"name": "a\nb"}, "name: it cannot be shown"),
        ({"labels": ["a", "b"]}, "labels: there are 2 for 4 entries"),
        ({"sensitivity": 1.41}, "moved the answer by 1.41421, more than the 1.41"),
        ({"largest": 5}, "largest: on made-up values an entry is beyond 5"),
        ({"largest": 1e14}, "no grid"),
    ],
)
def test_what_cannot_be_priced_is_refused_before_anything_is_spent(
    asked: Asked, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(gedp.GedpError, match=problem):
        asked(**options)
    assert not asked.ledger.state().releases
    assert not list(asked.folder.glob("*.json"))


def test_all_faults_are_named_at_once(asked: Asked) -> None:
    with pytest.raises(gedp.FaultsError) as caught:
        asked(sensitivity=None, mu=-1, largest=None, attributes=["x"])
    assert len(caught.value.faults) == 4


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (lambda c: c["jobs"].sum(), "moved the answer by"),  # no fixed number bounds a sum under sqrt
        (lambda c: c["jobs"], "moved the answer by"),
        (lambda c: c["pay"].sum(), "failed on made-up values .KeyError"),  # not among the named attributes
        (lambda c: c["jobs"].sort(), "failed on made-up values .ValueError"),  # columns cannot be changed
        (lambda c: "many", "failed on made-up values"),
        (lambda c: [[1.0]], "failed on made-up values"),
        (lambda c: [], "no entries"),
        (lambda c: [math.nan], "missing or infinite"),
        (lambda c: [0.0] * (1 + int(c["jobs"].sum()) % 2), "the form of its answer depends"),
        (lambda c: np.random.default_rng().random(3), "two ways"),
        (None, "failed on made-up values .TypeError"),
    ],
)
def test_a_function_that_contradicts_what_is_stated_is_found_out_on_made_up_values(
    asked: Asked, query: Any, problem: str
) -> None:
    with pytest.raises(gedp.GedpError, match=problem):
        asked(query)
    assert not asked.ledger.state().releases


def is_true(columns: Columns) -> bool:
    """Whether a function sees the table itself: rehearsals are on values of all sizes."""
    return float(columns["jobs"].max()) < 1000 and len(columns["jobs"]) == 60


class Quoting(BaseException):
    pass


@pytest.mark.parametrize("kind", [ValueError, OSError, gedp.GedpError, SystemExit, Quoting, KeyboardInterrupt])
def test_a_function_that_fails_on_the_table_pays_and_says_nothing(
    tmp_path: Path, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    table = rows().set_column(1, "jobs", pa.array([1 + i % 900 for i in range(59)] + [int(CANARY)]))
    asked = Asked(tmp_path, table=table)

    def telling(columns: Columns) -> Any:
        if int(CANARY) in columns["jobs"]:
            raise kind(f"the largest has {int(columns['jobs'].max())}")
        return by_size(columns)

    expected = kind if kind is KeyboardInterrupt else QueryFailedError
    with pytest.raises(expected) as caught:
        asked(telling, largest=1e9)
    everything = "".join(traceback.format_exception(caught.value)) + repr(caught.value.args) + caplog.text
    assert not sings(everything)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "counts as spent" in everything
    assert asked.spent == Fraction(1, 4)
    assert asked.ledger.state().releases[0].outcome == "abandoned"
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    "wrong", [lambda c: [math.nan] * 4, lambda c: [1.0] * 5, lambda c: [], lambda c: "no", lambda c: None]
)
def test_an_answer_of_another_form_pays_and_is_not_given(asked: Asked, wrong: Callable[[Columns], Any]) -> None:
    with pytest.raises(QueryFailedError, match="What it said is withheld"):
        asked(lambda c: wrong(c) if is_true(c) else by_size(c))
    assert asked.spent == Fraction(1, 4)
    assert not list(asked.folder.glob("*.json"))


def test_an_entry_beyond_its_bound_is_cut_off_there_and_nobody_hears_of_it(tmp_path: Path) -> None:
    asked = Asked(tmp_path, spec_of(synthetic=True))
    answer = asked(lambda c: [1e300, -math.inf] if is_true(c) else [0, 0], largest=50, seed=3)
    assert np.abs(np.abs(answer.values) - 50).max() < 6 * answer.std_error


def test_the_price_is_on_disk_before_the_function_sees_the_table(asked: Asked) -> None:
    seen = []

    def watching(columns: Columns) -> Any:
        seen.append((is_true(columns), len(asked.ledger.state().releases)))
        return by_size(columns)

    asked(watching)
    assert {recorded for true, recorded in seen if not true} == {0}
    assert [recorded for true, recorded in seen if true] == [1]


def test_rows_come_in_a_public_order(asked: Asked) -> None:
    """By county; inside one county the order of the file is lost."""
    orders = []

    def keeping(columns: Columns) -> Any:
        assert list(columns["county"]) == sorted(columns["county"])
        if is_true(columns):
            orders.append(tuple(columns["jobs"]))
        return by_size(columns)

    asked(keeping)
    asked(keeping)
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(asked.table["jobs"].to_pylist())
    in_file = [j for c, j in zip(*(asked.table[n].to_pylist() for n in ("county", "jobs")), strict=True) if c == "001"]
    assert list(orders[0][:30]) != in_file


def test_seeded_noise_is_for_synthetic_tables(asked: Asked, tmp_path: Path) -> None:
    with pytest.raises(gedp.GedpError, match="seeded noise protects nothing"):
        asked(seed=1)
    assert asked.spent == 0
    folder = tmp_path / "synthetic"
    folder.mkdir()
    again = [Asked(folder, spec_of(synthetic=True))(seed=1, out=folder / f"{i}.json") for i in range(2)]
    assert again[0].values == again[1].values
    assert "NOT PROTECTED" in repr(again[0])


def test_an_answer_needs_a_ledger_and_a_free_name(asked: Asked) -> None:
    with pytest.raises(gedp.GedpError, match="needs a ledger"):
        asked(ledger=None)
    taken = asked.folder / "taken.json"
    taken.write_text("mine")
    with pytest.raises(gedp.GedpError, match="already exists and nothing was spent"):
        asked(out=taken)
    assert taken.read_text() == "mine"
    assert asked.spent == 0


def test_a_file_finds_its_ledger_by_itself(tmp_path: Path) -> None:
    pq.write_table(rows(), tmp_path / "t.parquet")
    spec = gedp.make_spec(data={"public": ["county"], "source": str(tmp_path / "t.parquet")}, **SECTIONS)
    options: Any = {"name": "size", "attributes": ["jobs"], "mu": 0.5, "sensitivity": ROOT_2, "largest": 1e7}
    gedp.ask(spec, by_size, out=tmp_path / "a.json", **options)
    assert gedp.Ledger.open(tmp_path / "t.parquet.ledger", create=False).total().mu_squared == Fraction(1, 4)


def test_the_noise_is_as_large_as_stated(tmp_path: Path) -> None:
    """40,000 entries of one answer: Gaussian with σ = sensitivity/μ, and neither 0.9 nor 1.1 times as wide."""
    asked = Asked(tmp_path, spec_of(synthetic=True))
    answer = asked(lambda c: np.zeros(40_000), sensitivity=3, seed=5)
    noise = np.array(answer.values) / (3 / 0.5)
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    assert max(stats.kstest(noise * factor, "norm", method="asymp").pvalue for factor in (0.9, 1.1)) < 1e-9


def test_every_fault_of_an_answer_on_file_is_named(asked: Asked) -> None:
    asked()
    path = asked.folder / "answer 1.json"
    content = json.loads(path.read_text())
    content |= {"mu": "-1", "entropy": "dice", "std_error": 0, "more": 1}
    content["entries"][0]["value"] = "7"
    path.write_text(json.dumps(content))
    with pytest.raises(gedp.FaultsError) as caught:
        gedp.read_answer(path)
    assert len(caught.value.faults) == 5
    path.write_text(json.dumps(content | {"format": 3}))
    with pytest.raises(gedp.FaultsError, match="reads format 4"):
        gedp.read_answer(path)
    with pytest.raises(gedp.FaultsError, match="not an answer"):
        gedp.read_answer(asked.folder)


def test_prices_are_kept_as_they_are_written(asked: Asked) -> None:
    assert asked(mu=0.1).mu == Decimal("0.1")


def test_synthetic_tables_need_no_ledger(tmp_path: Path) -> None:
    asked = Asked(tmp_path, spec_of(synthetic=True))
    answer = asked(ledger=None)
    assert (answer.release, answer.together) == (None, None)
    assert asked.spent == 0


def test_of_two_who_want_one_file_the_second_is_refused_before_it_spends(asked: Asked) -> None:
    out = asked.folder / "one.json"

    def overtaken(columns: Columns) -> Any:
        out.touch()  # somebody else, after the name was found to be free
        return by_size(columns)

    with pytest.raises(gedp.GedpError, match="already exists and nothing was spent"):
        asked(overtaken, out=out)
    assert asked.spent == 0
    assert out.exists()


@pytest.mark.parametrize("label", ["caf\udce9", "a\nb", "\x1b[2J"])
def test_labels_that_cannot_be_shown_are_refused_before_anything_is_spent(asked: Asked, label: str) -> None:
    with pytest.raises(gedp.FaultsError, match="labels: 1 of them cannot be shown on one line"):
        asked(labels=["a", "b", "c", label])
    assert asked.spent == 0


@pytest.mark.parametrize("failure", [LedgerLockedError("the ledger is in use"), KeyboardInterrupt()])
def test_an_answer_that_is_paid_for_and_written_stays(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    commit, calls = gedp.Ledger.commit, []

    def fails_first(ledger: gedp.Ledger, release: str, digest: str) -> None:
        calls.append(release)
        if len(calls) == 1:
            raise failure
        commit(ledger, release, digest)

    monkeypatch.setattr(gedp.Ledger, "commit", fails_first)
    with pytest.raises(type(failure)) as raised:
        asked()
    assert any("is whole and paid for" in note for note in raised.value.__notes__)
    (written,) = asked.folder.glob("*.json")
    assert gedp.read_answer(written).release == calls[0]
    (release,) = asked.ledger.state().releases
    assert release.outcome == ("reserved" if isinstance(failure, LedgerLockedError) else "finished")


def test_a_table_without_a_column_is_told_before_the_ledger_is_asked(tmp_path: Path) -> None:
    spec = gedp.make_spec(data={"public": ["county"], "period": "2016Q1"}, **SECTIONS)
    asked = Asked(tmp_path, spec)
    asked()
    asked.table = rows().drop_columns("pay")
    with pytest.raises(gedp.FaultsError, match="pay"):
        asked()


def test_when_is_told_to_the_minute(asked: Asked) -> None:
    assert asked().created.second == 0


def test_what_rounding_can_move_is_no_contradiction_and_more_is() -> None:
    """Of 100 entries, each up to 1e12 and rounded by 1e-12 of it at both ends: together by 2 · √100 = 20."""
    query = OwnQuery(lambda values: values["emp"], "own", ("emp",), Decimal(1), Decimal(1), Decimal(10**12))
    for apart in (1, 3):
        steps = np.array([[0, apart], [apart, 0]], dtype=np.float64)
        for moved, faults in ((0.0, 0), (19.9 + apart, 0), (20.1 + apart, 1), (51.1, 1)):
            other = np.zeros(100)
            other[7] = -moved
            assert len(list(_moved_too_far(query, [np.zeros(100), other], steps))) == faults


def spec_with(**attributes: Any) -> gedp.Spec:
    """About one or more columns that are protected as stated."""
    protected = {name: {"psi": "sqrt", "gamma": 0.5, **given} for name, given in attributes.items()}
    return spec_of(attributes=protected, queries=[{"name": "each", "by": "establishment", "mu": 0.5}])


def whole(n: int = 60, *names: str) -> pa.Table:
    return pa.table({"county": ["003", "001"] * (n // 2), **{name: range(n) for name in names}})


@pytest.mark.parametrize("rows", [2, 60])
def test_whole_numbers_that_are_several_steps_apart_may_not_be_told_apart_for_nothing(
    tmp_path: Path, rows: int
) -> None:
    """Nothing but 0 is close to 0 where values are whole, but 1 is 2 steps away: that is promised to cost 2 μ."""
    asked = Asked(tmp_path, spec_with(jobs={}), whole(rows, "jobs"))

    def without_jobs(columns: Columns) -> Any:
        return (columns["jobs"] == 0).sum()

    with pytest.raises(gedp.FaultsError, match=r"by 2 steps moved the answer by 1, more than 2 times the 0\.000001"):
        asked(without_jobs, sensitivity="0.000001", largest=100)
    with pytest.raises(gedp.FaultsError, match=r"by 2 steps moved the answer by 1, more than 2 times the 0\.4999"):
        asked(without_jobs, sensitivity="0.4999", largest=100)
    assert not asked.ledger.state().releases
    assert asked(without_jobs, sensitivity="0.5", largest=100).mu == Decimal("0.5")


@pytest.mark.parametrize(
    ("query", "enough", "problem"),
    [
        (lambda c: (c["profit"] < 0).sum(), 0.5, "by 2 steps"),  # -1 is 2 steps from 0
        (lambda c: (c["profit"] == -2).sum(), 1, "inside its intervals"),
        (lambda c: np.sign(c["profit"]).sum(), 0.5, "by 2 steps"),
        (lambda c: np.minimum(np.abs(c["profit"]), 1).sum(), 0.5, "by 2 steps"),
    ],
)
def test_values_around_0_are_tried_on_both_sides(tmp_path: Path, query: Any, enough: float, problem: str) -> None:
    asked = Asked(tmp_path, spec_with(profit={"signed": True}), whole(60, "profit"))
    with pytest.raises(gedp.FaultsError, match=problem):
        asked(query, attributes=["profit"], sensitivity=0.99 * enough, largest=100)
    assert asked(query, attributes=["profit"], sensitivity=enough, largest=100).release


@pytest.mark.parametrize(
    ("query", "too_little", "enough"),
    [
        (lambda c: (np.sqrt(c["jobs"]) - np.sqrt(c["hours"])).sum(), 0.99, 1),  # one rises, the other falls
        (lambda c: (np.sqrt(c["jobs"]) + np.sqrt(c["hours"])).sum(), 0.99, 1),  # both rise
        (lambda c: ((c["jobs"] == 0) & (c["hours"] > 0)).sum(), 0.49, 0.5),  # 0 jobs or 1, whatever the hours
    ],
)
def test_attributes_move_together_against_each_other_and_alone(
    tmp_path: Path, query: Any, too_little: float, enough: float
) -> None:
    asked = Asked(tmp_path, spec_with(jobs={}, hours={}), whole(60, "jobs", "hours"))
    with pytest.raises(gedp.FaultsError, match="moved the answer by"):
        asked(query, attributes=["jobs", "hours"], sensitivity=too_little, largest=1e6)
    assert asked(query, attributes=["jobs", "hours"], sensitivity=enough, largest=1e6).release


def test_what_no_table_can_hold_contradicts_nothing(tmp_path: Path) -> None:
    """Nobody has gain and loss; where ψ has no value at 0, nobody has 0."""
    profits = Asked(tmp_path, spec_with(profit={"split": True}), whole(60, "profit"))
    both = ["profit_gain", "profit_loss"]
    stated: dict[str, Any] = {"attributes": both, "sensitivity": 1e-6, "largest": 100}
    assert profits(lambda c: ((c[both[0]] > 0) & (c[both[1]] > 0)).sum(), **stated).release
    folder = tmp_path / "pay"
    folder.mkdir()
    pay = Asked(folder, spec_with(pay={"psi": "log", "gamma": 0.1}), whole(60, "pay").slice(1))
    assert pay(lambda c: np.log(c["pay"]).sum(), attributes=["pay"], sensitivity=0.1, largest=10_000).release


def test_gain_and_loss_move_as_the_column_does(tmp_path: Path) -> None:
    """From a profit of 1 to a loss of 1 it is two steps in either."""
    asked = Asked(tmp_path, spec_with(profit={"split": True}), whole(60, "profit"))

    def negative(columns: Columns) -> Any:
        return [(columns["profit_gain"] > 0).sum(), (columns["profit_loss"] > 0).sum()]

    with pytest.raises(gedp.FaultsError, match=r"by 2 steps moved the answer by 1\.41421, more than 2 times the 0\.7 "):
        asked(negative, attributes=["profit_gain", "profit_loss"], sensitivity=0.7, largest=100)
    assert asked(negative, attributes=["profit_gain", "profit_loss"], sensitivity=0.7072, largest=100).release
