"""A first spec for a table, from its schema and from public columns alone.

A spec is published. A unit, a γ or a grouping that followed from confidential values would tell of them, so nothing
here is given any.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from gedp.neighbors import Protection, Sqrt
from gedp.neighbors.choosing import Candidate
from gedp.numbers import interval
from gedp.policy.names import is_file_name
from gedp.policy.reader import parse_spec
from gedp.policy.reading import AS_WRITTEN, Reading

#: Tables with more groups than this are not proposed: hardly any could be told from noise.
MOST_GROUPS = 3_000
GAMMA, MU = 0.5, 1
SIZES = (10, 1_000)  # at which comments say what is close
#: Of a column of 0 and 1: both are close to each other, which they are not under sqrt with a gamma below 1.
YES_NO = '{ psi = "linear", gamma = 1, unit = 1, typical = 1 }   # yes or no: 0 and 1 are close'


@dataclass(frozen=True)
class CodeFamily:
    """Codes whose first characters are the codes of larger groups."""

    name: str
    pattern: re.Pattern[str]  # of every code
    lengths: tuple[int, ...]  # of codes of coarser levels, from coarse to fine
    hint: str = ""  # that the name of the column holds, where codes alone do not say


FAMILIES = (
    CodeFamily("NUTS", re.compile("[A-Z]{2}[0-9A-Z]{1,3}"), (2, 3, 4)),
    CodeFamily("NACE", re.compile(r"\d\d\.\d{1,2}"), (2, 4)),
    CodeFamily("NACE", re.compile(r"\d{3,4}"), (2, 3), "nace"),
    CodeFamily("ISIC", re.compile(r"\d{3,4}"), (2, 3), "isic"),
    CodeFamily("NAICS", re.compile(r"\d{3,6}"), (2, 3, 4, 5), "naics"),
)


@dataclass(frozen=True)
class TableShape:
    """What a draft may know: names, the types of amounts, and the codes of columns that somebody said are public."""

    source: str
    public: Mapping[str, Sequence[str]]  # the distinct codes of every public column
    decimals: Mapping[str, int | None]  # of every attribute, as its type says; None where it does not
    id: str | None = None
    protect: Mapping[str, Candidate] = field(default_factory=dict)  # by attribute, where somebody has decided
    reading: Reading = AS_WRITTEN
    yes_no: Sequence[str] = ()  # attributes that somebody says hold 0 and 1 alone


def draft_spec(shape: TableShape, source: str | None = None) -> str:
    """The text of a spec with comments, which can be run as it is but is to be read first.

    `source` is what it calls the table, seen from the folder of the spec. Refuses columns of which there is none, such
    as those whose names are taken.
    """
    text = "\n".join(_lines(shape, source or shape.source)) + "\n"
    parse_spec(text, "the draft")
    return text


def _lines(shape: TableShape, source: str) -> Iterator[str]:
    groupings = {column: list(_coarser(column, codes, shape)) for column, codes in shape.public.items()}
    yield "# A draft, from the names and types of all columns and the codes of the public ones. No confidential value"
    yield "# was looked at. Keep it so: what is in this file is published with the release, and a unit or a gamma that"
    yield "# follows from the values would tell of them."
    yield ""
    yield "[data]"
    yield f"source = {_text(source)}"
    for key, value in shape.reading.given().items():
        yield f"{key} = {_text(value) if isinstance(value, str) else _numbers(value)}"
    if shape.id:
        yield f"id = {_text(shape.id)}   # published: make sure that it is not a tax number"
    yield f"public = {_list(shape.public)}   # public for every establishment"
    yield '# period = "2016Q1"   # if there is such a table every quarter; also "2016" or "2016-03" (docs/series.md)'
    if any(groupings.values()):
        yield from ("", "[groupers]   # larger groups, by the first characters of a code")
        for column, coarser in groupings.items():
            for grouping in coarser:
                said = f"   # {grouping.family}: {grouping.groups:,} groups"
                yield f"{_key(grouping.name)} = {{ column = {_text(column)}, prefix = {grouping.prefix} }}{said}"
    yield from ("", "[attributes]   # confidential columns: what must be hidden of each is yours to decide")
    yield "# Values whose psi differ by at most gamma count as close; mu says how hard they are to tell apart. Comments"
    yield "# say which are close to two sizes; `gedp choose --protect 10:2` finds psi and gamma for your own width."
    yield "# A unit is the step in which values are counted. Remove what is no confidential number."
    yield "# Under sqrt with gamma = 0.5, 0 and 1 are not close: name columns of yes and no with `gedp init --yes-no`."
    yield "# In a series: does a column repeat values of another period, or add them up (last quarter's, year to date,"
    yield "# rolling)? Its price counts for those periods, so say which: of_period = -1 for the period before that of"
    yield '# the table, of_period = [0, -1] for both, or a name, of_period = "2016Q1".'
    for name, decimals in shape.decimals.items():
        is_yes_no = name in shape.yes_no
        yield f"{_key(name)} = {YES_NO if is_yes_no else _attribute(decimals, shape.protect.get(name))}"
    yield from (
        "",
        "[budget]   # for all that will ever be published from this table; `gedp explain` says what it means",
    )
    yield f"mu = {MU}"
    for name, by in _tables(shape, groupings):
        yield from ("", "[[queries]]", f"name = {_text(name)}", f"by = {_list(by)}")
    yield from ("", "[output]", 'dir = "out"')


@dataclass(frozen=True)
class _Grouping:
    name: str
    prefix: int
    family: str
    groups: int


def _coarser(column: str, codes: Sequence[str], shape: TableShape) -> Iterator[_Grouping]:
    """The coarser levels of a column of hierarchical codes, from coarse to fine: those that are levels of their own."""
    for family in FAMILIES:
        if codes and family.hint in column.lower() and all(map(family.pattern.fullmatch, codes)):
            taken = {*shape.public, *shape.decimals, shape.id}
            last = 1
            for length in family.lengths:
                groups = len({code[:length] for code in codes})
                if last < groups < len(codes) and (name := f"{column}{length}") not in taken:
                    last = groups
                    yield _Grouping(name, length, family.name, groups)
            return


def _attribute(decimals: int | None, decided: Candidate | None) -> str:
    chosen = decided or Candidate(Protection(Sqrt(), GAMMA), ())
    said = [f"{size:,}: {_span(chosen.protection, size)}" for size in SIZES]
    said += [] if decided else ["decide psi and gamma"]
    said += [] if decimals is not None else ["check the unit: the type does not say it"]
    unit = f"1e-{decimals}" if decimals else "1"
    return f"{chosen.in_spec.removesuffix(' }')}, unit = {unit} }}   # {'; '.join(said)}"


def _span(protection: Protection, size: int) -> str:
    texts = interval(*(float(end) for end in protection.interval(float(size))))
    return f"{texts.low} to {texts.high}"


def _tables(shape: TableShape, groupings: Mapping[str, Sequence[_Grouping]]) -> Iterator[tuple[str, list[str]]]:
    """The total, one table for every level of every public column, and the first two columns crossed."""
    total = "total"
    while total in {*shape.public, *(grouping.name for levels in groupings.values() for grouping in levels)}:
        total = f"grand {total}"
    yield total, []
    finest = list[tuple[str, int]]()
    for column, codes in shape.public.items():
        levels = {grouping.name: grouping.groups for grouping in groupings[column]}
        levels |= {column: len(codes)}
        proposed = [name for name, groups in levels.items() if 1 < groups <= MOST_GROUPS and is_file_name(name)]
        for name in proposed:
            yield name, [name]
        if proposed:
            finest.append((proposed[-1], levels[proposed[-1]]))
    if len(finest) > 1 and finest[0][1] * finest[1][1] <= 100 * MOST_GROUPS:
        first, second = finest[0][0], finest[1][0]
        yield f"{first} x {second}", [first, second]


def _text(text: str) -> str:
    """A TOML string: what JSON and TOML write alike."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def _numbers(numbers: Mapping[str, Decimal]) -> str:
    return f"{{ {', '.join(f'{_key(name)} = {number:f}' for name, number in numbers.items())} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _list(names: Sequence[str] | Mapping[str, object]) -> str:
    return f"[{', '.join(map(_text, names))}]"
