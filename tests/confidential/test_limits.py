"""Noise beyond its limits is refused with the attribute, its line, and a setting that works."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

import gedp
from gedp.confidential.limits import _reason, psi_mechanisms, require_pool
from gedp.errors import DomainError, FaultsError
from gedp.policy import Attribute, Closeness, Spec, parse_spec, pools

SPEC = """
[data]
public = ["cnty"]

[attributes]
emp = { psi = "sqrt", gamma = 0.5 }
wage = { psi = "PSI", shift = 1, gamma = GAMMA }

[budget]
mu = 1000000000

[[queries]]
name = "county"
by = ["cnty"]
mu = MU
"""
LINE = 7


def spec_of(gamma: str, price: str, psi: str = "sqrt", *, way: str = "mu") -> Spec:
    text = SPEC.replace("PSI", psi).replace("GAMMA", gamma)
    if way == "spend":
        text = text.replace("mu = MU", "").replace("mu = 1000000000", f"mu = 1000000000\nspend = {price}")
    return parse_spec(text.replace("MU", price), in_memory=True)


def check(spec: Spec) -> None:
    if not spec.is_individual:
        psi_mechanisms(spec)
    for name, pool in pools(spec).items() if spec.is_individual else ():
        require_pool(spec, spec.policy.attributes[name], pool.mu_squared, 1, None)


@pytest.mark.parametrize(
    ("gamma", "price", "psi", "way", "reason"),
    [
        ("0.0000001", "1", "sqrt", "mu", "no grid"),
        ("0.000001", "5", "sqrt", "mu", "no grid"),
        ("9", "0.1", "log", "mu", "too large to be useful"),
        ("0.0000001", "1", "sqrt", "spend", "no grid"),
        ("9", "0.1", "log", "spend", "too large to be useful"),
    ],
)
def test_what_is_beyond_the_limits_is_told_what_is_not(gamma: str, price: str, psi: str, way: str, reason: str) -> None:
    with pytest.raises(FaultsError) as refused:
        check(spec_of(gamma, price, psi, way=way))
    (fault,) = refused.value.faults
    assert fault.place == f"line {LINE}, attributes.wage"
    assert reason in fault.problem
    assert fault.problem.startswith("in query 'county', with gamma" if way == "mu" else "with gamma")
    assert "bits" not in fault.problem + fault.suggestion
    ways = dict(re.findall(rf"(gamma|{way}) = ([0-9.]+)", fault.suggestion))
    assert ways
    for key, value in ways.items():
        changed = {"gamma": gamma, "price": price} | {"price" if key == way else key: value.rstrip(".")}
        check(spec_of(**changed, psi=psi, way=way))


def test_every_attribute_without_noise_is_named_at_once() -> None:
    spec = gedp.make_spec(
        data={"public": ["cnty"]},
        attributes={name: {"psi": "sqrt", "gamma": Decimal("1e-8")} for name in ("emp", "wage")},
        budget={"mu": 9},
        queries=[{"name": "county", "by": ["cnty"], "mu": 1}],
    )
    with pytest.raises(FaultsError) as refused:
        psi_mechanisms(spec)
    assert [fault.place for fault in refused.value.faults] == ["attributes.emp", "attributes.wage"]


def test_queries_with_the_same_noise_are_refused_in_one_line() -> None:
    text = SPEC.replace("PSI", "log").replace("GAMMA", "50").replace("MU", "0.7")
    more = "".join(f'[[queries]]\nname = "{name}"\nby = []\nmu = 0.7\n' for name in ("a", "b"))
    with pytest.raises(FaultsError) as refused:
        check(parse_spec(text + more, in_memory=True))
    (fault,) = refused.value.faults
    assert fault.problem.startswith("in queries 'county', 'a', 'b', with gamma = 50 and mu = 0.7: noise of deviation")
    assert str(refused.value).count("0.7") == 1


def test_lines_of_a_spec_are_no_part_of_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(SPEC.replace("[data]", '[data]\nsource = "t.csv"').replace("GAMMA", "1").replace("MU", "1"))
    text = path.read_text().replace("PSI", "sqrt")
    path.write_text(text)
    moved = tmp_path / "moved.toml"
    moved.write_text(f"# a comment\n{text}")
    one, other = gedp.read_spec(path), gedp.read_spec(moved)
    assert one == other
    assert other.lines["attributes", "wage"] == one.lines["attributes", "wage"] + 1


def test_a_reason_leaves_out_the_attribute_whatever_it_is_called() -> None:
    attribute = Attribute("pay: all", Closeness("sqrt", Decimal(1)))
    for said in (
        "pay: all at mu = 0.7: noise drowns all. Take a larger mu",
        "noise drowns all, at mu = 1",
    ):
        assert _reason(DomainError(said), attribute) == "noise drowns all"
