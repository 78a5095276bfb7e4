"""Releases of a series in one table: a line for every group and period, with its change since the period before."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from gedp.errors import DomainError, Fault, FaultsError
from gedp.microdata.answers import class_names
from gedp.microdata.cells import Where
from gedp.microdata.changes_table import ChangesTable
from gedp.microdata.comparable import require_comparable
from gedp.microdata.comparing import COLUMNS, beside, require_free_keys, shared_lines
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.ratios import Ratio
from gedp.microdata.request import TableRequest
from gedp.microdata.tabulate import tabulate
from gedp.policy import Spec

PERIOD = "period"


def tabulate_series(
    releases: Iterable[MicrodataFit],
    by: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    confidence: float | None = None,
    ratios: Sequence[str | Ratio] = (),
    where: Where | None = None,
) -> ChangesTable:
    """The releases of a series in one table: for every group and period its estimate, and the change since the last.

    `releases` has the microdata of each, the earliest first. They are taken one after the other, so a generator that
    reads them keeps only two in memory. The rest is as for `Microdata.tabulate`: without `attributes` and `ratios`
    there are those that all releases can have by this grouping, and the confidence is that of the first release.
    """
    return series(releases, TableRequest.of(by, attributes, confidence, ratios, where))


def series(releases: Iterable[MicrodataFit], request: TableRequest) -> ChangesTable:
    """The same for a table that was asked for."""
    require_free_keys(request, (PERIOD, *COLUMNS))
    keys, before, tables = request.by, None, dict[str, pa.Table]()
    for each in releases:
        if before is not None:
            require_comparable(each, before, request.keys, request.names)
        request = replace(request, confidence=each.confidence(request.confidence))
        if (name := period_of(each)) in tables:
            raise FaultsError("series", [Fault(name, "there are two releases of it", "Give every period once")])
        tables[name] = tabulate(each, request)
        before = each
    if before is None:
        raise DomainError("there are no releases to make a series of")
    shared = shared_lines(list(tables.values()))
    parts = [shared[0], *(beside(new, old, keys) for old, new in pairwise(shared))]
    named = [
        part.append_column(PERIOD, pa.array([name] * part.num_rows, pa.string()))
        for name, part in zip(tables, parts, strict=True)
    ]
    found = _in_order(pa.concat_tables(named, promote_options="default"), keys, before.public_rows.spec)
    return ChangesTable(found, (*keys, PERIOD), before.labels)


def period_of(microdata: MicrodataFit) -> str:
    """What the lines of a release are called in a series: by its period, or else by its folder."""
    source = microdata.public_rows.source
    return source.name if source.manifest.period is None else str(source.manifest.period)


def _in_order(table: pa.Table, by: Sequence[str], spec: Spec) -> pa.Table:
    """The lines by attribute, group and time, with the period before the numbers; classes in their own order."""
    places = {name: _places(table[name].to_pylist()) for name in ("attribute", PERIOD)}
    keyed = {key: table[key].to_pylist() for key in by}
    groups = [_places(texts, class_names(spec, key) or sorted(set(texts))) for key, texts in keyed.items()]
    columns = [places["attribute"], *groups, places[PERIOD]]
    lines = list(zip(*columns, strict=True))
    order = sorted(range(len(lines)), key=lines.__getitem__)
    first = [*by, "attribute", PERIOD]
    others = [name for name in table.column_names if name not in first]
    return table.select([*first, *others]).take(pa.array(order, pa.int64()))


def _places(texts: Sequence[str], known: Sequence[str] = ()) -> list[int]:
    """Texts as numbers in the order of those that are known, and then in which they first appear."""
    order = {text: place for place, text in enumerate(dict.fromkeys([*known, *texts]))}
    return [order[text] for text in texts]
