"""What the other processes of the ledger's tests do. Importable, so that they can be started fresh."""

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from gedp.errors import BudgetExceededError
from gedp.ledger import Ledger
from tests.helpers.ledgers import MANIFEST, spend


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
