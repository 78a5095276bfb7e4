"""Two quarters of a small register, and their releases: some establishments open, some close, the rest change."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import gedp

pd: Any = import_module("pandas")
NAMES = ["jobs", "wage", "profit"]
SECTIONS: dict[str, Any] = {
    "data": {"public": ["cnty", "naics"], "id": "key", "synthetic": True},
    "groupers": {"naics2": {"column": "naics", "prefix": 2}, "region": {"column": "cnty", "map": "regions.csv"}},
    "attributes": {
        "jobs": {"psi": "sqrt", "gamma": 0.5},
        "wage": {"psi": "sqrt", "gamma": 20},
        "profit": {"psi": "linear", "gamma": 5, "signed": True},
    },
    "classes": {"size": {"attribute": "jobs", "edges": [0, 10, 50]}},
    "budget": {"mu": 5},
    "queries": [
        {"name": "identity", "by": "establishment", "mu": 0.5},
        {"name": "county", "by": ["cnty"], "mu": 0.8},
        {"name": "cells", "by": ["cnty", "naics2"], "mu": 0.8},
        {"name": "sizes", "by": ["size"], "count": True, "mu": 0.5},
    ],
    "labels": {"jobs": {"title": "Jobs", "unit": "jobs"}, "cnty": "County"},
}
REGIONS = {"001": "north", "003": "north", "005": "south", "007": "south"}


def first_quarter(rows: int = 240, seed: int = 7) -> Any:
    """Establishments of counties 001, 003 and 005; their profits add up to 0."""
    chance = np.random.default_rng(seed)
    jobs = np.rint(chance.lognormal(2, 1.2, rows)).astype(int)
    profit = np.rint(chance.normal(0, 30, rows // 2)).astype(int)
    return pd.DataFrame(
        {
            "key": [f"id{place:04}" for place in range(rows)],
            "cnty": chance.choice(["001", "003", "005"], rows, p=[0.6, 0.3, 0.1]),
            "naics": chance.choice(["7225", "7211", "8111", "4451"], rows),
            "jobs": jobs,
            "wage": np.rint(jobs * chance.lognormal(8, 0.5, rows)).astype(int),
            "profit": np.concatenate([profit, -profit]),
        }
    )


def second_quarter(before: Any, seed: int = 8) -> Any:
    """A quarter later: county 005 has closed, 007 has opened, and jobs have grown by a fifth, pay by less."""
    chance = np.random.default_rng(seed)
    stayed = before[(before["cnty"] != "005") & (chance.random(len(before)) > 0.05)]
    opened = before.head(15).assign(key=lambda rows: f"new{seed}" + rows["key"], cnty="007")
    growth = np.exp(chance.normal(0.2, 0.2, len(stayed)))
    jobs, wage = (np.rint(stayed[name] * growth * more).astype(int) for name, more in (("jobs", 1), ("wage", 1.02)))
    profit = stayed["profit"] + np.rint(chance.normal(20, 10, len(stayed))).astype(int)
    return pd.concat([stayed.assign(jobs=jobs, wage=wage, profit=profit), opened], ignore_index=True)


def spec_of(folder: Path, regions: Mapping[str, str] = REGIONS, **sections: Any) -> gedp.Spec:
    """The spec of either quarter, with other sections where they are given."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "regions.csv").write_text("".join(f"{code},{name}\n" for code, name in regions.items()))
    return gedp.make_spec(**{**SECTIONS, **sections}, folder=folder)


def release_of(rows: Any, folder: Path, seed: int | None, **other: Any) -> gedp.Release:
    """A release in this folder, kept inside: without microdata and report."""
    spec = spec_of(folder.with_name(f"{folder.name}-spec"), **other)
    return gedp.run(spec, rows, out=folder, seed=seed, answers_only=True)
