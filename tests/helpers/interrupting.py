"""Releases of several kinds that end at any step: interrupted, or killed in a process of their own."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import gedp
from gedp.confidential import asking
from gedp.confidential.engines import Draw, Results
from gedp.confidential.engines.part import Part
from gedp.confidential.table import open_table_of
from gedp.ledger import Ledger, PreparedReservation
from gedp.noise.entropy import SystemEntropy
from gedp.release import ReleaseWriter, writer
from tests.helpers.builder import spec_of, table_of
from tests.helpers.passes import DividedThroughout

#: Where a release can end: before and after each of these.
STEPS: Mapping[str, tuple[Any, str]] = {
    "pass": (Part, "batches"),
    "reserve": (PreparedReservation, "reserve"),
    "draw": (SystemEntropy, "words"),
    "rows": (ReleaseWriter, "write_identity"),
    "answers": (ReleaseWriter, "write_answers"),
    "manifest": (writer, "manifest_text"),
    "sync": (writer, "_sync"),
    "name": (Path, "replace"),
    "written": (asking, "write_answer"),
    "link": (asking, "name_answer"),
    "commit": (Ledger, "commit"),
}
CONFIDENTIAL: dict[str, Any] = {"data": {"synthetic": False}, "budget": {"mu": 10}}
TABLES = ["county", "cells"]
LEDGER, OUT = "x.ledger", "out"


class Elsewhere(DividedThroughout):
    """Rows in parts, whose noise comes from a source that was handed to a worker, after a pass: Spark without Spark."""

    def draw(self, asked: Draw) -> Results:
        self.reduce(asked.of_rows)
        return super().draw(replace(asked, entropy=asked.entropy.for_worker()()))


def by_prices(folder: Path, out: str = OUT) -> None:
    _run(spec_of(**CONFIDENTIAL), folder, out)


def by_tables(folder: Path, out: str = OUT) -> None:
    """Without answers about establishments: sums come before the first draw."""
    _run(spec_of(**CONFIDENTIAL, queries=TABLES), folder, out)


def by_classes(folder: Path, out: str = OUT) -> None:
    _run(spec_of("classes", "combinations", **CONFIDENTIAL), folder, out)


def by_individual(folder: Path, out: str = OUT) -> None:
    own: Any = {**CONFIDENTIAL, "budget": {"mu": 10, "spend": 5}}
    _run(spec_of("classes", "combinations", accounting="individual", **own), folder, out)


def divided(folder: Path, out: str = OUT) -> None:
    spec = spec_of(**CONFIDENTIAL)
    table = open_table_of(spec, Elsewhere(table_of(), [31], lambda places: places[::-1]))
    gedp.measure(table, spec, out=folder / out, ledger=Ledger.open(folder / LEDGER))


def asked(folder: Path, out: str = OUT) -> None:
    stated: Any = {"name": "sum", "attributes": ["emp"], "mu": 0.5, "sensitivity": 1, "largest": 1e7}
    places: Any = {"out": folder / out, "ledger": folder / LEDGER}
    gedp.ask(spec_of(**CONFIDENTIAL), with_jobs, table=table_of(), **stated, **places)


def with_jobs(columns: Mapping[str, Any]) -> float:
    """A thousandth of the number of establishments that have any jobs."""
    return float(np.minimum(columns["emp"], 1).sum()) / 1e3


def _run(spec: gedp.Spec, folder: Path, out: str) -> None:
    gedp.run(spec, table_of(), out=folder / out, ledger=folder / LEDGER, answers_only=True)


WORLDS: Mapping[str, Callable[..., None]] = {
    "prices": by_prices,
    "tables": by_tables,
    "classes": by_classes,
    "individual": by_individual,
    "divided": divided,
    "asked": asked,
}


@contextmanager
def watched(hear: Callable[[str], None]) -> Iterator[None]:
    """`hear` is told before and after every step, and may end it there."""

    def heard(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def both(*args: Any, **options: Any) -> Any:
            hear(f"before {step}")
            result = function(*args, **options)
            hear(f"after {step}")
            return result

        return both

    with ExitStack() as patches:
        for step, (owner, name) in STEPS.items():
            patches.enter_context(patch.object(owner, name, heard(step, getattr(owner, name))))
        yield


class Ending:
    """Ends a release at the step of a number; without one, lists the steps."""

    def __init__(self, number: int | None = None, end: Callable[[], None] | None = None) -> None:
        self.number, self.end, self.seen = number, end, list[str]()

    def __call__(self, step: str) -> None:
        self.seen.append(step)
        if self.number == len(self.seen) - 1 and self.end:
            self.end()


def steps_of(world: str, folder: Path) -> list[str]:
    """The steps of a release that nothing ends."""
    ending = Ending()
    with watched(ending):
        WORLDS[world](folder)
    return ending.seen


def kill_at(world: str, folder: Path, number: int) -> None:
    """In a process of its own: kills it at a step."""
    with watched(Ending(number, lambda: os.kill(os.getpid(), signal.SIGKILL))):
        WORLDS[world](folder)


def is_whole(seen: Sequence[str]) -> bool:
    """Whether all of a release is on disk after these steps."""
    return "before sync" in seen or "after written" in seen


def is_named(seen: Sequence[str]) -> bool:
    """Whether a release has its name after these steps."""
    return "after name" in seen or "after link" in seen


def told(folder: Path) -> tuple[Fraction, list[str]]:
    """What counts, and how the releases ended; the ledger must be sound."""
    if not (folder / LEDGER).exists():
        return Fraction(0), []
    state = Ledger.open(folder / LEDGER, create=False).state()
    assert state.verification.ok
    return state.total.mu_squared, [release.outcome for release in state.releases]
