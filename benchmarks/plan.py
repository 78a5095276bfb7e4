"""What `gedp plan` predicts, and what releases then show: Rhode Island and New Jersey.

    python benchmarks/plan.py [--qcew FILE] [--made DIR] [--replicates 5] [--states RI,NJ]

Month-1 employment and wages, the paper's groupings, individual accounting at the budget that both attributes have under
the paper's spec. Predicted is the mean standard error of every table: from the other state, from it and the totals of
this one (which the QCEW publishes), from an earlier release of the same state, and from the release's own identity
answers (as its manifest states it). Measured is the mean distance between microdata and truth over all cells and
replicates, times √(π/2), which is the standard error where errors are normal.
"""

import argparse
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from measure import QCEW, establishments

import gedp

SPEC = """
[data]
source = "{source}"
id = "primary_key"
public = ["state", "cnty", "naics"]
synthetic = true
[groupers]
naics5 = {{ column = "naics", prefix = 5 }}
[attributes]
m1emp = {{ psi = "sqrt", gamma = 0.5 }}
wage = {{ psi = "sqrt", gamma = 50 }}
[budget]
mu = 1.632
[[queries]]
name = "state"
by = []
[[queries]]
name = "naics5"
by = ["naics5"]
[[queries]]
name = "county"
by = ["cnty"]
[[queries]]
name = "county x naics5"
by = ["cnty", "naics5"]
"""
Errors = Mapping[tuple[str, str], float]


def planned(plan: gedp.Plan) -> Errors:
    return {(each.query, each.attribute): each.error for each in plan.tables}


def own(release: gedp.Release) -> Errors:
    """What the release predicted of itself from its identity answers."""
    chosen = release.manifest.individual
    return {(query, name): error for name, each in chosen.items() for query, error in each.errors.items()}


def measured(release: gedp.Release, table: Path) -> Errors:
    """The mean distances of the tables of its microdata from the truth."""
    microdata, result = release.microdata(), {}
    columns = pq.read_table(table, columns=["cnty", "naics", "m1emp", "wage"]).to_pandas()
    columns["naics5"] = columns["naics"].str[:5]
    for query in release.spec.group_sums:
        for name in query.attributes:
            found = microdata.tabulate(by=list(query.by), attributes=[name]).to_pandas()
            if query.by:
                truth = columns.groupby(list(query.by), observed=True)[name].sum().rename("truth").reset_index()
                both = found.merge(truth, on=list(query.by))
            else:
                both = found.assign(truth=columns[name].sum())
            result[query.name, name] = float(np.mean(np.abs(both["estimate"] - both["truth"]))) * math.sqrt(math.pi / 2)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--qcew", type=Path, default=QCEW)
    parser.add_argument("--made", type=Path, help="folder with RI.parquet and NJ.parquet, or where they are made")
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--states", default="RI,NJ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = {state: establishments(options.made or folder, options.qcew, state) for state in ("RI", "NJ")}
        for state in options.states.split(","):
            compare(state, made, folder, options.replicates)


def compare(state: str, made: Mapping[str, Path], folder: Path, replicates: int) -> None:
    other = next(each for each in made if each != state)
    spec = gedp.parse_spec(SPEC.format(source=made[state]))
    releases = [gedp.run(spec, out=folder / f"{state}{i}", answers_only=True) for i in range(replicates + 1)]
    earlier, *later = releases
    table = pq.read_table(made[state], columns=["m1emp", "wage"])
    totals = {name: float(np.sum(table[name].to_numpy())) for name in table.column_names}
    from_other, scaled, from_earlier = (
        planned(gedp.plan(spec, like, mu=[1.632], totals=given))
        for like, given in ((made[other], {}), (made[other], totals), (earlier, {}))
    )
    by_release = [measured(release, made[state]) for release in later]
    own_answers = [own(release) for release in later]
    print(f"\n{state}, {replicates} releases: measured mean error, and what was predicted as a ratio to it")
    headings = "".join(f"{text:>13}" for text in ("other state", "with totals", "earlier", "own"))
    print(f"{'table':<18}{'attribute':<10}{'measured':>14}{'± of it':>9}{headings}")
    for key in from_earlier:
        if key not in by_release[0]:
            continue
        each = np.array([found[key] for found in by_release])
        mean, spread = float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each)))
        itself = float(np.mean([found[key] for found in own_answers]))
        ratios = from_other[key] / mean, scaled[key] / mean, from_earlier[key] / mean, itself / mean
        print(
            f"{key[0]:<18}{key[1]:<10}{mean:>14,.1f}{spread / mean:>9.1%}"
            + "".join(f"{ratio:>13.3f}" for ratio in ratios)
        )


if __name__ == "__main__":
    main()
