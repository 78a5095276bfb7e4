"""Synthetic establishments of the whole nation: time and peak memory, beside DuckDB copying the result.

    python benchmarks/synth_nation.py [QCEW file] [--spread paper] [--runs 3]

The command runs in its own process, as a user would run it, reading and writing included.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

QCEW = Path(__file__).parents[2] / "shared" / "data" / "qcew_2016q1.parquet"
AIM_SECONDS, AIM_GIGABYTES = 30, 4


def run(arguments: list[str]) -> tuple[float, float]:
    """Seconds and gigabytes at the peak of `gedp` with these arguments."""
    program = "from gedp.cli import main; main()"
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB elsewhere
    return time.perf_counter() - began, usage.ru_maxrss * unit / 1e9


def copy(source: Path, target: Path) -> float:
    """Seconds DuckDB takes to copy the file, compressed alike."""
    began = time.perf_counter()
    query = f"copy (from '{source}') to '{target}' (format parquet, compression zstd, compression_level 1)"
    duckdb.execute(query)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qcew", nargs="?", type=Path, default=QCEW)
    parser.add_argument("--spread", default="skewed", choices=("skewed", "paper"))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if not options.qcew.exists():
        raise SystemExit(f"{options.qcew}: no such file; name a published QCEW")
    duckdb.execute("set threads = 2")
    with tempfile.TemporaryDirectory() as folder:
        out, again = Path(folder) / "nation.parquet", Path(folder) / "copy.parquet"
        arguments = [
            "synth",
            "qcew",
            "--qcew",
            str(options.qcew),
            "--out",
            str(out),
            "--spread",
            options.spread,
        ]
        runs = [(*run(arguments), copy(out, again)) for _ in range(options.runs)]
        rows, size = pq.read_metadata(out).num_rows, out.stat().st_size
    seconds, copying = min(run[0] for run in runs), min(run[2] for run in runs)
    print(f"establishments            {rows:>12,}   ({size / 1e6:.0f} MB, spread {options.spread})")
    print(f"gedp synth qcew           {seconds:>12.1f} s   (best of {options.runs}; aim {AIM_SECONDS})")
    print(f"peak memory               {max(run[1] for run in runs):>12.2f} GB  (aim {AIM_GIGABYTES})")
    print(f"DuckDB copy of the result {copying:>12.1f} s")
    print(f"ratio                     {seconds / copying:>12.1f}")


if __name__ == "__main__":
    main()
