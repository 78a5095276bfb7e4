"""Tables by classes wherever people meet them: the layout of the QCEW by size, report, explanation."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.errors import FaultsError
from gedp.explain.expected import class_error_lines
from gedp.policy import Spec
from gedp.release import ReleaseFolder, read_release
from tests.helpers.runs import gedp as command

EDGES = [0, 5, 10, 20, 50, 100, 250, 500, 1000]
JOBS = ("m1emp", "m2emp", "m3emp")


def table_of(rows: int = 90) -> pa.Table:
    chance = np.random.default_rng(3)
    jobs = np.exp(chance.normal(3, 1.5, rows)).astype(np.int64)
    return pa.table(
        {
            "state": ["34"] * rows,
            "cnty": [("001", "003")[i % 2] for i in range(rows)],
            "naics": [("111110", "236115", "441110")[i % 3] for i in range(rows)],
            "qtr": ["1"] * rows,
            **{name: jobs + place for place, name in enumerate(JOBS)},
            "wage": jobs * 9000,
        }
    )


def spec_of(**changes: Any) -> Spec:
    asked = {"establishments": 3, **dict.fromkeys((*JOBS, "wage"), 3)}
    keys: dict[str, Any] = {
        "data": {"public": ["state", "cnty", "naics", "qtr"], "synthetic": True},
        "groupers": {"naics3": {"column": "naics", "prefix": 3}},
        "attributes": {
            **{name: {"psi": "sqrt", "gamma": 0.5} for name in JOBS},
            "wage": {"psi": "sqrt", "gamma": 50},
        },
        "classes": {"size": {"attribute": "m3emp", "edges": EDGES}},
        "budget": {"mu": 50},
        "queries": [
            {"name": "identity", "by": "establishment", "mu": 5},
            {"name": "county", "by": ["cnty"], "mu": 3},
            {"name": "sizes", "by": ["naics3", "size"], "count": True, "mu": asked},
        ],
    }
    return gedp.make_spec(**keys | changes)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ReleaseFolder:
    folder = tmp_path_factory.mktemp("sizes")
    pq.write_table(table_of(), folder / "t.parquet")
    gedp.run(spec_of(), table=table_of(), out=folder / "out", seed=1)
    return read_release(folder / "out")


def lines_of(release: ReleaseFolder, level: int, **options: Any) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = release_microdata(release).tabulate_qcew(level, **options).arrow.to_pylist()
    return lines


def release_microdata(release: ReleaseFolder) -> Any:
    return gedp.read_release(release.folder).microdata()


def test_sizes_have_the_layout_of_the_qcew(release: ReleaseFolder) -> None:
    lines = lines_of(release, 63)
    assert {line["size_code"] for line in lines} == {str(code) for code in range(1, 10)}
    assert {line["industry_code"] for line in lines} == {"1011", "1012", "1021"}
    assert {line["area_fips"] for line in lines} == {"34000"}
    assert {(line["agglvl_code"], line["own_code"], line["qtr"]) for line in lines} == {("63", None, "1")}
    assert list(lines[0])[8:14] == [
        "qtrly_estabs",
        "month1_emplvl",
        "month2_emplvl",
        "month3_emplvl",
        "total_qtrly_wages",
        "avg_wkly_wage",
    ]
    assert abs(sum(line["qtrly_estabs"] for line in lines) - 90) <= 14  # every line is rounded


def test_the_nation_and_the_total_have_lines_too(release: ReleaseFolder) -> None:
    lines = lines_of(release, 21)
    assert [(line["area_fips"], line["industry_code"]) for line in lines] == [("US000", "10")] * 9
    assert [line["size_code"] for line in lines] == [str(code) for code in range(1, 10)]
    assert len(lines_of(release, 25)) == 27


def test_other_classes_are_not_those_of_the_qcew(release: ReleaseFolder) -> None:
    with pytest.raises(FaultsError, match="no query groups by the nine size classes of m1emp"):
        lines_of(release, 64, names={"m3emp": "m1emp"})
    with pytest.raises(FaultsError, match=r"by size 21 to 28 or 61 to 64"):
        lines_of(release, 65)


def test_sizes_are_for_first_quarters(tmp_path: Path) -> None:
    table = table_of().set_column(3, "qtr", pa.array(["2"] * 90))
    gedp.run(spec_of(), table=table, out=tmp_path / "out", seed=1, answers_only=True)
    with pytest.raises(FaultsError, match="sizes are published for first quarters"):
        lines_of(read_release(tmp_path / "out"), 21)


def test_the_command_makes_tables_by_classes(release: ReleaseFolder) -> None:
    found = command("tabulate", "out", "--by", "naics3,size", "--out", "-", folder=release.folder.parent)
    assert found.out.splitlines()[1].startswith('"111","0-4","establishments",')
    assert (found.code, "Left out" in found.err) == (0, False)
    sizes = command("tabulate", "out", "--agglvl", "24", "--out", "-", folder=release.folder.parent)
    assert (sizes.code, len(sizes.out.splitlines())) == (0, 28)


def test_the_report_lists_tables_by_classes(release: ReleaseFolder) -> None:
    page = (release.folder / "report.html").read_text(encoding="utf-8")
    assert "tables/sizes.csv" in page
    assert "naics3 × size" in page
    assert "2 tables, also as .parquet" in page
    assert "whole-number noise" in page


def test_noise_by_class_is_said_before_anything_is_drawn() -> None:
    (line,) = class_error_lines(spec_of())
    assert "establishments ± 0.47 in every class" in line
    assert "m3emp ± 1.9 (0-4) to ± 470 (500-999)" in line
    assert "wage: ± 0.47 times what one establishment has at most" in line
