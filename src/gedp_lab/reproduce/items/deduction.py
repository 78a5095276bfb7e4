"""Solve the paper's example of cell suppression as a linear attacker would.

Five establishments, of which Bob's is alone in its county and in its sector. Published are the total wages, those of
three counties and those of three sectors.
"""

from collections.abc import Sequence

import numpy as np

from gedp.documents import PrintedTable
from gedp_lab.reproduce.claims import Check, claim, ours
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import Item, Result, verdict_of

#: County and sector of each.
ESTABLISHMENTS = {"Bob": "X 52", "Carlos": "Y 23", "Green Hills": "Y 11", "Isaac": "Z 23", "Alice": "Z 11"}
TOTAL = "total"
PRIMARY = ("X", "52")
SECONDARY = (TOTAL, "Y")  # what the paper leaves out besides


def cells() -> dict[str, list[int]]:
    """Which establishments each published cell adds up, as zeros and ones."""
    names = [TOTAL, "X", "Y", "Z", "52", "23", "11"]
    return {name: [int(name == TOTAL or name in keys.split()) for keys in ESTABLISHMENTS.values()] for name in names}


def deducible(published: Sequence[str]) -> list[str]:
    """The establishments whose wages follow from these cells by addition, subtraction and multiplication."""
    rows = np.array([cells()[name] for name in published])
    rank = np.linalg.matrix_rank(rows)
    one_each = np.eye(len(ESTABLISHMENTS), dtype=int)
    return [
        name
        for name, unit in zip(ESTABLISHMENTS, one_each, strict=True)
        if np.linalg.matrix_rank(np.vstack([rows, unit])) == rank
    ]


def follows(cell: str, published: Sequence[str]) -> bool:
    """Whether a cell follows from others, for an attacker who knows where the establishments are."""
    rows = np.array([cells()[name] for name in published])
    return bool(np.linalg.matrix_rank(np.vstack([rows, cells()[cell]])) == np.linalg.matrix_rank(rows))


def run(context: Context) -> Result:
    """What follows after each step, the rank of the system, and the share that is lost."""
    every = list(cells())
    after_primary = [name for name in every if name not in PRIMARY]
    left = [name for name in after_primary if name not in SECONDARY]
    system = [cells()[name] for name in ("Y", "Z", "23", "11")]
    rank = int(np.linalg.matrix_rank(np.array(system)))
    lost = 1 - len(left) / len(every)
    claims = [
        claim(
            "After primary suppression Bob's wages still follow from the other cells",
            [Check("without X and 52", "Bob" in deducible(after_primary), ", ".join(deducible(after_primary)))],
        ),
        claim(
            "Without the total and county Y nobody's wages follow",
            [Check(", ".join(left), not deducible(left), ", ".join(deducible(left)) or "nobody")],
        ),
        claim(
            "Counties Y and Z and sectors 23 and 11 are four equations that determine four establishments",
            [Check("rank", rank == 4, str(rank))],
            reason="Both pairs add up to the same sum, so one equation says nothing new.",
        ),
        claim(
            "50% of the cells end up suppressed",
            [Check(f"{len(every) - len(left)} of {len(every)}", round(lost, 2) == 0.5, f"{lost:.0%}")],
            reason="Four of seven cells are 57%.",
        ),
        ours(
            "One more cell from elsewhere undoes it: the total, published by somebody else, gives Bob away again",
            [Check("with the total", deducible([*left, TOTAL]) == ["Bob"], ", ".join(deducible([*left, TOTAL])))],
        ),
    ]
    claims.append(
        ours(
            "County Y, which the paper leaves out too, follows from the rest: sectors 23 and 11 less county Z",
            [Check("county Y", follows("Y", left), "follows" if follows("Y", left) else "does not follow")],
        )
    )
    return Result(
        "Bob's wages follow after primary suppression; four equations with four unknowns; 50% of the cells suppressed",
        f"Rank {rank}; {lost:.0%} of the cells suppressed",
        verdict_of([each.outcome for each in claims]),
        " ".join(each.reason for each in claims if each.reason),
        claims=claims,
        tables=[
            PrintedTable(
                "What a linear attacker deduces",
                ["published", "cells", "whose wages follow"],
                [
                    [name, ", ".join(which), ", ".join(deducible(which)) or "nobody's"]
                    for name, which in (
                        ("all", every),
                        ("after primary suppression", after_primary),
                        ("after both", left),
                    )
                ],
            )
        ],
    )


ITEM = Item("deduction", "Cell suppression, solved (example in the appendix)", 145, run, is_printed=True)
