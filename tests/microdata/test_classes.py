"""Tables by classes, fitted: they add up to public numbers and fitted totals, agree, and their intervals hold."""

from typing import Any

import numpy as np
import pytest
from numpy.linalg import pinv

from gedp.arrays import FloatArray
from gedp.errors import FaultsError
from gedp.microdata import Microdata, fit_microdata
from gedp.microdata.class_tables import fit_classes, nonnegative
from gedp.partitions import Partition
from gedp.policy import COUNT
from tests.helpers.builder import JOBS, rehearsed, spec_of, table_of

EDGES = [0, 5, 10, 20, 50]
NAMES = ["0-4", "5-9", "10-19", "20-49", "50+"]
IDENTITY: dict[str, Any] = {"name": "identity", "by": "establishment", "mu": 0.5}
SIZES: list[dict[str, Any]] = [
    {"name": "industry", "by": ["naics", "size"], "count": True, "mu": {"establishments": 0.5, "emp": 0.5}},
    {"name": "county", "by": ["size", "cnty"], "count": True, "mu": {"establishments": 1, "emp": 1}},
    {"name": "all", "by": ["size"], "count": True, "mu": 2},
]


ROWS = 300
TABLE = table_of(
    ROWS,
    cnty=[f"{i % 4}" for i in range(ROWS)],
    naics=["1111", "1122", "2222", "2361", "2362"] * (ROWS // 5),
    emp=np.exp(np.random.default_rng(ROWS).normal(2, 1.2, ROWS)).astype(np.int64),
)


def fitted(seed: int, *queries: dict[str, Any], **sections: Any) -> Microdata:
    """Of jobs, by two kinds of classes; unless queries are given, by establishment and by size."""
    spec = spec_of(
        data={"id": None},
        attributes=JOBS,
        classes={"size": {"attribute": "emp", "edges": EDGES}, "half": {"attribute": "emp", "edges": [0, 7]}},
        queries=queries or [IDENTITY, *SIZES],
        **sections,
    )
    return fit_microdata(rehearsed(spec, TABLE, seed))


def estimates(microdata: Microdata, by: list[str], attribute: str) -> dict[tuple[str, ...], float]:
    rows = microdata.tabulate(by, [attribute]).arrow.to_pylist()
    return {tuple(row[key] for key in by): row["estimate"] for row in rows}


def test_tables_by_classes_add_up_and_agree() -> None:
    microdata = fitted(3)
    rows = TABLE.to_pylist()
    industry, county = (estimates(microdata, [key, "size"], COUNT) for key in ("naics", "cnty"))
    for (key, of), places in {("naics", "1111"): industry, ("cnty", "2"): county}.items():
        assert sum(n for (k, _), n in places.items() if k == of) == pytest.approx(sum(r[key] == of for r in rows))
    sizes = estimates(microdata, ["size"], COUNT)
    assert list(sizes) == [(name,) for name in NAMES]  # in their own order
    for name in NAMES:
        assert sum(n for (_, s), n in industry.items() if s == name) == pytest.approx(sizes[name,])
        assert sum(n for (_, s), n in county.items() if s == name) == pytest.approx(sizes[name,])
    two = estimates(microdata, ["size", "naics2"], COUNT)
    assert two["5-9", "11"] == pytest.approx(industry["1111", "5-9"] + industry["1122", "5-9"])
    jobs, totals = estimates(microdata, ["naics", "size"], "emp"), estimates(microdata, ["naics"], "emp")
    for (naics,), total in totals.items():
        assert sum(n for (k, _), n in jobs.items() if k == naics) == pytest.approx(total)


def oracle(microdata: Microdata, name: str) -> tuple[FloatArray, FloatArray]:
    """Generalised least squares over all entries, with every constraint written down as a line of a dense matrix."""
    tables = fit_classes(microdata, name).tables
    b, w = (np.concatenate([getattr(t, part) for t in tables]) for part in ("answers", "variances"))
    entries = [(t.query, row) for t in tables for row in t.public_rows.table.to_pylist()]
    lines, right = [], []
    establishments = TABLE.to_pylist()
    for table in tables:
        for group in {tuple(row[k] for k in table.public) for q, row in entries if q == table.query}:
            keys = table.public
            lines.append([q == table.query and tuple(row[k] for k in keys) == group for q, row in entries])
            right.append(sum(tuple(r[k] for k in keys) == group for r in establishments))
    for other in tables[1:]:
        for label in NAMES:
            lines.append(
                [(row["size"] == label) * ((q == tables[0].query) - 1.0 * (q == other.query)) for q, row in entries]
            )
            right.append(0)
    c, d = np.array(lines, dtype=float), np.array(right, dtype=float)
    gain = np.diag(w) @ c.T @ pinv(c @ np.diag(w) @ c.T)
    return b - gain @ (c @ b - d), np.diag(w) - gain @ c @ np.diag(w)


def test_fitted_numbers_are_those_of_least_squares_with_all_constraints() -> None:
    microdata = fitted(5)
    best, covariance = oracle(microdata, COUNT)
    fit = fit_classes(microdata, COUNT)
    assert np.concatenate(fit.fitted) == pytest.approx(best, abs=1e-6)
    table = fit.table(["naics", "size"])
    assert table.totals.variance == pytest.approx(np.diag(covariance)[:25], abs=1e-6)
    by_two = fit.table(["naics2", "size"])
    together = np.array([[a == b for b in by_two.groups.group_of] for a in range(by_two.groups.count)], dtype=float)
    spread = together @ covariance[:25, :25] @ together.T
    assert by_two.totals.variance == pytest.approx(np.diag(spread), abs=1e-6)


RELEASES, NORMAL = 100, 1.959964
GROUPINGS = (["naics", "size"], ["cnty", "size"], ["naics2", "size"], ["size"])


def truths(by: list[str]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Of every group, the establishments and the jobs."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for row in TABLE.to_pylist():
        size = NAMES[sum(row["emp"] >= edge for edge in EDGES) - 1]
        known = {**row, "naics2": row["naics"][:2], "size": size}
        number, jobs = found.get(key := tuple(known[k] for k in by), (0, 0))
        found[key] = number + 1, jobs + row["emp"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("individual", [False, True])
def test_intervals_of_tables_by_classes_hold_as_often_as_they_say(individual: bool) -> None:
    """95% intervals of numbers and sums, measured and added up, hold as often as stated; with 0.8 of the width, less.

    Entries of one release depend on each other, and releases do not. So the means of releases are compared: theirs may
    be off by 4.5 standard errors, which are those of a mean of so many.
    """
    queries = [IDENTITY, *SIZES]
    if individual:
        plain = [{k: v for k, v in q.items() if k != "mu"} for q in queries]
        queries = [*plain[:1], *({**q, "importance": {"establishments": 1, "emp": 1}} for q in plain[1:])]
    truth, deviations = {tuple(by): truths(by) for by in GROUPINGS}, list[FloatArray]()
    for seed in range(RELEASES):
        microdata, stated = fitted(100 + seed, *queries), list[float]()
        for by in GROUPINGS:
            for row in microdata.tabulate(by).arrow.to_pylist():
                true = truth[tuple(by)].get(tuple(row[k] for k in by), (0, 0))[row["attribute"] == "emp"]
                if row["std_error"] > 0:
                    assert row["ci_high"] - row["estimate"] == pytest.approx(NORMAL * row["std_error"])
                    stated.append((row["estimate"] - true) / row["std_error"])
                else:
                    assert row["estimate"] == pytest.approx(true)
        deviations.append(np.array(stated))
    for expected, of in ((0.95, lambda z: np.abs(z) <= NORMAL), (1.0, np.square)):
        assert standard_errors_off([of(each) for each in deviations], expected) < 4.5
        assert standard_errors_off([of(each / 0.8) for each in deviations], expected) > 4.5


def standard_errors_off(releases: list[FloatArray], expected: float) -> float:
    """How many standard errors the mean over releases is from what it should be."""
    means = np.array([np.mean(each) for each in releases])
    return float(abs(means.mean() - expected) / (means.std(ddof=1) / np.sqrt(len(means))))


def test_numbers_are_whole_and_not_negative_where_asked() -> None:
    microdata = fitted(11, IDENTITY, SIZES[0], microdata={"nonnegative": True, "whole": True})
    found = microdata.tabulate(["naics", "size"], [COUNT]).arrow
    numbers = found["estimate"].to_numpy()
    assert (numbers >= 0).all()
    assert np.array_equal(numbers, np.rint(numbers))
    assert numbers.reshape(5, 5).sum(axis=1).tolist() == [60] * 5
    assert set(found["variance_kind"].to_pylist()) == {"unconstrained"}
    free = estimates(fitted(11, IDENTITY, SIZES[0]), ["naics", "size"], COUNT)
    assert min(free.values()) < 0


def test_crossing_tables_are_not_rounded() -> None:
    microdata = fitted(1, microdata={"whole": True})
    with pytest.raises(FaultsError, match="several tables by classes would have to stay in agreement"):
        microdata.tabulate(["size"])


def test_the_nearest_values_that_are_not_negative_keep_their_total() -> None:
    groups = Partition(np.array([0, 0, 0, 1, 1], dtype=np.int32), 2)
    values, variances = np.array([-4.0, 1.0, 9.0, -1.0, 3.0]), np.array([1.0, 1.0, 2.0, 0.0, 1.0])
    found = nonnegative(values, variances > 0, variances, groups, np.array([6.0, 2.0]))
    assert found[:3] == pytest.approx([0, 0, 6])
    assert found[3:].sum() == pytest.approx(3)  # what has no noise stays: 0 and not -1 would not be public


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (["naics", "cnty", "size"], "no answers determine establishments by naics x cnty x size"),
        (["half"], "no query groups by the classes 'half'"),
        (["size", "state"], "'state' is not a public column or grouping"),
    ],
)
def test_what_cannot_be_tabulated_by_classes_is_said(by: list[str], said: str) -> None:
    microdata = fitted(1)
    with pytest.raises(FaultsError, match=said):
        microdata.tabulate(by)


def test_what_was_asked_by_classes_is_said_where_something_else_is_wanted() -> None:
    halves = {"name": "halves", "by": ["half"], "count": True, "mu": {"establishments": 1}}
    microdata = fitted(1, IDENTITY, SIZES[0], halves)
    with pytest.raises(FaultsError) as refused:
        microdata.tabulate(["cnty", "half", "size"], ["emp"])
    assert "made by naics x size, and by what" in str(refused.value)
    alone = fitted(1, IDENTITY, halves)
    with pytest.raises(FaultsError, match=r"by cnty x half\. Leave out half$"):  # no number is known by both either
        alone.tabulate(["cnty", "half"], ["emp"])


def test_nothing_is_proposed_that_is_refused_next() -> None:
    """Whatever a refusal names by the same keys, or without the classes, is answered."""
    attributes = {**JOBS, "wage": {"psi": "sqrt", "gamma": 5, "unit": 0.01}, "profit": {"psi": "sqrt", "gamma": 5}}
    two = {"name": "identity", "by": "establishment", "mu": {"emp": 0.5, "wage": 0.5}}
    apart = [{"name": key, "by": [key], "mu": {"profit": 0.5}} for key in ("cnty", "naics")]
    sizes = [
        {"name": "sizes", "by": ["size"], "mu": {"emp": 1}},
        {"name": "counties", "by": ["cnty", "size"], "count": True, "mu": {"establishments": 1, "wage": 1}},
    ]
    spec = spec_of(
        attributes=attributes,
        classes={"size": {"attribute": "emp", "edges": EDGES}},
        queries=[two, *apart, *sizes],
    )
    table = TABLE.set_column(TABLE.column_names.index("profit"), "profit", [np.arange(ROWS)])
    microdata = fit_microdata(rehearsed(spec, table, 1))
    proposed = {
        ("cnty", "size"): "Choose among these figures: establishments, wage, or leave out size",
        ("naics", "size"): "Leave out size",
        ("cnty", "naics", "size"): "Name other keys",
    }
    for by, hint in proposed.items():
        with pytest.raises(FaultsError) as refused:
            microdata.tabulate(list(by), ["profit", "emp"])
        of_profit, of_jobs = refused.value.faults
        assert of_profit.suggestion == hint
        assert of_jobs.suggestion == "Tables can be made by size, and by what these add up to"
    for accepted in ((["cnty", "size"], [COUNT, "wage"]), (["cnty"], ["profit"]), (["naics"], ["profit"])):
        assert microdata.tabulate(*accepted).arrow.num_rows


def test_ratios_can_be_taken_of_numbers_of_establishments() -> None:
    microdata = fitted(2)
    (line,) = microdata.tabulate(["size"], ratios=["jobs = emp / establishments"]).arrow.slice(1, 1).to_pylist()
    jobs, number = (estimates(microdata, ["size"], name)["5-9",] for name in ("emp", COUNT))
    assert line["estimate"] == pytest.approx(jobs / number)
    assert (line["size"], line["variance_kind"]) == ("5-9", "delta")


def test_without_establishments_numbers_are_fitted_to_their_total_alone() -> None:
    total = {"name": "total", "by": [], "mu": 1}
    sizes = [{**SIZES[0], "mu": {"establishments": 0.5}}, SIZES[2]]
    microdata = fitted(4, total, *sizes)
    industry = estimates(microdata, ["naics", "size"], COUNT)
    assert sum(industry.values()) == pytest.approx(300)
    assert sum(n for (k, _), n in industry.items() if k == "1111") != pytest.approx(60, abs=0.01)


def test_a_filter_takes_lines_of_a_table_by_classes_and_adds_up_none() -> None:
    microdata = fitted(3)
    whole = microdata.tabulate(["cnty", "size"]).arrow.to_pylist()
    some = microdata.tabulate(["size"], where={"cnty": ["2"]}).arrow
    assert some.to_pylist() == [{k: v for k, v in row.items() if k != "cnty"} for row in whole if row["cnty"] == "2"]
    large = microdata.tabulate(["cnty"], where={"size": ["50+"]}).arrow
    assert large.to_pylist() == [{k: v for k, v in row.items() if k != "size"} for row in whole if row["size"] == "50+"]
    two = microdata.tabulate(["cnty", "size"], where={"size": ["0-4", "50+"]}).arrow.to_pylist()
    assert two == [row for row in whole if row["size"] in ("0-4", "50+")]
    with pytest.raises(FaultsError, match="several codes of cnty would be added up"):
        microdata.tabulate(["size"], where={"cnty": ["1", "2"]})


def test_codes_that_are_not_there_are_all_named_by_classes_too() -> None:
    microdata = fitted(3)
    with pytest.raises(FaultsError) as refused:
        microdata.tabulate(["cnty", "size"], where={"cnty": ["9"], "size": ["0-4", "1-1"]})
    problems = [fault.problem for fault in refused.value.faults]
    assert problems == ["there is no '9' in cnty", "there is no '1-1' in size"]


def test_sums_by_classes_are_whole_and_not_negative_where_asked() -> None:
    microdata = fitted(8, IDENTITY, SIZES[0], microdata={"nonnegative": True, "whole": True})
    jobs, totals = estimates(microdata, ["naics", "size"], "emp"), estimates(microdata, ["naics"], "emp")
    assert min(jobs.values()) >= 0
    assert all(value == int(value) for value in jobs.values())
    for (naics,), total in totals.items():
        assert sum(value for (key, _), value in jobs.items() if key == naics) == total
