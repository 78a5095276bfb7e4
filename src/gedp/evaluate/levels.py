"""Which groupings are evaluated: by default the aggregation levels of the QCEW and whatever the release measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gedp.errors import Fault, FaultsError
from gedp.microdata.cells import NAICS, Frame

STATE, COUNTY = "state", "cnty"


@dataclass(frozen=True)
class Level:
    """A grouping with its name, and the aggregation level at which the QCEW publishes it, if it does."""

    name: str
    by: tuple[str, ...]
    agglvl: int | None = None


#: Name, keys within the state, and the code of the QCEW.
QCEW_LEVELS = (
    Level("state total", (), 51),
    Level("supersector", ("supersector",), 53),
    Level("sector", ("sector",), 54),
    Level("NAICS-3", ("naics3",), 55),
    Level("NAICS-4", ("naics4",), 56),
    Level("NAICS-5", ("naics5",), 57),
    Level("county total", (COUNTY,), 71),
    Level("county x supersector", (COUNTY, "supersector"), 73),
    Level("county x NAICS-3", (COUNTY, "naics3"), 75),
    Level("county x NAICS-5", (COUNTY, "naics5"), 77),
)


def default_levels(frame: Frame) -> list[Level]:
    """The levels of the QCEW where there are counties and industries, and the groupings that were measured."""
    columns = frame.public.column_names
    levels: list[Level] = []
    if frame.lists_establishments and {COUNTY, NAICS} <= set(columns):
        several = STATE in columns and len(frame.key(STATE)[1]) > 1
        within = (STATE,) if several else ()
        longest = max(map(len, frame.key(NAICS)[1]), default=0)
        levels = [
            Level(level.name, (*within, *level.by), level.agglvl)
            for level in QCEW_LEVELS
            if all(_digits(key) <= longest for key in level.by) and _can_group(frame, level.by)
        ]
    known = {frozenset(level.by) for level in levels}
    for query in frame.spec.queries:
        if not query.is_identity and frozenset(query.by) not in known:
            levels.append(level_of(query.by))
            known.add(frozenset(query.by))
    return levels or [level_of(())]


def chosen_levels(frame: Frame, groupings: Iterable[Sequence[str]]) -> list[Level]:
    """Levels for groupings of somebody's choice; every unknown key in one error."""
    levels: list[Level] = []
    faults: list[Fault] = []
    for by in dict.fromkeys(tuple(dict.fromkeys(by)) for by in groupings):
        for key in by:
            try:
                frame.key(key)
            except FaultsError as error:
                faults += error.faults
        levels.append(level_of(by))
    if faults:
        raise FaultsError(str(frame.release.folder), list(dict.fromkeys(faults)))
    return levels


def level_of(by: Sequence[str]) -> Level:
    """A grouping named after its keys, or as the QCEW does."""
    for level in QCEW_LEVELS:
        if frozenset(level.by) == frozenset(by):
            return Level(level.name, tuple(by), level.agglvl) if by else Level("total", ())
    return Level(" x ".join(by), tuple(by))


def parse_groupings(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """`cnty,naics4` as keys; an empty text is the total."""
    return [tuple(key.strip() for key in text.split(",") if key.strip()) for text in texts]


def _digits(key: str) -> int:
    return int(key.removeprefix(NAICS)) if key.startswith(NAICS) else 0


def _can_group(frame: Frame, by: Sequence[str]) -> bool:
    try:
        for key in by:
            frame.key(key)
    except FaultsError:  # codes that are no NAICS codes have no sector
        return False
    return True
