"""Claims on invented comparisons: what holds is said to hold, and what does not is not."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gedp_lab.compare.comparison import Comparison
from gedp_lab.compare.results import Line, ResultOrder
from gedp_lab.evaluate.folder import Stamp
from gedp_lab.reproduce import claims
from gedp_lab.reproduce.compared import GDP, LEVELS, ORACLES, PRIVATE
from gedp_lab.reproduce.items.comparison import our_claims, paper_claims
from gedp_lab.reproduce.results import AGREES, DISAGREES, IN_PART, OURS, PAPER

PLACE = [("m3emp", "state total")]


def invented(
    errors: Mapping[str, Sequence[float]],
    bias: Mapping[str, tuple[float, float | None]] | None = None,
    coverage: float | None = 0.95,
    truth: float = 99.0,
    attributes: Sequence[str] = ("m3emp",),
    levels: Sequence[str] = ("state total",),
) -> Comparison:
    """A comparison in which the workflows have these mean absolute errors, replicate by replicate, everywhere."""
    lines, groups, replicates = [], [], []
    for attribute in attributes:
        for level in levels:
            for name, each in errors.items():
                mean, (off, error) = float(np.mean(each)), (bias or {}).get(name, (0.0, 1.0))
                where = ("as in the spec", name, attribute, level)
                lines.append(Line(*where, 1, len(each), off, error, mean, mean, 0.0, coverage, 0.1))
                names = dict(zip(("setting", "workflow", "attribute", "level"), where, strict=True))
                groups.append({**names, "keys": "", "truth": truth, "bias": off, "mean_absolute": mean})
                replicates += [{**names, "replicate": str(i), "absolute": float(e)} for i, e in enumerate(each)]
    order = ResultOrder(["as in the spec"], list(errors), list(attributes), list(levels))
    tables = (pa.Table.from_pylist(groups), pa.Table.from_pylist(replicates))
    count = len(next(iter(errors.values())))
    return Comparison(Path("nowhere"), Stamp(confidential=False), 0.95, order, count, tuple(lines), *tables)


def holds(checks: Sequence[claims.Check]) -> list[bool]:
    return [check.holds for check in checks]


@pytest.mark.parametrize(
    ("one", "other", "better", "no_less"),
    [
        ([1, 2, 3], [11, 12, 13.5], True, True),
        ([1, 2, 3], [2, 1, 3.1], False, True),  # within chance
        ([11, 12, 13.5], [1, 2, 3], False, False),
        ([1.0], [100.0], False, True),  # one replicate tells nothing
        ([1, 1, 1], [1, 1, 1], False, True),  # the same is not better
    ],
)
def test_accuracy_is_judged_beyond_chance(one: list[float], other: list[float], better: bool, no_less: bool) -> None:
    found = {"RI": invented({"a": one, "b": other})}
    assert holds(list(claims.more_accurate(found, "a", "b", PLACE))) == [better]
    assert holds(list(claims.no_less_accurate(found, "a", ["b"], PLACE))) == [no_less]


@pytest.mark.parametrize(
    ("bias", "error", "unbiased", "down"),
    [(-1.9, 1, True, False), (-2.1, 1, False, True), (2.1, 1, False, False), (-50, None, True, False)],
)
def test_bias_is_judged_by_its_standard_error(bias: float, error: float | None, unbiased: bool, down: bool) -> None:
    found = {"RI": invented({"a": [1, 2]}, {"a": (bias, error)})}
    assert holds(list(claims.unbiased(found, ["a"], PLACE))) == [unbiased]
    assert holds(list(claims.biased_down(found, ["a"], PLACE))) == [down]


def test_less_bias_is_nearer_to_zero_on_either_side() -> None:
    found = {"RI": invented({"a": [1], "b": [1]}, {"a": (5.0, 1.0), "b": (-6.0, 1.0)})}
    assert holds(list(claims.less_biased(found, "a", "b", PLACE))) == [True]
    assert holds(list(claims.less_biased(found, "b", "a", PLACE))) == [False]


@pytest.mark.parametrize(("quasi", "near"), [(1.0, True), (1.019, True), (1.021, False), (0.97, False)])
def test_oracles_are_met_within_two_percent(quasi: float, near: bool) -> None:
    found = {"RI": invented({"psi+quasi": [quasi], "psi+oracle": [1.0], "auto": [1.0], "auto+oracle": [1.0]})}
    assert holds(list(claims.near_oracle(found, ["psi", "auto"], PLACE))) == [near, True]


@pytest.mark.parametrize(("share", "fine"), [(0.919, False), (0.92, True), (0.98, True), (0.981, False), (None, False)])
def test_coverage_has_two_ends(share: float | None, fine: bool) -> None:
    assert holds(list(claims.covered({"RI": invented({"a": [1]}, coverage=share)}, "a", PLACE))) == [fine]


def test_useless_is_an_error_above_all_there_is() -> None:
    for error, useless in ((101.0, True), (99.0, False)):  # the truth is 99, and 1 is added
        assert holds(list(claims.useless({"RI": invented({"gdp": [error]})}, "gdp", PLACE))) == [useless]


def test_outcomes_and_their_evidence() -> None:
    good, bad = claims.Check("here", True, "1"), claims.Check("there", False, "2")
    assert claims.claim("x", [good, good]).outcome == AGREES
    assert claims.claim("x", [bad]).outcome == DISAGREES
    part = claims.claim("x", [good, bad], reason="because")
    assert (part.outcome, part.source, part.reason) == (IN_PART, PAPER, "because")
    assert part.evidence == "1 of 2 checks hold. here: 1; there: 2 (no)."
    assert claims.claim("x", [good], reason="because").reason == ""  # nothing to explain
    many = claims.ours("x", [good] * 9 + [bad])
    assert (many.source, many.evidence) == (OURS, "9 of 10 checks hold. Not: there: 2.")
    assert claims.claim("x", [good] * 9).evidence == "9 of 9 checks hold."


def a_state(psi: float, pnc: float) -> Comparison:
    """All workflows, both attributes, every level."""
    jitter = np.array([0.0, 0.01, 0.02, 0.01])
    errors = dict.fromkeys((*PRIVATE, *ORACLES), 1.0) | {"psi": psi, "pnc": pnc, GDP: 1e6}
    bias = {"psi": (-100.0, 1.0), "pnc": (-1.0, 1.0)}
    return invented(
        {name: list(value * (1 + jitter * (1 + i / 10))) for i, (name, value) in enumerate(errors.items())},
        bias,
        attributes=("m3emp", "wage"),
        levels=list(LEVELS),
    )


def test_the_paper_s_statements_are_told_apart() -> None:
    found = {"RI": a_state(psi=20, pnc=10), "NJ": a_state(psi=20, pnc=10)}
    outcomes = {each.text: each.outcome for each in paper_claims(found)}
    assert len(outcomes) == 8
    expected = {"pnc beats sqrt on employment": AGREES, "sqrt beats pnc on wages": DISAGREES, "On wages": IN_PART}
    for begin, outcome in expected.items():
        assert [o for text, o in outcomes.items() if text.startswith(begin)] == [outcome]
    turned = {each.text: each.outcome for each in paper_claims({"RI": a_state(psi=10, pnc=20)})}
    assert [o for t, o in turned.items() if t.startswith("pnc beats sqrt on employment")] == [DISAGREES]
    assert [o for t, o in turned.items() if t.startswith("sqrt beats pnc on wages")] == [AGREES]
    assert [o for t, o in turned.items() if t.startswith("Gaussian DP is useless")] == [AGREES]


def test_our_claims_fail_where_they_should() -> None:
    fine = our_claims({"RI": a_state(20, 10)})
    assert (fine[0].outcome, fine[3].outcome) == (AGREES, AGREES)
    beaten = {each.text: each for each in our_claims({"RI": a_state(0.5, 10)})}
    auto = next(each for text, each in beaten.items() if text.startswith("auto"))
    assert auto.outcome == IN_PART
    assert "× psi (" in auto.evidence
    assert "pnc (" not in auto.evidence
