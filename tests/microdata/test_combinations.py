"""Tables of combinations: answers and fitted parts weighted by inverse variances; intervals hold."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from gedp.errors import FaultsError
from gedp.microdata import Microdata, fit_microdata
from tests.helpers.builder import rehearsed, spec_of, table_of


def register(rows: int, industries: Sequence[str]) -> pa.Table:
    chance, counties = np.random.default_rng(rows), [f"{i % 4}" for i in range(rows)]
    money = {
        name: np.exp(chance.normal(size, 1.2, rows)).astype(np.int64) for name, size in (("revenue", 5), ("cost", 4))
    }
    return table_of(rows, cnty=counties, naics=industries, **money)


TABLE = register(240, ["1111", "1122", "2222", "2361", "2362"] * 48)
SPEC = spec_of(
    attributes={"revenue": {"psi": "sqrt", "gamma": 2}, "cost": {"psi": "sqrt", "gamma": 1}},
    combinations={"profit": "revenue - cost", "mean": "(revenue + cost) / 2"},
    queries=[
        {"name": "identity", "by": "establishment", "mu": 0.5},
        {"name": "county", "by": ["cnty"], "mu": 0.5},
        {"name": "profits", "by": ["naics"], "mu": {"profit": 0.7}},
        {"name": "more", "by": ["naics2", "cnty"], "mu": {"profit": 0.4}},
    ],
)


def fitted(seed: int, table: pa.Table = TABLE) -> Microdata:
    return fit_microdata(rehearsed(SPEC, table, seed))


@pytest.mark.parametrize("by", [["naics"], ["naics2"], []])
def test_a_figure_is_the_mean_weighted_by_inverse_variances(by: list[str]) -> None:
    microdata = fitted(1)
    own = microdata.tabulate(by, ["profit"]).to_pandas()
    parts = microdata.tabulate(by, ratios=["parts = revenue - cost"]).to_pandas()
    sources = [(parts["estimate"].to_numpy(), parts["std_error"].to_numpy() ** 2)]
    for name, keys in (("profits", ["naics"]), ("more", ["naics2", "cnty"])):
        answers = microdata.public_rows.source.answers(name).to_pandas()
        answers["naics2"] = answers["naics"].str[:2] if "naics" in keys else answers["naics2"]
        if set(by) <= {*keys, "naics2"}:
            grouped = answers.groupby(by) if by else answers.groupby(lambda row: 0)
            sources.append((grouped["estimate"].sum().to_numpy(), grouped["variance"].sum().to_numpy()))
    assert len(sources) == (2 if by == ["naics"] else 3)
    weights = [1 / variance for _, variance in sources]
    mean = sum(w * value for w, (value, _) in zip(weights, sources, strict=True)) / sum(weights)
    assert own["estimate"].to_numpy() == pytest.approx(mean, rel=1e-9)
    assert own["std_error"].to_numpy() ** 2 == pytest.approx(1 / sum(weights), rel=1e-9)


def test_where_nothing_was_measured_it_is_what_the_parts_give() -> None:
    microdata = fitted(1)
    own = microdata.tabulate(["naics"], ["mean"], ratios=["parts = (revenue + cost) / 2"]).to_pandas()
    mean, parts = (own[own["attribute"] == name] for name in ("mean", "parts"))
    for column in ("estimate", "std_error", "ci_low", "ci_high"):
        assert mean[column].to_numpy() == pytest.approx(parts[column].to_numpy(), rel=1e-12)


def test_a_filter_takes_part_of_the_answers() -> None:
    microdata = fitted(1)
    every = microdata.tabulate(["naics"], ["profit"]).to_pandas().set_index("naics")
    some = microdata.tabulate(["naics"], ["profit"], where={"naics2": ["11"]}).to_pandas().set_index("naics")
    assert some["estimate"].tolist() == pytest.approx(every["estimate"].loc[["1111", "1122"]].tolist())


def test_in_a_ratio_a_combination_stands_for_its_parts() -> None:
    microdata = fitted(1)
    table = microdata.tabulate(["cnty"], ratios=["a = profit / revenue", "b = (revenue - cost) / revenue"]).to_pandas()
    assert table["estimate"][:4].tolist() == table["estimate"][4:].tolist()
    assert table["std_error"][:4].tolist() == table["std_error"][4:].tolist()


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(FaultsError, match="not fitted: profits"):
        fitted(1).tabulate(["cnty"], ["profits"])


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of 4 releases with 250 industries: 93% to 97%, and errors as large as stated."""
    rows = 2500
    table = register(rows, [f"{1000 + i % 250}" for i in range(rows)])
    frame = table.to_pandas()
    truth = (frame["revenue"] - frame["cost"]).groupby(frame["naics"]).sum().to_numpy()
    held, scaled = [], []
    for seed in range(4):
        own = fitted(seed, table=table).tabulate(["naics"], ["profit"]).to_pandas()
        held.append((own["ci_low"] <= truth) & (truth <= own["ci_high"]))
        scaled.append((own["estimate"] - truth) / own["std_error"])
    assert 0.93 <= np.mean(held) <= 0.97
    assert np.std(scaled) == pytest.approx(1, rel=0.1)


def test_by_classes_there_are_no_combinations_and_the_message_says_what_to_do() -> None:
    microdata = fit_microdata(rehearsed(spec_of("classes", "combinations")))
    assert "cost" not in microdata.tabulate(["cnty", "size"]).arrow["attribute"].unique().to_pylist()
    with pytest.raises(FaultsError, match="no answers determine cost by cnty x size") as refused:
        microdata.tabulate(["cnty", "size"], ["cost"])
    assert "leave out size" in str(refused.value)


def test_unasked_combinations_are_shown_where_they_are_named() -> None:
    microdata = fitted(1)
    assert microdata.tabulate(["naics"]).arrow["attribute"].unique().to_pylist() == ["revenue", "cost", "profit"]
    assert microdata.tabulate(["naics"], ["mean"]).arrow["attribute"].unique().to_pylist() == ["mean"]
