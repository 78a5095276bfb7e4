"""A small release with crossing groupings, labels and code lists, made once for all tests of a process."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gedp
from tests.helpers.builder import spec_of

COUNTIES = {"001": "Harbor", "003": "Æsir <b>", "005": "=Mill"}
GROUPERS = {"naics3": {"column": "naics", "prefix": 3}}
ATTRIBUTES = {"jobs": {"psi": "sqrt", "gamma": 0.5}, "wage": {"psi": "sqrt", "gamma": 20}}
INDUSTRIES = {"72": "Hotels & co.", "722": "Restaurants", "72251": "Diners", "7211": "Inns"}


def small_spec(folder: Path) -> gedp.Spec:
    (folder / "counties.csv").write_text(
        "code,title,lat,lon\n"
        + "".join(f'{code},"{name}",4{code[2]},-7{code[2]}\n' for code, name in COUNTIES.items()),
        encoding="utf-8",
    )
    (folder / "industries.csv").write_text(
        "code,title\n" + "".join(f"{code},{name}\n" for code, name in INDUSTRIES.items()), encoding="utf-8"
    )
    return spec_of(
        groupers=GROUPERS,
        attributes=ATTRIBUTES,
        budget={"mu": 0.7},
        queries=[
            {"name": "all of it", "by": ["cnty", "naics3"], "title": "Jobs and wages by county"},
            {"name": "total", "by": []},
            {"name": "cnty", "by": ["cnty"]},
        ],
        labels={
            "cnty": {"title": "County", "codes": "counties.csv"},
            "naics": {"title": "Industry", "codes": "industries.csv"},
            "jobs": {"title": "Jobs", "unit": "jobs"},
            "wage": {"title": "Wages", "unit": "US dollars", "scale": 1000},
        },
        publication={"title": "Jobs & wages", "publisher": "Office <of> Statistics"},
        folder=folder,
    )


def small_table() -> pa.Table:
    draw = np.random.default_rng(7)
    count = 240
    jobs = np.rint(draw.lognormal(2, 1.2, count)).astype(int)
    return pa.table(
        {
            "key": [f"id{place:04}" for place in draw.permutation(count)],
            "cnty": draw.choice(list(COUNTIES), count, p=[0.6, 0.3, 0.1]).tolist(),
            "naics": draw.choice(["722511", "722513", "721110", "721191", "811111"], count).tolist(),
            "jobs": jobs,
            "wage": np.rint(jobs * draw.lognormal(8, 0.5, count)).astype(int),
        }
    )


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> gedp.Release:
    """Kept inside: without microdata and report."""
    folder = tmp_path_factory.mktemp("small")
    return gedp.run(small_spec(folder), small_table(), out=folder / "out", seed=3, answers_only=True)


@pytest.fixture(scope="session")
def balances(tmp_path_factory: pytest.TempPathFactory) -> gedp.Release:
    """A release with an attribute of both signs, and with combinations of which one is a difference."""
    folder, draw = tmp_path_factory.mktemp("balances"), np.random.default_rng(11)
    spec = gedp.make_spec(
        data={"public": ["cnty"], "synthetic": True},
        attributes={
            "revenue": {"psi": "sqrt", "gamma": 2},
            "cost": {"psi": "sqrt", "gamma": 2},
            "net": {"psi": "sqrt", "gamma": 2, "signed": True},
        },
        combinations={"profit": "revenue - cost", "turnover": "revenue + cost"},
        budget={"mu": 9},
        queries=[
            {"name": "each", "by": "establishment", "mu": 1},
            {"name": "cnty", "by": ["cnty"], "mu": 1},
            {"name": "profits", "by": ["cnty"], "mu": {"profit": 1, "turnover": 1}, "title": "Profits by county"},
        ],
    )
    columns = {name: draw.integers(low, 1000, 90) for name, low in (("revenue", 0), ("cost", 0), ("net", -1000))}
    rows = pa.table({"cnty": [f"{place % 3}" for place in range(90)], **columns})
    return gedp.run(spec, rows, out=folder / "out", seed=1, answers_only=True)
