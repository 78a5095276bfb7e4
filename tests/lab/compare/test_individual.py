"""Other budgets, shares and fewer attributes of a spec without prices."""

from decimal import Decimal
from fractions import Fraction

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import DomainError
from gedp.lab.compare.sweeps import settings_of
from gedp.lab.compare.workflows import with_attributes
from gedp.policy import parse_spec, pools, price, write_spec
from tests.policy.test_individual import GOOD

SPEC = parse_spec(GOOD)


def test_another_total_is_spent_in_full() -> None:
    (setting,) = settings_of(SPEC, "mu=2")
    assert price(setting.spec).total == setting.spec.policy.budget == PrivacyLoss.of(2)
    assert setting.spec.queries == SPEC.queries


def test_an_attribute_gets_another_share_of_the_same_total() -> None:
    (setting,) = settings_of(SPEC, "attribute:wage=0.2")
    prices = price(setting.spec)
    assert prices.total == PrivacyLoss.of("0.6")
    assert prices.share(pools(setting.spec)["wage"]) == Fraction(1, 5)
    with pytest.raises(DomainError, match="There are: mu, attribute:emp"):
        settings_of(SPEC, "query:county=0.2")


def test_fewer_attributes_keep_their_pools() -> None:
    fewer = with_attributes(SPEC, ["emp", "wage"])
    assert [query.attributes for query in fewer.queries] == [("emp", "wage")] * 3
    for name, pool in pools(fewer).items():
        assert 0 <= pools(SPEC)[name].mu_squared - pool.mu_squared < Fraction(1, 10**14)
    assert parse_spec(write_spec(fewer)) == fewer
    assert with_attributes(SPEC, list(SPEC.policy.attributes)) == SPEC
    assert with_attributes(SPEC, ["profit"]).policy.spend == Decimal("0.3")
