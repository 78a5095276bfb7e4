"""Summarise the synthetic states by aggregation level, beside those of the paper.

The paper made its states from other files.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from gedp.arrays import FloatArray
from gedp.documents import PrintedTable
from gedp.industries import ancestor_of
from gedp_lab.evaluate.published import LEVEL_NAMES
from gedp_lab.reproduce.claims import Check, claim, ours
from gedp_lab.reproduce.context import QCEW, Context, State
from gedp_lab.reproduce.printed_summaries import ESTABLISHMENTS, LARGEST, PRINTED
from gedp_lab.reproduce.results import Item, Result, skipped, verdict_of

PRINTED_TEXT = "Two tables: number of cells, establishments, employment and wages of 14 levels, Syn-NJ and Syn-RI"
WHAT = ("establishments", "m3emp", "wage")
STATISTICS = ("minimum", "median", "maximum", "mean", "std")
WITHIN = 0.25  # of the printed number, to call a size alike
THOUSAND = 1000


def run(context: Context) -> Result:
    """Our states from the published QCEW; whether they have the paper's shape."""
    if context.qcew is None:
        return skipped(PRINTED_TEXT, f"No {QCEW} was found; the demonstration state is like neither.")
    rows: list[dict[str, object]] = []
    tables: list[PrintedTable] = []
    shape: list[Check] = []
    near: list[Check] = []
    for state in context.states:
        if state.name not in PRINTED:
            continue
        found = summaries(state)
        rows += found
        tables.append(_beside(state, found))
        shape += _shape(state, found)
        near += _near(state, found)
    if not rows:
        return skipped(PRINTED_TEXT, "Neither NJ nor RI was asked for.")
    described = claim(
        "The number of establishments in a cell is very uneven: in most levels its standard deviation is above its "
        "mean, and cells of NAICS-3, 4 and 5 have from 1 to more than 1,000",
        shape,
        reason="Some industries of three digits have more than one establishment in the whole state.",
    )
    sizes = ours(
        f"Our totals are within {WITHIN:.0%} of the paper's",
        near,
        reason="The paper's states are made from County Business Patterns and the Quarterly Workforce Indicators; ours "
        "add up to the published QCEW, whose wages are far below the paper's: see the errata on units.",
    )
    return Result(
        PRINTED_TEXT,
        "; ".join(_size(state) for state in context.states if state.name in PRINTED),
        verdict_of([described.outcome, sizes.outcome]),
        "The states are made from other files. Wages here are in thousands of dollars, to stand beside the paper's.",
        claims=[described, sizes],
        tables=tables,
        data={"summaries": pa.Table.from_pylist(rows)},
    )


def summaries(state: State) -> list[dict[str, object]]:
    """One row for each level and quantity, over its cells; wages in thousands."""
    table = pq.read_table(state.path, columns=["cnty", "naics", "m3emp", "wage"])
    codes = table["naics"].combine_chunks().dictionary_encode()
    rows: list[dict[str, object]] = []
    for agglvl in PRINTED.get(state.name, LEVEL_NAMES):
        keys: dict[str, pa.Array | pa.ChunkedArray] = {}
        if agglvl >= 70:
            keys["cnty"] = table["cnty"]
        if depth := agglvl % 10 - 1:
            parents = pa.array([ancestor_of(code, depth) for code in codes.dictionary.to_pylist()])
            keys["industry"] = parents.take(codes.indices)
        columns = {**keys, "m3emp": table["m3emp"], "wage": table["wage"]}
        sums = pa.table(columns).group_by(list(keys)).aggregate([([], "count_all"), ("m3emp", "sum"), ("wage", "sum")])
        cells = {
            "establishments": sums["count_all"].to_numpy().astype(np.float64),
            "m3emp": sums["m3emp_sum"].to_numpy().astype(np.float64),
            "wage": sums["wage_sum"].to_numpy() / THOUSAND,
        }
        for what, values in cells.items():
            names = {"state": state.name, "agglvl": agglvl, "level": LEVEL_NAMES[agglvl], "what": what}
            rows.append({**names, "cells": len(values), **dict(zip(STATISTICS, statistics(values), strict=True))})
    return rows


def statistics(values: FloatArray) -> tuple[float, ...]:
    """Minimum, median, maximum, mean and standard deviation (of a sample)."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.min()), float(np.median(values)), float(values.max()), float(values.mean()), spread


def _beside(state: State, found: Sequence[Mapping[str, object]]) -> PrintedTable:
    rows = []
    for row in found:
        cells, *printed = PRINTED[state.name][int(str(row["agglvl"]))]
        numbers = printed[WHAT.index(str(row["what"]))]
        name = f"{row['level']} ({row['agglvl']}), {row['what']}"
        rows.append([f"{name}: paper", f"{cells:,}", *(f"{number:,}" for number in numbers)])
        numbers_of_ours = (float(str(row[statistic])) for statistic in STATISTICS)
        rows.append(["ours", f"{row['cells']:,}", *(f"{number:,.0f}" for number in numbers_of_ours)])
    return PrintedTable(f"{state.title}: wages in thousands of dollars", ["level", "cells", *STATISTICS], rows)


def _shape(state: State, found: Sequence[Mapping[str, object]]) -> Iterator[Check]:
    """The paper's two remarks on the number of establishments in a cell."""
    counts = [row for row in found if row["what"] == "establishments"]
    wide = sum(float(str(row["std"])) > float(str(row["mean"])) for row in counts)
    number = f"standard deviation above mean in {wide} of {len(counts)} levels"
    yield Check(f"{state.name} most levels", 2 * wide > len(counts), number)
    for row in counts:
        if int(str(row["agglvl"])) in (55, 56, 57, 75, 76, 77):
            least, most = (float(str(row[name])) for name in ("minimum", "maximum"))
            yield Check(f"{state.name} {row['level']}", least == 1 and most > 1000, f"{least:,.0f} to {most:,.0f}")


def _near(state: State, found: Sequence[Mapping[str, object]]) -> list[Check]:
    checks = []
    for row in found:
        if row["agglvl"] == 71:  # counties add up to the state
            cells, *printed = PRINTED[state.name][71]
            theirs = cells * printed[WHAT.index(str(row["what"]))][3]
            mine = int(str(row["cells"])) * float(str(row["mean"]))
            number = f"paper {theirs:,}, ours {mine:,.0f}"
            checks.append(Check(f"{state.name} {row['what']}", abs(mine / theirs - 1) <= WITHIN, number))
    return checks


def _size(state: State) -> str:
    table = pq.read_table(state.path, columns=["m3emp", "wage"])
    largest = [pyarrow.compute.max(table[name]).as_py() for name in ("m3emp", "wage")]
    paper = LARGEST[state.name]
    return (
        f"{state.title}: {table.num_rows:,} establishments (paper {ESTABLISHMENTS[state.name]:,}), the largest with "
        f"{largest[0]:,} jobs (paper {paper['m3emp']:,}) and {largest[1] // THOUSAND:,} thousand dollars of wages "
        f"(paper {paper['wage']:,})"
    )


ITEM = Item("summaries", "Synthetic states by aggregation level (two tables in the appendix)", 80, run)
