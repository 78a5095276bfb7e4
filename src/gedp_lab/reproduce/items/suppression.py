"""Show what the published QCEW leaves blank, beside what gedp publishes for the same cells."""

import math
from typing import Any

import pyarrow as pa

from gedp.documents import PrintedTable
from gedp.numbers import short_share
from gedp_lab.evaluate.levels import QCEW_LEVELS
from gedp_lab.evaluate.published import NATION, PublishedQcew, error_texts
from gedp_lab.reproduce.claims import Check, ours
from gedp_lab.reproduce.compared import JOBS
from gedp_lab.reproduce.context import QCEW, Context
from gedp_lab.reproduce.releases import baseline_release, releases
from gedp_lab.reproduce.results import Item, Result, skipped

PRINTED = "Cell suppression blanks cells and makes custom tables hard (discussion; no such table is printed)"


def run(context: Context) -> Result:
    """Shares of blank cells for the nation and the states, and gedp's errors there."""
    if context.qcew is None:
        return skipped(PRINTED, f"No {QCEW} was found, which has the blank cells.")
    published = PublishedQcew(context.qcew)
    shares = published.suppression(*(state.fips for state in context.states))
    tables, parts, checks = [_shares(shares, {NATION: "nation", **{s.fips: s.name for s in context.states}})], [], []
    for state in context.states:
        found = baseline_release(context, state)
        groups = [releases(found, "auto", JOBS, level.name).first for level in QCEW_LEVELS]
        beside = published.beside_states(groups, (state.fips,))
        parts.append(beside.add_column(0, "state", pa.repeat(state.name, beside.num_rows)))
        rows = beside.to_pylist()
        tables.append(_beside(state.title, rows))
        checks += [
            Check(
                f"{state.name} {r['level']}", r["matched"] == r["published"], f"{r['matched']:,} of {r['published']:,}"
            )
            for r in rows
        ]
    answered = ours("gedp answers every cell that the QCEW lists, at every level", checks)
    finest = next(row for row in reversed(shares.to_pylist()) if row["agglvl"] == 77)
    nation = next(row for row in shares.to_pylist() if row["agglvl"] == 77 and row["area"] == NATION)
    return Result(
        PRINTED,
        f"By county x NAICS-5 the published QCEW leaves {nation['share_of_cells']:.0%} of the nation's cells blank and "
        f"{finest['share_of_cells']:.0%} of {context.states[-1].title}'s; gedp publishes all. {answered.evidence}",
        answered.outcome,
        "The truth inside blank cells is imputed, so errors there are those of cells of about the right size.",
        claims=[answered],
        tables=tables,
        data={"suppression": shares, "suppression-beside": pa.concat_tables(parts, promote_options="permissive")},
    )


def _shares(shares: pa.Table, names: dict[str, str]) -> PrintedTable:
    rows: dict[int, list[str]] = {}
    for row in shares.to_pylist():
        if row["area"] == NATION:
            rows[row["agglvl"]] = [row["level"], f"{row['cells']:,}"]
    for area in names:
        of_area = {row["agglvl"]: row["share_of_cells"] for row in shares.to_pylist() if row["area"] == area}
        for agglvl, texts in rows.items():
            texts.append(short_share(of_area.get(agglvl, math.nan)))
    headings = ["level", "cells in the nation", *(f"{name}: blank" for name in names.values())]
    return PrintedTable(
        "Share of cells that the published QCEW leaves blank (gedp: none)", headings, list(rows.values())
    )


def _beside(title: str, rows: list[dict[str, Any]]) -> PrintedTable:
    texts = [
        [
            row["level"],
            f"{row['published']:,}",
            f"{row['withheld']:,} ({short_share(row['share_withheld'])})",
            short_share(row["matched"] / row["published"]),
            *error_texts(row),
        ]
        for row in rows
    ]
    headings = [
        "level",
        "cells",
        "QCEW: blank",
        "gedp: published",
        "median rel. error where blank",
        "≤10%",
        "elsewhere",
        "≤10%",
    ]
    return PrintedTable(f"{title}, {JOBS}: the same cells from one release", headings, texts)


ITEM = Item("suppression", "The legacy side by side: suppression in the published QCEW", 150, run)
