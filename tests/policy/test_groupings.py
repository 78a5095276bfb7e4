"""Groupings of groupings, and hierarchies that must nest, from the spec to tables of the microdata."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gedp
from gedp.errors import FaultsError
from gedp.policy import Spec
from gedp.policy.model import steps_to

TABLE = pa.table(
    {
        "key": [f"k{i}" for i in range(24)],
        "lau": [f"{i % 6}" for i in range(24)],
        "nace": ["0111", "0112", "1011"] * 8,
        "jobs": list(range(24)),
    }
)
GROUPERS: dict[str, Any] = {
    "nuts2": {"column": "nuts3", "prefix": 4},
    "nuts3": {"column": "lau", "map": "lau.csv"},
    "land": {"column": "nuts2", "map": "land.csv"},
    "division": {"column": "nace", "prefix": 2},
}
NUTS3 = {"0": "FI1B1", "1": "FI1B1", "2": "FI1C1", "3": "FI1C2", "4": "SE110", "5": "SE110"}
LAND = {"FI1B": "Finland", "FI1C": "Finland", "SE11": "Sweden"}


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    (tmp_path / "lau.csv").write_text("".join(f"{code},{group}\n" for code, group in NUTS3.items()))
    (tmp_path / "land.csv").write_text("".join(f"{code},{group}\n" for code, group in LAND.items()))
    return tmp_path


def spec_of(folder: Path, *, identity: bool = True, **changes: Any) -> Spec:
    first = [{"name": "identity", "by": "establishment", "mu": 3}] if identity else []
    keys: dict[str, Any] = {
        "data": {"public": ["lau", "nace"], "id": "key", "synthetic": True},
        "attributes": {"jobs": {"psi": "sqrt", "gamma": 0.5}},
        "groupers": GROUPERS,
        "hierarchies": {"region": ["land", "nuts2", "nuts3", "lau"], "industry": ["division", "nace"]},
        "budget": {"mu": 50},
        "queries": [
            *first,
            {"name": "land", "by": ["land"], "mu": 3},
            {"name": "regions", "by": ["nuts2", "division"], "mu": 3},
            {"name": "small", "by": ["nuts3", "division"], "mu": 3},
        ],
        "folder": folder,
    }
    return gedp.make_spec(**keys | changes)


def test_groupings_follow_from_groupings(maps: Path) -> None:
    spec = spec_of(maps)
    assert list(spec.groupers) == ["nuts3", "division", "nuts2", "land"]  # after what they follow from
    assert [step.name for step in steps_to("land", spec.groupers)] == ["nuts3", "nuts2", "land"]
    assert gedp.parse_spec(gedp.write_spec(spec), in_memory=True) == spec
    release = gedp.run(spec, TABLE, out=maps / "out", seed=3)
    keys = release.table("regions").to_arrow()
    assert set(keys["nuts2"].to_pylist()) == {"FI1B", "FI1C", "SE11"}
    assert (maps / "out/maps/land.csv").read_text().splitlines()[0] == '"FI1B","Finland"'
    for by, level in (("land", LAND), ("nuts2", None), ("nuts3", None)):
        found = gedp.read_release(maps / "out").microdata().tabulate([by]).to_arrow()
        truth: dict[str, int] = {}
        for lau, jobs in zip(TABLE["lau"].to_pylist(), TABLE["jobs"].to_pylist(), strict=True):
            group = NUTS3[lau] if by == "nuts3" else NUTS3[lau][:4]
            group = level[group] if level else group
            truth[group] = truth.get(group, 0) + jobs
        assert found[by].to_pylist() == sorted(truth)
        errors = (found["estimate"].to_numpy() - [truth[g] for g in sorted(truth)]) / found["std_error"].to_numpy()
        assert abs(errors).max() < 5


def test_rows_that_are_cells_know_what_their_groups_are_in(maps: Path) -> None:
    """Without establishments the finest table has nuts3, from which nuts2 and land follow."""
    release = gedp.run(spec_of(maps, identity=False), TABLE, out=maps / "out", seed=4)
    assert release.microdata().tabulate(["land"]).to_arrow()["land"].to_pylist() == ["Finland", "Sweden"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"groupers": {**GROUPERS, "nuts3": {"column": "land", "prefix": 2}}}, "derived from itself, by way of others"),
        ({"groupers": {**GROUPERS, "nuts2": {"column": "nuts4", "prefix": 2}}}, "Did you mean 'nuts3'?"),
        ({"hierarchies": {"region": ["land"]}}, "two levels at least"),
        ({"hierarchies": {"region": []}}, "two levels at least"),
        (
            {"hierarchies": {"region": ["land", "Lau"]}},
            "'Lau' is not a public column or a grouping",
        ),
    ],
)
def test_what_leads_nowhere_is_refused(changes: dict[str, Any], problem: str, maps: Path) -> None:
    with pytest.raises(FaultsError) as refused:
        spec_of(maps, **changes)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("levels", "problem"),
    [
        (["nuts2", "land"], "1 of the 2 groups of land lie in several of nuts2"),
        (["nace", "lau"], "6 of the 6 groups of lau lie in several of nace"),
        (["division", "nuts3"], "4 of the 4 groups of nuts3 lie in several of division"),
    ],
)
def test_levels_that_do_not_nest_are_refused(levels: list[str], problem: str, maps: Path) -> None:
    table = TABLE.set_column(2, "nace", pa.array(["0111", "1011"] * 6 + ["1011", "0111"] * 6))
    with pytest.raises(FaultsError, match=f"hierarchy wrong: {problem}"):
        gedp.check(spec_of(maps, hierarchies={"wrong": levels}), table)


def test_a_group_that_is_in_no_map_is_missing_once(maps: Path) -> None:
    (maps / "land.csv").write_text("FI1B,Finland\n")
    with pytest.raises(FaultsError, match=r"grouping land: 2 of the 3 codes in nuts2 are not in land\.csv"):
        gedp.check(spec_of(maps), TABLE)
