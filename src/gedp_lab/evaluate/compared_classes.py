"""Tables by classes beside the truth: as fitted, and as released."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import CodeArray, FloatArray
from gedp.individual.classes import class_of, class_table
from gedp.microdata import Microdata
from gedp.policy import COUNT, Query
from gedp_lab.evaluate.groups import ANSWERS, MICRODATA, ComparedGroups, compared
from gedp_lab.evaluate.levels import Level
from gedp_lab.evaluate.truth import Truth

Key = tuple[CodeArray, list[str]]


def class_attributes(queries: Sequence[Query]) -> list[str]:
    """What must be known of the truth to find the classes of establishments."""
    return list(dict.fromkeys(name for query in queries for name in query.classed))


def class_level(query: Query) -> Level:
    """The grouping of a query by classes."""
    return Level(" x ".join(query.by), query.by)


def compare_classes(microdata: Microdata, truth: Truth, query: Query) -> Iterator[ComparedGroups]:
    """Everything that a query by classes asks for and the truth is known of."""
    level, keys = class_level(query), _keys(microdata, truth, query)
    for asked in query.asked:
        if asked == COUNT or asked in truth.units:
            fitted = microdata.tabulate(query.by, [asked]).arrow
            released = microdata.public_rows.answered(query, asked)
            for source, rows in ((MICRODATA, fitted), (ANSWERS, released)):
                yield compared(level, asked, source, rows, _truth(keys, truth, asked, rows))


def _keys(microdata: Microdata, truth: Truth, query: Query) -> dict[str, Key]:
    """The public keys and true classes of every establishment."""
    public_rows, keys = microdata.public_rows, dict[str, Key]()
    table = class_table(query.classes, public_rows.spec.policy.attributes)
    for each, edges, labels in zip(table.classes, table.edges, table.labels, strict=True):
        keys[each.name] = class_of(edges, np.rint(truth.units[each.attribute]).astype(np.int64)), labels
    return keys | {name: public_rows.key(name) for name in query.public}


def _truth(keys: dict[str, Key], truth: Truth, asked: str, rows: pa.Table) -> FloatArray:
    """What is true of every row of a table."""
    shape = [len(labels) for _, labels in keys.values()]
    codes = np.ravel_multi_index([code for code, _ in keys.values()], shape)
    weights = None if asked == COUNT else truth.values(asked)
    sums = np.bincount(codes, weights=weights, minlength=int(np.prod(shape))).astype(np.float64)
    places = [
        pa.compute.index_in(rows[name].combine_chunks(), value_set=pa.array(labels, pa.string())).to_numpy()
        for name, (_, labels) in keys.items()
    ]
    found: FloatArray = sums[np.ravel_multi_index(places, shape)]
    return found
