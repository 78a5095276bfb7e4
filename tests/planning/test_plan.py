"""What a plan says, where it comes from, and that no confidential value is behind it."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp as package
from gedp.errors import DomainError, FaultsError, Refused
from gedp.planning.document import plan_page
from gedp.planning.establishments import Establishments, Keys, Sizes, SizesFrom
from gedp.planning.layouts import guess_sentence, layouts, sources_sentence
from gedp.planning.plan import Plan
from gedp.policy import parse_spec
from gedp.release import read_release
from tests.helpers.runs import SYNTHETIC, gedp, small_table, write_case, write_spec

pytestmark = pytest.mark.usefixtures("no_disk_waits")

INDIVIDUAL = (
    ("mu = 0.1\n", "\n"),
    ("mu = { emp = 0.2, wage = 0.1 }", ""),
    ("mu = { emp = 0.1 }", "importance = { emp = 1 }"),
    ('mechanism = "psi"', ""),
)
RULES = pytest.mark.parametrize("changes", [(), INDIVIDUAL], ids=["the paper's rule", "individual"])


def errors(plan: Plan) -> dict[tuple[str, str], float]:
    return {(each.query, each.attribute): each.error for each in plan.tables}


@RULES
def test_no_confidential_value_is_read(tmp_path: Path, changes: tuple[tuple[str, str], ...]) -> None:
    spec = write_case(tmp_path, *changes)
    told = repr(package.plan(spec))
    pq.write_table(small_table().select(["key", "cnty", "naics"]), tmp_path / "t.parquet")
    assert repr(package.plan(spec)) == told


@RULES
def test_every_table_and_attribute_has_errors_and_shares(tmp_path: Path, changes: tuple[tuple[str, str], ...]) -> None:
    plan = package.plan(write_case(tmp_path, *changes))
    asked = {(query.name, name) for query in plan.spec.queries for name in query.attributes}
    assert set(errors(plan)) == asked
    for each in plan.tables:
        assert 0 < each.error < np.inf
        shares = [each.share_below(limit) for limit in (0.05, 0.1, 0.3)]
        assert shares == sorted(shares)
        assert sum(row.cells for row in each.by_size()) == each.cells
    assert plan.table.to_pandas()["cells"].tolist() == [each.cells for each in plan.tables]
    assert "Plan(mu =" in repr(plan)
    assert "<table>" in plan._repr_html_()


@RULES
def test_more_mu_means_smaller_errors_and_more_gamma_larger_ones(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    plan = package.plan(write_case(tmp_path, *changes), mu=[0.2, 5], gamma_times=[3])
    less, more, wider = (setting.errors for setting in plan.settings)
    now = errors(plan)
    assert now.keys() == less.keys() == more.keys() == wider.keys()
    assert len(now) == len(plan.tables) > 0
    for key, error in now.items():
        assert more[key] < error < less[key]
        assert wider[key] > error


def test_a_table_that_is_dropped_leaves_its_price_to_the_others(tmp_path: Path) -> None:
    spec = write_case(tmp_path, ('mechanism = "psi"', ""), ("mu = { emp = 0.1 }", "mu = { emp = 0.6 }"))
    plan = package.plan(spec)
    without = plan.of("naics2 x county", "emp").others_without
    assert without["identity"] < 0.5  # it costs nearly everything
    assert set(without) == {"identity", "county"}


def test_an_earlier_release_says_more_than_a_guess(tmp_path: Path) -> None:
    rows = 600
    chance = np.random.default_rng(3)
    table = small_table(rows).set_column(3, "emp", pa.array(chance.integers(20_000, 40_000, rows)))
    spec = write_case(tmp_path, SYNTHETIC, ("mu = 1", "mu = 9"), ("mu = 0.1\n", "mu = 2\n"), table=table)
    package.run(spec, out=tmp_path / "earlier")
    truth = float(np.sum(table["emp"].to_numpy()))
    guessed, planned = package.plan(spec), package.plan(spec, tmp_path / "earlier")
    assert np.sum(planned.of("county", "emp").totals) == pytest.approx(truth, rel=0.01)
    assert np.sum(guessed.of("county", "emp").totals) < truth / 2
    again = package.plan(spec, read_release(tmp_path / "earlier"))
    assert errors(again) == errors(planned)


def test_a_table_in_memory_and_one_without_the_file(tmp_path: Path) -> None:
    spec = write_case(tmp_path)
    like = small_table(300)
    with_file = package.plan(spec, like)
    assert with_file.establishments == 40
    assert package.plan(spec, like, table=small_table(50)).establishments == 50
    (tmp_path / "t.parquet").unlink()
    assert package.plan(spec, like).establishments == 300
    with pytest.raises(FaultsError):
        package.plan(spec)


def test_the_confidential_table_itself_is_refused(tmp_path: Path) -> None:
    spec = write_case(tmp_path)
    (tmp_path / "link.parquet").symlink_to("t.parquet")
    for name in ("t.parquet", "link.parquet"):
        with pytest.raises(Refused, match="is confidential"):
            package.plan(spec, tmp_path / name)
    package.run(spec, out=tmp_path / "out")
    shutil.copy(tmp_path / "t.parquet", tmp_path / "copy.parquet")
    with pytest.raises(Refused, match="is confidential"):  # the ledger knows its content
        package.plan(spec, tmp_path / "copy.parquet")
    write_spec(tmp_path, SYNTHETIC)
    with pytest.raises(Refused, match="is confidential"):  # whatever the spec says now
        package.plan(tmp_path / "spec.toml", tmp_path / "t.parquet")


def test_a_synthetic_table_may_be_like_itself(tmp_path: Path) -> None:
    write_case(tmp_path, SYNTHETIC)
    for _ in range(2):  # its ledger knows it as synthetic
        assert package.plan(tmp_path / "spec.toml", tmp_path / "t.parquet").establishments == 40
        package.run(tmp_path / "spec.toml", out=tmp_path / "out", replace=True)


def test_tables_that_nothing_can_be_planned_from(tmp_path: Path) -> None:
    spec = write_case(tmp_path)
    with pytest.raises(FaultsError, match="column wage: there is no such column"):
        package.plan(spec, small_table().drop_columns(["wage"]))
    with pytest.raises(FaultsError, match="column cnty: there is no such column"):
        package.plan(spec, small_table().drop_columns(["cnty"]))
    broken = small_table().set_column(3, "emp", pa.array(["many"] * 40))
    with pytest.raises(FaultsError, match="column emp: some of its values are no numbers") as error:
        package.plan(spec, broken)
    assert "many" not in str(error.value).replace("how many", "")


def test_public_totals_scale_sizes(tmp_path: Path) -> None:
    spec = write_case(tmp_path)
    small, large = (package.plan(spec, totals={"emp": total}) for total in (4_000.0, 400_000.0))
    assert float(np.sum(large.of("county", "emp").totals)) == pytest.approx(400_000)
    assert large.of("county", "emp").error > small.of("county", "emp").error
    assert large.of("county", "wage").error == small.of("county", "wage").error
    with pytest.raises(FaultsError, match="total of jobs: nobody asks for it"):
        package.plan(spec, totals={"jobs": 3.0})
    with pytest.raises(FaultsError, match=r"total of emp: no sizes have it\. Give a number above 0 and below 1e"):
        package.plan(spec, totals={"emp": -3.0})


ALIKE = """
[data]
source = "t.parquet"
public = ["cnty", "naics"]
[attributes]
a = { psi = "sqrt", gamma = 0.5 }
b = { psi = "sqrt", gamma = 1 }
c = { psi = "sqrt", gamma = 0.5 }
d = { psi = "sqrt", gamma = 0.5, typical = 90 }
e = { psi = "sqrt", gamma = 0.5 }
f = { psi = "sqrt", gamma = 0.5 }
[budget]
mu = 3
[labels]
a = "Jobs in <May>"
c = "Jobs in June"
[[queries]]
name = "county"
by = ["cnty"]
importance = { a = 1, b = 1, c = 1, d = 1, e = 2, f = 1 }
[[queries]]
name = "industry"
by = ["naics"]
"""
PRICED = ALIKE.replace("mu = 3", "mu = 9").replace("importance = {", "mu = {") + "mu = 0.1\n"


def test_attributes_that_are_alike_are_planned_for_once_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for text in (ALIKE, PRICED):
        spec = parse_spec(text, in_memory=True)
        plan = package.plan(spec, table=small_table(60), mu=[1])
        assert plan.alike == (("a", "c", "f"), ("b",), ("d",), ("e",))
        with monkeypatch.context() as patched:
            patched.setattr("gedp.planning.plan.alike", lambda spec, _: tuple((name,) for name in spec.asked))
            apart = package.plan(spec, table=small_table(60), mu=[1])
        assert [(each.query, each.attribute) for each in plan.tables] == [
            (each.query, each.attribute) for each in apart.tables
        ]
        for each, other in zip(plan.tables, apart.tables, strict=True):
            assert np.array_equal(each.totals, other.totals)
            assert np.array_equal(each.errors, other.errors)
            assert each.others_without == other.others_without
        assert plan.settings == apart.settings


def test_a_plan_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    spec = parse_spec(PRICED, in_memory=True)
    package.plan(spec, table=small_table(50), progress=lambda _, done, work: told.append((done, work)))
    assert len(told) > 4
    assert told == [(place, len(told)) for place in range(1, len(told) + 1)]


def test_sizes_that_differ_keep_attributes_apart() -> None:
    spec = parse_spec(PRICED, in_memory=True)
    plan = package.plan(spec, table=small_table(50), totals={"c": 400.0})
    assert plan.alike == (("a", "f"), ("b",), ("c",), ("d",), ("e",))


def test_attributes_that_are_alike_are_told_of_once_and_by_their_titles_on_the_page() -> None:
    plan = package.plan(parse_spec(PRICED, in_memory=True), table=small_table(60))
    shown = [layout.caption for layout in layouts(plan)]
    assert shown.count("each of a, c and f, by size of cell") == 1
    assert "c, by size of cell" not in shown
    page = plan_page(plan, "x")
    assert "<h2>Each of Jobs in &lt;May&gt;, Jobs in June and f: every cell</h2>" in page
    assert "By cnty" in page
    assert page.count('<circle class="ring"') == 4 * 2


def test_sizes_that_were_guessed_are_called_so() -> None:
    spec = parse_spec(PRICED, in_memory=True)
    plan = package.plan(spec, table=small_table(50), totals={"a": 400.0})
    assert guess_sentence(plan).startswith("The sizes of b, c and 2 more are a guess")
    assert "half above b" in sources_sentence(plan)
    known = package.plan(spec, table=small_table(50), totals=dict.fromkeys("abcef", 400.0))
    assert guess_sentence(known) == ""


def test_relative_errors_beyond_all_use_stay_at_the_edge_of_the_figure() -> None:
    drowned = re.sub(r"gamma = [0-9.]+", "gamma = 300", PRICED)
    page = plan_page(package.plan(parse_spec(drowned, in_memory=True), table=small_table(50)), "x")
    assert ">1,000%</text>" in page
    assert "above 1,000% at the upper edge" in page
    assert not re.search(r">\d+,000,?\d*%</text>", page.replace(">1,000%</text>", ""))


LOG = ('"sqrt", gamma = 0.5', '"log", gamma = 0.5')


@pytest.mark.parametrize(
    "changes",
    [(("emp = 0.2", "emp = 0.015"),), (*INDIVIDUAL, ("mu = 1\n", "mu = 0.03\n"))],
    ids=["the paper's rule", "individual"],
)
def test_noise_that_drowns_everything_is_refused_as_in_a_run(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    with pytest.raises(FaultsError, match=r"attributes\.emp: .*too large to be useful"):
        package.plan(write_case(tmp_path, LOG, *changes))


@RULES
def test_other_settings_may_drown_everything(tmp_path: Path, changes: tuple[tuple[str, str], ...]) -> None:
    plan = package.plan(write_case(tmp_path, LOG, *changes), mu=[0.0001, 0.9])
    drowned, fine = (setting.errors for setting in plan.settings)
    assert set(drowned.values()) == {np.inf}
    assert all(0 < error < np.inf for error in fine.values())
    assert "∞" in str([layout.rows for layout in layouts(plan)])
    assert "<svg" in plan_page(plan, "drowned")


NO_SETTINGS: list[Any] = [-1, 0, 1e6, float("nan"), "1"]
NO_TOTALS: list[Any] = [1e19, -1, "5"]


def test_settings_and_totals_that_nobody_can_have_are_refused(tmp_path: Path) -> None:
    spec = write_case(tmp_path)
    for setting in NO_SETTINGS:
        for name in ("mu", "gamma_times"):
            asked: dict[str, Any] = {name: [setting]}
            with pytest.raises(DomainError, match=f"^{name}: other settings are numbers"):
                package.plan(spec, **asked)
    for total in NO_TOTALS:
        with pytest.raises(FaultsError, match="total of emp: no sizes have it"):
            package.plan(spec, totals={"emp": total})


def test_sizes_that_add_up_to_less_than_nothing_are_not_scaled() -> None:
    there = Establishments(Keys(2, {}), {"profit": Sizes(np.array([1.0, -3.0]))}, "", SizesFrom(""))
    with pytest.raises(FaultsError, match="add up to 0 or less"):
        there.with_totals({"profit": 5.0})


def test_over_budget_is_refused(tmp_path: Path) -> None:
    with pytest.raises(package.BudgetExceededError):
        package.plan(write_case(tmp_path, ("mu = 1\n", "mu = 0.01\n")))


def test_the_command_prints_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    write_case(tmp_path, *INDIVIDUAL)
    ended = gedp("plan", "spec.toml", "--mu", "1,2,3", "--total", "emp=50000", "--html", "plan.html", folder=tmp_path)
    assert ended.code == 0, ended
    for text in (
        "Errors to expect",
        "emp, by size of cell",
        "Effect of dropping each table",
        "mu 3",
        "Sizes: assumed",
    ):
        assert text in ended.out
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 8
    assert "http" not in page.replace("http://www.w3.org", "")
    assert gedp("plan", "spec.toml", "--mu", "0", folder=tmp_path).code == 2
    assert gedp("plan", "spec.toml", "--total", "emp", folder=tmp_path).code == 2
    assert gedp("plan", "spec.toml", "--like", "t.parquet", folder=tmp_path).code == 1
