"""Releases of individual accounting in the ledger: what they cost is what the spec spends, attribute by attribute."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError
from gedp.ledger import Ledger, Request, spec_digest
from gedp.ledger.entries import Reserve, entry_text, read_entry
from gedp.ledger.judging import left_after
from gedp.policy import Spec, parse_spec, pools
from tests.helpers.runs import gedp
from tests.policy.test_individual import GOOD


@pytest.fixture
def spec() -> Spec:
    return parse_spec(GOOD)


@pytest.fixture
def ledger(tmp_path: Path, spec: Spec) -> Ledger:
    book = Ledger.open(tmp_path / "ledger")
    book.prepare(Request.of(spec), spec_digest=spec_digest(spec)).reserve()
    return book


def test_a_release_costs_what_it_spends_and_not_the_budget(ledger: Ledger, spec: Spec) -> None:
    assert ledger.total() == PrivacyLoss.of("0.6")
    (entry,) = ledger.verify().entries
    assert isinstance(entry.event, Reserve)
    assert {line.attribute: line.loss for line in entry.event.prices} == pools(spec)
    assert entry.event.loss == PrivacyLoss.of("0.6")
    assert read_entry(entry_text(entry)) == entry
    left = left_after(Request.of(spec), ledger.state(), None)
    assert left == PrivacyLoss(Fraction("1.96") - 2 * Fraction("0.36"))


def test_what_is_left_may_be_spent_exactly_and_no_more(ledger: Ledger, spec: Spec) -> None:
    rest = replace(spec, policy=replace(spec.policy, spend=Decimal("1.28")))  # 0.36 + 1.6384 > 1.96
    with pytest.raises(BudgetExceededError, match=r"Spend at most mu = 1\.264911, or have the budget raised"):
        ledger.prepare(Request.of(rest), spec_digest=spec_digest(rest)).reserve()
    rest = replace(spec, policy=replace(spec.policy, spend=Decimal("1.264911")))
    ledger.prepare(Request.of(rest), spec_digest=spec_digest(rest)).reserve()
    assert ledger.total() <= PrivacyLoss.of("1.4")


def test_share_and_typical_are_no_part_of_the_promise(ledger: Ledger, spec: Spec) -> None:
    emp = replace(spec.policy.attributes["emp"], share=Decimal(5), typical=Decimal(9))
    other = replace(spec, policy=replace(spec.policy, attributes={**spec.policy.attributes, "emp": emp}))
    ledger.prepare(Request.of(other), spec_digest=spec_digest(other)).reserve()  # nobody has to decide
    assert len(ledger.state().releases) == 2


def test_commands_show_what_each_attribute_cost(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    shown = gedp("ledger", "show", "ledger", folder=tmp_path).out
    assert "all answers about emp (0.3), all answers about wage (0.4243)" in " ".join(shown.split())
    assert "Spent: mu = 0.6 of 1.4" in shown
    assert gedp("ledger", "verify", "ledger", folder=tmp_path).code == 0
    assert "mu squared = 8/5" in gedp("ledger", "remaining", "ledger", folder=tmp_path).out
    for name in ("ledger.csv", "ledger.jsonl"):
        assert gedp("ledger", "export", "ledger", "--out", name, folder=tmp_path).code == 0
        text = (tmp_path / name).read_text(encoding="utf-8").replace('""', '"')
        assert '"attribute": "wage", "mu_squared": "9/50", "query": "all answers"' in text
