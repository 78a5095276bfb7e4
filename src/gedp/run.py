"""From a spec file to a release: opens the table and the ledger that the spec names, then measures.

Paths in a spec are relative to the folder of the spec file.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gedp.accounting.ledger import Ledger
from gedp.engines.local import LocalEngine
from gedp.measure import Progress, measure, psi_mechanisms
from gedp.noise.entropy import Entropy
from gedp.policy import PriceList, Spec, price, require_within_budget
from gedp.release import Release, require_free
from gedp.table import ConfidentialTable, open_table

_WILDCARDS = re.compile(r"[*?\[\]]+")


@dataclass(frozen=True)
class Plan:
    """A spec with its paths resolved and its price known; nothing is spent yet."""

    spec: Spec
    table: ConfidentialTable
    prices: PriceList
    out: Path
    ledger: Path | None


def plan_run(spec: Spec, folder: Path, out: Path | None = None, ledger: Path | None = None) -> Plan:
    """Checks everything that can be checked without spending: the price, the grids of the noise, and the whole table.

    A confidential table gets a ledger beside it unless one is named; a synthetic one has a ledger only if one is named.
    """
    prices = price(spec)
    require_within_budget(prices)
    psi_mechanisms(spec)
    source = folder / spec.data.source
    table = open_table(LocalEngine(source), spec.data, spec.policy.attributes, spec.groupers, folder)
    if ledger is None and not spec.data.synthetic:
        ledger = _beside(folder, spec.data.source)
    return Plan(spec, table, prices, out or folder / spec.output.dir, ledger)


def run(
    plan: Plan, *, replace: bool = False, entropy: Entropy | None = None, progress: Progress | None = None
) -> Release:
    """Carries out the plan: this spends budget."""
    require_free(plan.out, replace=replace)  # before there is a ledger
    with _opened(plan.ledger) as ledger:
        return measure(
            plan.table,
            plan.spec.policy,
            plan.spec.queries,
            out=plan.out,
            ledger=ledger,
            entropy=entropy,
            microdata=plan.spec.microdata,
            output=plan.spec.output,
            replace=replace,
            progress=progress,
        )


def _beside(folder: Path, source: str) -> Path:
    """The ledger of a source: named after it, in the last folder before any wildcard."""
    parts = list(Path(source).parts)
    wild = next((i for i, part in enumerate(parts[:-1]) if _WILDCARDS.search(part)), len(parts) - 1)
    name = ".".join(_WILDCARDS.sub("_", part) for part in parts[wild:])
    return folder.joinpath(*parts[:wild], f"{name}.ledger")


@contextmanager
def _opened(path: Path | None) -> Iterator[Ledger | None]:
    if path is None:
        yield None
    else:
        with Ledger.open(path) as ledger:
            yield ledger
