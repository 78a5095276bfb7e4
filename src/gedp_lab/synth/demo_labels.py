"""What people call things in the demonstration state: names of its own for counties, industries and months.

The counties tile a rectangle in the sea off Africa where latitude and longitude are 0, so that nobody looks for them.
"""

import csv
from importlib import resources
from pathlib import Path

import numpy as np
from scipy.spatial import Voronoi

from gedp.csvfiles import write_rows
from gedp.files import replacing
from gedp.policy.codelists import CodeList, CodeName, Codes
from gedp.policy.shapes import Ring

#: From the city to the countryside, in the order of their sizes.
COUNTIES = (
    *("Harbor", "Riverside", "Millbrook", "Eastgate", "Stonefield", "Maple", "Larkspur"),
    *("Clearwater", "Granite", "Juniper", "Foxglove", "Willow", "Heron", "Summit"),
)
PLACES = (
    *((2.6, 1.4), (1.9, 1.9), (3.3, 1.0), (3.4, 2.0), (2.2, 0.6), (1.2, 1.2), (4.3, 1.5)),
    *((2.7, 2.6), (1.0, 2.4), (4.4, 0.6), (4.3, 2.5), (1.2, 0.4), (0.4, 1.6), (0.4, 0.6)),
)
WIDTH, HEIGHT = 5.0, 3.0  # degrees
LABELS = """
[labels]
state = { title = "State", codes = "labels/states.csv" }
cnty = { title = "County", codes = "labels/counties.csv" }
naics = { title = "Industry", codes = "labels/industries.csv" }
naics5 = "Industry group"
m1emp = { title = "Jobs in January", unit = "jobs" }
m2emp = { title = "Jobs in February", unit = "jobs" }
m3emp = { title = "Jobs in March", unit = "jobs" }
wage = { title = "Wages paid in the quarter", unit = "US dollars", scale = 1000000 }

[publication]
title = "Jobs and wages in the state of Example, first quarter of 2016"
publisher = "Example Office of Statistics"
contact = "statistics@example.org"
licence = "CC0: synthetic data, free for any use"
"""


def county_code(place: int) -> str:
    """The code of a county: odd numbers, as real ones have."""
    return f"{2 * place + 1:03d}"


def code_lists(state: str) -> dict[str, CodeList]:
    """The code lists that `LABELS` names, by file."""
    counties: dict[Codes, CodeName] = {
        (county_code(place),): CodeName(f"{name} County", PLACES[place], (ring,))
        for place, (name, ring) in enumerate(zip(COUNTIES, county_shapes(), strict=True))
    }
    return {
        "states.csv": CodeList("state", (), {(state,): CodeName("Example")}),
        "counties.csv": CodeList("cnty", (), counties),
        "industries.csv": CodeList("naics", (), {(code,): CodeName(name) for code, name in industries().items()}),
    }


def write_code_lists(folder: Path, state: str) -> None:
    """Writes them into a folder."""
    for name, codes in code_lists(state).items():
        with replacing(folder / name) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            write_rows(codes.rows(), file)


def industries() -> dict[str, str]:
    """The names of industries at every level: domains, supersectors and sectors, and from two digits to six.

    A group with a single industry has the name of that one.
    """
    text = (resources.files(__package__) / "demo_industries.csv").read_text(encoding="utf-8")
    given = {row["code"]: row["title"] for row in csv.DictReader(text.splitlines())}
    whole = [code for code in given if len(code) == 6]
    made = {code[:digits]: given[code] for code in whole for digits in range(2, 7)}
    return dict(sorted({**made, **given}.items()))


def county_shapes() -> tuple[Ring, ...]:
    """For each county the part of the state that is nearest to its place. Mirrored places make the border straight."""
    places = np.array(PLACES)
    mirrored = [
        places * [-1, 1],
        places * [1, -1],
        places * [-1, 1] + [2 * WIDTH, 0],
        places * [1, -1] + [0, 2 * HEIGHT],
    ]
    cells = Voronoi(np.concatenate([places, *mirrored]))
    shapes = []
    for place in range(len(places)):
        corners = cells.vertices[cells.regions[cells.point_region[place]]]
        around = np.argsort(np.arctan2(*(corners - places[place]).T[::-1]))
        ring = [(float(x), float(y)) for x, y in np.round(corners[[*around, around[0]]], 4) + 0.0]
        shapes.append(tuple(ring))
    return tuple(shapes)
