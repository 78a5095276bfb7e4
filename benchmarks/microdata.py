"""Fitting the microdata of one attribute: Rhode Island, New Jersey, the nation, and LSMR on New Jersey's problem.

    python benchmarks/microdata.py [--data DIR] [--runs 3] [--only nation]

The 5 queries of the shipped spec paper-equal with the state in all county queries, month-1 employment. Every case is a
process of its own, so the peak of memory is its own; the release is made before, and reading it is timed apart. One
weighting is what the design aims at a second for: finding the cells' sums, solving, and dividing among establishments.
LSMR (scipy) solves the same weighted least squares over establishments, sparse, run until it agrees to 1e-8.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import QCEW, establishments, process, spec_for
from scipy import sparse
from scipy.sparse.linalg import lsmr

from gedp.arrays import FloatArray
from gedp.microdata.cells import read_public_rows
from gedp.microdata.problem import AttributeProblem, attribute_problem
from gedp.microdata.solve import incidence
from gedp.microdata.weights import fit_attribute
from gedp.release import read_release

ATTRIBUTE = "m1emp"
CASES = (("Rhode Island", "RI"), ("New Jersey", "NJ"), ("nation", None))
AIM_SECONDS, AIM_DIFFERENCE = 1.0, 1e-8
RELEASE = """
import sys
from pathlib import Path
from gedp.confidential.run import plan_run, run
from gedp.policy.examples import find_spec
run(plan_run(find_spec(sys.argv[1]), Path(sys.argv[1]).parent, Path(sys.argv[2])))
"""


def fit(folder: Path, runs: int, with_lsmr: bool) -> None:
    """Prints what one case took, as JSON."""
    began = time.perf_counter()
    problem = attribute_problem(read_public_rows(read_release(folder, check=False)), ATTRIBUTE)
    read = time.perf_counter() - began
    plug_in, quasi = [], []
    for _ in range(runs):
        began = time.perf_counter()
        fitted = fit_attribute(problem, "plug-in")
        plug_in.append(time.perf_counter() - began)
    for _ in range(runs):
        began = time.perf_counter()
        settled = fit_attribute(problem, "quasi")
        quasi.append(time.perf_counter() - began)
    unit = 1 if sys.platform == "darwin" else 1024
    result: dict[str, Any] = {
        "rows": len(fitted.values),
        "cells": problem.cells.count,
        "unknowns": fitted.cell_fit.system.size if fitted.cell_fit else 0,
        "read": read,
        "plug-in": min(plug_in),
        "quasi": min(quasi),
        "rounds": settled.rounds,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9,
    }
    if with_lsmr:
        seconds, steps, values = by_lsmr(problem, fitted.values)
        difference = float(np.max(np.abs(values - fitted.values)) / np.max(np.abs(fitted.values)))
        result["lsmr"] = {"seconds": seconds, "steps": steps, "difference": difference}
    print(json.dumps(result))


def by_lsmr(problem: AttributeProblem, ours: FloatArray) -> tuple[float, int, FloatArray]:
    """The same problem over establishments; its tolerance is tightened until it agrees, and only that run is timed."""
    assert problem.estimates is not None
    assert problem.noise is not None
    rows = len(problem.estimates)
    variances = [problem.noise.variance(problem.estimates), *(group.variances for group in problem.groups)]
    answers = [problem.estimates, *(group.answers for group in problem.groups)]
    of_groups = (incidence(problem.cells.of_groups(group.groups)) for group in problem.groups)
    blocks = [sparse.eye_array(rows, format="csr"), *of_groups]
    scale = 1 / np.sqrt(np.concatenate(variances))
    matrix = (sparse.diags_array(scale) @ sparse.vstack(blocks)).tocsr()
    wanted = scale * np.concatenate(answers)
    for tolerance in (1e-8, 1e-10, 1e-12, 1e-14):
        began = time.perf_counter()
        values, _, steps, *_ = lsmr(matrix, wanted, atol=tolerance, btol=tolerance, conlim=0, maxiter=100_000)
        seconds = time.perf_counter() - began
        if np.max(np.abs(values - ours)) <= AIM_DIFFERENCE * np.max(np.abs(ours)):
            break
    return seconds, steps, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gedp-benchmark")
    parser.add_argument("--qcew", type=Path, default=QCEW)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=[name for name, _ in CASES])
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--lsmr", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit(options.fit, options.runs, options.lsmr)
        return
    options.data.mkdir(parents=True, exist_ok=True)
    print(f"best of {options.runs} fits; load of the machine before: {os.getloadavg()[0]:.1f}")
    headings = (("rows", 12), ("cells", 10), ("groups", 9), ("read", 8), ("one weighting", 16), ("quasi", 10))
    print(" " * 14 + "".join(f"{text:>{width}}" for text, width in (*headings, ("rounds", 8), ("peak", 9))))
    for name, state in CASES:
        if options.only in (None, name):
            show(name, establishments(options.data, options.qcew, state), options.runs, lsmr_too=state == "NJ")


def show(name: str, source: Path, runs: int, *, lsmr_too: bool) -> None:
    """Prints one case."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        process(RELEASE, str(spec_for(source, folder, counties_by_state=True)), str(folder / "out"))
        program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from microdata import main; main()"
        arguments = ["--fit", str(folder / "out"), "--runs", str(runs), *(["--lsmr"] if lsmr_too else [])]
        child = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
        result = json.loads(child.stdout)
    print(
        f"{name:14}{result['rows']:>12,}{result['cells']:>10,}{result['unknowns']:>9,}{result['read']:>7.2f}s"
        f"{result['plug-in']:>15.3f}s{result['quasi']:>9.2f}s{result['rounds']:>8}{result['peak']:>7.2f}GB"
    )
    if name == "nation":
        print(f"  one weighting within {AIM_SECONDS:.0f} s: {'met' if result['plug-in'] <= AIM_SECONDS else 'NOT met'}")
    if "lsmr" in result:
        other = result["lsmr"]
        print(
            f"  LSMR: {other['seconds']:.1f} s, {other['steps']} steps, {other['seconds'] / result['plug-in']:,.0f} "
            f"times as long; largest difference {other['difference']:.0e} of the largest value"
        )


if __name__ == "__main__":
    main()
