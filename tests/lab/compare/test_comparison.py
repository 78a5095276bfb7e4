"""What replicates say together, against plain Python."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp.errors import GedpError
from gedp_lab.compare import Comparison
from gedp_lab.compare.comparison import compare_replicates
from gedp_lab.compare.results import ResultOrder, beyond_chance
from gedp_lab.evaluate.folder import Stamp

ORDER = ResultOrder(["low", "high"], ["a", "b", "b+oracle"], ["emp"], ["all", "some"])
GROUPS = {"all": 1, "some": 5}
SPREADS = {"a": 4, "b": 5, "b+oracle": 0.1}


def invented(folder: Path, replicates: int) -> tuple[list[Path], Path, list[list[dict[str, object]]]]:
    """Replicate files with any errors, and the same as lists."""
    chance = np.random.default_rng(replicates)
    files, rows = [], []
    for number in range(replicates):
        lines: list[dict[str, object]] = [
            {
                "setting": setting,
                "workflow": workflow,
                "attribute": "emp",
                "level": level,
                "group": group,
                "error": float(chance.normal(group, SPREADS[workflow])),
                "covered": [True, False, None][chance.integers(3)] if level == "some" else None,
                "seconds": 0.5 + number,
            }
            for setting in ORDER.settings
            for workflow in ORDER.workflows
            for level, count in GROUPS.items()
            for group in range(count)
        ]
        files.append(folder / f"{number:04d}.parquet")
        schema = pa.schema([("covered", pa.bool_())])
        table = pa.Table.from_pylist(lines)
        column = pa.array([line["covered"] for line in lines], schema.field("covered").type)
        pq.write_table(table.set_column(table.column_names.index("covered"), "covered", column), files[-1])
        rows.append(lines)
    groups = [
        {"attribute": "emp", "level": level, "group": group, "keys": f"k{group}", "truth": 100.0 * group}
        for level, count in GROUPS.items()
        for group in range(count)
    ]
    pq.write_table(pa.Table.from_pylist(groups), folder / "groups.parquet")
    return files, folder / "groups.parquet", rows


def summarised(files: Sequence[Path], groups: Path) -> Comparison:
    return compare_replicates(files, groups, ORDER, files[0].parent, Stamp(confidential=True), 0.95)


@pytest.mark.parametrize("replicates", [1, 2, 9])
def test_the_summary_is_that_of_plain_python(replicates: int, tmp_path: Path) -> None:
    files, groups, rows = invented(tmp_path, replicates)
    found = summarised(files, groups)
    shown = [(s, w, x) for s in ORDER.settings for x in ORDER.levels for w in ORDER.workflows]
    assert [(line.setting, line.workflow, line.level) for line in found.lines] == shown
    for line in found.lines:
        mine = [
            [r for r in lines if (r["setting"], r["workflow"], r["level"]) == (line.setting, line.workflow, line.level)]
            for lines in rows
        ]
        errors = np.array([[r["error"] for r in lines] for lines in mine], dtype=float)
        assert (line.groups, line.replicates) == (GROUPS[line.level], replicates)
        assert line.bias == pytest.approx(errors.mean())
        assert line.mean_absolute == pytest.approx(np.abs(errors).mean())
        assert line.median_absolute == pytest.approx(statistics.median(np.abs(errors).mean(axis=0)))
        covered = [[r["covered"] for r in lines if r["covered"] is not None] for lines in mine]
        shares = [sum(map(bool, part)) / len(part) for part in covered if part]
        assert (line.coverage is None) == (not shares)
        if line.coverage is not None:
            assert line.coverage == pytest.approx(statistics.mean(shares))
        assert line.seconds == pytest.approx(0.5 + (replicates - 1) / 2)
        if replicates == 1:
            assert line.bias_se is line.biased is None
        else:
            by_replicate = [statistics.mean(part) for part in errors.tolist()]
            assert line.bias_se == pytest.approx(statistics.stdev(by_replicate) / math.sqrt(replicates))
            off = [
                abs(statistics.mean(part)) > beyond_chance(replicates) * statistics.stdev(part) / math.sqrt(replicates)
                for part in errors.T.tolist()
            ]
            assert line.biased == pytest.approx(sum(off) / len(off))
    assert found.per_group.num_rows == len(ORDER.settings) * len(ORDER.workflows) * sum(GROUPS.values())
    one = found.per_group.to_pylist()[-1]
    assert (one["setting"], one["workflow"], one["level"], one["keys"]) == ("high", "b+oracle", "some", "k4")
    assert one["truth"] == 400
    of_group = [r["error"] for lines in rows for r in lines[-1:]]
    assert one["bias"] == pytest.approx(statistics.mean(map(float, of_group)))  # type: ignore[arg-type]
    assert found.results().num_rows == len(found.lines)


def test_differences_are_paired_and_oracles_do_not_win(tmp_path: Path) -> None:
    files, groups, rows = invented(tmp_path, 9)
    found = summarised(files, groups)

    def absolute(workflow: str, setting: str) -> list[float]:
        return [
            statistics.mean(
                abs(float(str(r["error"])))
                for r in lines
                if (r["setting"], r["workflow"], r["level"]) == (setting, workflow, "some")
            )
            for lines in rows
        ]

    for setting in ORDER.settings:
        pairs = zip(absolute("a", setting), absolute("b", setting), strict=True)
        differences = [other - one for one, other in pairs]
        mean, error = found.difference("a", "b", "emp", "some", setting)
        assert mean == pytest.approx(statistics.mean(differences))
        assert error == pytest.approx(statistics.stdev(differences) / 3)
        (winner,) = [w for w in found.winners if (w.setting, w.level) == (setting, "some")]
        best = "a" if mean > 0 else "b"
        means = {name: found.line(name, "emp", "some", setting).mean_absolute for name in ("a", "b")}
        assert (winner.workflow, winner.runner_up) == (best, "b" if best == "a" else "a")
        assert winner.gain == pytest.approx(max(means.values()) / min(means.values()) - 1)
        assert error is not None
        assert winner.sure == (abs(mean) > 2.306004 * error)  # Student's t with 8 degrees of freedom
    assert {w.workflow for w in found.winners} <= {"a", "b"}


def test_one_replicate_makes_nobody_sure(tmp_path: Path) -> None:
    found = summarised(*invented(tmp_path, 1)[:2])
    assert not any(winner.sure for winner in found.winners)
    assert beyond_chance(1) == math.inf
    assert beyond_chance(34) == pytest.approx(2.0345, abs=1e-4)


def test_without_replicates_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(GedpError, match="no replicate has finished, so there is nothing to compare"):
        compare_replicates([], tmp_path / "g", ORDER, tmp_path, Stamp(confidential=True), 0.95)
    files, groups, _ = invented(tmp_path, 2)
    with pytest.raises(GedpError, match="nothing was compared for x, emp, all"):
        summarised(files[1:], groups).line("x", "emp", "all")


def test_damaged_files_are_named(tmp_path: Path) -> None:
    files, groups, _ = invented(tmp_path, 5)
    whole = files[1].read_bytes()
    files[0].write_bytes(b"")
    files[1].write_bytes(whole[:100])
    files[2].write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    pq.write_table(pa.table({"x": [1]}), files[3])
    again = "Delete just these, and the same command makes them again"
    with pytest.raises(GedpError) as raised:
        summarised(files, groups)
    listed = ", ".join(path.name for path in files[:4])
    assert str(raised.value) == f"{tmp_path}: 4 files are damaged: {listed}. {again}"
    groups.write_bytes(groups.read_bytes()[:-3])
    with pytest.raises(GedpError, match=r"1 file is damaged: groups\.parquet\. Delete just this, and the same"):
        summarised(files[4:], groups)
