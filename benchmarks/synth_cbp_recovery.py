"""How well the route from CBP, QWI and the imputed CBP recovers a known truth.

python benchmarks/synth_cbp_recovery.py [ESTABLISHMENTS.parquet ...]

Publishes establishments in the layouts of the three sources, runs the route on those files, and prints the
suppressed shares beside the paper's, the fit of the two regressions, and the relative errors of totals.
Without arguments it first makes Rhode Island and New Jersey from ../shared/data/qcew_2016q1.parquet.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from gedp.lab.synth.cbp import EmploymentOptions, Sources, cells_from_sources, read_sources
from gedp.lab.synth.cbp.codes import sector_sql
from gedp.lab.synth.publish import publish
from gedp.lab.synth.publish.leaves import OUTSIDE_CBP
from gedp.lab.synth.tables import fits_table, sources_table, withheld_table

QCEW = Path(__file__).parents[2] / "shared" / "data" / "qcew_2016q1.parquet"
STATES = ("RI", "NJ")
ATTRIBUTES = {"m1emp": "jobs, month 1", "m2emp": "jobs, month 2", "m3emp": "jobs, month 3", "wage": "wages"}
GROUPINGS = {
    "all": "''",
    "county": "state || cnty",
    "sector": sector_sql("naics"),
    "county x sector": f"state || cnty || {sector_sql('naics')}",
    "county x NAICS-4": "state || cnty || substr(naics, 1, 4)",
}
VARIANTS = {
    "as shipped": EmploymentOptions(),
    "noise of the fitted mean": EmploymentOptions(noise="mean"),
    "county adjustment as printed": EmploymentOptions(as_printed=True),
}
console = Console(width=110)


def from_qcew(folder: Path) -> list[Path]:
    """Rhode Island and New Jersey by `gedp synth qcew`."""
    if not QCEW.exists():
        console.print(f"{QCEW} is absent: give files of establishments instead.")
        raise SystemExit(2)
    paths = [folder / f"{state}.parquet" for state in STATES]
    for path in paths:
        made = [
            "--qcew",
            str(QCEW),
            "--year",
            "2016",
            "--quarter",
            "1",
            "--state",
            path.stem,
            "--out",
            str(path),
        ]
        program = "from gedp.cli import main; main()"
        subprocess.run([sys.executable, "-c", program, "synth", "qcew", *made], check=True, stdout=subprocess.DEVNULL)
    return paths


def totals(rows: pa.Table | Path, by: str) -> dict[str, np.ndarray]:
    """Sums of the attributes by a grouping, over the industries that CBP covers."""
    sums = ", ".join(f"sum({name})" for name in ATTRIBUTES)
    with duckdb.connect() as connection:
        if isinstance(rows, Path):
            source = f"read_parquet('{rows}')"
        else:
            connection.register("made", rows)
            source = "made"
        found = connection.execute(
            f"SELECT {by}, {sums} FROM {source} WHERE NOT regexp_matches(naics, '{OUTSIDE_CBP}') GROUP BY ALL"
        ).fetchall()
    return {row[0]: np.array(row[1:], dtype=np.float64) for row in found}


def compare(truth: Path, sources: Sources) -> None:
    """Relative errors: of the total its own; of groups the median and the total of absolute errors over the
    total.
    """
    for name, options in VARIANTS.items():
        began = time.perf_counter()
        result = cells_from_sources(sources, options=options)
        took = time.perf_counter() - began
        if name == "as shipped":
            console.print(sources_table(result), fits_table(result))
        title = f"Relative error, {name} ({took:.1f} s)"
        table = Table("totals by", "groups", *ATTRIBUTES.values(), title=title, title_justify="left")
        for label, by in GROUPINGS.items():
            true, made = totals(truth, by), totals(result.cells, by)
            keys = [key for key in true if (true[key] > 0).all()]
            error = np.array([made.get(key, np.zeros(4)) - true[key] for key in keys])
            size = np.array([true[key] for key in keys])
            if label == "all":
                cells = [f"{value:+.2%}" for value in error[0] / size[0]]
            else:
                median = np.median(np.abs(error) / size, axis=0)
                overall = np.abs(error).sum(axis=0) / size.sum(axis=0)
                cells = [f"{one:.1%} / {other:.1%}" for one, other in zip(median, overall, strict=True)]
            table.add_row(label, f"{len(keys):,}", *cells)
        console.print(table)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        given = [Path(name) for name in sys.argv[1:]]
        for path in given or from_qcew(folder):
            console.rule(path.stem)
            began = time.perf_counter()
            published = publish(path, folder / f"{path.stem} published")
            took = time.perf_counter() - began
            console.print(withheld_table(published))
            console.print(
                f"published {published.establishments:,} establishments "
                f"({published.covered:,} of them in CBP) in {took:.1f} s"
            )
            began = time.perf_counter()
            sources = read_sources(published.cbp, published.qwi, published.efsy)
            console.print(f"read the three sources in {time.perf_counter() - began:.1f} s")
            compare(path, sources)
    console.print(
        "Groups: median of the relative errors / sum of absolute errors over the total. "
        f"Peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB."
    )


if __name__ == "__main__":
    main()
