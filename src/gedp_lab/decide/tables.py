"""What a decision is made from, as rows of tables: for its page, and for the paper's claims."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gedp.numbers import short, short_share
from gedp_lab.baselines.translation import told_apart
from gedp_lab.compare import Comparison
from gedp_lab.decide.gather import AttributeFacts, EzsOutcome
from gedp_lab.decide.sizes import CellSizes, errors_by_size
from gedp_lab.suppress.document import seconds_text
from gedp_lab.suppress.study import OURS, Pattern, SuppressionStudy

SUPPRESSION = "suppression"
LARGE = 2  # of the sizes of establishments: ten times the reference
AUDIT_HEADINGS = ("suppression", "withheld", "share", "unsafe", "exact", "interval", "seconds", "of the audit")

GLANCE_HEADINGS = ("method", "withheld", "small cells", "largest total", "an attacker", "seconds")


def glance_rows(comparison: Comparison, attribute: str, facts: AttributeFacts) -> list[list[str]]:
    """A row for each method under GLANCE_HEADINGS: what it withholds, how far off it is, and what that is worth."""
    classes, errors = errors_by_size(comparison, attribute)
    small = smallest_class(errors)
    largest, seconds = largest_level(comparison, attribute), comparison.times
    rows = []
    for workflow in comparison.order.workflows:
        line, ezs = comparison.line(workflow, attribute, largest), facts.ezs.get(workflow)
        rows.append(
            [
                workflow,
                short_share(ezs.all_withheld if ezs else 0.0),
                short_share(errors[workflow][small]),
                short(line.mean_absolute, 3),
                _certain(ezs) if ezs else _told(facts, workflow),
                seconds_text(seconds[workflow]),
            ]
        )
    study = facts.suppression
    return rows + (
        [] if study is None else [_suppressed(study, each, classes, small, largest) for each in study.patterns]
    )


def smallest_class(errors: Mapping[str, Sequence[float]]) -> int:
    """The first class of sizes that has cells."""
    first = next(iter(errors.values()))
    return next((place for place, error in enumerate(first) if not math.isnan(error)), 0)


def largest_level(comparison: Comparison, attribute: str) -> str:
    """The level of the largest total: that with the fewest groups."""
    first = comparison.order.workflows[0]
    return min(comparison.order.levels, key=lambda level: comparison.line(first, attribute, level).groups)


def _told(facts: AttributeFacts, workflow: str) -> str:
    """How often the better guess is right for a large establishment."""
    size, mu = facts.sizes[LARGE], float(facts.strengths[workflow][LARGE])
    return f"guesses {short(size, 2)} or {facts.reference.alpha:.0%} more right in {short_share(told_apart(mu))}"


def _certain(ezs: EzsOutcome) -> str:
    known = (
        f"; finds {ezs.attack.exact:,} of {ezs.attack.cells:,} alone exactly" if ezs.attack and ezs.attack.cells else ""
    )
    return f"certain in {short_share(ezs.told_apart)}{known}"


def _suppressed(study: SuppressionStudy, pattern: Pattern, classes: CellSizes, small: int, largest: str) -> list[str]:
    tables = study.tables
    shown = tables.is_shown & (tables.values > 0)
    share = classes.shares(tables.values[shown], pattern.hidden[shown])[small]
    total = next(each for each in pattern.outcomes(tables, study.attribute) if each.level == largest)
    unsafe, exact = (int(marked.sum()) for marked in (pattern.found.is_unsafe(tables), pattern.found.is_exact(tables)))
    opened = int(study.second[0].opened.sum()) if study.second and pattern.method == OURS else 0
    second = f"; a second table opens {opened:,}" if opened else ""
    return [
        f"{SUPPRESSION}, {pattern.method}",
        short_share(float(pattern.hidden.sum() / tables.is_shown.sum())),
        f"{short_share(share)} withheld",
        "withheld" if total.hidden else "exact",
        f"{unsafe:,} unsafe, {exact:,} exact{second}",
        seconds_text(pattern.seconds + pattern.audit_seconds),
    ]


def withheld_by_level(facts: AttributeFacts, levels: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: the share of figures that suppression and EZS flags withhold; formal methods withhold none."""
    study, columns = facts.suppression, dict[str, Mapping[str, float]]()
    if study is not None:
        for pattern in study.patterns:
            found = {each.level: each.share_hidden for each in pattern.outcomes(study.tables, study.attribute)}
            columns[f"{SUPPRESSION}, {pattern.method}"] = found
    columns |= {name: each.withheld for name, each in facts.ezs.items()}
    rows = [[level, *(short_share(found.get(level, math.nan)) for found in columns.values()), "0%"] for level in levels]
    return ["level", *columns, "all others"], rows


def audit_rows(study: SuppressionStudy) -> list[list[str]]:
    """A row for each method of suppression under AUDIT_HEADINGS; the interval is the median, in widths of its value."""
    return [_audit_row(study, pattern) for pattern in study.patterns]


def _audit_row(study: SuppressionStudy, pattern: Pattern) -> list[str]:
    tables, hidden, found = study.tables, pattern.hidden, pattern.found
    width = (found.high - found.low)[hidden] / np.maximum(tables.values[hidden], 1.0)
    return [
        pattern.method,
        f"{hidden.sum():,}",
        short_share(float(hidden.sum() / tables.is_shown.sum())),
        f"{found.is_unsafe(tables).sum():,}",
        f"{found.is_exact(tables).sum():,}",
        short_share(float(np.median(width))) if len(width) else "none",
        seconds_text(pattern.seconds),
        seconds_text(pattern.audit_seconds),
    ]
