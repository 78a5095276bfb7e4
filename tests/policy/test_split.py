"""Gain and loss of an attribute that is split: in the spec, in the price, and what the price is for."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.ledger import Ledger, Request
from gedp.ledger.judging import DecidedBy, LessPromisedError
from gedp.neighbors import Log, Protection, Signed, Sqrt, gain_and_loss
from gedp.policy import Spec, parse_spec, price, write_spec
from tests.helpers.builder import spec_of
from tests.helpers.ledgers import SPEC as DIGEST
from tests.policy.test_spec import changed, faults_of

WAGE = 'wage = { psi = "sqrt", gamma = 50 }'
SPLIT = 'wage = { psi = "log", gamma = 0.1, shift = 1, unit = 0.01, split = true }'


def profits(**keys: object) -> Spec:
    """A spec that asks for profit by county, protected by these keys."""
    each = {"name": "each", "by": "establishment", "mu": 1}
    return spec_of(attributes={"profit": {"psi": "sqrt", "gamma": 2, **keys}}, queries=[each, "county"])


def test_a_split_attribute_is_two_that_both_have_their_price() -> None:
    spec = profits(split=True)
    assert list(spec.policy.attributes) == ["profit_gain", "profit_loss"]
    assert {a.column for a in spec.policy.attributes.values()} == {"profit"}
    assert not any(a.signed for a in spec.policy.attributes.values())
    assert spec.policy.split_columns == {"profit": {"profit_gain": 1, "profit_loss": -1}}
    assert price(spec).total.mu_squared == Fraction(4)
    assert price(profits(signed=True)).total.mu_squared == Fraction(2)


def test_a_number_for_a_split_attribute_is_one_for_each_part() -> None:
    for numbers, parts in (("wage = 0.7", ("0.7", "0.7")), ("wage_gain = 0.5, wage_loss = 0.2", ("0.5", "0.2"))):
        text = changed((WAGE, SPLIT), ("mu = { emp = 0.7, wage = 0.7 }", f"mu = {{ emp = 0.7, {numbers} }}"))
        spec = parse_spec(text)
        assert spec.queries[1].mu == {
            "emp": Decimal("0.7"),
            "wage_gain": Decimal(parts[0]),
            "wage_loss": Decimal(parts[1]),
        }
        assert parse_spec(write_spec(spec)) == spec
        assert write_spec(spec).count("split = true") == 1


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ("split = true, signed = true, shift = 1", "attributes.wage.split: gain and loss have no sign"),
        ("split = true", "attributes.wage.split: log without a shift has no value at 0"),
        ("split = 1, shift = 1", "attributes.wage.split: 1 does not fit. Give true or false"),
    ],
)
def test_what_cannot_be_split_is_a_fault(keys: str, fault: str) -> None:
    found = faults_of(changed((WAGE, f'wage = {{ psi = "log", gamma = 0.1, unit = 0.01, {keys} }}')))
    assert len(found) == 1
    assert fault in found[0]


def test_names_of_parts_must_be_free() -> None:
    taken = changed((WAGE, f'{SPLIT}\nwage_loss = {{ psi = "sqrt", gamma = 1 }}'))
    assert any("its part would be called 'wage_loss', which is taken" in fault for fault in faults_of(taken))
    twice = changed((WAGE, SPLIT), ("mu = { emp = 0.7, wage = 0.7 }", "mu = { wage_gain = 0.7, wage = 0.7 }"))
    assert any("wage_gain has a number already" in fault for fault in faults_of(twice))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([Sqrt(), Sqrt(3.0), Log(2.0)]))
def test_parts_move_no_further_together_than_a_signed_value(x: float, y: float, psi: Sqrt | Log) -> None:
    """So values that are close as a signed attribute have parts that are close, and in ψ cost the price of one."""
    moved = [abs(float(psi.distance(a, b))) for a, b in zip(gain_and_loss(x), gain_and_loss(y), strict=True)]
    assert sum(moved) == pytest.approx(abs(float(Signed(psi).distance(x, y))), rel=1e-9, abs=1e-9)


def test_both_parts_can_move_all_the_way_at_once_so_both_are_paid_for() -> None:
    protection, gamma = Protection(Sqrt(), 2.0), 2.0
    for part_before, part_after in zip(gain_and_loss(4.0), gain_and_loss(-4.0), strict=True):
        assert abs(float(protection.psi.distance(part_before, part_after))) == gamma
    assert abs(float(Signed(Sqrt()).distance(4.0, -4.0))) == 2 * gamma


def test_the_ledger_knows_gain_and_loss_for_parts_of_their_column(tmp_path: object) -> None:
    split, signed, wider = profits(split=True), profits(signed=True), profits(split=True, gamma=3)
    narrower = profits(split=True, gamma=1)

    def allowed(first: Spec, then: Spec) -> bool:
        ledger = Ledger.open(f"{tmp_path}/{id(first)}-{id(then)}.ledger")
        ledger.prepare(Request.of(first), spec_digest=DIGEST).reserve()
        try:
            ledger.prepare(Request.of(then), spec_digest=DIGEST).reserve()
        except LessPromisedError:
            ledger.prepare(
                Request.of(then), spec_digest=DIGEST, decided_by=DecidedBy("the registrar", "memo 12")
            ).reserve()
            return False
        return True

    assert allowed(signed, split)
    assert allowed(split, wider)
    assert allowed(signed, wider)
    assert not allowed(split, signed)
    assert not allowed(signed, narrower)


def test_made_up_signs_are_split_exactly() -> None:
    values = np.array([-3.5, 0.0, 7.25])
    gain, loss = gain_and_loss(values)
    assert np.array_equal(gain - loss, values)
    assert not (gain * loss).any()
