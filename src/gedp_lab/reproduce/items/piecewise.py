"""Show why a concave function alone does not protect small establishments (the example of two straight pieces).

The paper takes a transformation that Finley et al. allow: steep up to 10 jobs, nearly flat beyond. It fails the fourth
condition on neighbor functions, and a small establishment gets a narrower band, relative to its size, than a large one.
"""

from collections.abc import Iterator

import numpy as np

from gedp.neighbors.check import Function, check_neighbor_function
from gedp_lab.reproduce.claims import Check, claim
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.printed import PrintedNumber, number_table
from gedp_lab.reproduce.results import Item, Result, verdict_of

BEND = 10.0
STEEP, FLAT = 10.0, 0.01
REACH = 3.3  # standard deviations of the noise, which is N(0, 1)
SMALL, LARGE = 51.0, 106.3  # noisy answers
#: Slopes of other concave functions of two straight pieces, and where they meet.
OTHERS = ((2.0, 1.0, 1.0), (1.0, 0.9, 100.0), (5.0, 0.5, 1e4))


def psi(x: float) -> float:
    """Two straight pieces that meet at 10 jobs."""
    return STEEP * x if x <= BEND else FLAT * (x - BEND) + STEEP * BEND


def inverse(y: float) -> float:
    """The number of jobs behind a value of psi."""
    at_bend = STEEP * BEND
    return y / STEEP if y <= at_bend else BEND + (y - at_bend) / FLAT


def relative_length(omega: float) -> float:
    """The length of the confidence band of a noisy answer, relative to its middle."""
    return (inverse(omega + REACH) - inverse(omega - REACH)) / inverse(omega)


def numbers() -> Iterator[PrintedNumber]:
    """What the example prints, exactly enough for its bounds (below 0.13, above 1.03, more than 7 times) to follow."""
    small, large = relative_length(SMALL), relative_length(LARGE)
    yield PrintedNumber("small establishment: middle of the band", 5.1, inverse(SMALL))
    yield PrintedNumber("small establishment: half of the band", 0.33, REACH / STEEP, 0.005)
    yield PrintedNumber("large establishment: middle of the band", 640, inverse(LARGE), 0.5)
    yield PrintedNumber("large establishment: half of the band", 330, REACH / FLAT, 0.5)
    yield PrintedNumber("small establishment: relative length, 2·0.33/5.1", 2 * 0.33 / 5.1, small, 1e-9)
    yield PrintedNumber("large establishment: relative length, 2·330/640", 2 * 330 / 640, large, 1e-9)


def run(context: Context) -> Result:
    """The example's numbers, and that such functions are rejected."""
    found = list(numbers())
    small, large = relative_length(SMALL), relative_length(LARGE)
    claims = [
        claim(
            "A large establishment gets a band that is over 7 times longer, relative to its size",
            [
                Check("small, below 0.13", small < 0.13, f"{small:.3f}"),
                Check("large, above 1.03", large > 1.03, f"{large:.3f}"),
                Check("ratio, above 7", large / small > 7, f"{large / small:.2f}"),
            ],
        ),
        claim(
            "A concave function of two straight pieces is not a neighbor function (its condition 4 fails at the bend)",
            [Check("the example", *_fails_at(psi, BEND)), *map(_other, OTHERS)],
        ),
    ]
    return Result(
        "Bands of relative length below 0.13 and above 1.03: over 7 times longer for the large establishment",
        f"{small:.3f} and {large:.3f}: {large / small:.2f} times longer",
        verdict_of([*(number.agrees for number in found), *(each.outcome for each in claims)]),
        claims=claims,
        tables=[number_table("Two straight pieces: the paper's numbers and ours", found, ".4g", ".4g")],
    )


def _other(pieces: tuple[float, float, float]) -> Check:
    steep, flat, bend = pieces
    name = f"slopes {steep:g} and {flat:g}, bend at {bend:g}"
    return Check(name, *_fails_at(lambda x: np.minimum(steep * x, steep * bend + flat * (x - bend)), bend))


def _fails_at(f: Function, bend: float) -> tuple[bool, str]:
    failures = check_neighbor_function(f)
    text = ", ".join(f"condition {each.condition} at {each.x:,.4g}" for each in failures) or "passes"
    return [(each.condition, bool(np.isclose(each.x, bend, rtol=0.02))) for each in failures] == [(4, True)], text


ITEM = Item(
    "piecewise",
    "Concave is not enough (example after the ψ-mechanism, theorem on straight pieces)",
    25,
    run,
    is_printed=True,
)
