"""Tables of a release that lean on earlier ones, by a model: never part of a release, and labelled in every line."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.arrays import FloatArray, IntArray
from gedp.errors import Fault, FaultsError, Refused
from gedp.estimates import ESTIMATED, Estimates, table_columns
from gedp.microdata import Microdata
from gedp.microdata.comparable import require_comparable
from gedp.release import ProtectedAnswers
from gedp.release.manifest import is_release
from gedp.sharpening.model import Filtered, Step, keep_totals, pooled_noise, sharpen_totals
from gedp.tables import Table

MODEL, DIRECT = "model-based", "direct"
NOTE = (
    "Model-based: lines marked so lean on earlier releases and on a model of how totals change. They are biased where "
    "a group changes unlike the others, and are not part of any release. Direct estimates stand beside them."
)


@dataclass(frozen=True)
class Sharpened:
    """A table of the newest release in which groups lean on earlier ones, and what the model found, by attribute and
    quarter from the earliest on (None where it could say nothing)."""

    table: Table
    steps: dict[str, list[Step | None]]

    note = NOTE


def sharpen(
    newest: Microdata,
    earlier: Sequence[Microdata],
    by: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    *,
    within: str | Sequence[str] = (),
    confidence: float | None = None,
) -> Sharpened:
    """A table of the newest release by any grouping, sharpened by earlier releases: newest first.

    Groups with the same codes of `within`, some of the keys, are a family: they share a growth, and still add up to
    what the newest release says of them. `method` is "model-based" where earlier releases are in an estimate, and
    "direct" where it is that of `microdata.tabulate`; the latter is always in `direct_estimate` and
    `direct_std_error`. Without `attributes` there are all but combinations.
    """
    by, within = _names(by), _names(within)
    _require(newest, earlier, by, within)
    for new, old in combinations((newest, *earlier), 2):
        require_comparable(new, old, by, None if attributes is None else _names(attributes))
    direct = newest.tabulate(by, attributes, confidence).arrow
    totals = newest.tabulate(within, attributes, confidence).arrow
    before = [each.tabulate(by, attributes, confidence).arrow for each in reversed(earlier)]
    level = float(newest.public_rows.spec.output.confidence) if confidence is None else confidence
    parts, steps = [], {}
    nearly = {} if attributes else newest.public_rows.spec.combinations  # whose groups add up only nearly to totals
    for name in (name for name in pc.unique(direct["attribute"]).to_pylist() if name not in nearly):
        lines, *others = (_of(table, name) for table in (direct, totals, *before))
        state, steps[name] = _sharpened(lines, others[0], others[1:], by, within)
        parts.append(_columns(lines, state, level))
    return Sharpened(Table(pa.concat_tables(parts)), steps)


def require_outside_releases(out: Path) -> None:
    """Rejects a place inside a release, where a table of a model would pass for part of it."""
    for folder in out.resolve().parents:
        if is_release(folder):
            raise Refused(
                f"{out} is inside the release {folder}, which has no tables of a model. Choose another folder"
            )


def _sharpened(
    lines: pa.Table, totals: pa.Table, before: Sequence[pa.Table], by: Sequence[str], within: Sequence[str]
) -> tuple[Filtered, list[Step | None]]:
    """What is known of every line with earlier quarters (the earliest first), and the steps to there."""
    codes, groups = _numbered([*before, lines], by)
    answers, variances = (np.full((len(codes), groups), np.nan) for _ in range(2))
    for quarter, (table, code) in enumerate(zip([*before, lines], codes, strict=True)):
        answers[quarter, code] = _numbers(table, "estimate")
        variances[quarter, code] = _numbers(table, "std_error") ** 2
    if any(kind != "exact" for table in (*before, lines) for kind in pc.unique(table["variance_kind"]).to_pylist()):
        variances = pooled_noise(variances)
    by_table, families = _numbered([*before, lines, totals], within)
    family = np.zeros(groups, np.int64)
    for code, of_line in zip(codes, by_table, strict=False):
        family[code] = of_line
    state, steps = sharpen_totals(answers, variances, family)
    own = state.take(codes[-1])
    answer, noise, family = answers[-1, codes[-1]], variances[-1, codes[-1]], family[codes[-1]]
    total_noise = np.full(families, np.nan)
    total_noise[by_table[-1]] = _numbers(totals, "std_error") ** 2
    return keep_totals(own, answer, family, _of_sharpened(own, noise, family, total_noise)), steps


def _of_sharpened(state: Filtered, noise: FloatArray, family: IntArray, total_noise: FloatArray) -> FloatArray:
    """Error variances of the totals of the sharpened groups of each family: that of the whole and of the others, or of
    independent groups if that is less."""
    others = np.bincount(family[~state.is_sharpened], noise[~state.is_sharpened], len(total_noise))
    alone = np.bincount(family[state.is_sharpened], noise[state.is_sharpened], len(total_noise))
    return np.fmin(total_noise + others, alone)


def _columns(lines: pa.Table, state: Filtered, confidence: float) -> pa.Table:
    """The lines with the state in place of the direct estimates, where it leans on earlier quarters."""
    model, figures = pa.array(state.is_sharpened), Estimates.of_kind(state.estimate, state.variance, ESTIMATED)
    *numbers, (kind, _) = table_columns(figures.with_interval(confidence)).items()
    others = [name for name in lines.column_names if name not in (*dict(numbers), kind)]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {name: lines[name] for name in others}
    for name, values in numbers:
        columns[name] = pc.if_else(model, values, lines[name].combine_chunks())
    columns["method"] = pa.array(np.where(state.is_sharpened, MODEL, DIRECT))
    columns[kind] = pc.if_else(model, pa.repeat("model", lines.num_rows), lines[kind].combine_chunks())
    return pa.table(columns | {f"direct_{name}": lines[name] for name in ("estimate", "std_error")})


def _require(newest: Microdata, earlier: Sequence[Microdata], by: Sequence[str], within: Sequence[str]) -> None:
    """Rejects, in one error, what would not be a series."""
    faults = []
    if not earlier:
        faults.append(Fault("earlier", "there is no earlier release", "Give one or more, the newest first"))
    sources = [each.public_rows.source for each in (newest, *earlier)]
    if any(_same(first, second) for first, second in combinations(sources, 2)):
        problem = "a release was given twice, and its noise would count as independent"
        faults.append(Fault("earlier", problem, "Give the release of each quarter once"))
    periods = [period for source in sources if (period := source.manifest.spec.data.period)]
    if any(first.kind != second.kind or first <= second for first, second in pairwise(periods)):
        named = ", ".join(map(str, periods))
        faults.append(Fault("earlier", f"the releases are of {named}", "Name them from the newest to the oldest"))
    if strange := [key for key in within if key not in by]:
        faults.append(Fault("within", f"{', '.join(strange)} is not among the keys", "Use some of those in by"))
    if by and list(by) == list(within):
        faults.append(Fault("within", "every group would be a family of its own", "Leave out one of the keys"))
    if faults:
        raise FaultsError("sharpening", faults)


def _same(first: ProtectedAnswers, second: ProtectedAnswers) -> bool:
    files = first.manifest.files
    return first is second or bool(files and files == second.manifest.files)


def _names(names: str | Sequence[str]) -> list[str]:
    return list(dict.fromkeys([names] if isinstance(names, str) else names))


def _of(table: pa.Table, attribute: str) -> pa.Table:
    return table.filter(pc.equal(table["attribute"], attribute))


def _numbers(table: pa.Table, column: str) -> FloatArray:
    return np.array(table[column].to_numpy(), dtype=np.float64)


def _numbered(tables: Sequence[pa.Table], keys: Sequence[str]) -> tuple[list[IntArray], int]:
    """Numbers for the combinations of codes in several tables, the same in all, and how many there are."""
    combined = np.zeros(sum(table.num_rows for table in tables), np.int64)
    for key in keys:
        texts = pa.chunked_array([chunk for table in tables for chunk in table[key].chunks], pa.string())
        code = texts.combine_chunks().dictionary_encode().indices.to_numpy()
        _, combined = np.unique(combined * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return list(np.split(combined, ends)), int(combined.max(initial=-1)) + 1
