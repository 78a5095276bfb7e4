"""The ledger: exact totals, refusals with their numbers, states of a release, one promise over all releases."""

import getpass
import hashlib
import hmac
import os
import sqlite3
import stat
import threading
from contextlib import closing, suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError, DomainError, GedpError
from gedp.ledger import (
    KnownBy,
    Ledger,
    LedgerError,
    LedgerLockedError,
    Request,
    Reserve,
    fingerprint,
    spec_digest,
    store,
)
from gedp.ledger.amounts import (
    decimal_of,
    decimal_text,
    factor_within,
    left_of,
    loss_of,
    loss_text,
    mu_down,
    mu_up,
)
from gedp.ledger.digests import file_digest
from gedp.ledger.judging import _raise, _split_before
from gedp.neighbors import Linear, Log, Protection, Signed, Sqrt, narrow
from gedp.policy import Attribute, Closeness, PriceLine, PriceList, parse_spec, write_spec
from tests.helpers.ledgers import EMP, MANIFEST, SPEC, WAGE, history, price_list, spend
from tests.policy.test_spec import GOOD

pytestmark = pytest.mark.usefixtures("no_disk_waits")
losses = st.fractions(0, 1000).map(PrivacyLoss)


@given(losses, st.integers(0, 8))
def test_mu_is_shown_on_the_safe_side(loss: PrivacyLoss, places: int) -> None:
    up, down = Fraction(mu_up(loss, places)), Fraction(mu_down(loss, places))
    assert down**2 <= loss.mu_squared <= up**2
    assert up - down <= Fraction(1, 10**places)


@given(losses, losses)
def test_amounts_are_read_as_they_were_written(loss: PrivacyLoss, other: PrivacyLoss) -> None:
    assert loss_of(loss_text(loss)) == loss
    assert left_of(loss, other).mu_squared == max(loss.mu_squared - other.mu_squared, 0)
    if other.mu_squared:
        factor = Fraction(factor_within(loss, other))
        assert factor**2 * other.mu_squared <= loss.mu_squared


@given(st.decimals(0, 10**6, allow_nan=False))
def test_decimals_keep_their_digits(number: Decimal) -> None:
    text = decimal_text(number)
    assert decimal_of(text) == number
    assert "E" not in text


@pytest.mark.parametrize("text", ["-1", "1E5", "", "nan", "Infinity", " 1", None, 1])
def test_what_is_no_decimal_of_a_ledger_is_rejected(text: object) -> None:
    with pytest.raises(ValueError, match="not a decimal"):
        decimal_of(text)


@pytest.mark.parametrize("text", ["", "-1/2", "1/0", "1", "0.5/2", "1e3/2", "1/2 ", "٣/4", None, 3])
def test_what_is_no_fraction_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="not a fraction"):
        loss_of(text)


def test_a_release_is_recorded_as_it_was_asked_for(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ri.ledger")
    spec = parse_spec(GOOD)
    prices = PriceList((PriceLine("identity", "emp", PrivacyLoss.of("0.70")),), PrivacyLoss.of("1.4"))
    made = book.prepare(
        Request(prices, spec.policy.attributes), spec_digest=spec_digest(spec), note="the first, für alle"
    ).reserve()
    assert made.loss == made.total == PrivacyLoss.of("0.7")
    assert made.remaining.mu_squared == Fraction(147, 100)
    (entry,) = book.verify().entries
    assert entry == made.entry
    assert entry.kind == "reserve"
    assert isinstance(entry.event, Reserve)
    assert entry.event.release == made.release_id
    assert entry.event.prices == prices.lines
    assert entry.event.attributes == {"emp": EMP}  # wage was not asked for, so nothing is promised about it
    assert entry.event.spec_digest == hashlib.sha256(write_spec(spec).encode()).hexdigest()
    assert entry.time.endswith("+00:00")
    assert stat.S_IMODE((tmp_path / "ri.ledger").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["ri.ledger"]


def test_exactly_the_budget_passes_and_the_least_bit_more_does_not(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "exact")
    for mu in ("0.7", "0.7", "0.1", "0.1"):  # 0.49 + 0.49 + 0.01 + 0.01; in floats the sum is not 1
        spend(book, "1", mu)
    assert book.total() == PrivacyLoss.of(1)
    assert book.remaining(PrivacyLoss.of(1)) == PrivacyLoss(Fraction(0))
    with pytest.raises(BudgetExceededError):
        spend(book, "1", "0.0000000000000000000001")
    spend(book, "1.0000000000000000000001", "0.00000000001")


def test_a_refusal_says_what_was_spent_asked_allowed_and_left(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    spend(book, "1.4", "1.2")
    with pytest.raises(BudgetExceededError) as refused:
        spend(book, "1.4", "0.6", "0.8")
    message = str(refused.value)
    for said in ("mu = 1.2 is spent", "asks for mu = 1,", "together 1.56205", "budget is 1.4", "mu = 0.72111 remains"):
        assert said in message, said
    assert "Multiply every query's mu by 0.7211" in message
    assert refused.value.exit_code == 1
    assert len(book.verify().entries) == 1, "a refusal writes nothing"
    spend(book, "1.4", *(Decimal(mu) * Decimal("0.7211") for mu in ("0.6", "0.8")))
    with pytest.raises(BudgetExceededError, match=r"mu = 0 remains\. Have the budget raised"):
        spend(book, "1.2", "0.1")


def test_nothing_is_given_back_unless_no_noise_was_drawn(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    finished, crashed, given_up, unspent = (spend(book, "2", "0.5") for _ in range(4))
    book.commit(finished.release_id, MANIFEST)
    book.abandon(given_up.release_id, "disk full")
    assert book.total() == PrivacyLoss.of(1)
    book.abandon(unspent.release_id, "no such column", before_noise=True)
    assert book.total().mu_squared == Fraction(3, 4)
    assert [release.outcome for release in book.state().releases] == ["finished", "reserved", "abandoned", "unspent"]
    assert [release.counts for release in book.state().releases] == [True, True, True, False]
    book.abandon(crashed.release_id, "found dead")
    assert book.total().mu_squared == Fraction(3, 4)


def test_a_release_ends_once(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    finished, unspent = spend(book, "2", "0.5"), spend(book, "2", "0.5")
    book.commit(finished.release_id, MANIFEST)
    book.abandon(unspent.release_id, "no", before_noise=True)
    with pytest.raises(LedgerError, match="is already finished"):
        book.abandon(finished.release_id, "give it back", before_noise=True)
    with pytest.raises(LedgerError, match="is already finished"):
        book.commit(finished.release_id, MANIFEST)
    with pytest.raises(LedgerError, match="is already unspent"):
        book.commit(unspent.release_id, MANIFEST)
    with pytest.raises(LedgerError, match="has no release"):
        book.commit("0" * 32, MANIFEST)
    assert len(book.verify().entries) == 4
    assert book.verify().ok


def test_what_cannot_be_recorded_is_refused_before_it_is_written(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    prices = price_list("1", "0.5")

    def reserve(prices: PriceList, attribute: Attribute = EMP, digest: str = SPEC) -> None:
        book.prepare(Request(prices, {attribute.name: attribute}), spec_digest=digest).reserve()

    with pytest.raises(DomainError, match="at least one query"):
        reserve(price_list("1"))
    with pytest.raises(DomainError, match="priced, but not among the attributes: emp"):
        reserve(prices, replace(EMP, name="wage"))
    with pytest.raises(DomainError, match="not a digest"):
        reserve(prices, digest="spec.toml")
    with pytest.raises(DomainError, match="0 or more"):
        reserve(price_list("1", "-0.5"))
    with pytest.raises(DomainError, match="not a closeness"):
        reserve(prices, Attribute("emp", Closeness("cube", Decimal(1))))
    with pytest.raises(DomainError, match="not a closeness"):
        reserve(prices, Attribute("emp", Closeness("sqrt", Decimal(0))))
    with pytest.raises(DomainError, match="cannot be signed"):
        reserve(prices, Attribute("emp", Closeness("log", Decimal(1)), signed=True))
    made = spend(book, "1", "0.5")
    with pytest.raises(DomainError, match="not a digest"):
        book.commit(made.release_id, "manifest.json")
    assert len(book.verify().entries) == 1


def test_one_promise_over_all_releases(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    assert book.promise().statement == "Nothing counts as released, so nothing is spent."
    spend(book, "5", "0.3")
    spend(book, "5", "0.4")
    same = book.promise()
    assert same.promise.loss == PrivacyLoss.of("0.5")
    assert same.promise.protections == {"emp": Protection(Sqrt(), 0.5)}
    assert "Over the 2 releases that count, taken together" in same.statement
    assert "N(0.5,1)" in same.statement
    assert "differently" not in same.statement

    other = Attribute("emp", Closeness("linear", Decimal(20)))
    spend(book, "5", "1.2", attribute=other)
    spend(book, "5", "0", attribute=EMP)
    both = book.promise()
    assert both.promise.loss == PrivacyLoss.of("1.3")
    expected = narrow(Protection(Sqrt(), 0.5), Protection(Linear(), 20))
    x = np.array([0.0, 3.0, 36.0, 400.0, 1e6])
    assert both.promise.protections["emp"] == expected
    for single in (Protection(Sqrt(), 0.5), Protection(Linear(), 20)):
        assert (both.promise.protections["emp"].interval(x).low >= single.interval(x).low - 1e-9).all()
        assert (both.promise.protections["emp"].interval(x).high <= single.interval(x).high + 1e-6).all()
    assert "emp within psi = narrowed from (sqrt(x))/0.5 and (x)/20" in both.statement


def test_a_release_that_was_not_spent_does_not_narrow(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    spend(book, "5", "0.3")
    tiny = spend(book, "5", "0.3", attribute=Attribute("emp", Closeness("sqrt", Decimal("0.001"))))
    assert book.promise().promise.protections == {"emp": Protection(Sqrt(), 0.001)}
    book.abandon(tiny.release_id, "a slip", before_noise=True)
    assert book.promise().promise.protections == {"emp": Protection(Sqrt(), 0.5)}


def test_signed_and_unsigned_releases_promise_together_what_holds_from_0_on(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    signed = Attribute("emp", Closeness("log", Decimal("0.1"), shift=Decimal(1)), signed=True)
    spend(book, "5", "0.3", attribute=signed)
    assert isinstance(book.promise().promise.protections["emp"].psi, Signed)
    spend(book, "5", "0.3")
    assert book.promise().promise.protections["emp"] == narrow(Protection(Log(1.0), 0.1), Protection(Sqrt(), 0.5))


def test_every_field_of_an_attribute_is_kept(tmp_path: Path) -> None:
    entries = history(tmp_path / "ledger").verify().entries
    first = entries[0].event
    assert isinstance(first, Reserve)
    assert first.attributes == {"emp": EMP, "wage": WAGE}
    assert [entry.kind for entry in entries] == [
        *("reserve", "commit", "reserve", "abandon", "reserve", "abandon", "reserve")
    ]
    assert [entry.total.mu_squared * 10**4 for entry in entries] == [5125, 5125, 7625, 5125, 8725, 8725, 9125]


def test_fingerprint_depends_on_bytes_and_key_alone(tmp_path: Path) -> None:
    one, two, moved = tmp_path / "1.parquet", tmp_path / "2.parquet", tmp_path / "3.parquet"
    one.write_bytes(b"x" * 3_000_000)
    two.write_bytes(b"y")
    moved.write_bytes(one.read_bytes())
    key = bytes(range(32))
    inner = hmac.digest(key, one.read_bytes(), "sha256")
    assert fingerprint([one], key) == hmac.digest(key, inner, "sha256").hex()
    assert fingerprint([one, two], key) == fingerprint([two, moved], key)
    assert fingerprint([one, two], key) != fingerprint([one], key)
    assert fingerprint([one], key) != fingerprint([one], bytes(32))
    with pytest.raises(LedgerError, match=r"cannot read .*absent.parquet: no such file"):
        fingerprint([tmp_path / "absent.parquet"], key)


def test_data_files_are_marked_with_a_key_of_the_ledger(tmp_path: Path) -> None:
    data = tmp_path / "folder" / "1.parquet"
    data.parent.mkdir()
    data.write_bytes(b"data")
    request = Request(price_list("9", "0.1"), {"emp": EMP})
    books = [Ledger.open(tmp_path / name) for name in ("a.ledger", "b.ledger")]
    marks = []
    for book in books:
        reserved = book.prepare(request, KnownBy([data, data]), spec_digest=SPEC).reserve().entry.event
        assert isinstance(reserved, Reserve)
        assert reserved.fingerprint == fingerprint([data, data], book.key())
        (mark,) = book.marks()
        assert (mark.path, mark.size) == ("folder/1.parquet", 4)
        assert mark.digest == hmac.digest(book.key(), b"data", "sha256").hex()
        marks.append(mark)
    assert marks[0].digest != marks[1].digest, "each ledger has its own key"


def test_opening_what_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no ledger at .*absent"):
        Ledger.open(tmp_path / "absent", create=False)
    with pytest.raises(LedgerError, match=r"cannot make the ledger .*: no such file or directory"):
        Ledger.open(tmp_path / "no" / "folder")
    (tmp_path / "text").write_text("not a database at all, but long enough to look at" * 20, encoding="utf-8")
    with pytest.raises(LedgerError, match="text is not a ledger"):
        Ledger.open(tmp_path / "text")
    (tmp_path / "empty").touch()
    with pytest.raises(LedgerError, match=r"empty is not a ledger \(the file is empty: was it cut off"):
        Ledger.open(tmp_path / "empty")
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE entries (x)")
    with pytest.raises(LedgerError, match="other is not a ledger"):
        Ledger.open(tmp_path / "other")
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path)


def test_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    book = history(tmp_path / "ledger")
    with closing(sqlite3.connect(book.path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    for attempt in (book.verify, lambda: Ledger.open(book.path), lambda: spend(book, "9", "0.1")):
        with pytest.raises(LedgerError, match=r"newer gedp \(format 7; this one knows 6\)"):
            attempt()


def test_a_locked_ledger_is_waited_for_and_then_named(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger", wait=0.2)
    with closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerLockedError, match=r"in use by another process .* within 0.2 s. Nothing was recorded"):
            spend(book, "1", "0.5")
        with pytest.raises(LedgerLockedError):
            book.state()
        other.execute("ROLLBACK")
    spend(book, "1", "0.5")
    assert len(book.verify().entries) == 1


def test_a_lock_that_ends_in_time_is_no_problem(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    assert book.wait == 30
    with closing(sqlite3.connect(book.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        timer = threading.Timer(0.3, other.execute, ["ROLLBACK"])
        timer.start()
        spend(book, "1", "0.5")
        timer.join()
    assert book.total() == PrivacyLoss.of("0.5")


def test_a_read_only_disk_is_named_and_reading_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = history(tmp_path / "ledger")
    connect = store._connect

    def read_only(path: Path, wait: float) -> sqlite3.Connection:
        connection = connect(path, wait)
        connection.execute("PRAGMA query_only = ON")  # SQLite's own error for a write-protected file
        return connection

    monkeypatch.setattr(store, "_connect", read_only)
    with pytest.raises(LedgerError, match="the file or its folder is read-only"):
        spend(book, "9", "0.1")
    assert book.verify().ok


def test_a_full_disk_is_named_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = history(tmp_path / "ledger")
    connect = store._connect

    def full(path: Path, wait: float) -> sqlite3.Connection:
        connection = connect(path, wait)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(store, "_connect", full)
    with pytest.raises(LedgerError, match="the disk is full"):
        book.prepare(Request(price_list("2.31", "0.1"), {"emp": EMP}), spec_digest=SPEC, note="x" * 100_000).reserve()
    assert len(book.verify().entries) == 7


def test_a_file_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    book = history(tmp_path / "ledger")
    book.path.chmod(0o644)
    spend(book, "9", "0.1")
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600


def test_a_ledger_that_its_owner_made_read_only_stays_so(tmp_path: Path) -> None:
    book = history(tmp_path / "ledger")
    book.path.chmod(0o444)
    with suppress(LedgerError):  # which whoever may write all files does not get
        spend(book, "9", "0.1")
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o400


def test_a_ledger_that_was_moved_away_is_missed(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger") as book:
        made = spend(book, "1", "0.5")
        book.path.rename(tmp_path / "elsewhere")
        with pytest.raises(LedgerError, match="there is no ledger"):
            book.commit(made.release_id, MANIFEST)
        Ledger.open(tmp_path / "ledger")
        with pytest.raises(GedpError, match="was replaced by another one") as refused:
            spend(book, "1", "0.5")
        assert refused.value.exit_code == 1


def test_a_failure_between_writing_and_committing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = history(tmp_path / "ledger")
    append = store.append

    def interrupted(*arguments: object) -> None:
        append(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spend(book, "9", "0.1")
    assert len(book.verify().entries) == 7
    assert book.verify().ok


def test_who_is_known_even_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("no such user")

    monkeypatch.setattr(getpass, "getuser", nameless)
    book = Ledger.open(tmp_path / "ledger")
    assert spend(book, "1", "0.5").entry.who == f"user {os.getuid()}"


def test_a_new_ledger_has_a_key_of_its_own_and_its_name_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    one, other = (Ledger.open(tmp_path / name) for name in ("one", "other"))
    assert tmp_path.stat().st_ino in synced
    assert len(one.key()) == len(other.key()) == 32
    assert one.key() != other.key()


def test_what_holds_is_said_of_one_release_or_of_several(tmp_path: Path) -> None:
    book = Ledger.open(tmp_path / "ledger")
    assert "nothing is spent" in book.promise().sentence
    spend(book, "1", "0.3")
    assert book.promise().sentence.startswith("Over the release that counts, nobody")
    spend(book, "1", "0.4")
    assert book.promise().sentence.startswith("Over the 2 releases that count, taken together, nobody")
    assert "N(0.5,1)" in book.promise().sentence


def test_a_raised_budget_is_shown_with_the_digits_that_tell() -> None:
    one, more = PrivacyLoss.of(1), PrivacyLoss.of("1.0000000001")
    assert _raise(one, more) == "raised from mu = 1 to mu = 1.0000000001"
    assert _raise(one, None) == "removed, which was mu = 1"
    assert _raise(one, one) == _raise(more, one) == _raise(None, more) == _raise(None, None) == ""


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"cannot read .*missing: no such file or directory"):
        file_digest(tmp_path / "missing", b"key")


def test_columns_are_known_to_have_been_split_by_both_of_their_parts() -> None:
    protection = Protection(Sqrt(), 0.5)
    names = ("profit_gain", "profit_loss", "gain_gain", "gain_loss", "stock_gain", "tax_loss", "emp")
    assert _split_before(dict.fromkeys(names, protection)) == {"profit", "gain"}
