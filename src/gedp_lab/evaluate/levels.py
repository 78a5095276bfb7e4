"""Which groupings are evaluated: by default the aggregation levels of the QCEW and whatever the release measured."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from gedp.errors import FaultsError
from gedp.industries import NAICS
from gedp.microdata.cells import PublicRows

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
    """The levels of the QCEW, and the groupings that were measured."""
    official = qcew_levels(public_rows)
    measured = [query.by for query in public_rows.spec.group_sums]
    return _levels([*(level.by for level in official), *measured], official) or [_plain_level((), ())]


def chosen_levels(public_rows: PublicRows, groupings: Iterable[Sequence[str]]) -> list[Level]:
    """Levels for groupings of somebody's choice; every unknown key in one error."""
    chosen = [tuple(dict.fromkeys(by)) for by in groupings]
    public_rows.keys(list(dict.fromkeys(key for by in chosen for key in by)))
    return _levels(chosen, qcew_levels(public_rows))


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
