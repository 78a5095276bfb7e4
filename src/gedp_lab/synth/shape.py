"""The shape of a file of establishments: how many, how large, and how the largest dominate their cells."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gedp_lab.synth.database import database
from gedp_lab.synth.sizes import LABELS, LOWER_EDGES


@dataclass(frozen=True)
class SizeClass:
    """Establishments by jobs in month 3."""

    label: str
    establishments: int
    jobs: int


@dataclass(frozen=True)
class Dominance:
    """The share of its cell's month-3 jobs the largest establishment holds, in cells of two or more."""

    cells: int
    median_share: float
    over_half: float  # share of these cells in which the largest holds more than half
    over_four_fifths: float


@dataclass(frozen=True)
class Shape:
    """What a file of establishments looks like."""

    establishments: int
    counties: int
    industries: int
    cells: int
    m1emp: int
    m2emp: int
    m3emp: int
    wage: int
    sizes: tuple[SizeClass, ...]  # the first is "none"
    dominance: Dominance


def describe(establishments: Path) -> Shape:
    """The shape of a Parquet file with the 18 columns."""
    with database() as connection:

        def ask(query: str) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = connection.execute(query, [str(establishments)]).fetchall()
            return rows

        totals = ask(
            "select count(*), count(distinct (state, cnty)), count(distinct naics),"
            " count(distinct (state, cnty, naics, own)),"
            " sum(m1emp)::bigint, sum(m2emp)::bigint, sum(m3emp)::bigint, sum(wage)::bigint"
            " from read_parquet(?)"
        )[0]
        bucket = " + ".join(f"(m3emp >= {edge})::int" for edge in LOWER_EDGES)
        by_class = ask(f"select {bucket} as class, count(*), sum(m3emp)::bigint from read_parquet(?) group by 1")
        dominance = ask(
            "with cell as (select max(m3emp) / sum(m3emp) as share from read_parquet(?)"
            " group by state, cnty, naics, own having count(*) > 1 and sum(m3emp) > 0)"
            " select count(*), median(share), avg((share > 0.5)::int), avg((share > 0.8)::int) from cell"
        )[0]
    counts = {row[0]: row[1:] for row in by_class}
    sizes = tuple(SizeClass(label, *counts.get(place, (0, 0))) for place, label in enumerate(("none", *LABELS)))
    totals_by_name = dict(zip((field.name for field in fields(Shape)), totals, strict=False))
    shares = Dominance(dominance[0], *(share or 0.0 for share in dominance[1:]))
    return Shape(**totals_by_name, sizes=sizes, dominance=shares)
