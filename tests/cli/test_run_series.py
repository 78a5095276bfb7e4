"""Four quarters from one spec: one ledger, what it says exactly, and every way in which a budget could be had twice."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.confidential.sealing import UnexpectedError
from gedp.errors import BudgetExceededError, FaultsError, Refused
from gedp.explain.released import released_promise
from gedp.ledger import DecidedBy, Ledger
from gedp.ledger.statement import statement
from gedp.periods import Period
from gedp.policy import for_period, read_spec
from gedp.release import read_release
from tests.helpers.runs import PRICE, SYNTHETIC, Ended, changed, small_table, write_spec
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")

LEDGER = "register.ledger"
SERIES = (
    ('source = "t.parquet"', 'source = "2016Q1.parquet"\nperiod = "2016Q1"'),
    ("[budget]\nmu = 1", "[budget]\nmu = 0.3\nyear = 0.5"),  # 0.25: three releases of 0.08, and not four
    ("[output]", f'[ledger]\nfile = "{LEDGER}"\n[output]'),
)
QUARTERS = ("2016Q1", "2016Q2", "2016Q3", "2016Q4", "2017Q1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The spec and the tables of five quarters: establishments open, close and move."""
    for number, quarter in enumerate(QUARTERS):
        pq.write_table(small_table(40 + number).slice(number), tmp_path / f"{quarter}.parquet")
    write_spec(tmp_path, *SERIES)
    return tmp_path


def release(folder: Path, period: str, *more: str, source: str | None = None) -> Ended:
    where = "--source", source or f"{period}.parquet", "--period", period, "--out", f"out/{period}"
    return command("run", "spec.toml", "--answers-only", *where, *more, folder=folder)


def seen(folder: Path) -> dict[str, str]:
    """Every file and link in a folder, with its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refused(folder: Path, ended: Ended, why: str) -> None:
    assert (ended.code, ended.out) == (1, ""), ended
    assert why in ended.err


def squares(folder: Path) -> dict[tuple[str, str], Fraction]:
    state = Ledger.open(folder / LEDGER, create=False).state()
    return {(stated.what, stated.span.name): stated.span.loss.mu_squared for stated in statement(state)}


def test_four_quarters_end_to_end(folder: Path) -> None:
    for quarter in QUARTERS[:3]:
        assert release(folder, quarter).code == 0
    before = seen(folder)
    refused(folder, release(folder, "2016Q4"), "is spent on the year 2016Q1 to 2016Q4")
    refused(folder, release(folder, "2016Q4", "--dry-run"), "is spent on the year 2016Q1 to 2016Q4")
    assert seen(folder) == before, "nothing recorded, nothing written, no link left"
    assert release(folder, "2017Q1").code == 0, "the year from 2016Q2 on has room"
    assert squares(folder) == {
        **{("period", quarter): PRICE for quarter in ("2016Q1", "2016Q2", "2016Q3", "2017Q1")},
        ("year", "2016Q1 to 2016Q4"): 3 * PRICE,
        ("year", "2016Q2 to 2017Q1"): 3 * PRICE,
        ("all", "2016Q1 to 2017Q1"): 4 * PRICE,
    }
    third = read_release(folder / "out" / "2016Q3")
    assert third.period == Period.of("2016Q3")
    assert third.manifest.together is not None
    series = third.manifest.together.series
    assert series is not None
    assert [(span.name, span.loss.mu_squared) for span in series.years] == [("2016Q1 to 2016Q4", 3 * PRICE)]
    content = json.loads((folder / "out" / "2016Q3" / "manifest.json").read_text())
    assert content["together"]["series"]["years"][0]["mu_squared"] == str(3 * PRICE)
    assert command("ledger", "verify", LEDGER, "--release", "out/2016Q3", folder=folder).code == 0
    assert "any four consecutive quarters together" in " ".join(released_promise(third.manifest))


def test_what_is_said_about_a_series(folder: Path) -> None:
    for quarter in QUARTERS[:2]:
        assert release(folder, quarter).code == 0
    shown = command("ledger", "show", LEDGER, folder=folder).out
    for said in ("2016Q1 to 2016Q4", "any four consecutive", "of one quarter", "did not change"):
        assert said in " ".join(shown.split()), said
    left = command("ledger", "remaining", LEDGER, folder=folder).out
    assert f"year    2016Q1 to 2016Q4: spent mu = 0.4  (mu squared = {2 * PRICE}) of 0.5; remaining mu = 0.3" in left
    assert "next    2016Q3: at most mu = 0.3  (mu squared = 9/100)" in left
    assert command("ledger", "export", LEDGER, "--series", "--out", "series.csv", folder=folder).code == 0
    assert f"year,2016Q1,2016Q4,0.4,{2 * PRICE},1/4,9/100" in (folder / "series.csv").read_text()
    explained = " ".join(command("explain", "out/2016Q2", folder=folder).out.split())
    assert "Of all tables up to those of 2016Q2" in explained
    planned = " ".join(command("explain", "spec.toml", "--period", "2016Q3", folder=folder).out.split())
    assert "If every quarter of a year is released like this one" in planned
    assert "not every quarter of a year can be released like this one" in planned
    assert command("explain", "out/2016Q2", "--period", "2016Q3", folder=folder).code == 2


def test_a_quarter_is_not_had_twice_by_a_forgotten_or_misspelt_option(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    before = seen(folder)
    forgotten = command("run", "spec.toml", "--period", "2016Q2", "--out", "out/2", folder=folder)
    refused(folder, forgotten, "2016Q1.parquet was released as 2016Q1, and would now count as 2016Q2")
    for spelling in ("2016q1", "2016-Q1", "2016 Q1", "2016Q01", "2016Q5", ""):
        ended = command("run", "spec.toml", "--period", spelling, "--out", "out/2", folder=folder)
        assert ended.code == 2, spelling
    for other in ("2016-04", "2017"):
        assert release(folder, other, source="2016Q2.parquet").code in (1, 2)
    assert seen(folder) == before


def test_a_quarter_is_not_had_twice_by_another_name_of_its_table(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    first = folder / "2016Q1.parquet"
    (folder / "below").mkdir()
    for copy in ("copied.parquet", "below/copied.parquet", "many-1.parquet"):
        (folder / copy).write_bytes(first.read_bytes())
    (folder / "linked.parquet").symlink_to(first.name)
    os.link(first, folder / "hard.parquet")
    others = small_table(5).set_column(0, "key", pa.array([f"other {i}" for i in range(5)]))
    pq.write_table(others, folder / "many-2.parquet")
    first.rename(folder / "renamed.parquet")
    (folder / "linked.parquet").unlink()
    (folder / "linked.parquet").symlink_to("renamed.parquet")
    for source in ("renamed", "copied", "below/copied", "linked", "hard", "many-*"):
        refused(folder, release(folder, "2016Q2", source=f"{source}.parquet"), "was released as 2016Q1")
    assert squares(folder)["all", "2016Q1"] == PRICE


def test_a_table_of_the_series_is_not_released_without_its_period(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    before = seen(folder)
    without = (SERIES[0][0], 'source = "SOURCE"')
    named, unnamed = [without, ("mu = 1\n", "mu = 0.3\n"), SERIES[2]], [without]
    for changes, source, why in (
        (named, "2016Q1.parquet", "holds a series"),
        (named, "2016Q2.parquet", "holds a series"),
        (unnamed, "2016Q1.parquet", "holds a series"),  # found by the link beside it
        (unnamed, "2016Q2.parquet", f"{LEDGER} holds a series about the same attributes"),
    ):
        write_spec(folder, *changes, ("SOURCE", source))
        refused(folder, command("run", "spec.toml", "--out", "plain", folder=folder), why)
    (folder / "2016Q1.parquet.ledger").unlink()  # without the link the content still tells
    refused(folder, command("run", "spec.toml", "--out", "plain", folder=folder), "holds a series")
    write_spec(folder, *SERIES)
    after = seen(folder)
    assert {name: content for name, content in before.items() if name in after} == after


def test_a_series_has_one_ledger_that_is_named(folder: Path) -> None:
    write_spec(folder, *SERIES[:2])
    refused(folder, release(folder, "2016Q1"), "one ledger holds all periods of a series, so it has to be named")
    assert release(folder, "2016Q1", "--ledger", LEDGER).code == 0
    ended = release(folder, "2016Q2", "--ledger", "second.ledger")
    refused(folder, ended, f"{LEDGER} holds a series about the same attributes (2016Q1)")
    ended = release(folder, "2016Q1", "--ledger", "second.ledger", "--force")
    refused(folder, ended, "these data already have a ledger")
    assert not (folder / "second.ledger").exists()
    assert release(folder, "2016Q2", "--ledger", LEDGER).code == 0
    spec, empty = for_period(read_spec(folder / "spec.toml"), "2016Q3", folder / "2016Q3.parquet"), "second.ledger"
    table = gedp.open_table(spec)
    with pytest.raises(Refused, match="holds a series about the same attributes"):
        gedp.measure(table, spec, out=folder / "x", ledger=Ledger.open(folder / empty))


def test_a_table_that_was_released_without_a_period_never_becomes_one_of_a_series(folder: Path) -> None:
    write_spec(folder, ("t.parquet", "2016Q1.parquet"))
    assert command("run", "spec.toml", "--answers-only", folder=folder).code == 0
    write_spec(folder, *SERIES)
    refused(folder, release(folder, "2016Q1"), "these data already have a ledger: ")
    write_spec(folder, *SERIES[:2])
    refused(folder, release(folder, "2016Q1"), "the ledger holds releases without a period")


def test_a_corrected_table_counts_again_for_its_period(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    pq.write_table(small_table(39), folder / "2016Q1.parquet")
    refused(folder, release(folder, "2016Q1", "--force"), "is spent on 2016Q1")
    decided = "--decided-by", "the registrar", "--reason", "a correction"
    write_spec(folder, SERIES[0], ("[budget]\nmu = 1", "[budget]\nmu = 0.4\nyear = 0.5"), SERIES[2])
    assert release(folder, "2016Q1", "--force", *decided).code == 0
    assert squares(folder)["period", "2016Q1"] == 2 * PRICE
    refused(folder, release(folder, "2016Q2", "--dry-run", *decided), "nothing to decide")


def test_a_run_that_fails_counts_in_its_period_and_year_from_its_first_draw_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise MemoryError

    for step, costs in {"measure.draw_answers": 0, "job.answer_table": PRICE}.items():
        with monkeypatch.context() as patch:
            patch.setattr(f"gedp.confidential.{step}", fails)
            with pytest.raises(UnexpectedError):
                gedp.run(folder / "spec.toml", out=folder / "out", answers_only=True)
        assert not (folder / "out").exists()
        assert squares(folder).get(("year", "2016Q1 to 2016Q4"), 0) == costs


# From Python.


def of_quarter(number: int) -> pa.Table:
    return small_table(40 + number)


def test_a_table_in_memory_is_of_one_period(tmp_path: Path) -> None:
    spec = replace(read_spec(write_spec(tmp_path, *SERIES)), folder=tmp_path)
    spec = replace(spec, data=replace(spec.data, source=None))

    def released(table: Any, period: str) -> gedp.Release:
        return gedp.run(spec, table, period=period, out=tmp_path / period, answers_only=True)

    assert released(of_quarter(0), "2016Q1").period == Period.of("2016Q1")
    again = pa.concat_tables([of_quarter(0).slice(0, 7), of_quarter(0).slice(7)])  # in other pieces
    table = of_quarter(0)
    shuffled, more = table.take(list(reversed(range(40)))), table.append_column("more", pa.array(["x"] * 40))
    narrow = table.cast(pa.schema([pa.field(f.name, pa.int32() if f.name == "emp" else f.type) for f in table.schema]))
    for same in (table, again, shuffled, more, narrow, table.to_pandas()):
        with pytest.raises(Refused, match="a table with these rows was released as 2016Q1"):
            released(same, "2016Q2")
        with pytest.raises(Refused, match="a table with these rows was released as 2016Q1"):
            gedp.check(spec, same, period="2016Q2", out=tmp_path / "x")
    released(of_quarter(1), "2016Q2")
    changed = table
    for name in ("emp", "wage"):  # one value each, of as many rows
        values = [table[name][0].as_py() + 1, *table[name].to_pylist()[1:]]
        changed = changed.set_column(table.column_names.index(name), name, pa.array(values))
    gedp.check(spec, changed, period="2016Q3", out=tmp_path / "x")
    assert squares(tmp_path)["all", "2016Q1 to 2016Q2"] == 2 * PRICE
    with pytest.raises(Refused, match="has to be named"):
        gedp.run(replace(spec, ledger=None), of_quarter(2), period="2016Q3", out=tmp_path / "3", answers_only=True)


def test_a_table_in_memory_is_of_one_period_whatever_file_the_spec_names(folder: Path) -> None:
    table, spec = of_quarter(7), read_spec(folder / "spec.toml")
    first, second = (for_period(spec, period, folder / f"{period}.parquet") for period in QUARTERS[:2])
    gedp.run(first, table, out=folder / "first", answers_only=True)
    with pytest.raises(Refused, match="a table with these rows was released as 2016Q1"):
        gedp.run(second, table, out=folder / "second")


def test_a_table_in_memory_is_not_another_period_of_the_file_that_the_spec_names(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    read = pq.read_table(folder / "2016Q1.parquet")
    with pytest.raises(Refused, match=r"2016Q1\.parquet was released as 2016Q1"):
        gedp.run(folder / "spec.toml", read, period="2016Q2", out=folder / "x")


def test_a_query_of_ones_own_counts_for_its_period(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    spec = for_period(read_spec(folder / "spec.toml"), "2016Q2", folder / "2016Q2.parquet")

    def total(columns: Any) -> Any:
        return np.sqrt(columns["emp"] + 1).sum()

    stated = {"name": "roots", "attributes": ["emp"], "sensitivity": 0.5, "largest": 1e9}
    answer = gedp.ask(spec, total, **stated, mu="0.2", out=folder / "answer.json")  # type: ignore[arg-type]
    assert squares(folder)["period", "2016Q2"] == Fraction(4, 100)
    assert gedp.read_answer(folder / "answer.json") == answer
    with pytest.raises(BudgetExceededError, match="spent on 2016Q2"):
        gedp.ask(spec, total, **stated, mu="0.25", out=folder / "more.json")  # type: ignore[arg-type]
    wrong = replace(spec, data=replace(spec.data, period=Period.of("2016Q3")))
    with pytest.raises(Refused, match="was released as 2016Q2"):
        gedp.ask(wrong, total, **stated, mu="0.1", out=folder / "more.json")  # type: ignore[arg-type]


def test_synthetic_tables_have_periods_without_a_ledger(folder: Path) -> None:
    text = changed((folder / "spec.toml").read_text(), SYNTHETIC, (f'[ledger]\nfile = "{LEDGER}"\n', ""))
    (folder / "spec.toml").write_text(text)
    made = gedp.run(folder / "spec.toml", source=folder / "2016Q2.parquet", period="2016Q2", out=folder / "out")
    assert made.period == Period.of("2016Q2")
    assert gedp.read_release(folder / "out").manifest.together is None


def test_a_decision_is_published_with_the_series(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    raised = changed((folder / "spec.toml").read_text(), ("year = 0.5", "year = 0.6"))
    (folder / "spec.toml").write_text(raised)
    refused(folder, release(folder, "2016Q2"), "budget of a year raised from mu = 0.5 to mu = 0.6")
    made = gedp.run(
        folder / "spec.toml",
        source=folder / "2016Q2.parquet",
        period="2016Q2",
        out=folder / "out" / "2016Q2",
        decided_by=DecidedBy("the registrar", "memo 12"),
        answers_only=True,
    )
    assert made.manifest.together is not None
    assert "budget of a year raised" in made.manifest.together.decisions[0].what[0]


FAULTS: list[tuple[Callable[[Any], object], str]] = [
    (lambda series: series["periods"].update({"2016Q1": "1/100"}), "does not follow from the periods"),
    (lambda series: series["periods"].update({"2015-04": "1/100"}), "periods of one kind in their order"),
    (lambda series: series["periods"].update({"soon": "1/100"}), "periods of one kind in their order"),
    (lambda series: series["periods"].clear(), "periods of one kind in their order"),
    (lambda series: series["periods"].update({"2016Q1": "0.08"}), "does not fit"),
    (lambda series: series["years"].clear(), "does not follow from the periods"),
    (lambda series: series.update(all="1/100"), "does not follow from the periods"),
    (lambda series: series.update(more=1), "this key is not known"),
    (lambda series: series.pop("in_every_period"), "this key is missing"),
]


def test_a_manifest_whose_series_does_not_add_up_is_refused(folder: Path) -> None:
    assert release(folder, "2016Q1").code == 0
    path = folder / "out" / "2016Q1" / "manifest.json"
    written = path.read_text()
    for change, fault in FAULTS:
        content = json.loads(written)
        change(content["together"]["series"])
        path.write_text(json.dumps(content))
        with pytest.raises(FaultsError, match=fault):
            read_release(path.parent)
    path.write_text(written.replace('period = \\"2016Q1\\"', 'period = \\"2016Q2\\"'))
    with pytest.raises(FaultsError, match="it does not have the period of the spec"):
        read_release(path.parent)
    path.write_text(written)
    assert read_release(path.parent).period == Period.of("2016Q1")


def test_the_ledger_of_another_series_does_not_take_a_quarter_of_this_one(folder: Path) -> None:
    names = ["key", "cnty", "naics", "trade", "sales"]
    others = small_table(41).slice(1).rename_columns(names)
    pq.write_table(others, folder / "trade.parquet")
    write_spec(folder, *SERIES, ("emp", "trade"), ("wage", "sales"), (LEDGER, "trade.ledger"))
    assert release(folder, "2016Q1", source="trade.parquet").code == 0, "other attributes, another series"
    write_spec(folder, *SERIES)
    assert release(folder, "2016Q1", "--force").code == 0
    write_spec(folder, *SERIES, (LEDGER, "trade.ledger"))
    refused(folder, release(folder, "2016Q2"), f"{LEDGER} holds a series about the same attributes")


# Columns that hold values of other periods.

LAGGED = ("emp = {", 'before = { psi = "sqrt", gamma = 0.5, of_period = -1 }\nemp = {')


def lagged(folder: Path, *changes: tuple[str, str]) -> None:
    """The quarters get a column with the jobs of the quarter before, and the spec declares it."""
    for quarter in QUARTERS:
        table = pq.read_table(folder / f"{quarter}.parquet")
        pq.write_table(table.append_column("before", pa.array(range(len(table)))), folder / f"{quarter}.parquet")
    write_spec(folder, *SERIES, LAGGED, *changes)


def test_what_a_column_of_the_quarter_before_costs_counts_for_that_quarter_everywhere_it_is_said(folder: Path) -> None:
    lagged(folder)
    own, before = PRICE, Fraction(1, 100)  # the identity query asks for all columns
    ended = release(folder, "2016Q2")
    assert ended.code == 0, ended
    assert "It spent mu = 0.3 (at most 0.2829 on one period: 2016Q2) of a budget of 0.3 for each quarter." in ended.out
    assert squares(folder)["period", "2016Q1"] == before
    assert squares(folder)["period", "2016Q2"] == own
    counts = "μ = 0.1 for 2016Q1; μ = 0.2829 for 2016Q2."
    assert f"of 2016Q2 holds values of other periods: {counts}" in " ".join(
        command("ledger", "show", LEDGER, folder=folder).out.split()
    )
    made = read_release(folder / "out" / "2016Q2")
    content = json.loads((folder / "out" / "2016Q2" / "manifest.json").read_text())
    assert content["promise"]["charged"] == [
        {"periods": ["2016Q1"], "mu_squared": "1/100"},
        {"periods": ["2016Q2"], "mu_squared": "2/25"},
    ]
    assert counts in " ".join(released_promise(made.manifest))
    for what in ("out/2016Q2", "spec.toml"):
        period = () if what == "out/2016Q2" else ("--period", "2016Q2")
        assert counts in " ".join(command("explain", what, *period, folder=folder).out.split())
    assert command("ledger", "verify", LEDGER, "--release", "out/2016Q2", folder=folder).code == 0


def test_columns_of_several_quarters_are_stated_in_the_manifests_of_later_releases_too(folder: Path) -> None:
    lagged(folder, ("of_period = -1", "of_period = [0, -1]"))
    assert release(folder, "2016Q2", "--dry-run").code == 0
    assert release(folder, "2016Q2").code == 0
    assert squares(folder)["period", "2016Q1"] == Fraction(1, 100)
    assert squares(folder)["period", "2016Q2"] == squares(folder)["year", "2016Q1 to 2016Q4"] == Fraction(9, 100)
    write_spec(folder, *SERIES)
    assert release(folder, "2016Q3").code == 0
    for quarter, declares in (("2016Q2", True), ("2016Q3", False)):
        path = folder / "out" / quarter / "manifest.json"
        content = json.loads(path.read_text())
        assert ("charged" in content["promise"]) == declares
        assert content["together"]["series"]["of_several_periods"] == [
            {"periods": ["2016Q1", "2016Q2"], "mu_squared": "1/100"}
        ]
        made = read_release(path.parent)
        assert made.manifest.together is not None
        state = Ledger.open(folder / LEDGER, create=False).state()
        assert quarter == "2016Q2" or made.manifest.together.series == state.series
    written = path.read_text()
    for change, fault in (
        (["2016Q1"], "they are not several of the periods"),
        (["2016Q2", "2016Q1"], "they are not several of the periods"),
        (["2016Q1", "2019Q4"], "they are not several of the periods"),
        (["2016Q1", "2016Q3"], "it does not follow from the periods"),
    ):
        content = json.loads(written)
        content["together"]["series"]["of_several_periods"][0]["periods"] = change
        content["together"]["series"]["periods"] = {"2016Q1": "0", "2016Q2": "2/25", "2016Q3": "2/25", "2018Q4": "0"}
        path.write_text(json.dumps(content))
        with pytest.raises(FaultsError, match=fault):
            read_release(path.parent)
    content = json.loads(written)
    del content["together"]["series"]["of_several_periods"]
    path.write_text(json.dumps(content))
    with pytest.raises(FaultsError, match="it does not follow from the periods"):
        read_release(path.parent)


def test_what_columns_are_taken_for_is_said_until_the_spec_says_it(folder: Path) -> None:
    line = "gedp assumes that every confidential column holds values of {} only. Declare others with of_period"
    for more in (("--dry-run",), ()):
        ended = release(folder, "2016Q1", *more)
        assert ended.out.count(line.format("2016Q1")) == 1
    write_spec(folder, *SERIES, ("emp = {", "emp = { of_period = 0,"))
    for more in (("--dry-run",), ()):
        ended = release(folder, "2016Q2", *more)
        assert ended.code == 0, ended
        assert "assumes" not in ended.out
    write_spec(folder, *SERIES[:1], ('period = "2016Q1"\n', ""))
    plain = command("run", "spec.toml", "--source", "2017Q1.parquet", "--dry-run", folder=folder)
    assert "assumes" not in plain.out


def test_an_answer_about_columns_of_several_quarters_counts_for_all_of_them(folder: Path) -> None:
    lagged(folder)
    spec = for_period(read_spec(folder / "spec.toml"), "2016Q2", folder / "2016Q2.parquet")
    stated: dict[str, Any] = {"sensitivity": "4000", "largest": "1e9", "name": "growth"}

    def growth(columns: Any) -> float:
        return float(np.clip(columns["emp"], 0, 1000).sum() - np.clip(columns["before"], 0, 1000).sum())

    answer = gedp.ask(spec, growth, attributes=["emp", "before"], mu="0.2", out=folder / "answer.json", **stated)
    assert squares(folder)["period", "2016Q1"] == squares(folder)["period", "2016Q2"] == Fraction(4, 100)
    assert squares(folder)["all", "2016Q1 to 2016Q2"] == Fraction(4, 100)
    assert gedp.read_answer(folder / "answer.json") == answer
