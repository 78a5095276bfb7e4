"""Specs at the edge of what individual accounting can carry: giants in small units, no tables, any zeta."""

from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.csv
import pytest

import gedp
from gedp.arrays import MOST_UNITS
from gedp.confidential import individual
from gedp.confidential.by_row import PlannedMeasure
from gedp.confidential.mechanisms import BITS
from gedp.confidential.preparing import prepare
from gedp.confidential.varied import clipping_range, varied_psi
from gedp.errors import DomainError, FaultsError, Refused
from gedp.individual.bounds import clipping_bounds
from gedp.individual.filling import LEAST_LEFT, LEAST_SECOND
from gedp.noise.gaussian import LARGEST_SCALE
from gedp.noise.varied import varied_psi_grid
from gedp.policy import Attribute, Closeness
from tests.helpers.builder import rehearsed, spec_of, table_of

TABLES = [{"name": "total", "by": []}, {"name": "county", "by": ["cnty"]}]
PLAIN = {"psi": "sqrt", "gamma": 0.5}


def wages(closeness: dict[str, Any], mu: float = 0.5, **sections: Any) -> gedp.Spec:
    return spec_of(attributes={"wage": closeness}, budget={"mu": mu}, **{"queries": TABLES, **sections})


def table_with(largest: float) -> pa.Table:
    return table_of(20, wage=[largest, *(40_000.0 + 1_000 * i for i in range(19))])


@pytest.mark.parametrize(
    ("closeness", "mu"),
    [
        ({"psi": "sqrt", "gamma": 50}, 0.5),
        ({"psi": "sqrt", "gamma": 50}, 0.1),
        ({"psi": "sqrt", "gamma": 50, "signed": True}, 0.5),
        ({"psi": "linear", "gamma": 100}, 0.3),
        ({"psi": "linear", "gamma": 100, "signed": True}, 0.3),
    ],
)
def test_a_giant_in_cents_is_not_cut_off(closeness: dict[str, Any], mu: float) -> None:
    spec, table = wages(closeness | {"unit": 0.01}, mu), table_with(3e9)
    truth = sum(table["wage"].to_pylist())
    for seed in range(3):
        found = rehearsed(spec, table, seed)
        (total,) = found.answers("total").to_pylist()
        assert abs(total["estimate"] - truth) < 6 * total["std_error"], total


def test_what_no_clipped_sum_can_carry_is_left_to_psi() -> None:
    """Log moves by half of its bound: the noise of a sum of 3e13 has no grid at every price."""
    spec = wages({"psi": "log", "gamma": 0.5, "unit": 0.01}, 0.8)
    found = rehearsed(spec, table_with(3e13))
    assert found.answers("total")["mechanism"].to_pylist() == ["psi"]


@pytest.mark.parametrize("psi", ["sqrt", "log", "linear"])
@pytest.mark.parametrize("signed", [False, True])
def test_the_largest_bound_is_the_last_that_has_noise_at_a_price(psi: str, signed: bool) -> None:
    shift = {"shift": 1} if psi == "log" else {}
    spec = wages({"psi": psi, "gamma": 0.5, "unit": 0.01, "signed": signed, **shift})
    attribute, pool = spec.policy.attributes["wage"], prepare(gedp.open_table(spec, table_with(5)), spec).pools["wage"]
    cheapest = float(pool.rest) * 0.02 * 1e-4
    most, _ = clipping_range(attribute, float(pool.rest), cheapest)

    def noise(bound: float) -> float:
        return float(clipping_bounds(attribute, pa.array([bound * 0.01]).to_numpy()).sensitivity[0] / cheapest**0.5)

    assert most.is_integer()
    assert noise(most) <= LARGEST_SCALE
    assert most == 2**53 or noise(most * 1.003) > LARGEST_SCALE


@pytest.mark.parametrize("zeta", ["0.6", "0.999"])
def test_any_chance_of_clipping_can_be_read_back(zeta: str, tmp_path: Path) -> None:
    spec = wages(PLAIN, clipping={"zeta": Decimal(zeta)})
    table = table_of(1, wage=[7])
    gedp.run(spec, table=table, out=tmp_path / "out", ledger=tmp_path / "t.ledger")
    manifest = gedp.read_release(tmp_path / "out").manifest
    assert manifest.individual["wage"].tau < 2.5
    assert manifest.zeta is None, "bounds follow from the tau that was chosen"


def test_an_attribute_without_tables() -> None:
    spec = wages(PLAIN, queries=[{"name": "each", "by": "establishment"}])
    found = rehearsed(spec, table_with(9))
    assert found.identity(["wage"]).num_rows == 20
    assert gedp.plan(spec, table=table_with(9)).of("each", "wage").error > 0


@pytest.mark.parametrize("key", ["gamma", "shift", "unit"])
def test_more_digits_than_are_computed_with(key: str) -> None:
    closeness = {"psi": "sqrt", "gamma": Decimal("0.5"), key: Decimal("0.50000000000000005")}
    with pytest.raises(FaultsError, match="more than 15 digits"):
        wages(closeness)


def test_a_table_that_a_ledger_knows_is_confidential_whatever_the_spec_says(tmp_path: Path) -> None:
    pa.csv.write_csv(table_with(9), tmp_path / "t.csv")
    honest, claimed = (
        wages(PLAIN, data={"source": str(tmp_path / "t.csv"), "synthetic": synthetic}) for synthetic in (False, True)
    )
    assert gedp.plan(claimed, like=tmp_path / "t.csv").tables
    gedp.run(honest, out=tmp_path / "out")
    for spec in (honest, claimed):
        with pytest.raises(Refused, match="is confidential"):
            gedp.plan(spec, like=tmp_path / "t.csv")


def test_sizes_of_nothing_have_no_total() -> None:
    spec, nothing = wages(PLAIN), table_of(2, wage=[0, 0])
    with pytest.raises(FaultsError, match="the sizes add up to 0 or less"):
        gedp.plan(spec, like=nothing, table=nothing, totals={"wage": 5.0})


def test_a_release_without_the_map_of_a_grouping_cannot_be_planned_from(tmp_path: Path) -> None:
    spec = wages(PLAIN)
    gedp.run(spec, table=table_with(9), out=tmp_path / "out", ledger=tmp_path / "t.ledger")
    (tmp_path / "regions.csv").write_text("cnty,region\n001,north\n003,south\n005,south\n", encoding="utf-8")
    other = wages(
        PLAIN,
        data={"source": str(tmp_path / "nowhere.csv")},
        groupers={"region": {"column": "cnty", "map": str(tmp_path / "regions.csv")}},
        queries=[{"name": "region", "by": ["region"]}],
    )
    with pytest.raises(FaultsError, match="grouping region: its map is not that of the release"):
        gedp.plan(other, like=tmp_path / "out")


def test_the_largest_share_counts_every_table_by_classes_and_every_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pool of 2: 80% of 1 for groups, half of 0.5 and a tenth of 0.2 by classes, all of 0.25 for a combination."""

    @dataclass(frozen=True)
    class Said:
        largest_share: float

    def measured(payer: str, share: float, part: Fraction) -> PlannedMeasure:
        measure = SimpleNamespace(parts={"n": {payer: part}})
        return PlannedMeasure(cast(Any, SimpleNamespace(measure=measure)), {}, {"n": share})

    monkeypatch.setattr(individual, "whole_pools", lambda spec: {"w": SimpleNamespace(mu_squared=Fraction(2))})
    job: Any = SimpleNamespace(pools={"w": SimpleNamespace(pool=Fraction(1))}, spec=None)
    said: Any = Said(0.8)
    measures = [
        measured("w", 0.5, Fraction(1, 2)),
        measured("other", 1.0, Fraction(1)),
        measured("w", 0.1, Fraction(1, 5)),
        measured("w", 1.0, Fraction(1, 4)),
    ]
    found = individual.IndividualJob._with_set_aside(job, "w", said, dict(zip("abcd", measures, strict=True)))
    assert found.largest_share == pytest.approx((0.8 + 0.25 + 0.02 + 0.25) / 2)
    assert individual.IndividualJob._with_set_aside(job, "w", said, {}) is said


@pytest.mark.parametrize(("times", "is_carried"), [(1.01, True), (0.99, False)])
def test_the_widest_noise_of_a_second_answer_has_a_grid_or_is_rejected(times: float, is_carried: bool) -> None:
    """It is that of the least price: a part of a part of the pool."""
    attribute = Attribute("x", Closeness("sqrt", Decimal("0.5")))
    grid = varied_psi_grid(attribute.protection, BITS, float(MOST_UNITS), 1.0)
    least = (grid.sensitivity / grid.most_sigma) ** 2 / (LEAST_SECOND * LEAST_LEFT)
    with nullcontext() if is_carried else pytest.raises(DomainError, match="there is no grid for noise"):
        varied_psi(attribute, Fraction(least * times))


def test_there_is_no_bound_where_not_even_one_unit_can_be_hidden() -> None:
    """At such a price no grid carries noise for a single unit; at a million times the price one does."""
    attribute = Attribute("x", Closeness("linear", Decimal(1)))
    assert clipping_range(attribute, 1.0, 1e-34)[0] == 0
    assert clipping_range(attribute, 1.0, 1e-22)[0] >= 1
