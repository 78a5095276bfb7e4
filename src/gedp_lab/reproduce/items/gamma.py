"""Draw what the Dirichlet divider makes of concentrations from nine Gamma distributions.

A set of concentrations for ten establishments, and the proportions that the divider gives them over 10,000 repetitions.
The paper prints no list of its nine pairs, so ours are around the one that it chose: shape 10, scale 200.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray
from gedp.documents import Chart, PrintedTable
from gedp_lab.reproduce.claims import Check, claim, ours
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import CheckedClaim, Item, Result, Simulation, verdict_of

SHAPES, SCALES = (1.0, 10.0, 100.0), (2.0, 20.0, 200.0)
CHOSEN = (10.0, 200.0)
ESTABLISHMENTS = 10
REPETITIONS = 10_000
SETS = 2_000  # of concentrations, for what is said of all of them


@dataclass(frozen=True)
class Divided:
    """Proportions of the establishments (columns) over repetitions (rows), for one pair of parameters."""

    shape: float
    scale: float
    proportions: FloatArray

    @property
    def across(self) -> float:
        """How unlike the establishments are: the deviation of their mean proportions, relative to 1/10."""
        return float(self.proportions.mean(axis=0).std() * ESTABLISHMENTS)

    @property
    def over_repetitions(self) -> float:
        """How unlike the repetitions are: the mean deviation of a proportion, relative to 1/10."""
        return float(self.proportions.std(axis=0).mean() * ESTABLISHMENTS)

    @property
    def least(self) -> float:
        """The smallest mean proportion."""
        return float(self.proportions.mean(axis=0).min())


def divide(shape: float, scale: float, repetitions: int, generator: np.random.Generator) -> Divided:
    """One set of concentrations and what the divider makes of it."""
    concentrations = generator.gamma(shape, scale, ESTABLISHMENTS)
    return Divided(shape, scale, generator.dirichlet(concentrations, repetitions))


def expected_deviations(shape: float, scale: float, generator: np.random.Generator) -> tuple[float, float]:
    """Across establishments and over repetitions, averaged over many sets of concentrations.

    Given its set, a proportion has mean p = a/Σa and variance p(1 − p)/(Σa + 1).
    """
    sets = generator.gamma(shape, scale, (SETS, ESTABLISHMENTS))
    sums = sets.sum(axis=1, keepdims=True)
    means = sets / sums
    deviations = np.sqrt(means * (1 - means) / (sums + 1))
    return float(means.std(axis=1).mean() * ESTABLISHMENTS), float(deviations.mean() * ESTABLISHMENTS)


def run(context: Context) -> Result:
    """Nine panels, and the paper's remarks on shape and scale."""
    repetitions = ITEM.draws(context)
    found, expected = {}, {}
    for place, shape in enumerate(SHAPES):
        for column, scale in enumerate(SCALES):
            generator = np.random.default_rng((context.seed, place, column))
            found[shape, scale] = divide(shape, scale, repetitions, generator)
            expected[shape, scale] = expected_deviations(shape, scale, generator)
    claims = _claims(expected)
    across, over = expected[CHOSEN]
    return Result(
        "Box plots of proportions for nine pairs of shape and scale; the pairs are not printed",
        f"With shape 10 and scale 200, proportions differ by {across:.0%} of their mean across establishments and by "
        f"{over:.0%} over repetitions",
        verdict_of([each.outcome for each in claims]),
        "The scale cancels in a proportion: it decides how much repetitions differ, and the shape how much "
        "establishments do. So a high shape alone makes establishments alike.",
        claims=claims,
        tables=[_table(expected, found)],
        figures=[Chart(_drawn(found), f"Proportions of ten establishments over {repetitions:,} repetitions", "wide")],
    )


def _claims(expected: dict[tuple[float, float], tuple[float, float]]) -> list[CheckedClaim]:
    drawn = f"{SETS:,} independent sets of concentrations for each pair"
    even, uneven = (expected[shape, SCALES[-1]][0] for shape in (SHAPES[-1], SHAPES[0]))
    return [
        claim(
            "A shape of 1 makes repetitions vary more than larger shapes do",
            [
                Check(
                    f"scale {scale:g}",
                    expected[1.0, scale][1] > expected[10.0, scale][1] > expected[100.0, scale][1],
                    " > ".join(f"{expected[shape, scale][1]:.1%}" for shape in SHAPES),
                )
                for scale in SCALES
            ],
            drawn=drawn,
        ),
        claim(
            "High shape and scale leave little variation across establishments",
            [Check("shape 100, scale 200", even < 0.2 * uneven, f"{even:.0%}, against {uneven:.0%} with shape 1")],
            drawn=drawn,
        ),
        ours(
            "The scale has no part in that: across establishments, it changes nothing",
            [
                Check(
                    f"shape {shape:g}",
                    max(values) - min(values) < 0.05 * max(values),
                    ", ".join(f"{value:.1%}" for value in values),
                )
                for shape in SHAPES
                for values in [[expected[shape, scale][0] for scale in SCALES]]
            ],
            drawn=drawn,
        ),
    ]


def _table(
    expected: dict[tuple[float, float], tuple[float, float]], found: dict[tuple[float, float], Divided]
) -> PrintedTable:
    rows = [
        [f"shape {shape:g}, scale {scale:g}", f"{across:.1%}", f"{over:.1%}", f"{found[shape, scale].least:.4f}"]
        for (shape, scale), (across, over) in expected.items()
    ]
    headings = ["Gamma", "across establishments", "over repetitions", "least proportion drawn"]
    return PrintedTable("Deviation of a proportion, relative to its mean of 1/10", headings, rows)


def _drawn(found: dict[tuple[float, float], Divided]) -> str:
    from matplotlib.figure import Figure as Drawing

    from gedp.web.figures import inline_svg

    figure = Drawing(figsize=(8.5, 7.5), layout="constrained")
    axes = figure.subplots(len(SHAPES), len(SCALES), sharex=True, sharey="row")
    for row, shape in zip(axes, SHAPES, strict=True):
        for axis, scale in zip(row, SCALES, strict=True):
            axis.boxplot(found[shape, scale].proportions, whis=(1, 99), showfliers=False, widths=0.6)
            axis.axhline(1 / ESTABLISHMENTS, color="0.7", linewidth=0.8, zorder=0)
            axis.set_title(f"shape {shape:g}, scale {scale:g}", fontsize=9)
            axis.tick_params(labelsize=8)
    figure.supxlabel("establishment", fontsize=9)
    figure.supylabel("proportion (box: quartiles; whiskers: 1% to 99%)", fontsize=9)
    listed = "; ".join(
        f"shape {shape:g}, scale {scale:g}: {each.across:.0%} across, {each.over_repetitions:.0%} over repetitions"
        for (shape, scale), each in found.items()
    )
    return inline_svg(figure, f"Nine box plots of proportions of ten establishments. Relative deviations: {listed}.")


ITEM = Item(
    "gamma",
    "Nine Gamma distributions for the Dirichlet divider (figure in the appendix)",
    75,
    run,
    is_printed=True,
    simulation=Simulation("repetitions", REPETITIONS, least=1_000),
)
