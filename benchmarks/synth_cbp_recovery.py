"""How well the route from CBP, QWI and the imputed CBP recovers a known truth.

python benchmarks/synth_cbp_recovery.py [ESTABLISHMENTS.parquet]

Publishes establishments in the layouts of the three sources, all their states together, and runs the route on those
files with five seeds. Prints the suppressed shares beside the paper's and the fit of the two regressions; for each
state the relative errors of totals; the shares by size class beside the published ones; and how near three
imputations of withheld figures come to the truth. Without an argument it first makes Rhode Island, New Jersey,
Vermont and Alaska from ../shared/data/qcew_2016q1.parquet, for the size classes with either spread.
"""

import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from gedp.arrays import FloatArray
from gedp.documents.terminal import print_blocks
from gedp_lab.synth.cbp import EmploymentOptions, Sources, cells_from_sources, read_sources
from gedp_lab.synth.cbp.codes import sector_sql
from gedp_lab.synth.cbp.employment import EmploymentInput, adjust_to_county, employment_naics4, stable_floor
from gedp_lab.synth.cbp.gather import Gathered, gather
from gedp_lab.synth.cbp.regression import learn_design
from gedp_lab.synth.cbp.wages import wages_naics4
from gedp_lab.synth.establishments import write_establishments
from gedp_lab.synth.publish import PublishedFiles, publish
from gedp_lab.synth.publish.leaves import OUTSIDE_CBP
from gedp_lab.synth.sizes import CBP_CLASSES, cbp_class
from gedp_lab.synth.spreads import SPREADS, SpreadSettings
from gedp_lab.synth.states import POSTAL_OF_FIPS
from gedp_lab.synth.tables import route_blocks, withheld_table

QCEW = Path(__file__).parents[2] / "shared" / "data" / "qcew_2016q1.parquet"
STATES = ("RI", "NJ", "VT", "AK")
SEEDS = range(5)
ATTRIBUTES = {"m1emp": "jobs, month 1", "m2emp": "jobs, month 2", "m3emp": "jobs, month 3", "wage": "wages"}
GROUPINGS = {
    "all": "''",
    "county": "cnty",
    "sector": sector_sql("naics"),
    "county x sector": f"cnty || {sector_sql('naics')}",
    "county x NAICS-4": "cnty || substr(naics, 1, 4)",
    "county x NAICS-6": "cnty || naics",
}
REGRESSION = EmploymentOptions(impute="regression")
VARIANTS = {  # whether all states are learned from, whether size classes are used, and the options
    "as it was: the state alone": (False, False, REGRESSION),
    "regression": (True, True, REGRESSION),
    "regression, noise of the mean": (True, True, replace(REGRESSION, noise="mean")),
    "regression, adjusted as printed": (True, True, replace(REGRESSION, as_printed=True)),
    "donors (default)": (True, True, EmploymentOptions()),
}
console = Console(width=120)


def from_qcew(folder: Path, spread: str) -> Path:
    """The four states by `gedp synth qcew`."""
    if not QCEW.exists():
        console.print(f"{QCEW} is absent: give a file of establishments instead.")
        raise SystemExit(2)
    path = folder / f"{spread}.parquet"
    asked = ["--qcew", QCEW, "--year", 2016, "--quarter", 1, "--spread", spread, "--out", path]
    asked += [word for state in STATES for word in ("--state", state)]
    program = "from gedp.cli import main; main()"
    command = [sys.executable, "-c", program, "synth", "qcew", *map(str, asked)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


Totals = dict[str, dict[str, FloatArray]]


def totals(rows: pa.Table | Path, by: str) -> Totals:
    """Sums of the attributes in each state by a grouping, over the industries that CBP covers."""
    sums = ", ".join(f"sum({name})" for name in ATTRIBUTES)
    naics = "CASE WHEN naics = '999999' THEN '999990' ELSE regexp_replace(naics, '^(238..)[12]$', '\\10') END"
    with duckdb.connect() as connection:
        source = f"read_parquet('{rows}')" if isinstance(rows, Path) else "made"
        if not isinstance(rows, Path):
            connection.register("made", rows)
        found = connection.execute(
            f"WITH part AS (SELECT * REPLACE ({naics} AS naics) FROM {source})"
            f"SELECT state, {by}, {sums} FROM part WHERE NOT regexp_matches(naics, '{OUTSIDE_CBP}') GROUP BY ALL"
        ).fetchall()
    result: Totals = {}
    for state, key, *values in found:
        result.setdefault(state, {})[key] = np.array(values, dtype=np.float64)
    return result


def only(sources: Sources, state: str) -> Sources:
    """The sources as if their files held one state."""

    def part(table: pa.Table) -> pa.Table:
        return table.filter(pc.equal(table["state"], state))

    qwi = replace(sources.qwi, counties=part(sources.qwi.counties), cells=part(sources.qwi.cells))
    return replace(sources, cbp=part(sources.cbp), efsy=part(sources.efsy), qwi=qwi)


def without_classes(sources: Sources) -> Sources:
    """The sources as if their size classes had not been read."""
    return replace(sources, cbp=sources.cbp.drop_columns([*CBP_CLASSES]))


def recovery(truth: Path, sources: Sources, states: list[str]) -> None:
    """Relative errors, as a mean over the seeds: of the total its own; of groups the sum of absolute errors over the
    total."""
    true = {label: totals(truth, by) for label, by in GROUPINGS.items()}
    errors: dict[tuple[str, str, str], FloatArray] = {}
    for name, (everywhere, by_class, options) in VARIANTS.items():
        wanted = sources if by_class else without_classes(sources)
        parts = [wanted] if everywhere else [only(wanted, state) for state in states]
        for seed in SEEDS:
            cells = pa.concat_tables([cells_from_sources(part, seed=seed, options=options).cells for part in parts])
            for label, by in GROUPINGS.items():
                made = totals(cells, by)
                for state in states:
                    error = relative_error(true[label][state], made[state], signed=label == "all")
                    before = errors.get((state, label, name), np.zeros(len(ATTRIBUTES)))
                    errors[state, label, name] = before + error / len(SEEDS)
    for state in states:
        table = Table("totals by", "made", *ATTRIBUTES.values(), title=f"Relative errors: {POSTAL_OF_FIPS[state]}")
        for label in GROUPINGS:
            for name in VARIANTS:
                shown = [f"{error:+.2%}" if label == "all" else f"{error:.2%}" for error in errors[state, label, name]]
                first = f"{label} ({len(true[label][state]):,})" if name == next(iter(VARIANTS)) else ""
                table.add_row(first, name, *shown)
            table.add_section()
        console.print(table)


def relative_error(true: dict[str, FloatArray], made: dict[str, FloatArray], *, signed: bool) -> FloatArray:
    """Errors of groups over the total of the attributes: their sum, or that of their absolute values."""
    size = np.sum([*true.values()], axis=0)
    missed = np.array([made.get(key, 0 * size) - true.get(key, 0 * size) for key in true | made])
    result: FloatArray = (missed if signed else np.abs(missed)).sum(axis=0) / size
    return result


def shares(truth: Path, sources: Sources, states: list[str], folder: Path) -> None:
    """The largest difference from the published share of any of the twelve size classes, by spread."""
    table = Table("state", *SPREADS, title=f"Largest difference of a share by size class; truth: {truth.stem}")
    made = {}
    for spread, way in SPREADS.items():
        by_class = way(SpreadSettings()).by_class
        cells = cells_from_sources(sources if by_class else without_classes(sources)).cells
        made[spread] = folder / f"made {spread}.parquet"
        write_establishments(cells, made[spread], year=sources.year, quarter=1, seed=0, spread=spread)
    for state in states:
        rows = sources.cbp.filter(pc.and_(pc.equal(sources.cbp["state"], state), pc.equal(sources.cbp["code"], "")))
        published = np.array([pc.sum(rows[name]).as_py() for name in CBP_CLASSES])
        differences = []
        for path in made.values():
            rows = pq.read_table(path, columns=["state", "m3emp"])
            jobs = rows.filter(pc.equal(rows["state"], state))["m3emp"].to_numpy()
            counts = np.bincount(cbp_class(jobs), minlength=len(CBP_CLASSES))
            differences.append(np.abs(counts / counts.sum() - published / published.sum()).max())
        table.add_row(POSTAL_OF_FIPS[state], *(f"{difference:.4f}" for difference in differences))
    console.print(table)


def naics4_truth(truth: Path, gathered: Gathered) -> FloatArray:
    """True attributes of the gathered county x NAICS-4 cells."""
    keys = gathered.naics6_keys
    columns = (keys[name].to_pylist() for name in ("state", "cnty", "naics"))
    inside = dict(zip(gathered.naics6.parent, zip(*columns, strict=True), strict=True))
    true = totals(truth, GROUPINGS["county x NAICS-4"])
    return np.array([true[state][county + naics[:4]] for _, (state, county, naics) in sorted(inside.items())])


def weighted_regression(cells: EmploymentInput, rng: np.random.Generator) -> FloatArray:
    """The other candidate: month 1 from the paper's linear model with a variance in proportion to month 3."""
    m3 = np.where(np.isnan(cells.emp_end), cells.imputed_emp, cells.emp_end).clip(cells.least_m3, cells.most_m3)
    modelled = np.isnan(cells.emp)
    fit_on = ~modelled & ~np.isnan(cells.emp_end) & (m3 > 0)
    numbers = {"month 3": m3, "establishments": cells.establishments}
    labels = {"state": cells.state, "sector": cells.sector}
    matrix = learn_design(numbers, labels).matrix(numbers, labels)
    root = np.sqrt(np.maximum(m3, 1.0))
    scaled = matrix[fit_on] / root[fit_on, None]
    coefficients = np.linalg.lstsq(scaled, cells.emp[fit_on] / root[fit_on])[0]
    residuals = cells.emp[fit_on] / root[fit_on] - scaled @ coefficients
    spread = np.sqrt(residuals @ residuals / (len(residuals) - matrix.shape[1]))
    drawn = matrix @ coefficients + rng.standard_normal(len(m3)) * spread * root
    m1 = stable_floor(np.where(modelled, np.maximum(drawn, 0.0), cells.emp), cells.emp_stable)
    return adjust_to_county(m1, cells.emp, cells.county, cells.county_emp, cells.county_emp_elsewhere)


def imputation(truth: Path, sources: Sources) -> None:
    """Withheld month 1 and wages at county x NAICS-4 beside the truth: errors, and the range of month 1 / month 3."""
    gathered = gather(sources)
    true = naics4_truth(truth, gathered)
    true_m1, true_m3, true_wage = true[:, 0], true[:, 2], true[:, 3]
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in SEEDS:
        candidates = {}
        for name, options in (("regression (the paper's)", REGRESSION), ("donors (default)", EmploymentOptions())):
            employment = employment_naics4(gathered.employment, np.random.default_rng(seed), options)
            wages = wages_naics4(gathered.wages, employment, np.random.default_rng(seed), options)
            withheld = wages.from_model
            missed = np.abs(wages.wage - true_wage)[withheld].sum() / true_wage[withheld].sum()
            candidates[name] = (employment.m1, employment.m3, missed)
        weighted = weighted_regression(gathered.employment, np.random.default_rng(seed))
        candidates["weighted regression"] = (weighted, employment.m3, np.nan)
        for name, (m1, m3, missed) in candidates.items():
            there = employment.modelled
            ratio = (m1 / np.maximum(m3, 1))[there]
            error = np.abs(m1 - true_m1)[there].sum() / true_m1[there].sum()
            found.setdefault(name, []).append((error, *np.quantile(ratio, (0.05, 0.95)), missed))
    cells = f"{employment.modelled.sum():,} cells"
    table = Table(
        "withheld figures from", "month 1: error", "month 1 / month 3: 5%", "95%", "wages: error", title=cells
    )
    for name, rows in found.items():
        error, low, high, missed = np.mean(rows, axis=0)
        table.add_row(name, f"{error:.1%}", f"{low:.2f}", f"{high:.2f}", "" if np.isnan(missed) else f"{missed:.0%}")
    ratio = (true_m1 / np.maximum(true_m3, 1))[employment.modelled]
    table.add_row("(the truth)", "", *(f"{edge:.2f}" for edge in np.quantile(ratio, (0.05, 0.95))), "")
    console.print(table)


def read(published: PublishedFiles) -> Sources:
    return read_sources(published.cbp, published.qwi, published.efsy, size_classes=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        given = [Path(name) for name in sys.argv[1:2]]
        truths = given or [from_qcew(folder, spread) for spread in ("skewed", "paper")]
        published = [publish(path, folder / f"{path.stem} published") for path in truths]
        sources = read(published[0])
        states = sorted(set(sources.cbp["state"].to_pylist()))
        result = cells_from_sources(sources)
        print_blocks(console, [withheld_table(published[0]), *route_blocks(result)])
        console.print(f"{published[0].covered:,} of {published[0].establishments:,} establishments are in CBP.")
        recovery(truths[0], sources, states)
        for truth, files in zip(truths, published, strict=True):
            shares(truth, read(files), states, folder)
        imputation(truths[0], sources)
    console.print(f"Peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB.")


if __name__ == "__main__":
    main()
