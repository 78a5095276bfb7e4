"""Sizes of synthetic establishments beside the published size classes of ZIP Code Business Patterns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from gedp.errors import Fault, FaultsError
from gedp_lab.synth.sizes import count_by_size
from gedp_lab.synth.states import FIPS_OF_POSTAL, POSTAL_OF_FIPS

_CLASSES = ("n1_4", "n5_9", "n10_19", "n20_49", "n50_99", "n100_249", "n250_499", "n500_999", "n1000")


@dataclass(frozen=True)
class SizeComparison:
    """Establishments by size class, published and synthetic, in the same states."""

    states: tuple[str, ...]  # FIPS
    published: tuple[int, ...]
    synthetic: tuple[int, ...]
    without_jobs: int  # synthetic; the published figures leave them out

    @property
    def differences(self) -> tuple[float, ...]:
        """Synthetic minus published share, class by class."""
        published, synthetic = np.array(self.published), np.array(self.synthetic)
        return tuple((synthetic / synthetic.sum() - published / published.sum()).tolist())


def compare_sizes(establishments: Path, zbp: Path, states: Sequence[str] = ()) -> SizeComparison:
    """Compares month-3 jobs of establishments with ZBP counts, in `states` (FIPS) or all states in both."""
    patterns = _read(zbp, ("st", "naics", *_CLASSES))
    made = _read(establishments, ("state", "m3emp"))
    in_patterns = {FIPS_OF_POSTAL.get(postal, "") for postal in pc.unique(patterns["st"]).to_pylist()} - {""}
    in_made = set(pc.unique(made["state"]).to_pylist())
    chosen = tuple(states) or tuple(sorted(in_patterns & in_made))
    faults = [
        Fault(f"state {fips}", f"not in {path.name}", "Leave it out or use another file")
        for path, there in ((zbp, in_patterns), (establishments, in_made))
        for fips in chosen
        if fips not in there
    ]
    if faults or not chosen:
        nothing = Fault("states", "the two files have none in common", "Use files of the same states")
        raise FaultsError("size classes", faults or [nothing])
    six_digits = pc.match_substring_regex(patterns["naics"], r"^\d{6}$")  # coarser rows would count twice
    postal = pa.array([POSTAL_OF_FIPS[fips] for fips in chosen])
    rows = patterns.filter(pc.and_(six_digits, pc.is_in(patterns["st"], postal)))
    jobs = made.filter(pc.is_in(made["state"], pa.array(chosen)))["m3emp"].to_numpy()
    counts = count_by_size(jobs).tolist()
    published = tuple(int(pc.sum(rows[name]).as_py() or 0) for name in _CLASSES)
    if not sum(published) or not sum(counts[1:]):
        raise FaultsError(
            "size classes",
            [Fault("establishments", "none to compare", "Use files with establishments and jobs")],
        )
    return SizeComparison(chosen, published, tuple(counts[1:]), counts[0])


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of a Parquet or CSV file, codes as text."""
    try:
        if path.suffix.lower() == ".parquet":
            names = pq.read_schema(path).names
            table = pq.read_table(path, columns=[name for name in columns if name in names])
        else:
            text = {name: pa.string() for name in ("st", "state", "naics")}
            table = pa_csv.read_csv(path, convert_options=pa_csv.ConvertOptions(column_types=text))
    except (OSError, pa.ArrowException) as error:
        problem = " ".join(str(error).split())[:160]
        raise FaultsError("size classes", [Fault(str(path), f"cannot be read ({problem})", "Check it")]) from error
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise FaultsError(
            "size classes",
            [Fault(path.name, f"no column {', '.join(missing)}", "Give a file with these columns")],
        )
    return table
