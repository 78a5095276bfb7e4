"""From a spec file to a release: opens the table and the ledger that the spec names, then measures.

Paths in a spec are relative to the folder of the spec file.
"""

from dataclasses import dataclass
from pathlib import Path

from gedp.accounting.composition import PrivacyLoss
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import Progress, answer
from gedp.confidential.preparing import Prepared, noise_for, prepare
from gedp.confidential.table import open_table
from gedp.ledger import EMPTY, DecidedBy, Ledger, Request, find_ledger, left_after, new_ledger
from gedp.noise.entropy import Entropy
from gedp.policy import PriceList, Spec, price, require_within_budget
from gedp.release import Release, require_free


@dataclass(frozen=True)
class Plan:
    """A spec with its paths resolved and everything checked that can be before anything is spent."""

    prepared: Prepared
    out: Path
    ledger: Path | None  # None for synthetic data that no ledger knows
    ledger_is_new: bool
    left: PrivacyLoss  # what will remain of the budget
    replace: bool
    keep: tuple[Path, ...]  # never to be replaced
    decided_by: DecidedBy | None
    entropy: Entropy

    @property
    def prices(self) -> PriceList:
        """What every answer costs."""
        return self.prepared.prices


def plan_run(
    spec: Spec,
    folder: Path,
    out: Path | None = None,
    ledger: Path | None = None,
    *,
    replace: bool = False,
    keep: tuple[Path, ...] = (),
    decided_by: DecidedBy | None = None,
    entropy: Entropy | None = None,
) -> Plan:
    """Checks everything that can be checked without spending: price, noise, table, groups, place, and the ledger.

    What it refuses, `run` would refuse. A confidential table gets a ledger beside it unless one knows it already or is
    named; a synthetic one has a ledger only if one knows it or is named.
    """
    prices = price(spec)
    require_within_budget(prices)
    out = out or folder / spec.output.dir
    engine = LocalEngine(folder / spec.data.source)
    files = engine.files()
    found = find_ledger(files, ledger)
    if found is None and not spec.data.synthetic:
        found = new_ledger(files)
    is_new = found is not None and not found.exists()
    keep = (*keep, *files, *([found] if found else []))
    require_free(out, replace=replace, keep=keep)
    table = open_table(engine, spec.data, spec.policy.attributes, spec.groupers, folder)
    prepared = prepare(table, spec)
    entropy = noise_for(spec, entropy)
    left = _left(spec, found, decided_by, seeded=entropy.kind != "system")
    return Plan(prepared, out, found, is_new, left, replace, keep, decided_by, entropy)


def run(plan: Plan, *, progress: Progress | None = None) -> Release:
    """Carries out the plan: this spends budget."""
    return answer(
        plan.prepared,
        out=plan.out,
        ledger=None if plan.ledger is None else Ledger.open(plan.ledger, create=plan.ledger_is_new),
        entropy=plan.entropy,
        replace=plan.replace,
        keep=plan.keep,
        decided_by=plan.decided_by,
        progress=progress,
    )


def _left(spec: Spec, ledger: Path | None, decided_by: DecidedBy | None, *, seeded: bool) -> PrivacyLoss:
    """What will remain of the budget; refuses what the ledger would refuse."""
    request = Request.of(spec, seeded=seeded)
    if ledger is None or not ledger.exists():
        return left_after(request, EMPTY, decided_by)
    return Ledger.open(ledger, create=False).require_possible(request, decided_by)
