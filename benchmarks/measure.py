"""The release (`gedp run --answers-only`) of New Jersey and the nation, beside plain group-bys by DuckDB and a copy.

    python benchmarks/measure.py [--data DIR] [--runs 3] [--only nation]

4 attributes and the 5 queries of the shipped spec paper-equal; the tables are those of `gedp synth qcew`, made once if
absent. County codes start anew in every state, so the nation is also measured with the state in all county queries,
which makes six times as many groups. Every contestant is a process of its own, started in turn, reading and writing
included: a busy machine disturbs both alike, and the peak of memory is that of the process. DuckDB copies the whole
file, and once more only the columns that a release holds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gedp.policy.examples import example_text, find_spec

QCEW = Path(__file__).parents[2] / "shared" / "data" / "qcew_2016q1.parquet"
AIM_RATIO, AIM_GIGABYTES = 5, 6
GEDP = "from gedp.cli import main; main()"
DUCKDB = """
import duckdb, json, sys
connection = duckdb.connect()
for query in json.loads(sys.argv[1]):
    connection.sql(query).to_arrow_table() if query.startswith("SELECT") else connection.execute(query)
"""

#: Name, state (None: all) and whether counties are told apart by state.
CASES = (("New Jersey", "NJ", False), ("nation", None, False), ("nation, counties by state", None, True))


@dataclass(frozen=True)
class Taken:
    """What a process took, with all that it started."""

    seconds: float
    cpu_seconds: float  # of all cores together: less disturbed by others on the machine
    gigabytes: float  # of memory at the peak


class Family:
    """A process and all that it starts, looked at twice a second where the system lists them (Linux)."""

    def __init__(self, pid: int) -> None:
        self._pids, self._ticks, self.gigabytes = {pid}, dict[int, int](), 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def cpu_seconds_of_others(self, pid: int) -> float:
        """What the others took, as far as it was seen; ends the watch."""
        self._is_over.set()
        self._thread.join()
        ticks = sum(ticks for other, ticks in self._ticks.items() if other != pid)
        return ticks / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while not self._is_over.wait(0.5):
            parents: dict[int, int] = {}
            for path in Path("/proc").glob("[0-9]*/stat"):
                with suppress(OSError):
                    fields = path.read_text().rpartition(")")[2].split()
                    pid = int(path.parent.name)
                    parents[pid] = int(fields[1])
                    if pid in self._pids or parents[pid] in self._pids:
                        self._pids.add(pid)
                        self._ticks[pid] = int(fields[11]) + int(fields[12])
            alive = [pid for pid in self._pids if pid in parents]
            self.gigabytes = max(self.gigabytes, sum(map(_own_gigabytes, alive)))


def _own_gigabytes(pid: int) -> float:
    """The memory of a process; of what several share, its part."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/smaps_rollup").read_text().split("\nPss:")[1].split()[0]) * 1024 / 1e9
    return 0.0


def taken(program: str, *arguments: str) -> Taken:
    """What a Python program takes in a process of its own, and in those that it starts."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=said, stderr=said)
        family = Family(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
        others = family.cpu_seconds_of_others(child.pid)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise SystemExit(said.read().decode())
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB elsewhere
    own = usage.ru_utime + usage.ru_stime
    return Taken(seconds, own + others, max(usage.ru_maxrss * unit / 1e9, family.gigabytes))


def process(program: str, *arguments: str) -> tuple[float, float]:
    """Seconds and gigabytes at the peak of a Python program in a process of its own."""
    it = taken(program, *arguments)
    return it.seconds, it.gigabytes


def establishments(folder: Path, qcew: Path, state: str | None, times: int = 1) -> Path:
    """The synthetic table, or so many times as many establishments, made if it is not there."""
    path = folder / f"{state or 'nation'}{f'-{times}' if times > 1 else ''}.parquet"
    if not path.exists():
        if not qcew.exists():
            raise SystemExit(f"{qcew}: no such file; name a published QCEW with --qcew")
        where = ["--state", state] if state else []
        options = ["--qcew", str(qcew), "--year", "2016", "--quarter", "1", *where, "--out", str(path)]
        options += ["--times", str(times)] if times > 1 else []
        process(GEDP, "synth", "qcew", *options)
    return path


def spec_for(source: Path, folder: Path, counties_by_state: bool, example: str = "paper-equal") -> Path:
    """A shipped spec about this table, which is synthetic."""
    named = f'source = "{source.resolve().as_posix()}"\nsynthetic = true'
    text = example_text(example).replace('source = "establishments.parquet"', named)
    if counties_by_state:
        text = text.replace('by = ["cnty"', 'by = ["state", "cnty"')
    path = folder / "spec.toml"
    path.write_text(text, encoding="utf-8")
    return path


def plain_queries(spec_file: Path, target: Path, columns: str) -> list[str]:
    """The same sums by plain group-bys, and a copy of these columns of the file."""
    spec = find_spec(str(spec_file))
    source = f"'{spec.data.source}'"
    sums = ", ".join(f"sum({name})" for name in spec.policy.attributes)
    queries = []
    for query in spec.group_sums:
        groupers = {key: spec.groupers.get(key) for key in query.by}
        keys = [f"left({g.column}, {g.prefix})" if g else key for key, g in groupers.items()]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        queries.append(f"SELECT {', '.join([*keys, sums])} FROM {source}{by}")
    return [*queries, f"COPY (SELECT {columns} FROM {source}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"]


def measure(name: str, source: Path, counties_by_state: bool, runs: int) -> bool:
    """Prints one case; whether it meets the aims."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        spec_file = spec_for(source, folder, counties_by_state)
        spec = find_spec(str(spec_file))
        released = ", ".join([*([spec.data.id] if spec.data.id else []), *spec.data.public, *spec.policy.attributes])
        contestants = {
            "gedp run": (GEDP, "run", str(spec_file), "--out", str(folder / "out"), "--force", "--answers-only"),
            "DuckDB, whole file": (DUCKDB, json.dumps(plain_queries(spec_file, folder / "copy.parquet", "*"))),
            "DuckDB, its columns": (DUCKDB, json.dumps(plain_queries(spec_file, folder / "copy.parquet", released))),
        }
        results: dict[str, list[tuple[float, float]]] = {what: [] for what in contestants}
        for _ in range(runs):
            for what, (program, *arguments) in contestants.items():
                results[what].append(process(program, *arguments))
        manifest = json.loads((folder / "out" / "manifest.json").read_text("utf-8"))
        size = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
    groups = sum(query["groups"] for query in manifest["queries"] if query["by"] != ["establishment"])
    print(
        f"\n{name}: {manifest['establishments']:,} establishments, {groups:,} groups, release of {size / 1e6:,.0f} MB"
    )
    best = {what: min(seconds for seconds, _ in taken) for what, taken in results.items()}
    for what, taken in results.items():
        times = "  ".join(f"{seconds:.2f}" for seconds, _ in taken)
        print(f"  {what:22}{best[what]:8.2f} s{max(peak for _, peak in taken):8.2f} GB   ({times})")
    ratio, peak = best["gedp run"] / best["DuckDB, whole file"], max(peak for _, peak in results["gedp run"])
    other = best["gedp run"] / best["DuckDB, its columns"]
    good = ratio <= AIM_RATIO and peak < AIM_GIGABYTES
    print(
        f"  {ratio:.1f} times DuckDB (aim: at most {AIM_RATIO}; with a copy of its columns alone {other:.1f}): ", end=""
    )
    print("met" if good else "NOT met")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gedp-benchmark")
    parser.add_argument("--qcew", type=Path, default=QCEW)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=[name for name, *_ in CASES])
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    print(f"best of {options.runs} runs in turn; load of the machine before: {os.getloadavg()[0]:.1f}")
    good = [
        measure(name, establishments(options.data, options.qcew, state), by_state, options.runs)
        for name, state, by_state in CASES
        if options.only in (None, name)
    ]
    if not all(good):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
