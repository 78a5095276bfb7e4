"""Two publishers, each safe by itself: a second table that opens cells which the first one hides.

A state, say, publishes a table of its own from the same establishments. It hides what its own rule demands, and alone
its table is safe. An attacker puts both together.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp_lab.suppress.audit import Audit, audit
from gedp_lab.suppress.linked import LinkedTables, link, with_table
from gedp_lab.suppress.rules import Rule
from gedp_lab.suppress.secondary import suppress

SECOND = "second publisher: "


@dataclass(frozen=True, repr=False)
class SecondTable:
    """A table of a second publisher, and what it does to the cells of the first."""

    name: str
    cells: int
    shown: int  # how many of its cells it publishes
    unsafe_alone: int  # of its own sensitive cells, by itself
    opened: BoolArray  # sensitive cells of the first publisher that are unsafe now, and were safe
    exact: BoolArray  # those of them whose value follows exactly


def second_tables(
    tables: LinkedTables,
    hidden: BoolArray,
    before: Audit,
    candidates: Mapping[str, CodeArray],
    values: FloatArray,
    rule: Rule,
) -> list[SecondTable]:
    """Every candidate as the table of a second publisher, from the one that opens most cells down."""
    found = [_tried(tables, hidden, before, name, codes, values, rule) for name, codes in candidates.items()]
    return sorted(found, key=lambda each: (-int(each.opened.sum()), -int(each.exact.sum()), each.name))


def _tried(
    tables: LinkedTables,
    hidden: BoolArray,
    before: Audit,
    name: str,
    codes: CodeArray,
    values: FloatArray,
    rule: Rule,
) -> SecondTable:
    alone = link({name: codes}, values, rule)
    own = suppress(alone)
    both = with_table(tables, SECOND + name, codes, values, rule)
    first = int(tables.is_shown.sum())
    joint = np.zeros(both.count, dtype=bool)
    joint[:first], joint[first : first + len(own)] = hidden[:first], own
    after = audit(both, joint)
    opened = np.zeros(tables.count, dtype=bool)
    opened[:first] = after.is_unsafe(both)[:first]
    opened &= ~before.is_unsafe(tables)
    exact = np.zeros(tables.count, dtype=bool)
    exact[:first] = after.is_exact(both)[:first]
    unsafe_alone = int(audit(alone, own).is_unsafe(alone).sum())
    return SecondTable(name, alone.count, int((~own).sum()), unsafe_alone, opened, exact & opened)
