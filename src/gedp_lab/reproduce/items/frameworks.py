"""Compare the variance that epsilon-DP and rho-zCDP need with that of Gaussian DP, for 1, 3 and 5 queries."""

from dataclasses import dataclass

import numpy as np

from gedp.accounting.frameworks import query_variances
from gedp.arrays import FloatArray
from gedp.documents import Chart
from gedp_lab.reproduce.claims import Check, claim
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import Item, Result, verdict_of

QUERIES = (1, 3, 5)
LEVELS = np.linspace(0.01, 0.99, 99)
CAPTION = (
    "For each significance and power that an attacker may reach, from 1% to 99%: the variance per query under ε-DP "
    "(Laplace noise) and under ρ-zCDP (Gaussian noise), divided by that under Gaussian DP. Red: they need more. Blue: "
    "they need less. The line is where both need the same."
)


@dataclass(frozen=True)
class FrameworkRatios:
    """Variance ratios to Gaussian DP over significance (rows) and power (columns); NaN where power ≤ significance."""

    queries: int
    pure: FloatArray
    zcdp: FloatArray

    @property
    def pure_wins(self) -> float:
        """The share of settings in which ε-DP needs less variance than Gaussian DP."""
        return _share(self.pure)

    @property
    def zcdp_wins(self) -> float:
        """The share of settings in which ρ-zCDP needs less variance than Gaussian DP."""
        return _share(self.zcdp)


def run(context: Context) -> Result:
    """The heat maps, and what the paper says about them."""
    ratios = [framework_ratios(queries) for queries in QUERIES]
    claims = [
        claim(
            "Gaussian DP never needs more variance than zCDP",
            [Check(f"queries {r.queries}", not r.zcdp_wins, f"zCDP needs less in {r.zcdp_wins:.1%}") for r in ratios],
        ),
        claim(
            "ε-DP is preferable with one query only",
            [
                Check("queries 1", ratios[0].pure_wins > 0.5, f"ε-DP needs less in {ratios[0].pure_wins:.1%}"),
                *(
                    Check(f"queries {r.queries}", r.pure_wins == 0, f"ε-DP needs less in {r.pure_wins:.1%}")
                    for r in ratios[1:]
                ),
            ],
            reason="With one query ε-DP needs less only where false alarms or misses are rare.",
        ),
    ]
    return Result(
        "Heat maps: ε-DP may need less variance with one query, zCDP never does",
        " ".join(findings(ratios)),
        verdict_of([each.outcome for each in claims]),
        claims[1].reason,
        claims=claims,
        figures=[Chart(frameworks_figure(ratios), CAPTION, "wide")],
    )


def framework_ratios(queries: int) -> FrameworkRatios:
    """The ratios over a grid of 1% to 99%."""
    alpha, power = np.meshgrid(LEVELS, LEVELS, indexing="ij")
    possible = power > alpha + 1e-9
    pure, zcdp = np.full(alpha.shape, np.nan), np.full(alpha.shape, np.nan)
    variances = query_variances(power[possible], alpha[possible], queries)
    pure[possible] = variances.pure / variances.gaussian
    zcdp[possible] = variances.zcdp / variances.gaussian
    return FrameworkRatios(queries, pure, zcdp)


def findings(ratios: list[FrameworkRatios]) -> list[str]:
    """What the grids show, in sentences. The second differs from the paper's where ours shows exceptions."""
    least = min(float(np.nanmin(r.zcdp)) for r in ratios)
    said = [f"Gaussian DP never needs more variance than zCDP: zCDP needs at least {least:.3g} times as much."]
    for r in ratios:
        if not r.pure_wins:
            said.append(f"With {_queries(r.queries)}, ε-DP needs more than Gaussian DP everywhere.")
            continue
        alpha, power = (LEVELS[i] for i in np.nonzero(r.pure < 1))
        rarest_error = np.minimum(alpha, 1 - power).max()
        said.append(
            f"With {_queries(r.queries)}, ε-DP needs less in {r.pure_wins:.1%} of the settings, "
            f"none with both chances of error above {rarest_error:.0%}."
        )
    return said


def frameworks_figure(ratios: list[FrameworkRatios]) -> str:
    """Heat maps, two for each number of queries."""
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure as Drawing

    from gedp.web.figures import inline_svg

    figure = Drawing(figsize=(8.5, 3.4 * len(ratios)), layout="constrained")
    axes = figure.subplots(len(ratios), 2, squeeze=False)
    norm = TwoSlopeNorm(vmin=-4, vcenter=0, vmax=4)
    for row, r in zip(axes, ratios, strict=True):
        for axis, values, name in zip(row, (r.pure, r.zcdp), ("ε-DP", "ρ-zCDP"), strict=True):
            image = axis.imshow(
                np.log2(values), origin="lower", extent=(0.005, 0.995, 0.005, 0.995), norm=norm, cmap="RdBu_r"
            )
            if np.nanmin(values) < 1:
                axis.contour(LEVELS, LEVELS, np.log2(values), levels=[0.0], colors="black", linewidths=1)
            axis.set(title=f"{name} against Gaussian DP, {_queries(r.queries)}", xlabel="power", ylabel="significance")
    ticks = [-4, -2, 0, 2, 4]
    bar = figure.colorbar(image, ax=axes, ticks=ticks, shrink=0.6, label="variance ratio", extend="both")
    bar.ax.set_yticklabels([f"{2.0**tick:g}" for tick in ticks])
    label = "Heat maps of variance ratios over power and significance. " + " ".join(findings(ratios))
    return inline_svg(figure, label)


def _share(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(np.mean(known < 1))


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"


ITEM = Item("frameworks", "Accounting frameworks (figure of power and significance)", 30, run, is_printed=True)
