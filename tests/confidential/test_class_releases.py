"""Tables by classes in a release: every class of every public group, whatever the engine, as noisy as was paid for."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gedp
from gedp.confidential import preparing
from gedp.confidential.addends import Count
from gedp.confidential.by_group import GroupRule
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.preparing import prepare
from gedp.confidential.table import open_table_of
from gedp.errors import FaultsError, Refused
from gedp.individual.classes import class_table
from gedp.ledger import Ledger
from gedp.noise.entropy import SeededEntropy
from gedp.passes import Joined
from gedp.policy import COUNT
from gedp.release import read_release
from tests.helpers.builder import rehearsed, spec_of, table_of, without_noise
from tests.helpers.passes import DividedEngine

TABLE = table_of()
SPEC = spec_of("classes")
EDGES = [0, 1, 100, 1000, 5000]


def class_name(jobs: int) -> str:
    names = ["0", "1-99", "100-999", "1000-4999", "5000+"]
    return names[sum(jobs >= edge for edge in EDGES) - 1]


def test_every_class_of_every_public_group_is_answered() -> None:
    with without_noise():
        tables = rehearsed(SPEC).tables
    rows = TABLE.to_pylist()
    sizes = tables["sizes"].to_pylist()
    counted = Counter((row["cnty"], class_name(row["emp"])) for row in rows)
    names = [class_name(edge) for edge in EDGES]
    assert [(row["cnty"], row["size"]) for row in sizes] == [(c, n) for c in ("001", "003", "005") for n in names]
    assert all(row["estimate"] == counted[row["cnty"], row["size"]] for row in sizes)
    wages = tables["wages"].to_pylist()
    assert tables["wages"].column_names[:3] == ["size", "naics2", "attribute"]
    assert len(wages) == 3 * 5 * 3
    for row in wages:
        members = [r for r in rows if (class_name(r["emp"]), r["naics"][:2]) == (row["size"], row["naics2"])]
        total = len(members) if row["attribute"] == COUNT else sum(r[row["attribute"]] for r in members)
        assert row["estimate"] == pytest.approx(total)


def test_numbers_of_establishments_are_whole_and_sums_are_in_units() -> None:
    tables = rehearsed(SPEC, seed=5).tables
    numbers = tables["sizes"]["estimate"].to_numpy()
    assert np.array_equal(numbers, np.rint(numbers))
    assert not np.signbit(numbers[numbers == 0]).any()
    assert (tables["sizes"]["variance"].to_numpy() == 0).any()  # nobody has 5,000 jobs, as the identity answers say
    assert set(tables["sizes"]["mechanism"].to_pylist()) == {"count"}
    assert set(tables["wages"]["mechanism"].to_pylist()) == {"count", "pnc"}


def test_a_release_states_its_tables_by_classes(tmp_path: Path) -> None:
    gedp.run(SPEC, table=TABLE, out=tmp_path / "out", seed=1)
    release = read_release(tmp_path / "out")
    sizes, wages = release.manifest.answered[-2:]
    assert (sizes.query, sizes.groups, wages.groups) == (SPEC.by_classes[0], 15, 15)
    by_mechanism = {name: dict(noise.groups) for name, noise in wages.noise.items()}
    assert by_mechanism == {COUNT: {"count": 15}, "wage": {"pnc": 15}, "emp": {"pnc": 15}}
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["format"] == 8
    assert release.answers("wages").num_rows == 45
    assert (tmp_path / "out" / "tables" / "sizes.csv").read_text().startswith('"cnty","size","attribute","estimate"')
    with pytest.raises(FaultsError, match="'nobody' is not in this release"):
        release.answers("nobody")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tables: tables[1].update(name="sizes"), "the query 'wages' of the spec is missing"),
        (lambda tables: tables[0].update(groups=14), "the numbers of groups do not add up"),
        (lambda tables: tables[0].update(by=[]), "it is not that of the spec"),
        (lambda tables: tables[0]["asked"][COUNT].update(mechanisms={"pnc": 15}), "no such mechanism answers it"),
        (lambda tables: tables[0]["asked"][COUNT].update(certain=14), "it has other rows or values"),
        (lambda tables: tables[0]["asked"].clear(), "it is not that of the spec"),
        (lambda tables: tables[0].update(name="more"), "the spec has no such query"),
        (lambda tables: tables[0]["asked"][COUNT].update(mu="0.4"), "it is not that of the spec"),
    ],
)
def test_an_altered_statement_about_classes_is_noticed(tmp_path: Path, change: Any, said: str) -> None:
    gedp.run(SPEC, table=TABLE, out=tmp_path / "out", seed=1, answers_only=True)
    path = tmp_path / "out" / "manifest.json"
    content = json.loads(path.read_text())
    change(content["queries"][-2:])
    path.write_text(json.dumps(content))
    with pytest.raises(FaultsError, match=said):
        read_release(tmp_path / "out").answers("sizes")


def test_classes_without_identity_answers_are_answered_and_recorded(tmp_path: Path) -> None:
    spec = spec_of(
        "classes", queries=[{"name": "all", "by": [], "mu": {"wage": 1}}, "sizes"], data={"synthetic": False}
    )
    gedp.run(spec, table=TABLE, out=tmp_path / "out", ledger=tmp_path / "t.ledger")
    release = read_release(tmp_path / "out")
    assert (release.answers("sizes")["variance"].to_numpy() > 8).all()  # all classes are possible
    (recorded,) = Ledger.open(tmp_path / "t.ledger", create=False).state().releases
    assert recorded.reserve.attributes.keys() == {"emp", "wage"}
    assert recorded.reserve.loss.mu_squared == Fraction(5, 4)


def test_more_entries_than_fit_into_memory_are_refused_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of("classes", data={"synthetic": False})
    monkeypatch.setattr(preparing, "MOST_ENTRIES", 14)
    with pytest.raises(Refused, match="would have 15 entries, and at most 14 fit into memory"):
        gedp.run(spec, TABLE, out=tmp_path / "out", ledger=tmp_path / "t.ledger")
    assert list(tmp_path.iterdir()) == []


def test_parts_of_a_table_come_to_the_same(tmp_path: Path) -> None:
    """Spark divides the rows; what each part finds travels by place, and is put together."""
    for engine in (LocalEngine(TABLE), DividedEngine(TABLE, [0, 7, 7, 31], lambda places: places[::-1])):
        table = open_table_of(SPEC, engine)
        prepared = prepare(table, SPEC)
        identity = {name: prepared.mechanisms["identity", name] for name in ("emp", "wage")}
        rule = GroupRule(prepared, identity, Fraction(1, 100))
        passes = Joined(rule.of_drawn())
        omega = {f"{name}__psi": pa.array(np.sqrt(TABLE[name].to_numpy())) for name in ("emp", "wage")}
        drawn_rows = TABLE.select(["key", "cnty", "naics"])
        for name, column in omega.items():
            drawn_rows = drawn_rows.append_column(name, column)
        kind = type(engine)
        drawn = LocalEngine(drawn_rows) if kind is LocalEngine else DividedEngine(drawn_rows, [3, 40], lambda p: p)
        (found,) = passes.split(drawn.reduce(passes)).values()
        highest, lowest = found.highest["wage"].reshape(3, 5), found.lowest["wage"].reshape(3, 5)
        if kind is LocalEngine:
            expected = highest, lowest
        assert np.array_equal((highest, lowest), expected)
        assert np.array_equal(np.isfinite(lowest), np.isfinite(highest))
        assert (highest > -np.inf).any()
        assert (highest == -np.inf).any()


def effective_mu(squared_reach: float) -> float:
    """How well the likelihood ratio tells two neighbors apart, over 60,000 releases of two entries, at μ = 0.5."""
    values = np.tile([10, 20], 60_000)
    reach = np.full(len(values), squared_reach**0.5)
    drawn = Count(COUNT, Fraction(1, 2), class_table({}, {})).answer(values, reach, 0.95, SeededEntropy(7))
    assert drawn.variance[0] == pytest.approx((drawn.estimate - values).var(), rel=0.02)
    moved = np.tile([-1, 1], 60_000)  # from one entry to the other
    statistic = ((drawn.estimate - values) * moved).reshape(-1, 2).sum(axis=1)
    return float(2 / statistic.std())


def test_the_effective_mu_of_numbers_is_what_was_paid() -> None:
    assert effective_mu(2.0) == pytest.approx(0.5, rel=0.01)
    assert effective_mu(1.0) > 0.69  # √2 forgotten
