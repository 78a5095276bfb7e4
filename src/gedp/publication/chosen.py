"""Which tables a package has: those of the release, or some of them, and others that were never measured."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gedp.errors import Fault, FaultsError
from gedp.microdata import Microdata
from gedp.microdata.ratios import Ratio, parse_ratios
from gedp.microdata.tabulate import possible_lines, require_keys
from gedp.policy import Query
from gedp.policy.names import folded
from gedp.policy.section import did_you_mean
from gedp.release import Labels

#: Columns of a published table after its keys and their names.
COLUMNS = (
    *("attribute", "establishments", "estimate", "std_error", "cv", "ci_low", "ci_high"),
    *("quality", "variance_kind"),
)
NAME = "_name"


@dataclass(frozen=True)
class ChosenTable:
    """A table to be published: a query of the release, or keys that nobody asked for."""

    name: str
    title: str
    by: tuple[str, ...]
    file: str  # without its ending
    attributes: tuple[str, ...]  # that it can be made of
    ratios: tuple[Ratio, ...] = ()
    merged: tuple[str, ...] = ()  # the titles of several queries by the same keys, whose figures are all in it

    @property
    def lines(self) -> tuple[str, ...]:
        """What every group has a figure of: attributes, then ratios."""
        return (*self.attributes, *(ratio.name for ratio in self.ratios))


def choose_tables(
    microdata: Microdata,
    labels: Labels,
    added: Sequence[Sequence[str]] = (),
    only: Sequence[str] | None = None,
    ratios: Sequence[str] = (),
) -> tuple[ChosenTable, ...]:
    """The tables of the release, or `only` those of these names, then the `added` ones by their keys; each once.

    Queries by the same keys are one table, under a title that is none of theirs. A table has those of the `ratios`
    whose attributes it can be made of.
    """
    asked = parse_ratios(ratios)
    spec = microdata.public_rows.spec
    queries = {query.name: query for query in spec.tables}
    unknown = [name for name in only or () if name not in queries]
    if faults := [Fault("only", f"there is no table {name!r}", did_you_mean(name, queries)) for name in unknown]:
        raise FaultsError(microdata.public_rows.source.name, faults)
    tables: dict[tuple[str, ...], list[Query]] = {}
    for query in (query for name, query in queries.items() if only is None or name in only):
        tables.setdefault(tuple(sorted(query.by)), []).append(query)
    groupings = {keys: alike[0].by for keys, alike in tables.items()}
    for each in added:
        by = tuple(dict.fromkeys(each))
        require_keys(microdata.public_rows, by)
        groupings.setdefault(tuple(sorted(by)), by)
    _require_free_names(microdata, list(groupings.values()))
    files, names = dict[str, str](), dict[str, str]()
    chosen = []
    for keys, by in groupings.items():
        alike = tables.get(keys, [])
        name = unlike(alike[0].name if alike else " x ".join(by) or "total", names)
        merged = tuple(map(labels.of_query, alike)) if len(alike) > 1 else ()
        title = labels.of_query(alike[0]) if len(alike) == 1 else labels.of_keys(by)
        attributes = tuple(possible_lines(microdata, by))
        if not attributes:
            microdata.tabulate(by)  # says what can be made instead
        possible = tuple(ratio for ratio in asked if set(ratio.attributes) <= set(attributes))
        chosen.append(ChosenTable(name, title, by, plain_file(name, files), attributes, possible, merged))
    if not chosen:
        fault = Fault("tables", "there are none", "Name columns to make one by, such as --table cnty")
        raise FaultsError(microdata.public_rows.source.name, [fault])
    _require_in_some(microdata, asked, chosen)
    return tuple(chosen)


def _require_in_some(microdata: Microdata, ratios: Sequence[Ratio], tables: Sequence[ChosenTable]) -> None:
    """Rejects ratios that no table can have."""
    there_are = dict.fromkeys(name for table in tables for name in table.attributes)
    faults = [
        Fault(
            f"ratio {ratio.name!r}",
            f"no table has all of {', '.join(ratio.attributes)}",
            f"Tables have: {', '.join(there_are)}. A formula of your own is written 'NAME = wage / jobs'",
        )
        for ratio in ratios
        if not any(ratio in table.ratios for table in tables)
    ]
    if faults:
        raise FaultsError(microdata.public_rows.source.name, faults)


def plain_file(name: str, taken: dict[str, str]) -> str:
    """A name of a file that is plain everywhere, and no other table's; it is taken from now on."""
    return unlike(re.sub(r"[^\w]+", "-", name).strip("-") or "table", taken, "-")


def unlike(name: str, taken: dict[str, str], sign: str = " ") -> str:
    """The name, with a number where another has it already without regard to case; it is taken from now on."""
    found, number = name, 1
    while folded(found) in taken:
        number += 1
        found = f"{name}{sign}{number}"
    taken[folded(found)] = name
    return found


def _require_free_names(microdata: Microdata, groupings: Sequence[Sequence[str]]) -> None:
    """Rejects keys that are called like a column of every published table."""
    own = {folded(name) for name in COLUMNS}
    taken = sorted({key for by in groupings for key in by if folded(key) in own})
    if taken:
        hint = "Make a map or a prefix of it with another name, and tables by that"
        faults = [Fault("by", f"{key!r} is also the name of a column of every published table", hint) for key in taken]
        raise FaultsError(microdata.public_rows.source.name, faults)
