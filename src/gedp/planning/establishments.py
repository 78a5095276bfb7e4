"""The establishments that a plan is about: public groups, and sizes from an earlier release, a public table or a guess.

Nothing here has seen the confidential values of the table that is planned for.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gedp.arrays import MOST_UNITS, CodeArray, FloatArray
from gedp.errors import Fault, FaultsError
from gedp.folding import Title, listed, named
from gedp.individual import FirstAnswers, QueryGroups, Terms
from gedp.individual.answers import members_of
from gedp.individual.first import Members
from gedp.individual.units import UnitCells, unit_cells
from gedp.microdata.combining import combinations
from gedp.neighbors import Signed
from gedp.numbers import is_number, short
from gedp.planning.opening import assumed_sizes, drawn_at, even_normals
from gedp.policy import Attribute, Spec

MOST_TOTAL = 1e18
#: Fractions of multiples of it are spread evenly, however many there are: the golden ratio.
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, repr=False)
class Keys:
    """Public columns and groupings of establishments, each as codes and the texts of the codes."""

    rows: int
    columns: Mapping[str, tuple[CodeArray, list[str]]]

    def groups(self, by: Sequence[str]) -> tuple[CodeArray, int]:
        """The group of every establishment, and how many groups there are."""
        of_row, codes = combinations([self.columns[key][0] for key in by], self.rows)
        return of_row, len(codes[0]) if codes else 1

    def units(self, column: str | None) -> CodeArray | None:
        """The unit of every establishment that is not the only one of its unit, else -1; None where all are."""
        if column is None:
            return None
        codes, texts = self.columns[column]
        members = np.bincount(codes, minlength=len(texts))[codes]
        found: CodeArray = np.where(members > 1, codes, -1).astype(np.int32)
        return found if (members > 1).any() else None


@dataclass(frozen=True, repr=False)
class Sizes:
    """What establishments have in one attribute; where that is known through noise, its noisy ψ and their noise too."""

    values: FloatArray
    omega: FloatArray | None = None
    sigma: FloatArray | None = None

    def taken(self, rows: CodeArray) -> "Sizes":
        """Those of some establishments."""
        if self.omega is None or self.sigma is None:
            return Sizes(self.values[rows])
        return Sizes(self.values[rows], self.omega[rows], self.sigma[rows])

    def are(self, others: "Sizes") -> bool:
        """Whether the others are the same, to the last bit."""
        here, there = ((each.values, each.omega, each.sigma) for each in (self, others))
        return all(
            one is other or (one is not None and other is not None and np.array_equal(one, other))
            for one, other in zip(here, there, strict=True)
        )

    def possible(self, attribute: Attribute) -> FloatArray:
        """The values as an establishment may have them, with the same total: none negative, none where ψ has none."""
        if isinstance(attribute.protection.psi, Signed):
            return self.values
        least = 0.0 if np.isfinite(attribute.protection.psi.at_zero) else float(attribute.unit)
        raised = np.maximum(self.values, least)
        total, kept = float(np.sum(self.values)), float(np.sum(raised))
        return np.maximum(raised * min(max(total, 0.0) / kept, 1.0), least) if kept > 0 else raised

    def first_answers(
        self, attribute: Attribute, cell: CodeArray, terms: Terms, units: UnitCells | None = None
    ) -> FirstAnswers:
        """The first answers as they may come out, sorted by cell."""
        drawn = self.drawn(attribute, terms, members_of(units, cell))
        return FirstAnswers.of(attribute, cell, drawn, terms, float(MOST_UNITS), units=units)

    def drawn(self, attribute: Attribute, terms: Terms, members: Members = 1.0) -> FloatArray:
        """Noisy values of ψ as they may come out. Where noise is on the values already, only what is missing is added.

        Where it is more than it will be, it is scaled down.
        """
        if self.omega is None or self.sigma is None:
            return drawn_at(attribute, self.possible(attribute), terms, members)
        wanted = float(terms.sigma(np.array(terms.first))) * np.sqrt(members)
        centre = attribute.protection.psi(self.possible(attribute))
        less = centre + (self.omega - centre) * (wanted / np.maximum(self.sigma, wanted))
        more = np.sqrt(np.maximum(wanted**2 - self.sigma**2, 0.0)) * even_normals(len(self.omega), 1)
        return np.where(self.sigma > wanted, less, self.omega + more)


@dataclass(frozen=True)
class SizesFrom:
    """Where sizes come from: in words, and of those that were assumed by how much."""

    source: str
    medians: Mapping[str, float] = field(default_factory=dict)  # by attribute, where they were assumed
    guessed: tuple[str, ...] = ()  # the attributes of which not even the spec says what is typical
    scaled: tuple[str, ...] = ()  # those with a total that is known from elsewhere

    def scaled_to(self, totals: Collection[str]) -> "SizesFrom":
        """The same where the totals of some attributes are known."""
        medians = {name: median for name, median in self.medians.items() if name not in totals}
        return SizesFrom(self.source, medians, tuple(n for n in self.guessed if n not in totals), tuple(totals))

    def said(self, title: Title = str) -> str:
        """All of it in a sentence."""
        half = listed({name: short(median, 2) for name, median in self.medians.items()}, title)
        above = f", half above {half}" if half else ""
        totals = f", scaled to given totals of {named([*map(title, self.scaled)])}" if self.scaled else ""
        return f"{self.source}{above}{totals}"


@dataclass(frozen=True, repr=False)
class Establishments:
    """Establishments with their groups and sizes, and in words where both come from."""

    keys: Keys
    sizes: Mapping[str, Sizes]  # by attribute
    groups_from: str
    sizes_from: SizesFrom

    def with_totals(self, totals: Mapping[str, float]) -> "Establishments":
        """The same with all sizes scaled to totals that are known from elsewhere."""
        if faults := [
            Fault(f"total of {name}", "the sizes add up to 0 or less, so they cannot be scaled to it", "Leave it out")
            for name in totals
            if not np.sum(self.sizes[name].values) > 0
        ]:
            raise FaultsError("the totals", faults)
        scaled = {
            name: Sizes(each.values * (totals[name] / np.sum(each.values))) if name in totals else each
            for name, each in self.sizes.items()
        }
        return replace(self, sizes=scaled, sizes_from=self.sizes_from.scaled_to(totals))

    def layout(
        self, spec: Spec, attribute: str
    ) -> tuple[CodeArray, list[QueryGroups], list[QueryGroups], UnitCells | None]:
        """The finest cell of every establishment in the tables of an attribute, and their groups.

        Then the groups of tables of combinations that it is part of, and units of several records.
        """
        asked = {q.name: q.by for q in spec.sums_of(attribute)}
        combined = {q.name: q.by for q in spec.queries if q.combinations and attribute in q.attributes}
        cell, count = self.keys.groups(list(dict.fromkeys(key for by in (asked | combined).values() for key in by)))

        def partition(query: str, by: Sequence[str]) -> QueryGroups:
            of_row, groups = self.keys.groups(by)
            of_cell = np.zeros(count, dtype=np.int32)
            of_cell[cell] = of_row
            return QueryGroups(query, of_cell, groups)

        found = [[partition(query, by) for query, by in each.items()] for each in (asked, combined)]
        units = self.keys.units(spec.policy.unit)
        if units is None:
            return cell, found[0], found[1], None
        of_row, codes = combinations([cell, units + np.int32(1)], len(cell))
        return of_row, found[0], found[1], unit_cells(codes[0], codes[1] - 1, np.bincount(of_row).astype(np.int64))


def public_totals(spec: Spec, totals: Mapping[str, float]) -> Mapping[str, float]:
    """Totals to scale sizes to; rejects those of what is not asked for, and those that no sizes have."""
    hint = f"Give a number above 0 and below {MOST_TOTAL:g} for one of: {', '.join(spec.asked)}"
    faults = [
        Fault(f"total of {name}", "nobody asks for it" if name not in spec.asked else "no sizes have it", hint)
        for name, total in totals.items()
        if name not in spec.asked or not is_number(total) or not 0 < total < MOST_TOTAL
    ]
    if faults:
        raise FaultsError("the totals", faults)
    return totals


def assumed(keys: Keys, spec: Spec, groups_from: str) -> Establishments:
    """Establishments in known groups, of sizes that nothing is known about but what the spec calls typical."""
    sizes = {name: Sizes(assumed_sizes(spec.policy.attributes[name], keys.rows)) for name in spec.asked}
    medians = {name: float(np.median(each.values)) for name, each in sizes.items()}
    guessed = tuple(name for name in spec.asked if spec.policy.attributes[name].typical is None)
    sizes_from = SizesFrom("assumed, lognormal and alike everywhere", medians, guessed)
    return Establishments(keys, sizes, groups_from, sizes_from)


def resembling(keys: Keys, groups_from: str, like: Establishments) -> Establishments:
    """Establishments in known groups, each with the size of one of the others that is like it.

    Alike are those with the same public columns; else with the same value of the column or grouping that has the most
    values, and so on to coarser ones; else any.
    """
    some = next(iter(like.sizes.values()))
    donors = _donors(keys, like.keys, some.values)
    sizes = {name: each.taken(donors) for name, each in like.sizes.items()}
    return Establishments(keys, sizes, groups_from, like.sizes_from)


def _donors(keys: Keys, like: Keys, values: FloatArray) -> CodeArray:
    """For every establishment the row of another that resembles it: small ones and large ones evenly of each kind.

    Where as many have the same public columns here and there, they are taken for the same.
    """
    shared = [name for name in keys.columns if name in like.columns]
    by_detail = sorted(shared, key=lambda name: -len(like.columns[name][1]))
    donors = np.full(keys.rows, -1, dtype=np.int32)
    for names in ([tuple(shared)] if len(shared) > 1 else []) + [(name,) for name in by_detail] + [()]:
        wanting = np.flatnonzero(donors < 0).astype(np.int32)
        if not len(wanting):
            break
        here, there = _common(keys, like, names)
        _fill(donors, wanting, here[wanting], there, values, in_order=len(names) > 1)
    return donors


def _common(keys: Keys, like: Keys, names: Sequence[str]) -> tuple[CodeArray, CodeArray]:
    """The same numbers for the same values of some columns on both sides."""
    columns = []
    for name in names:
        (here, labels), (there, others) = keys.columns[name], like.columns[name]
        place = {label: code for code, label in enumerate(dict.fromkeys([*labels, *others]))}
        columns.append(
            np.concatenate(
                [
                    np.array([place[label] for label in texts], dtype=np.int32)[codes]
                    for codes, texts in ((here, labels), (there, others))
                ]
            )
        )
    both, _ = combinations(columns, keys.rows + like.rows)
    return both[: keys.rows], both[keys.rows :]


def _fill(
    donors: CodeArray, wanting: CodeArray, groups: CodeArray, others: CodeArray, values: FloatArray, *, in_order: bool
) -> None:
    """Gives establishments of each group donors of the same group, spread evenly over their sizes."""
    count = int(max(groups.max(initial=0), others.max(initial=0))) + 1
    available, asked = np.bincount(others, minlength=count), np.bincount(groups, minlength=count)
    by_size = np.lexsort((values, others))
    order = np.argsort(groups, kind="stable")
    group = groups[order]
    rank = np.arange(len(order)) - (np.cumsum(asked) - asked)[group]
    supply = available[group]
    place = np.floor(((rank + 1) * _GOLDEN) % 1.0 * supply).astype(np.int64)
    if in_order:
        place = np.where(supply == asked[group], rank, place)
    has = supply > 0
    donors[wanting[order[has]]] = by_size[(np.cumsum(available) - available)[group[has]] + place[has]]
