"""Protected numbers beside true ones, group by group: of the microdata, and of the answers as they were released."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import FloatArray
from gedp.microdata import Microdata
from gedp.microdata.cells import PublicRows
from gedp_lab.evaluate.levels import Level
from gedp_lab.evaluate.metrics import ERROR_NAMES, Errors, errors_of, largest_errors, relative_errors, size_classes
from gedp_lab.evaluate.truth import Truth

MICRODATA, ANSWERS, SHARPENED = "microdata", "answers", "sharpened"
ALL_SIZES = "all"


@dataclass(frozen=True, repr=False)
class ComparedGroups:
    """One grouping and attribute: keys, truth, what is protected, and its interval (NaN where there is none)."""

    level: Level
    attribute: str
    source: str  # microdata; answers: those of the query as released; sharpened: with earlier releases, by a model
    keys: Mapping[str, pa.Array]
    truth: FloatArray
    protected: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.truth)

    def errors(self) -> Errors:
        """The errors of all groups together."""
        return errors_of(self.truth, self.protected, self.low, self.high)

    def errors_by_size(self) -> dict[str, Errors]:
        """The errors by size of the true value, smallest sizes first."""
        classes = size_classes(self.truth)
        parts = [classes.of_group == place for place in range(len(classes.labels))]
        return {
            label: errors_of(self.truth[part], self.protected[part], self.low[part], self.high[part])
            for label, part in zip(classes.labels, parts, strict=True)
        }

    def codes(self) -> pa.Array:
        """The keys of every group with commas between them, in the order of the level's."""
        if not self.keys:
            return pa.array([""] * self.groups, pa.string())
        return pa.compute.binary_join_element_wise(*self.keys.values(), ",")


def compare_microdata(
    microdata: Microdata, truth: Truth, level: Level, figures: Sequence[str]
) -> Iterator[ComparedGroups]:
    """The groups of one level in the microdata, with intervals from the covariance of the fit."""
    if figures:
        yield from compared_lines(level, figures, MICRODATA, microdata.tabulate(level.by, figures).arrow, truth)


def compare_answers(
    public_rows: PublicRows, truth: Truth, level: Level, figures: Sequence[str]
) -> Iterator[ComparedGroups]:
    """The answers, as released, of every query with the keys of the level."""
    for query in public_rows.spec.tables:
        if set(query.by) == set(level.by):
            wanted = [name for name in figures if name in query.asked]
            yield from compared_lines(level, wanted, ANSWERS, public_rows.source.answers(query.name), truth)


def compared_lines(
    level: Level, figures: Sequence[str], source: str, table: pa.Table, truth: Truth
) -> Iterator[ComparedGroups]:
    """The lines of a table about each of these figures, beside what is true of them."""
    for name in figures:
        lines = table.filter(pa.compute.equal(table["attribute"], name))
        keys = {key: lines[key].combine_chunks() for key in level.by}
        numbers = (_numbers(lines[column]) for column in ("estimate", "ci_low", "ci_high"))
        yield ComparedGroups(level, name, source, keys, truth.of_lines(name, level.by, lines), *numbers)


def error_table(comparisons: Sequence[ComparedGroups]) -> pa.Table:
    """Tidy: one line for each level, attribute, source and class of size, and one for all sizes together."""
    lines = []
    for each in comparisons:
        for size, errors in {ALL_SIZES: each.errors(), **each.errors_by_size()}.items():
            lines.append({**_names(each), "size": size, **asdict(errors)})
    texts = ("level", "by", "attribute", "source", "size")
    whole = ("groups", "intervals")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in texts),
            *((name, pa.int64() if name in whole else pa.float64()) for name in ERROR_NAMES),
        ]
    )
    columns = {name: pa.array([line[name] for line in lines], from_pandas=True) for name in schema.names}
    return pa.table(columns).cast(schema)


def worst_table(comparisons: Sequence[ComparedGroups], count: int) -> pa.Table:
    """The groups of the microdata with the largest absolute errors, for each level and attribute."""
    parts = [_lines(c, largest_errors(c.truth, c.protected, count)) for c in comparisons if c.source == MICRODATA]
    return pa.concat_tables(parts)


def group_table(comparisons: Sequence[ComparedGroups]) -> pa.Table:
    """One line for every group of every level, with its truth."""
    return pa.concat_tables([_lines(each, np.arange(each.groups)) for each in comparisons])


def _lines(each: ComparedGroups, places: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.Table:
    truth, protected = each.truth[places], each.protected[places]
    columns = {name: pa.repeat(text, len(places)) for name, text in _names(each).items()}
    numbers = {
        "truth": truth,
        "protected": protected,
        "difference": protected - truth,
        "relative": relative_errors(truth, protected),
        "ci_low": each.low[places],
        "ci_high": each.high[places],
    }
    columns["group"] = each.codes().take(pa.array(places))
    return pa.table({**columns, **{k: pa.array(v, pa.float64(), from_pandas=True) for k, v in numbers.items()}})


def _names(each: ComparedGroups) -> dict[str, str]:
    by = ",".join(each.level.by)
    return {"level": each.level.name, "by": by, "attribute": each.attribute, "source": each.source}


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    return np.asarray(column.to_numpy(), dtype=np.float64)
