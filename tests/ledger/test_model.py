"""The ledger against a plain dictionary, in random order, with processes that die at any point."""

import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError
from gedp.ledger import Ledger, store
from tests.helpers.ledgers import MANIFEST, spend

pytestmark = pytest.mark.usefixtures("no_disk_waits")
BUDGET = Decimal("1.5")
prices = st.lists(st.integers(1, 90).map(lambda n: Decimal(n) / 100), min_size=1, max_size=3)


class LedgerMachine(RuleBasedStateMachine):
    """Every release is in the model with its μ² and its state; the budget is kept in plain fractions."""

    running = Bundle("running")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.open(Path(self.folder.name) / "ledger")
        self.model: dict[str, tuple[Fraction, str]] = {}
        self.heads = [self.ledger.verify().head]

    def teardown(self) -> None:
        self.folder.cleanup()

    def counted(self) -> Fraction:
        return sum((cost for cost, state in self.model.values() if state != "unspent"), Fraction(0))

    @rule(target=running, mus=prices)
    def reserve(self, mus: list[Decimal]) -> object:
        asked = sum((Fraction(mu) ** 2 for mu in mus), Fraction(0))
        if self.counted() + asked > Fraction(BUDGET) ** 2:
            with pytest.raises(BudgetExceededError):
                spend(self.ledger, BUDGET, *mus)
            return multiple()
        made = spend(self.ledger, BUDGET, *mus)
        assert made.total.mu_squared == self.counted() + asked
        self.model[made.release_id] = (asked, "reserved")
        return made.release_id

    @rule(release=consumes(running))
    def commit(self, release: str) -> None:
        self.ledger.commit(release, MANIFEST)
        self.model[release] = (self.model[release][0], "finished")

    @rule(release=consumes(running), before_noise=st.booleans())
    def abandon(self, release: str, before_noise: bool) -> None:
        self.ledger.abandon(release, "given up", before_noise=before_noise)
        self.model[release] = (self.model[release][0], "unspent" if before_noise else "abandoned")

    @rule(release=consumes(running))
    def crash_after_reserving(self, release: str) -> None:
        """Nobody will ever say what became of it."""

    @rule(mu=st.sampled_from(["0.01", "0.1"]), early=st.booleans())
    def crash_while_writing(self, mu: str, early: bool) -> None:
        """The process ends before the transaction does, so the reservation was never made."""
        append = store.append

        def dies(*arguments: object) -> None:
            if not early:
                append(*arguments)  # type: ignore[arg-type]
            raise SystemExit

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "append", dies)
            with pytest.raises((SystemExit, BudgetExceededError)):
                spend(self.ledger, BUDGET, mu)

    @rule()
    def another_process_opens_it(self) -> None:
        self.ledger = Ledger.open(self.ledger.path)

    @invariant()
    def the_ledger_says_what_happened(self) -> None:
        state = self.ledger.state()
        assert state.verification.ok
        assert {r.reserve.release: (r.reserve.loss.mu_squared, r.outcome) for r in state.releases} == self.model
        assert state.total.mu_squared == self.counted()
        assert state.total <= PrivacyLoss.of(BUDGET)
        finished = sum((cost for cost, outcome in self.model.values() if outcome == "finished"), Fraction(0))
        assert state.total.mu_squared >= finished
        assert all(state.verification.knows(head) for head in self.heads), "it only grows"
        self.heads.append(state.verification.head)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=15, stateful_step_count=25)
