"""Every check that can be made before anything is spent: the spec, its price, its noise, its table, its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gedp.confidential.limits import psi_mechanisms
from gedp.confidential.measures import MeasuredQuery, measures_of
from gedp.confidential.mechanisms import PsiMechanism
from gedp.confidential.pools import AttributePool, Shares, open_pools
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable, FinestCells, find_cells
from gedp.errors import Fault, FaultsError, Refused
from gedp.noise.entropy import Entropy, SystemEntropy
from gedp.policy import Attribute, PriceList, Spec, price, require_within_budget
from gedp.policy.reader import reread_spec

MOST_ENTRIES = 10_000_000  # of a table by classes, each of which takes some hundred bytes of memory


@dataclass(frozen=True, repr=False)
class Prepared:
    """A table and what is asked of it, after every check that can be made before anything is spent."""

    table: ConfidentialTable
    spec: Spec
    prices: PriceList
    mechanisms: Mapping[tuple[str, str], PsiMechanism]  # by query and attribute; empty under individual accounting
    cells: FinestCells
    measures: Sequence[MeasuredQuery]  # besides sums by group
    pools: Mapping[str, AttributePool] = field(default_factory=dict)  # by attribute; empty under the paper's rule
    shares: Shares = field(default_factory=dict)  # set aside by individual accounting; empty: as it chooses


@sealed
def prepare(table: ConfidentialTable, spec: Spec, shares: Shares | None = None) -> Prepared:
    """Checks the spec, its price, its noise, that it is about this table, and that its groups can be told apart.

    Under individual accounting, `shares` are set aside for queries, so that no group can be worse than with them.
    """
    spec = require_sound(spec)
    if spec.is_individual:
        table.engine.require_known_again(spec.data.id)
    _require_opened_for(table, spec)
    prices = price(spec)
    require_within_budget(prices)
    cells = find_cells(table, spec.tables, spec.policy.unit)
    measures = measures_of(spec, cells)
    for measure in measures:
        _require_noise_and_room(measure)
    shares = shares or {}
    return Prepared(table, spec, prices, psi_mechanisms(spec), cells, measures, open_pools(spec, cells, shares), shares)


def _require_noise_and_room(measure: MeasuredQuery) -> None:
    """Rejects noise that no grid carries, and tables that would not fit into memory once others are paid for."""
    query, entries = measure.query.name, measure.entries
    for addend in measure.addends:
        addend.require_grid(query)
    if entries > MOST_ENTRIES:
        raise Refused(
            f"query {query!r} would have {entries:,} entries, and at most {MOST_ENTRIES:,} fit into memory. "
            "Nothing was spent. Take fewer keys, or fewer classes"
        )


def _require_opened_for(table: ConfidentialTable, spec: Spec) -> None:
    """Values are counted in the units that the table was opened with, and checked for what was known of them then."""
    attributes = spec.policy.attributes
    faults = [
        Fault(place, "the table was opened with other settings", "Open the table with this spec")
        for place, same in (("data", table.data == spec.data), ("groupers", table.groupers == spec.groupers))
        if not same
    ]
    faults += [
        Fault(f"attribute {name}", problem, "Open the table with this spec")
        for name in spec.concerned
        if (problem := _mismatch(table.attributes.get(name), attributes[name]))
    ]
    if faults:
        raise FaultsError("the spec", faults)


def _mismatch(opened: Attribute | None, asked: Attribute) -> str | None:
    """Why values that were read as one attribute must not be answered as another; None where they may."""
    if opened is None:
        return "the table was opened without it"
    if opened.unit != asked.unit:
        return "the table was opened with another unit"
    has_zero = np.isfinite([a.protection.psi.at_zero for a in (opened, asked)])
    if (opened.signed and not asked.signed) or (has_zero[0] and not has_zero[1]):
        return "the table may hold values at which psi is not defined"
    return None


def noise_for(spec: Spec, entropy: Entropy | None) -> Entropy:
    """The system's randomness unless another source is named, which only a synthetic table may have."""
    if entropy is not None and entropy.kind == "system" and type(entropy) is not SystemEntropy:
        raise Refused(f"{type(entropy).__name__} is not the system's randomness, so its kind must not say so")
    if entropy is not None and entropy.kind != "system" and not spec.data.synthetic:
        raise Refused("seeded noise protects nothing; it is only for tables that the spec declares synthetic")
    return entropy or SystemEntropy()


def require_sound(spec: Spec) -> Spec:
    """The spec as a file would have it: what the reader rejects is rejected for queries made in Python too.

    A release must be read again. And what is priced, recorded, drawn and published is then one thing, which nobody else
    holds and could change in between.
    """
    return reread_spec(spec, "the queries")
