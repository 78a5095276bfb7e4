"""Random specs with a table each, and a neighbor of the table: one establishment moved as far as closeness allows.

Where units are protected, it is all establishments of one.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa

import gedp
from gedp.neighbors.estimates import ZETA, no_clipping_tau
from gedp.policy import Attribute, Spec
from tests.attacks.coupling.own import Own, make_own

#: What the first attribute is protected by; the second takes one of those that are never negative.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "sqrt": {"psi": "sqrt", "gamma": 0.5},
    "log": {"psi": "log", "gamma": 0.1, "shift": 1},
    "linear": {"psi": "linear", "gamma": 20},
    "shifted": {"psi": "sqrt", "gamma": 1, "shift": 30},
    "signed": {"psi": "sqrt", "gamma": 2, "signed": True},
    "split": {"psi": "sqrt", "gamma": 3, "split": True},
    "widened": {"psi": "sqrt", "gamma": 0.5, "at_least": {"psi": "linear", "gamma": 10}},
    "cents": {"psi": "log", "gamma": 0.05, "shift": 10, "unit": 0.01},
}
WITH_BOTH_SIGNS = ("signed", "split")
ASKED = "asked"  # a query of one's own
KINDS = ("sums", "classes", "crossed classes", "combinations", "everything", ASKED)
ACCOUNTINGS = ("prices", "individual")
ENGINES = ("local", "divided")
UNIT = "1 unit"  # however many steps that is
MOVES: Mapping[str, int] = {"1 step": 1, "2 steps": 2, "3 steps": 3, UNIT: 0}
PROTECTED = ("records", "firms")
#: Every combination of these once, but for split columns, which no divided engine reads, and for firms, which only
#: individual accounting protects. The number of a world says which combination it has, and is the seed of all else.
MATRIX = tuple(
    each
    for each in product(VARIANTS, KINDS, ACCOUNTINGS, ENGINES, MOVES, PROTECTED)
    if {"split", "divided"} - {*each} and not ("firms" in each and {"prices", ASKED} & {*each})
)
#: How many establishments the firm has that moves.
MEMBERS = (1, 2, 2, 5, 40)
#: Of the noise in the first world, in units of its size: how far it spreads, and where its middle is.
SPREADS, DRIFTS = (1, 1, 3, 8), (0, 0, -4, 4)
WORST, ON_FILE, SEARCHING = 0.4, 0.1, 0.05  # parts of the worlds: the worst, read from files, with the best portions
FILES = ("t.parquet", "t.csv")
MOST_ROWS = 30


@dataclass(frozen=True)
class World:
    """A spec, its table, and the same table with one establishment moved by so many steps at most."""

    name: str
    spec: Spec
    table: pa.Table
    moved: pa.Table
    steps: int
    cuts: Sequence[int] | None  #: where a divided engine divides the table
    file: str | None  #: with rows by rising values, for the command, which adds microdata and report; None: in memory
    tau: float | None  #: what individual accounting is to choose, with any portions; None: what it finds best
    spread: float  #: of the noise in the first world, in units of its size
    drift: float  #: its mean
    own: Own | None  #: a query of one's own, in the place of the spec's


def make_world(number: int) -> World:
    """The world of this number; after the last combination of `MATRIX` comes the first again, with other values.

    Some are as bad as can be: nobody else has anything, values are large, bounds just touch them, and they fall, into
    another class. In the others somebody with the same public columns lies halfway, so that an order by values changes.
    """
    chance = random.Random(f"world {number}")
    variant, kind, accounting, engine, move, protected = MATRIX[number % len(MATRIX)]
    is_worst, largest = chance.random() < WORST, 10 ** chance.randint(6, 8 if kind == ASKED else 15)
    if move == UNIT:
        largest = chance.choice([1, 1, 10, largest])
    members = 1 if protected == "records" else chance.choice(MEMBERS)
    largest = max(largest // members, 1)  # sums are of at most 2^53 units
    spec = _spec(chance, variant, kind, accounting, protected, [largest - (move != UNIT)] if is_worst else [])
    rows = chance.randint(3, MOST_ROWS) + members - 1
    moving = sorted(chance.sample(range(rows), members))
    public = {key: [chance.choice(codes) for _ in range(rows)] for key, codes in (("g", "ab"), ("h", "uvw"))}
    twin = next(row for row in (moving[0] - 1, *range(rows)) if row not in moving)
    for codes in public.values():
        codes[twin] = codes[moving[0]]
        for row in moving if is_worst and chance.random() < 0.5 else ():
            codes[row] = codes[moving[0]]
    if protected == "firms":
        firms = [chance.choice(["one", "two", "three", f"own {row}"]) for row in range(rows)]
        public["firm"] = ["moving" if row in moving else firm for row, firm in enumerate(firms)]
    amounts, moved = dict[str, list[int]](), dict[str, list[int]]()
    for column, parts in _by_column(spec).items():
        amounts[column] = [0 if is_worst else _amount(chance, parts) for _ in range(rows)]
        moved[column] = list(amounts[column])
        for row in moving:
            value = largest if is_worst else _small(chance) if move == UNIT else amounts[column][row]
            sign = -1 if is_worst else chance.choice([-1, -1, 1, 1, 0])
            other = _beside(value, parts, sign) if move == UNIT else _neighbor(value, parts, MOVES[move], sign)
            if not is_worst and row == moving[0]:
                amounts[column][twin] = moved[column][twin] = (value + other) // 2
            amounts[column][row], moved[column][row] = value, other
    steps = MOVES[move] or max(
        _steps(spec, *({name: units[row] for name, units in each.items()} for each in (amounts, moved)))
        for row in moving
    )
    own = make_own(chance, spec, largest if is_worst else None, of_zeros=move == UNIT) if kind == ASKED else None
    tau = no_clipping_tau(rows, len(spec.asked), ZETA, signed=variant == "signed")
    spread, drift = (0, -tau) if is_worst else (chance.choice(SPREADS), chance.choice(DRIFTS))
    file = chance.choice(FILES) if engine == "local" and own is None and chance.random() < ON_FILE else None
    whose = [] if protected == "records" else [f"a firm of {members}"]
    words = [variant, kind, accounting, file or engine, move, *whose, *(["worst"] if is_worst else [])]
    return World(
        f"{number}: {', '.join([*words, *([] if spec.data.id else ['no ids'])])}",
        spec,
        _table(spec, public, amounts),
        _table(spec, public, moved),
        steps,
        [chance.randint(0, rows)] if engine == "divided" else None,
        file,
        None if chance.random() < SEARCHING else tau,
        spread,
        drift,
        own,
    )


def _spec(
    chance: random.Random, variant: str, kind: str, accounting: str, protected: str, edges: Sequence[int]
) -> Spec:
    attributes = {"x": _protected(chance, variant), "w": _protected(chance, *set(VARIANTS) - set(WITH_BOTH_SIGNS))}
    names = ["x_gain", "x_loss", "w"] if variant == "split" else ["x", "w"]
    queries, sections = _sums(chance, names, variant), dict[str, Any]()
    if kind in ("classes", "crossed classes", "everything"):
        classed = ["w"] if variant in WITH_BOTH_SIGNS else ["x", "w"]
        keys = dict(zip(["size", "pay"], classed[: 1 if kind == "classes" else 2], strict=False))
        sections["classes"] = {key: _classes(chance, name, attributes[name], edges) for key, name in keys.items()}
        queries.append(_by_classes(chance, list(keys), names))
    if kind in ("combinations", "everything"):
        first, second = chance.sample(names, 2)
        formulas = [f"{first} - {second}", f"2 * {first} + 0.5 * {second}", f"0.1 * {first} - 3 * {second}"]
        sections["combinations"] = {"c": chance.choice(formulas)}
        queries.append({"name": "combined", "by": chance.choice([[], ["g"]]), "asked": {"c": _weight(chance)}})
    budget: dict[str, Any] = {"mu": 10_000}
    if accounting == "prices":
        queries.append({"name": "each", "by": "establishment", "asked": {name: _weight(chance) for name in names}})
        term = "mu"
    else:
        budget["spend"], term = chance.choice([0.5, 2, 6]) * (1 if protected == "records" else 6), "importance"
    return gedp.make_spec(
        data={
            "public": ["g", "h", *(["firm"] if protected == "firms" else [])],
            "synthetic": True,
            **({"id": "key"} if chance.random() < 0.7 else {}),
        },
        protect={"unit": "firm"} if protected == "firms" else None,
        attributes=attributes,
        budget=budget,
        queries=[_asking(query, term) for query in queries],
        **sections,
    )


def _protected(chance: random.Random, *variants: str) -> dict[str, Any]:
    """One of these variants, with some gamma."""
    chosen = VARIANTS[chance.choice(sorted(variants))]
    return {**chosen, "gamma": round(chosen["gamma"] * chance.choice([0.2, 1, 1, 3]), 6)}


def _weight(chance: random.Random) -> float:
    return chance.choice([0.2, 0.5, 1, 2])


def _sums(chance: random.Random, names: Sequence[str], variant: str) -> list[dict[str, Any]]:
    """Queries by groups; sums of signed values take clipping."""
    mechanisms = ["pnc"] if variant == "signed" else ["auto", "psi", "pnc"]
    chosen = chance.sample([[], ["g"], ["h"], ["g", "h"]], chance.randint(1, 3))
    return [
        {
            "name": "-".join(by) or "total",
            "by": by,
            "mechanism": chance.choice(mechanisms),
            "asked": {name: _weight(chance) for name in names},
        }
        for by in chosen
    ]


def _classes(chance: random.Random, name: str, attribute: Mapping[str, Any], more: Sequence[int]) -> dict[str, Any]:
    """Classes with some edges, in units, and with these."""
    unit = Decimal(str(attribute.get("unit", 1)))
    edges = sorted({0, *chance.sample([1, 5, 10, 50, 100, 1000, 10**5], chance.randint(1, 4)), *more})
    return {"attribute": name, "edges": [edge * unit for edge in edges]}


def _by_classes(chance: random.Random, keys: list[str], names: Sequence[str]) -> dict[str, Any]:
    """Numbers of establishments, and perhaps sums of an attribute."""
    sums = chance.sample(names, chance.randint(0, 1))
    asked = {name: _weight(chance) for name in ("establishments", *sums)}
    return {"name": "by class", "by": [*chance.choice([[], ["g"]]), *keys], "count": True, "asked": asked}


def _asking(query: Mapping[str, Any], term: str) -> dict[str, Any]:
    """A query with prices or importances; without prices no mechanism can be chosen."""
    left_out = ("asked",) if term == "mu" else ("asked", "mechanism")
    return {**{key: value for key, value in query.items() if key not in left_out}, term: query["asked"]}


def _by_column(spec: Spec) -> dict[str, list[Attribute]]:
    """The attributes of every confidential column: one, or gain and loss."""
    found: dict[str, list[Attribute]] = {}
    for attribute in spec.policy.attributes.values():
        found.setdefault(attribute.column, []).append(attribute)
    return found


def _amount(chance: random.Random, parts: Sequence[Attribute]) -> int:
    """A value in units: nothing, small, or of any size up to the very large."""
    most = chance.choice([0, 1, 10, 1000, 10**6, 10**9, 10**12])
    lowest = -most if len(parts) > 1 or parts[0].signed else 0
    return chance.randint(lowest, most)


def _small(chance: random.Random) -> int:
    """A value in units, around which one unit can matter most."""
    return chance.choice([0, 0, 1, 1, 2, 4, 9, 10, 99, 10**6])


def _beside(value: int, parts: Sequence[Attribute], sign: int) -> int:
    """A value that is one unit more or less."""
    has_both_signs = len(parts) > 1 or parts[0].signed
    return value + sign if has_both_signs else abs(value + sign)


def _steps(spec: Spec, x: Mapping[str, int], y: Mapping[str, int]) -> int:
    """How many steps two records are apart, in units by column; at least one."""
    apart = [
        float(part.protection.steps(*(float(amount * part.unit) for amount in _amounts_of(part, x, y))))
        for part in spec.policy.attributes.values()
    ]
    return max(int(max(apart)), 1)


def _amounts_of(part: Attribute, *records: Mapping[str, int]) -> list[int]:
    sign = {None: 0, "gain": 1, "loss": -1}[part.part]
    return [max(sign * record[part.column], 0) if sign else record[part.column] for record in records]


def _neighbor(value: int, parts: Sequence[Attribute], steps: int, sign: int) -> int:
    """A value as far up or down as so many steps go: of gain and loss, one can go only where the other is gone."""
    if sign == 0:
        return value
    if len(parts) == 1:
        return _edge(value, parts[0], steps, sign)
    gain, loss = (max(value, 0), parts[0]), (max(-value, 0), parts[1])
    grows, falls = (gain, loss) if sign > 0 else (loss, gain)
    left = _edge(*falls, steps, -1)
    return -sign * left if left else sign * _edge(*grows, steps, 1)


def _edge(value: int, attribute: Attribute, steps: int, sign: int) -> int:
    """In units the last value in one direction that is so many steps away at most."""
    unit, protection = float(attribute.unit), attribute.protection
    ends = protection.interval(value * unit, steps)
    found = round(float(ends.high if sign > 0 else ends.low) / unit)

    def is_within(other: int) -> bool:
        in_range = attribute.signed or other >= 0
        return in_range and bool(protection.steps(*(float(each * attribute.unit) for each in (value, other))) <= steps)

    while is_within(found + sign):
        found += sign
    while not is_within(found):
        found -= sign
    return found


def _table(spec: Spec, public: Mapping[str, Sequence[str]], amounts: Mapping[str, Sequence[int]]) -> pa.Table:
    units = {name: parts[0].unit for name, parts in _by_column(spec).items()}
    columns = {
        name: pa.array([value * units[name] for value in values], pa.decimal128(38, 2))
        for name, values in amounts.items()
    }
    return pa.table({"key": [f"k{row:03}" for row in range(len(public["g"]))], **public, **columns})
