"""The five lines that a visitor should take away from the demonstration, computed from this run."""

from pathlib import Path

from gedp.accounting.composition import power
from gedp.margins import relative, with_margin
from gedp.microdata import Microdata
from gedp.numbers import bound, interval, strength
from gedp.policy import price
from gedp_lab.cli.demo.truth import beside_truth
from gedp_lab.synth.shape import Shape

JOBS, EXAMPLE = "m3emp", 36
FEW = 2  # establishments: a cell with so few is blanked today, almost always


def five_lines(microdata: Microdata, establishments: Path, shape: Shape, out: Path) -> tuple[str, ...]:
    """Data and budget, the promise, a total, small cells, where to look."""
    spec, manifest = microdata.public_rows.spec, microdata.release.manifest
    prices = price(spec)
    low, high, _ = interval(*map(float, spec.policy.attributes[JOBS].protection.interval(EXAMPLE)))
    chance = bound(float(power(prices.total.mu, 0.05)))
    total = beside_truth(microdata, establishments, [], JOBS)
    cells = beside_truth(microdata, establishments, ["cnty", "naics5"], JOBS)
    jobs, margin = with_margin(float(total.estimate[0]), float(total.margin[0]))
    few = cells.establishments <= FEW
    tables = manifest.tables
    figures = sum(answered.groups * len(answered.noise) for answered in tables)
    return (
        f"A synthetic state: {shape.establishments:,} establishments, {shape.m3emp:,} jobs, {shape.counties} counties, "
        f"{shape.industries} industries. {figures:,} figures in {len(tables)} tables, and microdata, spent "
        f"mu = {strength(prices.total.mu)} of a budget of {prices.budget.mu:g}.",
        f"The promise: nobody can tell an establishment with {EXAMPLE} jobs from one with {low} to {high} better than "
        f"this: at 5% false alarms, a true difference is noticed with a chance of {chance}.",
        f"The total hardly feels it: {int(total.truth[0]):,} jobs in truth (synthetic, so we may say), {jobs} ± "
        f"{margin} protected, at 95% confidence.",
        f"Small cells: today's rules blank nearly all of the {int(few.sum()):,} of {len(few):,} county x industry "
        f"cells ({few.mean():.0%}) with {FEW} establishments or fewer. Here every cell has a figure and an error: half "
        f"of all are within {relative(cells.typical())} of the truth, half of those small ones within "
        f"{relative(cells.typical(few))}.",
        f"Look: {out / 'package'} for the public, with {out / 'out' / 'report.html'}, {out / 'policy.html'} for a "
        f"policy meeting, {out / 'totals.png'}, and make tables of your own, in a browser: "
        f"gedp desk {out / 'out'} --open, or here: gedp tabulate {out / 'out'} --by cnty,naics4",
    )
