"""Groupings built from several public columns, from the spec to tables of the microdata."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gedp
from gedp.errors import FaultsError
from gedp.policy import Spec, parse_spec, write_spec

TABLE = pa.table(
    {
        "state": ["01", "01", "02", "02"] * 6,
        "cnty": [1, 3, 1, 5] * 6,
        "jobs": list(range(24)),
    }
)


def spec_of(folder: Path, *, identity: bool = True, **changes: Any) -> Spec:
    """Jobs by county, whose codes start anew in every state, and by groups of counties."""
    (folder / "groups.csv").write_text("01-1,east\n01-3,east\n02-1,west\n02-5,west\n")
    first = [{"name": "identity", "by": "establishment", "mu": 30}] if identity else []
    keys: dict[str, Any] = {
        "data": {"public": ["state", "cnty"], "synthetic": True},
        "attributes": {"jobs": {"psi": "sqrt", "gamma": 0.5}},
        "groupers": {
            "county": {"columns": ["state", "cnty"]},
            "zone": {"column": "county", "map": "groups.csv"},
            "land": {"column": "county", "prefix": 2},
        },
        "hierarchies": {"place": ["land", "county"]},
        "budget": {"mu": 90},
        "queries": [*first, {"name": "county", "by": ["county"], "mu": 30}, {"name": "zone", "by": ["zone"], "mu": 30}],
        "folder": folder,
    }
    return gedp.make_spec(**keys | changes)


@pytest.mark.parametrize("identity", [True, False])
def test_columns_are_joined_from_the_table_to_every_table(identity: bool, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, identity=identity)
    release = gedp.run(spec, TABLE, out=tmp_path / "out", seed=1)
    assert release.manifest.spec == spec
    microdata = release.microdata()
    counties = microdata.tabulate("county").arrow.to_pydict()
    assert counties["county"] == ["01-1", "01-3", "02-1", "02-5"]
    rows = TABLE.to_pylist()
    truth = [sum(row["jobs"] for row in rows if f"{row['state']}-{row['cnty']}" == code) for code in counties["county"]]
    for estimate, error, true in zip(counties["estimate"], counties["std_error"], truth, strict=True):
        assert abs(estimate - true) < 6 * error
    assert microdata.tabulate("zone").arrow["zone"].to_pylist() == ["east", "west"]
    assert microdata.tabulate("land").arrow["land"].to_pylist() == ["01", "02"]
    assert len(gedp.plan(spec, table=TABLE).tables) == len(spec.queries)


def test_a_joined_grouping_survives_being_written(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    assert parse_spec(write_spec(spec), in_memory=True) == spec


def test_names_that_two_combinations_share_are_refused(tmp_path: Path) -> None:
    table = pa.table({"state": ["a-", "a"], "cnty": ["b", "-b"], "jobs": [1, 2]})
    spec = spec_of(
        tmp_path,
        groupers={"county": {"columns": ["state", "cnty"]}},
        hierarchies={},
        queries=[{"name": "county", "by": ["county"], "mu": 30}],
    )
    with pytest.raises(FaultsError, match="2 combinations of codes have 1 names between them"):
        gedp.check(spec, table=table)


@pytest.mark.parametrize(
    ("grouper", "fault"),
    [
        ({"columns": ["state"]}, "there are fewer than two"),
        ({"columns": []}, "there are fewer than two"),
        ({"columns": ["state", "county"]}, "'county' is not a public column. Did you mean 'cnty'?"),
        ({"colums": ["state", "cnty"]}, "groupers.place.colums: this key is not known. Did you mean 'columns'?"),
        ({"columns": ["state", "cnty"], "prefix": 2}, "groupers.place.prefix: this key is not known"),
    ],
)
def test_what_cannot_be_joined_is_a_fault(grouper: dict[str, Any], fault: str, tmp_path: Path) -> None:
    with pytest.raises(FaultsError) as refused:
        spec_of(tmp_path, groupers={"place": grouper}, hierarchies={}, queries=[{"name": "t", "by": [], "mu": 1}])
    assert fault in str(refused.value)
