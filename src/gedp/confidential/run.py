"""From a spec file to a release: opens the table and the ledger that the spec names, then measures.

Paths in a spec are relative to the folder of the spec file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gedp.accounting.composition import PrivacyLoss
from gedp.confidential.engines import ArrowStream, Engine
from gedp.confidential.engines.choice import engine_of
from gedp.confidential.measure import answer
from gedp.confidential.preparing import Prepared, noise_for, prepare
from gedp.confidential.recording import known_by
from gedp.confidential.table import open_table_of
from gedp.errors import Refused
from gedp.files import real
from gedp.folders import private_folder
from gedp.ledger import (
    EMPTY,
    DecidedBy,
    KnownBy,
    Ledger,
    Request,
    doubts_about,
    find_ledger,
    left_after,
    new_ledger,
    require_one_series,
)
from gedp.ledger.finishing import require_nothing_left
from gedp.noise.entropy import Entropy
from gedp.policy import PriceList, Spec, price, require_within_budget
from gedp.policy.codelists import read_code_lists
from gedp.progress import Progress
from gedp.release import ReleaseFolder, require_free


@dataclass(frozen=True)
class RunPlan:
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
        """What each query costs for each attribute, and in total."""
        return self.prepared.prices


def plan_run(
    spec: Spec,
    *,
    table: ArrowStream | None = None,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    replace: bool = False,
    keep: tuple[Path, ...] = (),
    decided_by: DecidedBy | None = None,
    entropy: Entropy | None = None,
    session: Any = None,
) -> RunPlan:
    """Checks everything that can be checked without spending: price, noise, table, groups, place, and the ledger.

    What it refuses, `run` would refuse. The table is the file that the spec names, or one in memory. A confidential
    file gets a ledger beside it unless one knows it already or is named; for a confidential table in memory one must
    be named, unless one knows the file that the spec names. Synthetic data have a ledger only if one knows them or is
    named. With a `session` of Spark, its workers read the table.
    """
    prices = price(spec)
    require_within_budget(prices)
    read_code_lists(spec)
    out = Path(out) if out else spec.folder / spec.output.dir
    engine = engine_of(spec, table, session)
    keep = (*keep, *engine.files())
    require_free(out, replace=replace, keep=keep)
    prepared = prepare(open_table_of(spec, engine), spec)
    found = ledger_for(engine, spec, Path(ledger) if ledger else None)
    is_new = found is not None and not found.exists()
    keep = (*keep, *([found] if found else []))
    require_free(out, replace=replace, keep=keep)
    if found is not None and not is_new:
        require_nothing_left(Ledger.open(found, create=False), private_folder(real(out)))
    entropy = noise_for(spec, entropy)
    left = left_in(found, Request.of(spec), known_by(engine, spec), decided_by)
    return RunPlan(prepared, out, found, is_new, left, replace, keep, decided_by, entropy)


def run(plan: RunPlan, *, progress: Progress | None = None) -> ReleaseFolder:
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


def ledger_for(engine: Engine, spec: Spec, named: Path | None) -> Path | None:
    """The ledger of a sound table, which may be still to be made; None for synthetic data that no ledger knows."""
    own = spec.ledger_path()
    if named and own and real(named) != real(own):
        raise Refused(f"the spec names another ledger: {own}. Name this one, or none")
    data = known_by(engine, spec)
    found = find_ledger(data, named or own)
    if found is None and not spec.data.synthetic:
        if spec.data.period is not None:
            raise Refused(
                "one ledger holds all periods of a series, so it has to be named. Give it in the spec, [ledger] file, "
                "or with --ledger (ledger in Python), even if it is to be created"
            )
        if not engine.files():
            raise Refused("a confidential table in memory needs a ledger. Name the one that belongs to its data")
        found = new_ledger(engine.files())
    if found is not None:
        require_one_series(found, data.files, spec)
    return found


def left_in(ledger: Path | None, request: Request, data: KnownBy, decided_by: DecidedBy | None) -> PrivacyLoss:
    """What will remain of the budget; rejects what the ledger would refuse."""
    doubts = () if ledger is None else doubts_about(ledger, request, data)
    if ledger is None or not ledger.exists():
        return left_after(request, EMPTY, decided_by, doubts)
    return Ledger.open(ledger, create=False).require_possible(request, data, decided_by=decided_by, doubts=doubts)
