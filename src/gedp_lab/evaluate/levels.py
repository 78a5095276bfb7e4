"""Which groupings and figures are evaluated: by default the levels of the QCEW, and whatever the release measured.

A figure is an attribute, the difference of gain and loss where a column was split, a combination, or the number of
establishments, which is counted by classes alone.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from gedp.errors import Fault, FaultsError
from gedp.industries import NAICS
from gedp.microdata import Microdata
from gedp.microdata.cells import PublicRows
from gedp.microdata.class_tables import has_classes
from gedp.microdata.combinations import figures_of
from gedp.microdata.tabulate import possible_lines, require_keys
from gedp.policy import COUNT, Spec
from gedp.policy.section import did_you_mean
from gedp_lab.evaluate.truth import parts_of

STATE, COUNTY = "state", "cnty"


@dataclass(frozen=True)
class Level:
    """A grouping with its name, and the aggregation level at which the QCEW publishes it, if it does."""

    name: str
    by: tuple[str, ...]
    agglvl: int | None = None


#: Within a state.
QCEW_LEVELS = (
    Level("state total", (), 51),
    Level("domain", ("domain",), 52),
    Level("supersector", ("supersector",), 53),
    Level("sector", ("sector",), 54),
    Level("NAICS-3", ("naics3",), 55),
    Level("NAICS-4", ("naics4",), 56),
    Level("NAICS-5", ("naics5",), 57),
    Level("NAICS-6", ("naics6",), 58),
    Level("county total", (COUNTY,), 71),
    Level("county x supersector", (COUNTY, "supersector"), 73),
    Level("county x sector", (COUNTY, "sector"), 74),
    Level("county x NAICS-3", (COUNTY, "naics3"), 75),
    Level("county x NAICS-4", (COUNTY, "naics4"), 76),
    Level("county x NAICS-5", (COUNTY, "naics5"), 77),
    Level("county x NAICS-6", (COUNTY, "naics6"), 78),
)


def qcew_levels(public_rows: PublicRows) -> list[Level]:
    """The levels of the QCEW where there are counties and industries; within states where there are several."""
    columns = public_rows.table.column_names
    if not (public_rows.lists_establishments and {COUNTY, NAICS} <= set(columns)):
        return []
    within = (STATE,) if STATE in columns and len(public_rows.key(STATE)[1]) > 1 else ()
    longest = max(map(len, public_rows.key(NAICS)[1]), default=0)
    return [
        Level(level.name, (*within, *level.by), level.agglvl)
        for level in QCEW_LEVELS
        if all(_digits(key) <= longest for key in level.by) and _can_group(public_rows, level.by)
    ]


def default_levels(public_rows: PublicRows) -> list[Level]:
    """The levels of the QCEW, and the groupings that were measured; by classes only where establishments are listed."""
    official, spec = qcew_levels(public_rows), public_rows.spec
    every = [query.by for query in spec.tables]
    measured = [by for by in every if public_rows.lists_establishments or not has_classes(spec, by)]
    return _levels([*(level.by for level in official), *measured], official) or [_plain_level((), ())]


def chosen_levels(public_rows: PublicRows, groupings: Iterable[Sequence[str]]) -> list[Level]:
    """Levels for groupings of somebody's choice; every unknown key in one error."""
    chosen = [tuple(dict.fromkeys(by)) for by in groupings]
    keys = list(dict.fromkeys(key for by in chosen for key in by))
    require_keys(public_rows, keys)
    classes = [key for key in keys if key in public_rows.spec.classes]
    if classes and not public_rows.lists_establishments:
        problem = f"no query asks for establishments, so nobody can tell their classes {', '.join(classes)}"
        raise FaultsError(public_rows.source.name, [Fault("by", problem, "Name public columns and groupings")])
    return _levels(chosen, qcew_levels(public_rows))


def chosen_figures(spec: Spec, chosen: Sequence[str] | None, source: str) -> list[str]:
    """Every figure that queries ask for, or the chosen ones; all unknown ones in one error, which is about `source`.

    Whoever chooses a column that is split chooses both of its parts and their difference.
    """
    asked = [*figures_of(spec.asked, spec), *([COUNT] if any(COUNT in q.asked for q in spec.by_classes) else [])]
    if chosen is None:
        return asked
    known = list(dict.fromkeys([*asked, *spec.combinations]))
    if unknown := [name for name in dict.fromkeys(chosen) if name not in known]:
        faults = [Fault("attribute", f"no query asks for {name!r}", did_you_mean(name, known)) for name in unknown]
        raise FaultsError(source, faults)
    wanted = {part for name in chosen for part in (name, *spec.policy.split_columns.get(name, ()))}
    return [name for name in known if name in wanted]


def figures_at(microdata: Microdata, level: Level, figures: Sequence[str]) -> list[str]:
    """Those of the figures that can be had by the keys of a level."""
    spec = microdata.public_rows.spec
    if not all(key in spec.classes or microdata.public_rows.knows(key) for key in level.by):
        return []
    possible = set(possible_lines(microdata, level.by))
    if has_classes(spec, level.by):
        possible -= set(in_several(spec) if microdata.constraints.named else ())
    else:
        possible |= {name for name in spec.combinations if parts_of(spec, name).keys() <= possible}
    return [name for name in figures if name in possible]


def in_several(spec: Spec) -> list[str]:
    """The figures that several tables by classes have: no constraint on values keeps these tables in agreement."""
    asked = [name for query in spec.by_classes for name in query.asked]
    return [name for name in dict.fromkeys(asked) if asked.count(name) > 1]


def nothing_determined(source: str, figures: Sequence[str], levels: Sequence[Level]) -> FaultsError:
    """The fault that none of the figures can be had by any of the levels."""
    groupings = " or ".join(" x ".join(level.by) or "the total" for level in levels)
    problem = f"no answers determine {', '.join(figures)} by {groupings}"
    return FaultsError(source, [Fault("by", problem, "Name other groupings or attributes")])


def attributes_behind(spec: Spec, figures: Iterable[str], levels: Iterable[Level] = ()) -> list[str]:
    """The attributes that figures add up, and those whose classes the levels have."""
    classed = [spec.classes[key].attribute for level in levels for key in level.by if key in spec.classes]
    found = {part for figure in figures for part in parts_of(spec, figure)}.union(classed)
    return [name for name in spec.policy.attributes if name in found]


def _levels(groupings: Iterable[Sequence[str]], official: Sequence[Level]) -> list[Level]:
    """A level for each set of keys, with a name of its own."""
    known = {frozenset(level.by): level for level in official}
    taken = {level.name for level in official}
    levels: dict[frozenset[str], Level] = {}
    for by in groupings:
        keys = frozenset(by)
        if keys in levels:
            continue
        found = known.get(keys)
        levels[keys] = Level(found.name, tuple(by), found.agglvl) if found else _plain_level(by, taken)
        taken.add(levels[keys].name)
    return list(levels.values())


def _plain_level(by: Sequence[str], taken: Collection[str]) -> Level:
    """Named after its keys. Where the level of that name is within states, this one is of the keys alone."""
    name = " x ".join(by) or "total"
    while name in taken:
        name += " alone"
    return Level(name, tuple(by))


def parse_groupings(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """`cnty,naics4` as keys; an empty text is the total."""
    return [tuple(key.strip() for key in text.split(",") if key.strip()) for text in texts]


def _digits(key: str) -> int:
    return int(key.removeprefix(NAICS)) if key.startswith(NAICS) else 0


def _can_group(public_rows: PublicRows, by: Sequence[str]) -> bool:
    try:
        for key in by:
            public_rows.key(key)
    except FaultsError:  # codes that are not NAICS codes have no sector
        return False
    return True
