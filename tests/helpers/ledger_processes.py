"""What the other processes of the ledger's tests do. Importable, so that they can be started fresh."""

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError
from gedp.ledger import InSeries, KnownBy, Ledger, Request
from gedp.periods import Period
from tests.helpers.ledgers import EMP, MANIFEST, SPEC, price_list, spend


def race(paths: list[Path], barrier: Barrier, answers: Connection) -> None:
    """At every ledger, all together: asks for the last of the budget, and reports whether it got it."""
    for path in paths:
        barrier.wait(60)
        try:
            answers.send(spend(Ledger.open(path), "1", "0.8").release_id)
        except BudgetExceededError:
            answers.send(None)


def keep_releasing(path: Path, told: Connection) -> None:
    """Reserves and finishes releases until killed, and reports each step once it is done."""
    ledger = Ledger.open(path)
    while True:
        release = spend(ledger, "1000", "0.1").release_id
        told.send(("reserved", release))
        ledger.commit(release, MANIFEST)
        told.send(("finished", release))


def asked_in_series(period: str, mu: str, year: str) -> Request:
    """A release of one period that asks for so much, where a year has such a budget."""
    terms = InSeries(Period.of(period), PrivacyLoss.of(year))
    return Request(price_list("1", mu), {"emp": EMP}, series=terms)


def race_in_a_year(paths: list[Path], period: str, barrier: Barrier, answers: Connection) -> None:
    """At every ledger, all together: asks for the last of a year's budget, and reports whether it got it."""
    for path in paths:
        barrier.wait(60)
        files = [path.with_name(f"{period}.csv")]
        try:
            Ledger.open(path).prepare(asked_in_series(period, "0.9", "1.5"), KnownBy(files), spec_digest=SPEC).reserve()
            answers.send(True)
        except BudgetExceededError:
            answers.send(False)


def keep_releasing_periods(path: Path, told: Connection) -> None:
    """Reserves one period after the other and finishes none, until killed; reports each once it is on disk."""
    ledger, period = Ledger.open(path), Period.of("2016Q1")
    while True:
        file = path.with_name(f"{period}.csv")
        file.write_text(str(period))
        ledger.prepare(asked_in_series(str(period), "0.5", "10"), KnownBy([file]), spec_digest=SPEC).reserve()
        told.send(str(period))
        period = period.next
