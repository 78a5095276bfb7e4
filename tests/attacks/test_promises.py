"""A promise once made is not narrowed in silence, and a budget not raised: a person decides, by name."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import DomainError, FaultsError
from gedp.ledger import DecidedBy, Ledger, Permit
from gedp.neighbors import Linear, Log, Protection, Sqrt, widen
from gedp.neighbors.combine import is_narrower
from gedp.release import read_release
from tests.helpers.ledgers import edit
from tests.helpers.runs import PRICE, gedp, small_table, spent, write_case, write_spec

DECIDED = ("--decided-by", "the registrar <3", "--reason", "memo 12: the law changed")
NARROW = ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = { psi = "sqrt", gamma = 0.00001 }')
WIDE = ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = { psi = "sqrt", gamma = 0.9 }')
ELSEWHERE = ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = { psi = "linear", gamma = 3 }')
WIDER = ("gamma = 0.5 }", 'gamma = 0.5, at_least = { psi = "linear", gamma = 9 } }')
RICH = ("mu = 1\n", "mu = 1000\n")
SIGNED = ('emp = { psi = "sqrt", gamma = 0.5 }', 'emp = { psi = "sqrt", gamma = 0.5, signed = true }')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (NARROW, "emp: intervals narrowed from psi = sqrt(x), gamma = 0.5 to psi = sqrt(x), gamma = 1e-05"),
        (ELSEWHERE, "emp: intervals narrowed from psi = sqrt(x), gamma = 0.5 to psi = x, gamma = 3"),
        (RICH, "budget raised from mu = 1 to mu = 1000"),
    ],
)
def test_promising_less_takes_a_decision_that_everybody_sees(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(tmp_path, change)
    for dry in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--out", "less", *dry, folder=tmp_path)
        assert (ended.code, said in ended.err, "--decided-by" in ended.err) == (1, True, True), ended
    assert spent(tmp_path) == PRICE
    assert not (tmp_path / "less").exists()
    ended = gedp("run", "spec.toml", "--out", "less", *DECIDED, folder=tmp_path)
    assert ended.code == 0, ended.err
    assert spent(tmp_path) == 2 * PRICE
    entries = Ledger.open(tmp_path / "t.parquet.ledger").verify().entries
    assert [entry.kind for entry in entries] == ["reserve", "commit", "permit", "reserve", "commit"]
    assert entries[2].event == Permit("the registrar <3", "memo 12: the law changed", (said,))
    for shown in (gedp("ledger", "show", "t.parquet.ledger", folder=tmp_path).out.replace("\n", " "),):
        assert "the registrar <3" in shown
        assert said in shown
    page = (tmp_path / "less" / "report.html").read_text("utf-8")
    assert said in page
    assert "the registrar &lt;3" in page
    together = read_release(tmp_path / "less").manifest.together
    assert together is not None
    assert (together.releases, together.mu, [d.by for d in together.decisions]) == (2, "0.4", ["the registrar <3"])


def test_nulls_that_count_as_another_number_than_before_take_a_decision(tmp_path: Path) -> None:
    """In one release such an establishment has 0, in the other 5000: the two tell who has no value."""

    def counted_as(**numbers: int) -> None:
        listed = ", ".join(f"{name} = {number}" for name, number in numbers.items())
        write_spec(tmp_path, ('id = "key"', f'id = "key"\nmissing = {{ {listed} }}'))

    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--out", "first", "--answers-only", folder=tmp_path).code == 0
    counted_as(emp=0)
    assert gedp("run", "spec.toml", "--out", "second", "--answers-only", folder=tmp_path).code == 0
    counted_as(emp=0, wage=7)
    assert gedp("run", "spec.toml", "--dry-run", folder=tmp_path).code == 0
    counted_as(emp=5000)
    ended = gedp("run", "spec.toml", "--dry-run", folder=tmp_path)
    said = "emp: a null counted as 0 and would count as 5000, which together reveal who has one"
    assert (ended.code, said in ended.err) == (1, True)
    assert gedp("run", "spec.toml", "--out", "third", "--answers-only", *DECIDED, folder=tmp_path).code == 0
    ledger = Ledger.open(tmp_path / "t.parquet.ledger")
    assert said in ledger.promise().statement
    assert ledger.verify().ok


@pytest.mark.parametrize("change", [WIDE, WIDER, SIGNED, ("mu = 1\n", "mu = 0.9\n")])
def test_promising_as_much_or_more_takes_no_decision(change: tuple[str, str], tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    psi = ('mechanism = "psi"', "") if change is SIGNED else ("", "")
    write_spec(tmp_path, change, psi)
    ended = gedp("run", "spec.toml", "--out", "more", *DECIDED, folder=tmp_path)
    assert (ended.code, "there is nothing to decide" in ended.err) == (1, True)
    assert spent(tmp_path) == PRICE
    ended = gedp("run", "spec.toml", "--answers-only", "--out", "more", folder=tmp_path)
    assert ended.code == 0, ended.err
    write_spec(tmp_path, psi)
    back = gedp("run", "spec.toml", "--answers-only", "--out", "back", folder=tmp_path).code
    assert back == (change[0] == "mu = 1\n")  # a budget of 0.9 was stated since


def test_a_release_that_the_budget_cannot_pay_is_refused_decision_or_not(tmp_path: Path) -> None:
    write_case(tmp_path, ("mu = 1\n", "mu = 0.3\n"))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(tmp_path, ("mu = 1\n", "mu = 0.31\n"))
    ended = gedp("run", "spec.toml", "--out", "more", *DECIDED, folder=tmp_path)
    assert (ended.code, "over budget" in ended.err) == (1, True)
    assert [entry.kind for entry in Ledger.open(tmp_path / "t.parquet.ledger").verify().entries] == [
        "reserve",
        "commit",
    ]


def test_what_was_confidential_never_becomes_public(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(
        tmp_path,
        ('public = ["cnty", "naics"]', 'public = ["cnty", "naics", "emp"]'),
        ('emp = { psi = "sqrt", gamma = 0.5 }\n', ""),
        ("mu = { emp = 0.2, wage = 0.1 }", "mu = 0.1"),
        ("mu = { emp = 0.1 }", "mu = 0.1"),
    )
    for decided in ((), DECIDED):
        ended = gedp("run", "spec.toml", "--out", "less", *decided, folder=tmp_path)
        assert (ended.code, "emp: confidential in an earlier release" in ended.err) == (1, True), ended


def test_values_that_may_no_longer_be_negative_are_promised_less(tmp_path: Path) -> None:
    write_case(tmp_path, SIGNED, ('mechanism = "psi"', ""))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(tmp_path)
    ended = gedp("run", "spec.toml", "--out", "less", folder=tmp_path)
    assert (ended.code, "emp: intervals narrowed" in ended.err) == (1, True)


@pytest.mark.parametrize("given", [["--decided-by", "the registrar"], ["--reason", "memo 12"]])
def test_a_decision_has_a_name_and_a_reason(given: list[str], tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", *given, folder=tmp_path).code == 2
    with pytest.raises(DomainError, match="name of whoever decided, and a reason"):
        DecidedBy(" ", "memo 12")


@pytest.mark.parametrize("name", ["M\udcfcller", "two\nlines", "\u202eoffice"])
def test_a_decision_is_one_line_of_text(name: str) -> None:
    with pytest.raises(DomainError, match="one line of printable text"):
        DecidedBy(name, "memo 12")
    with pytest.raises(DomainError, match="one line of printable text"):
        DecidedBy("the registrar", name)


def test_what_a_damaged_entry_promised_is_not_forgotten_in_silence(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    ledger = tmp_path / "t.parquet.ledger"
    edit(ledger, lambda connection: connection.execute("UPDATE entries SET body = 'x' WHERE sequence = 1"))
    assert gedp("ledger", "decide", str(ledger), "--note", "the registrar: see memo 13", folder=tmp_path).code == 0
    write_spec(tmp_path, NARROW)
    ended = gedp("run", "spec.toml", "--out", "less", folder=tmp_path)
    assert (ended.code, "the ledger was damaged" in ended.err) == (1, True), ended
    assert gedp("run", "spec.toml", "--out", "less", *DECIDED, folder=tmp_path).code == 0
    together = read_release(tmp_path / "less").manifest.together
    assert together is not None
    reasons = [decision.reason for decision in together.decisions]
    assert reasons == ["the registrar: see memo 13", "memo 12: the law changed"]


def test_nothing_is_promised_about_what_is_not_released(tmp_path: Path) -> None:
    """An attribute that no query asks for is in no table, and the ledger does not know it."""
    write_case(tmp_path, ("mu = 0.1\n\n[[queries]]", "mu = { emp = 0.1 }\n\n[[queries]]"), (", wage = 0.1 }", " }"))
    assert gedp("run", "spec.toml", folder=tmp_path).code == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["promise"]["attributes"].keys() == {"emp"}
    assert "wage" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_promise_that_was_cut_out_of_the_manifest_is_missed(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    del manifest["together"]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(FaultsError, match="together"):
        read_release(tmp_path / "out")


psis = st.sampled_from([Sqrt(), Sqrt(2), Log(1), Log(0.1), Linear()])
protections = st.builds(Protection, psis, st.floats(0.01, 100))
combined = protections | st.builds(widen, protections, protections)


@given(combined, combined)
def test_narrower_is_what_some_interval_shows(a: Protection, b: Protection) -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-6, 1e12, 400)])
    (low_a, high_a), (low_b, high_b) = a.interval(x), b.interval(x)
    slack = 1e-9 * (1 + high_b)
    shown = bool(np.any((low_a > low_b + slack) | (high_a < high_b - slack)))
    if shown:
        assert is_narrower(a, b)
    elif not np.any((low_a > low_b - slack) | (high_a < high_b + slack)):
        assert not is_narrower(a, b)
    assert not is_narrower(a, a)
    assert not is_narrower(Protection(a.psi, 2 * a.gamma), a)
    assert is_narrower(Protection(a.psi, a.gamma / 2), a)


def test_values_that_round_to_the_truth_are_no_longer_published_in_silence(tmp_path: Path) -> None:
    """The attack itself: an honest release, then one with hardly any interval at a modest price."""
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    write_spec(tmp_path, NARROW)
    assert gedp("run", "spec.toml", "--out", "truth", folder=tmp_path).code == 1
    assert not (tmp_path / "truth").exists()
    gedp("run", "spec.toml", "--out", "truth", *DECIDED, folder=tmp_path)
    found = np.rint(read_release(tmp_path / "truth").identity()["emp"].to_numpy())
    assert np.mean(found == small_table().sort_by("key")["emp"].to_numpy()) > 0.9  # so it had to be refused
