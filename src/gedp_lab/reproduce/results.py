"""What an item of the paper comes to: the printed result, ours, and claims with their outcome. Plain data.

`document` shows it; an item knows nothing of that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from gedp.documents import Chart, PrintedTable
from gedp_lab.reproduce.context import Context

AGREES, IN_PART, DISAGREES, SKIPPED, FAILED = "agrees", "in part", "disagrees", "skipped", "failed"
PAPER, OURS = "the paper", "ours"


@dataclass(frozen=True)
class CheckedClaim:
    """A sentence that was checked, with the numbers that decide it."""

    text: str
    source: str  # the paper, or ours
    outcome: str  # agrees, in part, disagrees
    evidence: str
    reason: str = ""  # the likely one, where it does not hold
    drawn: str = ""  # how many independent draws the checks are of; nothing where there is no chance in them


@dataclass(frozen=True)
class Result:
    """One item: what is printed in the paper, what we get, and whether that agrees."""

    printed: str
    ours: str
    verdict: str
    why: str = ""  # what explains a difference, or why it was skipped
    claims: Sequence[CheckedClaim] = ()
    tables: Sequence[PrintedTable] = ()
    figures: Sequence[Chart] = ()
    links: Mapping[str, str] = field(default_factory=dict)  # text, and a path relative to the folder of results
    data: Mapping[str, pa.Table] = field(default_factory=dict)  # to be written as Parquet

    @property
    def is_as_expected(self) -> bool:
        """Whether all agrees, but for claims whose failure is explained."""
        if self.claims:
            return all(each.outcome == AGREES or each.reason for each in self.claims)
        return self.verdict == AGREES

    def plain(self) -> dict[str, Any]:
        """Without the data, which has files of its own; as JSON can hold it."""
        parts = ("claims", "tables", "figures")
        return {
            **{name: getattr(self, name) for name in ("printed", "ours", "verdict", "why")},
            **{name: [asdict(each) for each in getattr(self, name)] for name in parts},
            "links": dict(self.links),
            "files": sorted(f"{name}.parquet" for name in self.data),
        }


def result_of(plain: Mapping[str, Any]) -> Result:
    """A result from its plain form; its data stays in its files."""
    return Result(
        **{name: plain[name] for name in ("printed", "ours", "verdict", "why", "links")},
        claims=[CheckedClaim(**each) for each in plain["claims"]],
        tables=[PrintedTable(**each) for each in plain["tables"]],
        figures=[Chart(**each) for each in plain["figures"]],
    )


@dataclass(frozen=True)
class Simulation:
    """The random draws of an item: what they are called, how many there are usually, and at least."""

    name: str
    usual: int
    least: int = 1


@dataclass(frozen=True)
class Item:
    """A table, a figure or a set of claims of the paper. `run` must give the same for the same context."""

    name: str  # also that of its module
    title: str
    place: int  # where it comes on the page: smaller ones first
    run: Callable[[Context], Result]
    is_printed: bool = False  # whether its command prints the result instead of writing pages
    simulation: Simulation | None = None

    def draws(self, context: Context) -> int:
        """How many random draws it makes."""
        return context.draws or (self.simulation.usual if self.simulation else 0)


@dataclass(frozen=True)
class Outcome:
    """An item with its result, and how long it took."""

    item: Item
    result: Result
    seconds: float
    kept: bool = False  # whether an earlier run did it


def verdict_of(outcomes: Sequence[str | bool]) -> str:
    """Agrees if all do, disagrees if none does, else in part."""
    fine = [outcome in (True, AGREES) for outcome in outcomes]
    if all(fine):
        return AGREES
    return IN_PART if any(fine) or IN_PART in outcomes else DISAGREES


def drawn_from(claim: CheckedClaim) -> str:
    """The sentence that follows the evidence of a claim."""
    return f" Drawn: {claim.drawn}." if claim.drawn else ""


def yes_or_no(agrees: bool) -> str:
    """For a column of a table: a disagreement should not be overlooked."""
    return "yes" if agrees else "NO"


def skipped(printed: str, why: str) -> Result:
    """The result of an item that could not be computed, and why."""
    return Result(printed, "not computed", SKIPPED, why)
