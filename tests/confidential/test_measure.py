"""Measuring: every answer's noiseless core against plain Python, the choice between mechanisms, the order of things."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.confidential.engines import part
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import _chance
from gedp.confidential.priced import clipped_excess
from gedp.confidential.table import ConfidentialTable, find_cells, open_table
from gedp.confidential.tally import Clipping
from gedp.errors import GedpError, Refused, TableChangedError
from gedp.individual.bounds import clipping_bounds
from gedp.ledger import Ledger
from gedp.neighbors import Sqrt
from gedp.neighbors.estimates import no_clipping_tau, psi_variance
from gedp.noise.entropy import Entropy, SeededEntropy, Words
from gedp.passes import PartialResults, Pass
from gedp.policy import Attribute, Closeness, Data, Grouper, Output, Policy, Query
from gedp.policy.examples import find_spec
from gedp.release import read_release
from gedp.release.rehearsal import Rehearsal
from tests.helpers.builder import spec_of
from tests.helpers.demonstration import Demonstration
from tests.helpers.specs import measured, rehearsed

SYNTHETIC = Data("x", ("cnty", "naics"), "key", synthetic=True)
GROUPERS = {"naics2": Grouper("naics2", "naics", prefix=2)}
SQRT = Attribute("emp", Closeness("sqrt", Decimal("0.5")))
LOG = Attribute("wage", Closeness("log", Decimal("0.3"), Decimal(1)), unit=Decimal("0.01"))
SIGNED = Attribute("profit", Closeness("sqrt", Decimal(2)), signed=True)
ATTRIBUTES = {a.name: a for a in (SQRT, LOG, SIGNED)}
POLICY = Policy(ATTRIBUTES, Decimal(1000))


class Silence(Entropy):
    """Words that make every rounded Gaussian 0, so that the core of an answer shows. Protects nothing."""

    kind = "seeded"

    def words(self, n: int) -> Words:
        return np.full(n, 2**63 - 1, dtype=np.uint64)

    def spare(self) -> int:
        return 0


def table_of(rows: list[tuple[str, str, int, int, int]], data: Data = SYNTHETIC) -> ConfidentialTable:
    cnty, naics, emp, cents, profit = zip(*rows, strict=True)
    wage = [Decimal(value) / 100 for value in cents]
    keys = [f"k{i}" for i in range(len(rows))]
    columns = {"key": keys, "cnty": cnty, "naics": naics, "emp": emp, "wage": wage, "profit": profit}
    return open_table(LocalEngine(pa.table(columns)), data, ATTRIBUTES, GROUPERS)


def query(name: str, by: tuple[str, ...], mechanism: str = "auto", mu: str = "2", *attributes: str) -> Query:
    return Query(name, by, dict.fromkeys(attributes or ATTRIBUTES, Decimal(mu)), mechanism)


TOTAL = [query("total", (), "psi", "1", "emp")]
IDENTITY_EMP = query("identity", ("establishment",), "auto", "1", "emp")

rows_of_tables = st.lists(
    st.tuples(
        st.sampled_from(["001", "003"]),
        st.sampled_from(["1111", "1122", "2222"]),
        st.integers(0, 5000),
        st.integers(0, 10**6),
        st.integers(-5000, 5000),
    ),
    min_size=1,
    max_size=25,
)


@given(rows_of_tables, st.sampled_from([(), ("cnty",), ("naics2",), ("cnty", "naics")]))
@settings(max_examples=12)
def test_the_core_of_every_answer_is_what_plain_python_finds(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int, int, int]], by: tuple[str, ...]
) -> None:
    queries = [
        query("identity", ("establishment",)),
        query("psi", by, "psi", "2", "emp", "wage"),
        query("pnc", by, "pnc"),
        query("auto", by),
    ]
    out = tmp_path_factory.mktemp("release") / "out"
    release = measured(table_of(rows), POLICY, queries, out=out, entropy=Silence())

    columns = ("cnty", "naics", "emp__psi", "wage__psi", "profit__psi")
    identity = sorted(
        release.identity().to_pylist(),
        key=lambda row: [round(row[c], 4) if c.endswith("psi") else row[c] for c in columns],
    )
    for row, (cnty, naics, emp, cents, profit) in zip(identity, sorted(rows), strict=True):
        assert (row["cnty"], row["naics"]) == (cnty, naics)
        assert row["emp__psi"] == pytest.approx(np.sqrt(emp), abs=1e-6)
        assert row["wage__psi"] == pytest.approx(np.log(cents / 100 + 1), abs=1e-6)
        assert row["profit__psi"] == pytest.approx(np.sign(profit) * np.sqrt(abs(profit)), abs=1e-5)

    sums: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for cnty, naics, *amounts in rows:
        keys = {"cnty": cnty, "naics": naics, "naics2": naics[:2]}
        group = sums[tuple(keys[key] for key in by)]
        for place, amount in enumerate(amounts):
            group[place] += int(amount)
    for name in ("psi", "pnc", "auto"):
        answers = release.answers(name).to_pylist()
        assert len(answers) == len(sums) * (2 if name == "psi" else 3)
        for answer in answers:
            emp, cents, profit = sums[tuple(answer[key] for key in by)]
            truth = {"emp": emp, "wage": cents / 100, "profit": profit}[answer["attribute"]]
            sigma = release.manifest.answered[1].noise["emp"].sigma
            if answer["mechanism"] == "pnc":  # bounds without noise are above every value: nothing is clipped
                assert answer["estimate"] == pytest.approx(truth, rel=1e-12, abs=1e-9)
                assert answer["variance_kind"] == "exact"
            elif answer["attribute"] == "emp":
                assert answer["estimate"] == pytest.approx(truth - sigma**2, abs=1e-3)
                assert answer["variance_kind"] == "estimated"
            assert answer["std_error"] == pytest.approx(np.sqrt(answer["variance"]))
        if name == "auto":
            assert {a["mechanism"] for a in answers if a["attribute"] == "profit"} == {"pnc"}


class Low(Silence):
    """Words that make every X about -6."""

    def words(self, n: int) -> Words:
        return np.full(n, 2**64 - int(1e-9 * 2**64), dtype=np.uint64)


def test_errors_are_in_the_units_of_the_values(tmp_path: Path) -> None:
    identity = Query("identity", ("establishment",), {"wage": Decimal(5)})
    total = Query("total", (), {"wage": Decimal(2)}, "pnc")
    rows = [("001", "1111", 0, 12_345, 0), ("001", "1111", 0, 655, 0)]

    class LowInTheEnd(Low):
        calls = 0

        def words(self, n: int) -> Words:  # no noise on the identity, so that nothing is clipped
            self.calls += 1
            return Silence.words(self, n) if self.calls == 1 else super().words(n)

    release = measured(table_of(rows), POLICY, [identity, total], out=tmp_path / "out", entropy=LowInTheEnd())
    (answer,) = release.answers("total").to_pylist()
    assert (answer["estimate"] - 130.0) / answer["std_error"] == pytest.approx(-6.0, abs=0.2)
    assert answer["ci_high"] - answer["estimate"] == pytest.approx(1.959964 * answer["std_error"])


def test_values_above_a_bound_are_clipped_group_by_group(tmp_path: Path) -> None:
    """Identity answers far too low, by a source that pulls every draw down: then bounds bite."""
    rows = [("001", "1111", 10_000, 1, 0), ("001", "1111", 20, 1, 0), ("003", "1122", 900, 1, 0)]
    queries = [
        query("identity", ("establishment",), "auto", "0.2", "emp"),
        query("county", ("cnty",), "pnc", "2", "emp"),
    ]
    release = measured(table_of(rows), POLICY, queries, out=tmp_path / "out", entropy=Low())
    identity = release.manifest.answered[0].noise["emp"].sigma
    omega = {row["key"]: row["emp__psi"] for row in release.identity().to_pylist()}
    tau = no_clipping_tau(3, 1, Fraction(1, 100))
    for answer, members in zip(release.answers("county").to_pylist(), (["k0", "k1"], ["k2"]), strict=True):
        upper = max(max(omega[key] + tau * identity, 0) ** 2 for key in members)
        bound = int(clipping_bounds(SQRT, np.array([upper])).bounds[0])
        clipped = sum(min(rows[int(key[1:])][2], bound) for key in members)
        assert bound < max(rows[int(key[1:])][2] for key in members)
        noise = answer["estimate"] - clipped
        assert noise < 0
        assert abs(noise) < 7 * answer["std_error"]
        assert noise / answer["std_error"] == pytest.approx(-6.0, abs=0.2)


@pytest.mark.parametrize("entropy", [SeededEntropy, lambda _: Low()])
def test_rows_are_read_again_only_where_something_may_be_clipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entropy: Callable[[int], Entropy]
) -> None:
    rows = [("001", "1111", 10_000, 1, 0), ("001", "1111", 20, 1, 0), ("003", "1122", 900, 1, 0)]
    queries = [
        query("identity", ("establishment",), "auto", "0.2", "emp"),
        query("county", ("cnty",), "pnc", "2", "emp"),
    ]
    passes = list[str]()

    def seen(
        engine: LocalEngine, run: Pass, reduce: Callable[..., PartialResults] = LocalEngine.reduce
    ) -> PartialResults:
        passes.append(type(run).__name__)
        return reduce(engine, run)

    monkeypatch.setattr(LocalEngine, "reduce", seen)
    once = measured(table_of(rows), POLICY, queries, out=tmp_path / "once", entropy=entropy(5))
    assert passes == ([] if entropy is SeededEntropy else ["ClippedCells"])
    monkeypatch.setattr(Clipping, "may_change", lambda *_: True)
    again = measured(table_of(rows), POLICY, queries, out=tmp_path / "again", entropy=entropy(5))
    assert passes[-1] == "ClippedCells"
    assert again.answers("county").equals(once.answers("county"))


@pytest.mark.parametrize(("bound", "may_change"), [(0, False), (-1, False), (6, True), (7, True), (8, False)])
def test_only_bounds_above_everything_change_nothing(bound: int, may_change: bool) -> None:
    assert Clipping("q", np.array([0, bound])).may_change(np.array([99.0, 7.0])) == may_change


def only(answers: Any, attribute: str) -> Any:
    return answers[answers["attribute"] == attribute]


def run_demo(table: ConfidentialTable, mechanism: str) -> Rehearsal:
    spec = find_spec("paper-equal")
    queries = [q if q.is_identity else replace(q, mechanism=mechanism) for q in spec.queries]
    return rehearsed(table, spec.policy, queries, entropy=SeededEntropy(17))


def test_the_choice_is_never_much_worse_than_the_better_mechanism(demonstration: Demonstration) -> None:
    """Expected squared error at the truth, by query and attribute, on the demonstration state.

    The three releases have the same identity answers, so the same bounds; the variance of psi is known at the truth.
    """
    spec = find_spec("paper-equal")
    path = demonstration.establishments
    data = replace(spec.data, synthetic=True)
    table = open_table(LocalEngine(path), data, spec.policy.attributes, spec.groupers)
    releases = {name: run_demo(table, name) for name in ("psi", "pnc", "auto")}
    truth = pq.read_table(path).to_pandas()
    truth["naics5"] = truth["naics"].str[:5]
    better = {"psi": 0, "pnc": 0}
    for q in spec.queries:
        if q.is_identity:
            continue
        for name in q.attributes:
            answers = {m: only(r.answers(q.name).to_pandas(), name) for m, r in releases.items()}
            keys = list(q.by)
            sums = truth.groupby(keys)[name].sum() if keys else None
            index = answers["psi"].set_index(keys).index if keys else None
            x = sums.loc[index].to_numpy() if sums is not None else np.array([truth[name].sum()])
            sigma = next(a.noise[name].sigma for a in releases["psi"].manifest.answered if a.query.name == q.name)
            of_psi = psi_variance(Sqrt(), x.astype(float), sigma)
            of_pnc = answers["pnc"]["variance"].to_numpy()
            chosen = np.where(answers["auto"]["mechanism"].to_numpy() == "pnc", of_pnc, of_psi)
            best = min(of_psi.mean(), of_pnc.mean())
            better["psi" if of_psi.mean() < of_pnc.mean() else "pnc"] += 1
            assert chosen.mean() <= 1.03 * best, (q.name, name)
            error = np.abs(answers["auto"]["estimate"].to_numpy() - x) / np.sqrt(chosen)
            assert error.mean() < 1.2  # a normal's mean absolute value is 0.8
    assert sum(better.values()) == 16


def test_a_confidential_table_needs_a_ledger_and_real_noise(tmp_path: Path) -> None:
    table = table_of([("001", "1111", 3, 1, 0)], replace(SYNTHETIC, synthetic=False))
    queries = TOTAL
    with pytest.raises(Refused, match="ledger"):
        measured(table, POLICY, queries, out=tmp_path / "out")
    ledger = Ledger.open(tmp_path / "ledger")
    with pytest.raises(Refused, match="protects nothing"):
        measured(table, POLICY, queries, out=tmp_path / "out", ledger=ledger, entropy=SeededEntropy(1))
    assert ledger.total().mu_squared == 0
    release = measured(table, POLICY, queries, out=tmp_path / "out", ledger=ledger)
    assert release.manifest.entropy == "system"
    assert ledger.total().mu_squared == 1
    assert ledger.verify().ok


def test_a_rehearsal_is_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = table_of([("001", "1111", 5, 0, 0)], replace(SYNTHETIC, synthetic=False))
    trial = rehearsed(table, POLICY, TOTAL)
    assert trial.manifest.entropy == "system"
    assert trial.answers("total").num_rows == 1
    assert list(tmp_path.iterdir()) == []  # it is in memory alone
    with pytest.raises(Refused, match="seeded noise"):
        rehearsed(table, POLICY, TOTAL, entropy=SeededEntropy(1))


def test_a_rehearsal_answers_as_a_release_does(tmp_path: Path) -> None:
    rows = [("001", "1111", 5, 3, 2), ("003", "1122", 50, 40, 9)]
    queries = [IDENTITY_EMP, *TOTAL]
    release = measured(table_of(rows), POLICY, queries, out=tmp_path / "out", entropy=SeededEntropy(1))
    trial = rehearsed(table_of(rows), POLICY, queries, entropy=SeededEntropy(1))
    assert trial.answers("total").equals(release.answers("total"))
    assert trial.identity().equals(release.identity())
    assert trial.identity(["emp"]).equals(release.identity(["emp"]))


def test_the_price_is_on_disk_before_the_first_draw(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger")
    spent_at_first_draw = []

    class Watching(Silence):
        def words(self, n: int) -> Words:
            spent_at_first_draw.append(ledger.total().mu_squared)
            return super().words(n)

    rows = [("001", "1111", 3, 1, 0)]
    queries = TOTAL
    measured(table_of(rows), POLICY, queries, out=tmp_path / "out", ledger=ledger, entropy=Watching())
    assert spent_at_first_draw[0] == 1


def test_failing_after_the_reservation_keeps_it_spent_and_leaves_no_folder(tmp_path: Path) -> None:
    class Broken(Silence):
        def words(self, n: int) -> Words:
            raise OSError("no entropy")

    ledger = Ledger.open(tmp_path / "ledger")
    rows = [("001", "1111", 3, 1, 0)]
    with pytest.raises(OSError, match="no entropy"):
        measured(
            table_of(rows),
            POLICY,
            TOTAL,
            out=tmp_path / "out",
            ledger=ledger,
            entropy=Broken(),
        )
    assert ledger.total().mu_squared == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger"]


def test_answers_do_not_depend_on_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    count = 10_000
    columns = {
        "key": np.arange(count),
        "cnty": rng.choice(["001", "003"], count),
        "naics": rng.choice(["1111", "2222"], count),
        "emp": rng.integers(0, 3000, count),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=2500)
    answers = []
    queries = [
        query("identity", ("establishment",), "auto", "1", "emp"),
        query("county", ("cnty",), "auto", "1", "emp"),
    ]
    for batch in (1_000_000, 2048):
        monkeypatch.setattr(part, "BATCH_ROWS", batch)
        table = open_table(LocalEngine(tmp_path / "t.parquet"), SYNTHETIC, {"emp": SQRT}, GROUPERS)
        policy = Policy({"emp": SQRT}, Decimal(10))
        release = measured(table, policy, queries, out=tmp_path / f"out{batch}", entropy=SeededEntropy(9))
        answers.append((release.identity(), release.answers("county")))
    assert answers[0][0].equals(answers[1][0])
    assert answers[0][1].equals(answers[1][1])


def test_a_release_is_read_back_whole_or_not_at_all(tmp_path: Path) -> None:
    rows = [("001", "1111", 3, 1, 0), ("003", "1111", 4, 1, 0)]
    queries = [
        query("identity", ("establishment",), "auto", "1", "emp"),
        query("county", ("cnty",), "auto", "1", "emp"),
    ]
    output = Output("out", Decimal("0.9"))
    release = measured(table_of(rows), POLICY, queries, out=tmp_path / "out", entropy=SeededEntropy(9), output=output)
    again = read_release(tmp_path / "out")
    assert again.manifest == release.manifest
    assert again.answers("county").equals(release.answers("county"))
    with pytest.raises(GedpError, match="It has: 'identity', 'county'"):
        again.answers("state")
    with (tmp_path / "out" / "tables" / "county.csv").open("a", encoding="utf-8") as file:
        file.write("more\n")
    with pytest.raises(Refused, match=r"county\.csv"):
        read_release(tmp_path / "out")
    with pytest.raises(GedpError, match="missing"):
        read_release(tmp_path)


def test_queries_that_cannot_be_protected_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger")
    table = table_of([("001", "1111", 3, 1, 0)])
    for queries, problem in (
        ([query("total", (), "psi", "1", "profit")], "both signs"),
        ([query("total", (), "auto", "1", "profit")], "need the identity query for"),
        ([query("total", (), "pnc", "1", "emp")], "need the identity query for"),
        ([IDENTITY_EMP, replace(IDENTITY_EMP, name="again")], "another identity query asks for emp too"),
        ([replace(*TOTAL, name="../total")], "cannot be a file name"),
        ([*TOTAL, replace(*TOTAL, name="TOTAL")], "used more than once"),
        ([query("total", (), "psi", "1", "nothing")], "'nothing' is not a confidential attribute"),
        ([query("total", ("nowhere",), "psi", "1", "emp")], "'nowhere' is"),
    ):
        with pytest.raises(GedpError, match=problem) as raised:
            measured(table, POLICY, queries, out=tmp_path / "out", ledger=ledger)
        assert "\n  queries[" in str(raised.value)  # and no line of a text that nobody wrote
    assert ledger.total().mu_squared == 0
    assert not (tmp_path / "out").exists()


def test_rows_that_no_longer_add_up_are_noticed_in_the_second_pass() -> None:
    table = table_of([("001", "1111", 3, 1, 0), ("003", "1111", 4, 1, 0)])
    cells = find_cells(table, [query("county", ("cnty",), "pnc", "1", "emp")])
    bounds = np.full(cells.count, 100, dtype=np.int64)
    clipping = Clipping("county", bounds)
    excess = clipped_excess(table, cells, {"emp": [clipping]}, {"emp": np.array([3, 4])})
    assert excess["emp", "county"].tolist() == [0, 0]
    with pytest.raises(TableChangedError):
        clipped_excess(table, cells, {"emp": [clipping]}, {"emp": np.array([4, 3])})


def test_the_chance_of_clipping_is_the_one_in_the_spec() -> None:
    spec = replace(spec_of(), zeta=Decimal("0.001"))
    assert _chance(None, spec) == _chance(Fraction(1, 1000), spec) == Fraction(1, 1000)
    with pytest.raises(Refused, match="the spec gives another zeta"):
        _chance(Fraction(1, 100), spec)
