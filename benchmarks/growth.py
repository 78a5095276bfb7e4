"""How cost grows with the table: Rhode Island, New Jersey, the nation, and 4 and 10 times the nation.

    python benchmarks/growth.py [--engine local --engine spark] [--only nation] [--parts answers] [--plot growth.svg]

4 attributes and the 5 queries of the shipped spec paper-equal, once the answers alone and once the whole release with
microdata and report. Every release is a process of its own, started in turn: time, time of all cores together, peak of
memory, and size on disk. Copies of the nation are made by `gedp synth qcew --times`, with fresh ids, and deleted when
they have been measured. Spark takes an environment that has it (.venv-spark). What was measured is kept in a file
(--results), so that sizes and engines can be measured one by one and drawn together. Exponents are slopes of the
logarithm of cost by that of establishments, from New Jersey on.
"""

import argparse
import json
import os
import tempfile
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from measure import GEDP, QCEW, establishments, spec_for, taken

CASES = (
    ("Rhode Island", "RI", 1),
    ("New Jersey", "NJ", 1),
    ("nation", None, 1),
    ("4 nations", None, 4),
    ("10 nations", None, 10),
)
ENGINES = ("local", "spark")
PARTS = {"answers": ["--answers-only"], "release": []}
FITTED_FROM = 200_000  # establishments: below, starting up takes a good part of the time
FIGURES = {
    "seconds": "seconds",
    "cpu_seconds": "seconds of all cores",
    "gigabytes": "GB of memory",
    "disk": "GB on disk",
}


def measure(source: Path, part: str, engine: str) -> dict[str, Any]:
    """What one release of a table takes."""
    with tempfile.TemporaryDirectory(dir=source.parent) as text:
        folder = Path(text)
        spec_file = spec_for(source, folder, counties_by_state=False)
        options = [*PARTS[part], *(["--engine", engine] if engine != "local" else [])]
        cost = taken(GEDP, "run", str(spec_file), "--out", str(folder / "out"), *options)
        disk = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file()) / 1e9
    return {**asdict(cost), "disk": disk, "establishments": pq.read_metadata(source).num_rows}


def exponent(found: list[dict[str, Any]], figure: str) -> float | None:
    """The power of the number of establishments with which a figure grows; None from fewer than two sizes."""
    large = [each for each in found if each["establishments"] >= FITTED_FROM]
    if len({each["establishments"] for each in large}) < 2:
        return None
    sizes, costs = (np.log([each[name] for each in large]) for name in ("establishments", figure))
    return float(np.polyfit(sizes, costs, 1)[0])


def show(results: dict[str, dict[str, Any]]) -> None:
    """Prints a table for every engine and part."""
    for engine, part in dict.fromkeys((each["engine"], each["part"]) for each in results.values()):
        found = [each for each in results.values() if (each["engine"], each["part"]) == (engine, part)]
        found.sort(key=lambda each: each["establishments"])
        print(f"\n{engine} engine, {'answers alone' if part == 'answers' else 'the whole release'}")
        print(f"{'':14}{'establishments':>16}" + "".join(f"{title:>22}" for title in FIGURES.values()))
        for each in found:
            numbers = "".join(f"{each[name]:>22,.2f}" for name in FIGURES)
            print(f"{each['case']:14}{each['establishments']:>16,}{numbers}")
        powers = [exponent(found, name) for name in FIGURES]
        print(f"{'grows as n^':30}" + "".join(f"{'' if power is None else f'{power:.2f}':>22}" for power in powers))


def draw(results: dict[str, dict[str, Any]], path: Path) -> None:
    """Time of all cores and memory by the number of establishments, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 3.6), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("cpu_seconds", "gigabytes"), strict=True):
        for engine, part in dict.fromkeys((each["engine"], each["part"]) for each in results.values()):
            found = [each for each in results.values() if (each["engine"], each["part"]) == (engine, part)]
            found.sort(key=lambda each: each["establishments"])
            power = exponent(found, name)
            label = f"{engine}, {'answers alone' if part == 'answers' else 'whole release'}"
            label += "" if power is None else f": n^{power:.2f}"
            axes.plot([e["establishments"] for e in found], [e[name] for e in found], marker="o", label=label)
        axes.set(xscale="log", yscale="log", xlabel="establishments", ylabel=FIGURES[name])
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gedp-benchmark")
    parser.add_argument("--qcew", type=Path, default=QCEW)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="Default: local.")
    parser.add_argument("--only", choices=[name for name, *_ in CASES], action="append")
    parser.add_argument("--parts", choices=list(PARTS), action="append")
    parser.add_argument("--results", type=Path, help="Default: growth.json in the folder of the data.")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    kept = options.results or options.data / "growth.json"
    results: dict[str, dict[str, Any]] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")
    for name, state, times in CASES:
        if name not in (options.only or [name]):
            continue
        source = establishments(options.data, options.qcew, state, times)
        for engine, part in product(options.engine or ENGINES[:1], options.parts or PARTS):
            found = {"case": name, "engine": engine, "part": part, **measure(source, part, engine)}
            results[f"{engine}, {part}, {name}"] = found
            kept.write_text(json.dumps(results, indent=2), encoding="utf-8")
            print(f"{name}, {engine}, {part}: {found['seconds']:,.0f} s", flush=True)
        if times > 1:
            source.unlink()
    show(results)
    if options.plot:
        draw(results, options.plot)


if __name__ == "__main__":
    main()
