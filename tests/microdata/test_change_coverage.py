"""Intervals of change over pairs of releases: they hold the truth as often as they say, and smaller ones do not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gedp
from gedp.arrays import FloatArray
from gedp.confidential.measure import rehearse
from gedp.confidential.table import ConfidentialTable
from gedp.microdata import Microdata, fit_microdata
from gedp.noise.entropy import SeededEntropy
from tests.helpers.quarters import SECTIONS, first_quarter, second_quarter, spec_of

PAY = "pay = wage / jobs"
GROUPINGS: list[list[str]] = [[], ["cnty"], ["naics2"], ["cnty", "naics2"], ["naics"]]
WHAT = ("change", "percent")


def truth(rows: Any, by: list[str]) -> Any:
    """The true figures of every group."""
    keyed = rows.assign(naics2=rows["naics"].str[:2], all="")
    sums = keyed.groupby(by or ["all"])[["jobs", "wage"]].sum().astype(float)
    return sums.assign(pay=sums["wage"] / sums["jobs"])


def deviations(folder: Path, pairs: int) -> dict[str, list[FloatArray]]:
    """Of every kind of change, for every pair: how far intervals are from the truth, in their own reach on that side.

    Above 1 the truth is outside. Errors that are 5% smaller make every deviation 5% larger.
    """
    spec, before = spec_of(folder, queries=SECTIONS["queries"][:3], classes={}), first_quarter(300)
    after = second_quarter(before)
    old, new = (gedp.open_table(spec, rows) for rows in (before, after))
    found: dict[str, list[FloatArray]] = {}
    for pair in range(pairs):
        fits = _fitted(new, spec, 2 * pair), _fitted(old, spec, 2 * pair + 1)
        of_pair: dict[str, list[float]] = {}
        for by in GROUPINGS:
            was, now = truth(before, by), truth(after, by)
            for row in fits[0].change(fits[1], by, ["jobs", "wage"], ratios=[PAY]):
                keys = tuple(row[key] for key in by)
                group = keys if len(keys) > 1 else "".join(keys)
                if group in was.index and group in now.index:
                    o, n = (each.loc[group, row["attribute"]] for each in (was, now))
                    for what, true in (("change", n - o), ("percent", 100 * (n / o - 1))):
                        name = f"{what} of {row['attribute']}"
                        of_pair.setdefault(name, []).extend(_deviation(row, what, float(true)))
        for name, each in of_pair.items():
            found.setdefault(name, []).append(np.array(each))
    return found


def _deviation(row: dict[str, Any], what: str, true: float) -> Iterator[float]:
    if row[what] is not None:
        end = row[f"{what}_ci_{'low' if true < row[what] else 'high'}"]
        yield (true - row[what]) / (end - row[what])


def _fitted(table: ConfidentialTable, spec: Any, seed: int) -> Microdata:
    return fit_microdata(rehearse(table, spec, entropy=SeededEntropy(seed)), attributes=["jobs", "wage"])


def coverage(deviations: list[FloatArray], smaller: float = 1.0) -> tuple[float, float]:
    """How many intervals hold the truth, and the standard error of that over pairs, whose groups are correlated."""
    held = np.array([np.mean(each <= smaller) for each in deviations])
    return float(held.mean()), float(held.std(ddof=1) / np.sqrt(len(held)))


def test_intervals_of_change_cover_roughly(tmp_path: Path) -> None:
    found = deviations(tmp_path, 8)
    assert set(found) == {f"{what} of {line}" for what in WHAT for line in ("jobs", "wage", "pay")}
    everything = np.concatenate([each for pairs in found.values() for each in pairs])
    assert 0.9 < np.mean(everything <= 1) < 0.99


@pytest.mark.slow
def test_intervals_of_change_cover_over_200_pairs(tmp_path: Path) -> None:
    """Every kind of change between 93% and 97%.

    The mean square of deviations in standard errors is 1 within 3 of its own standard errors, and not so if errors were
    5% smaller.
    """
    found = deviations(tmp_path, 200)
    for what, each in found.items():
        held, error = coverage(each)
        assert 0.93 < held < 0.97, (what, held)
        assert abs(held - 0.95) < max(3.5 * error, 0.01), (what, held, error)
    totals = [pair for what, pairs in found.items() if what in ("change of jobs", "change of wage") for pair in pairs]
    squares = np.array([np.mean(pair**2) for pair in totals]) * 1.959964**2
    error = squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - 1) < 3 * error
    assert squares.mean() / 0.95**2 - 1 > 3 * error / 0.95**2
