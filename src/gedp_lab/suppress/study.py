"""One attribute of a table, suppressed and attacked: how much is lost, and what an attacker learns all the same."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, CodeArray
from gedp.confidential.sealing import sealed
from gedp.microdata.cells import PublicRows
from gedp.progress import Progress, silent
from gedp_lab.baselines.workflows import require_amounts, require_establishments
from gedp_lab.evaluate.levels import Level
from gedp_lab.evaluate.truth import Truth
from gedp_lab.suppress import gconfid, secondary, tauargus
from gedp_lab.suppress.audit import Audit, audit
from gedp_lab.suppress.linked import LinkedTables, link
from gedp_lab.suppress.outside import MINUTES, LeftOutError
from gedp_lab.suppress.publishers import SecondTable, second_tables
from gedp_lab.suppress.rules import USUAL, parse_rule

PRIMARY, OURS = "primary alone", "ours"
MOST_SECOND = 2_000  # cells of a table that a second publisher is tried with


@dataclass(frozen=True)
class StudyOptions:
    """Which cells are sensitive, and who hides the others."""

    rule: str = USUAL
    method: str = "modular"  # of tau-Argus
    minutes: int = MINUTES  # for each program of others
    two_publishers: bool = True


@dataclass(frozen=True)
class LevelOutcome:
    """What suppression leaves of one table, and what an attacker learns about the rest."""

    method: str
    attribute: str
    level: str
    cells: int
    sensitive: int
    hidden: int
    share_hidden: float
    value_hidden: float  # share of the total of the table
    unsafe: int
    exact: int
    median_width: float  # of the intervals of hidden cells, relative to their value


@dataclass(frozen=True, repr=False)
class Pattern:
    """The cells that one method hides, audited."""

    method: str
    hidden: BoolArray
    found: Audit
    seconds: float  # to choose the cells
    audit_seconds: float

    def outcomes(self, tables: LinkedTables, attribute: str) -> Iterator[LevelOutcome]:
        """One for each table."""
        unsafe, exact = self.found.is_unsafe(tables), self.found.is_exact(tables)
        width = self.found.high - self.found.low
        for name, cells in tables.levels():
            hidden, values = self.hidden[cells], tables.values[cells]
            relative = width[cells][hidden] / np.maximum(values[hidden], 1.0)
            yield LevelOutcome(
                self.method,
                attribute,
                name,
                len(values),
                int(tables.is_sensitive[cells].sum()),
                int(hidden.sum()),
                float(hidden.mean()),
                float(values[hidden].sum() / max(values.sum(), 1e-300)),
                int(unsafe[cells].sum()),
                int(exact[cells].sum()),
                float(np.median(relative)) if hidden.any() else float("nan"),
            )


@dataclass(frozen=True, repr=False)
class SuppressionStudy:
    """Suppression of one attribute by several methods. Confidential, unless the data is synthetic."""

    attribute: str
    rule: str
    tables: LinkedTables
    patterns: tuple[Pattern, ...]
    second: tuple[SecondTable, ...] = ()  # from the one that opens most cells of our pattern down
    notes: tuple[str, ...] = field(default=())  # what was left out, and how to get it

    def outcomes(self) -> list[LevelOutcome]:
        """One for each method and table."""
        return [outcome for each in self.patterns for outcome in each.outcomes(self.tables, self.attribute)]

    def pattern(self, method: str) -> Pattern:
        """The cells that a method hides."""
        return next(each for each in self.patterns if each.method == method)

    def cells(self, labels: pa.Array) -> pa.Table:
        """Every cell with its value and, for each method, whether it is hidden and the attacker's interval."""
        tables, shown = self.tables, self.tables.is_shown
        levels = np.repeat(tables.names, np.diff(tables.starts))
        columns = {
            "attribute": pa.repeat(self.attribute, int(shown.sum())),
            "level": pa.array(levels[shown]),
            "keys": labels,
            "establishments": pa.array(tables.counts[shown]),
            "value": pa.array(tables.values[shown]),
            "sensitive": pa.array(tables.is_sensitive[shown]),
            "need": pa.array(tables.needs[shown]),
        }
        for each in self.patterns:
            found = {"hidden": each.hidden, "low": each.found.low, "high": each.found.high}
            columns |= {f"{each.method}: {name}": pa.array(values[shown]) for name, values in found.items()}
        return pa.table(columns)


@sealed
def study_suppression(
    public_rows: PublicRows,
    levels: Sequence[Level],
    truth: Truth,
    attribute: str,
    folder: Path,
    options: StudyOptions | None = None,
    progress: Progress = silent,
) -> SuppressionStudy:
    """Suppresses one attribute by every method that is at hand. `folder` is closed: other programs get files there."""
    options = options or StudyOptions()
    require_amounts(public_rows.spec, attribute)
    require_establishments(public_rows.spec, "suppression")
    rule, values = parse_rule(options.rule), truth.values(attribute)
    by_level = {level.name: public_rows.cells(level.by).group_of for level in levels}
    tables = link(by_level, values, rule)
    keys = list(dict.fromkeys(key for level in levels for key in level.by))
    codes = {key: public_rows.key(key)[0] for key in keys}
    tau_argus, g_confid = (program.call_in(folder, options.minutes) for program in (tauargus, gconfid))
    methods: dict[str, Callable[[], BoolArray]] = {
        PRIMARY: lambda: tables.is_sensitive,
        OURS: lambda: secondary.suppress(tables, progress),
        tauargus.NAME: lambda: tauargus.suppress(
            tables, [level.by for level in levels], codes, values, tau_argus, options.method
        ),
        gconfid.NAME: lambda: gconfid.suppress(tables, g_confid),
    }
    patterns, notes = [], []
    for name, method in methods.items():
        progress(f"suppression of {attribute}: {name}", 0, 0)
        try:
            patterns.append(_pattern(name, method, tables))
        except LeftOutError as left_out:
            notes.append(str(left_out))
    second: list[SecondTable] = []
    if options.two_publishers:
        ours = next(each for each in patterns if each.method == OURS)
        second = second_tables(tables, ours.hidden, ours.found, _second(by_level), values, rule)
    return SuppressionStudy(attribute, str(rule), tables, tuple(patterns), tuple(second), tuple(notes))


def _pattern(name: str, method: Callable[[], BoolArray], tables: LinkedTables) -> Pattern:
    started = time.perf_counter()
    hidden = method()
    chosen = time.perf_counter()
    found = audit(tables, hidden)
    return Pattern(name, hidden, found, chosen - started, time.perf_counter() - chosen)


def _second(by_level: dict[str, CodeArray]) -> dict[str, CodeArray]:
    """The tables that a second publisher is tried with: those of the first that are not too large."""
    return {name: codes for name, codes in by_level.items() if int(codes.max(initial=0)) < MOST_SECOND}
