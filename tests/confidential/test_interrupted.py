"""Releases that end at any step: before the first draw nothing is paid, and after it nothing is forgotten or lost."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pytest

import gedp
from gedp.confidential.recording import Record, paid_by
from gedp.errors import BudgetExceededError
from gedp.folders import private_folder
from gedp.ledger import Ledger, LedgerLockedError, PreparedReservation, Request, spec_digest
from gedp.ledger.finishing import require_nothing_left, unfinished
from gedp.noise import gaussian
from gedp.noise.entropy import SystemEntropy, Words
from gedp.release import Manifest
from gedp.release.answer import read_answer
from tests.helpers import interrupting
from tests.helpers.builder import spec_of, table_of
from tests.helpers.canaries import sings
from tests.helpers.interrupting import (
    CONFIDENTIAL,
    LEDGER,
    OUT,
    WORLDS,
    Ending,
    is_named,
    is_whole,
    steps_of,
    told,
    watched,
)
from tests.helpers.runs import names

pytestmark = pytest.mark.usefixtures("no_disk_waits")

PRIVATE = private_folder(Path(OUT)).name


def whole(folder: Path, out: str = OUT) -> bool:
    """Whether there is a release, or an answer, that anybody can read; half of one is an error."""
    path = folder / out
    if not os.path.lexists(path):
        return False
    return bool((read_answer(path) if path.is_file() else gedp.read_release(path).manifest).release)


def finished(folder: Path) -> list[str]:
    """How `finish` brings releases to their end; there may be no ledger yet."""
    if not (folder / LEDGER).exists():
        return []
    return [closed.outcome for closed in gedp.finish(folder / LEDGER)]


def price_of(world: str, folder: Path) -> Fraction:
    """What the release costs, from one that nothing ends."""
    folder.mkdir()
    WORLDS[world](folder)
    return told(folder)[0]


def raised(kind: type[BaseException]) -> Any:
    def end() -> NoReturn:
        raise kind

    return end


def chosen(steps: list[str]) -> Iterator[int]:
    """The first and the last time of every step."""
    for step in dict.fromkeys(steps):
        places = [place for place, name in enumerate(steps) if name == step]
        yield from sorted({places[0], places[-1]})


@pytest.mark.parametrize(("world", "kind"), [*((world, KeyboardInterrupt) for world in WORLDS), ("prices", SystemExit)])
def test_an_interrupt_costs_nothing_before_the_first_draw_and_the_price_after_it(
    world: str, kind: type[BaseException], tmp_path: Path
) -> None:
    """At every step of a release, the first and the last time. What is whole by then is finished, or by `finish`."""
    price = price_of(world, tmp_path / "price")
    (tmp_path / "steps").mkdir()
    steps = steps_of(world, tmp_path / "steps")
    assert price > 0
    seen_outcomes = set()
    for number in chosen(steps):
        folder = tmp_path / str(number)
        folder.mkdir()
        ending = Ending(number, raised(kind))
        with pytest.raises(kind) as caught, watched(ending):
            WORLDS[world](folder)
        seen = ending.seen[: number + 1]
        notes = " ".join(getattr(caught.value, "__notes__", []))
        paid = "after reserve" in seen[:-1]
        spent, outcomes = told(folder)
        assert spent == (price if paid else 0), seen
        named = is_named(seen)
        if not paid:
            assert outcomes == (["unspent"] if seen[-1] == "after reserve" else [])
            assert "counts as spent" not in notes
        elif named:
            assert outcomes == ["finished"]
            assert "is whole and paid for" in notes
        elif is_whole(seen):
            assert outcomes == ["reserved"]
            assert f"gedp ledger finish {folder / LEDGER}" in notes
        else:
            assert outcomes == ["abandoned"]
            assert "is lost and mu = " in notes
        left = outcomes == ["reserved"]
        assert [name for name in names(folder) if name.startswith(".")] == (
            [PRIVATE, *notes_in(folder)] if left else []
        )
        assert finished(folder) == (["finished"] if left else [])
        assert whole(folder) == (named or left)
        assert told(folder)[0] == spent
        assert not [name for name in names(folder) if name.startswith(".")]
        seen_outcomes |= {*outcomes, "left" if left else ""}
    assert {"unspent", "abandoned", "finished", "left"} <= seen_outcomes


def notes_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(f".{LEDGER}.*.open")]


#: One moment of each kind: unpaid, drawn, whole, named.
MOMENTS = ("before reserve", "after reserve", "before answers", "before name", "before commit")


@pytest.mark.parametrize(
    ("world", "moments"),
    [
        pytest.param("prices", MOMENTS, id="prices"),
        *(pytest.param(world, (), marks=pytest.mark.slow, id=f"{world}, at every step") for world in WORLDS),
    ],
)
def test_a_killed_release_is_finished_or_lost_and_paid_once(
    world: str, moments: Sequence[str], tmp_path: Path, processes: Any
) -> None:
    price = price_of(world, tmp_path / "price")
    (tmp_path / "steps").mkdir()
    steps, ends = steps_of(world, tmp_path / "steps"), set()
    for number in map(steps.index, moments) if moments else chosen(steps):
        folder = tmp_path / str(number)
        folder.mkdir()
        child = processes.Process(target=interrupting.kill_at, args=(world, folder, number))
        child.start()
        child.join(120)
        assert child.exitcode == -9
        seen = steps[: number + 1]
        paid, complete = "after reserve" in seen, is_whole(seen)
        committed = "after commit" in seen
        expected = [] if not paid else ["finished" if committed else "reserved"]
        assert told(folder) == (price if paid else 0, expected), seen
        for path in folder.rglob("*"):
            assert not (path.is_file() and sings(path.read_bytes())), "nothing confidential is left"
        closed = finished(folder)
        assert closed == ([] if not paid or committed else ["finished" if complete else "abandoned"])
        assert whole(folder) == complete
        assert told(folder)[0] == (price if paid else 0)
        if paid:
            assert finished(folder) == []
            assert names(folder) == ([OUT, LEDGER] if complete else [LEDGER])
        ends |= set(closed)
        if not whole(folder):  # the next one into the same place is a release like any other
            WORLDS[world](folder)
            assert told(folder)[0] == (2 * price if paid else price)
    assert ends == {"finished", "abandoned"}


def killed_when_whole(folder: Path, processes: Any) -> None:
    """Leaves a release that is whole and has no name."""
    (folder / "steps").mkdir()
    number = steps_of("prices", folder / "steps").index("before name")
    child = processes.Process(target=interrupting.kill_at, args=("prices", folder, number))
    child.start()
    child.join(120)
    assert child.exitcode == -9


def test_a_whole_leftover_is_not_cleared_away_and_a_rerun_pays_again(tmp_path: Path, processes: Any) -> None:
    """So nobody gets two sets of noise about the same table, to be averaged, for the price of one."""
    killed_when_whole(tmp_path, processes)
    price = told(tmp_path / "steps")[0]
    manifest = (tmp_path / PRIVATE / "manifest.json").read_bytes()
    spec: Any = spec_of(**CONFIDENTIAL)
    for attempt in (gedp.run, gedp.check):
        options: Any = {"out": tmp_path / OUT, "ledger": tmp_path / LEDGER}
        with pytest.raises(gedp.GedpError, match="only lacks its name; nothing more was spent"):
            attempt(spec, table_of(), **options)
    assert told(tmp_path) == (price, ["reserved"])
    WORLDS["prices"](tmp_path, "other")
    assert told(tmp_path) == (2 * price, ["reserved", "finished"])
    (closed,) = gedp.finish(tmp_path / LEDGER, tmp_path / OUT)
    assert closed.outcome == "finished"
    assert (tmp_path / OUT / "manifest.json").read_bytes() == manifest
    assert told(tmp_path) == (2 * price, ["finished", "finished"])
    (closed,) = gedp.finish(tmp_path / LEDGER, tmp_path / OUT)
    assert "is finished already" in closed.sentence


def test_a_leftover_that_was_altered_is_lost_and_a_place_that_is_taken_is_kept(tmp_path: Path, processes: Any) -> None:
    killed_when_whole(tmp_path, processes)
    (tmp_path / OUT).mkdir()
    (tmp_path / OUT / "mine.txt").write_text("mine")
    (closed,) = gedp.finish(tmp_path / LEDGER)
    assert (closed.outcome, "already exists" in closed.sentence) == ("open", True)
    with pytest.raises(gedp.GedpError, match="already exists"):
        gedp.finish(tmp_path / LEDGER, tmp_path / PRIVATE)
    assert (tmp_path / OUT / "mine.txt").read_text() == "mine"
    (tmp_path / OUT / "mine.txt").unlink()
    (tmp_path / PRIVATE / "foreign.txt").touch()
    with pytest.raises(gedp.GedpError, match="is not part of a release"):
        gedp.finish(tmp_path / LEDGER, tmp_path / OUT)
    (tmp_path / PRIVATE / "foreign.txt").unlink()
    with (tmp_path / PRIVATE / "identity.parquet").open("ab") as file:
        file.write(b"x")
    spent = told(tmp_path)[0]
    (closed,) = gedp.finish(tmp_path / LEDGER)
    assert closed.outcome == "abandoned"
    assert "is not whole. Its noise was drawn, and parts of it may have been seen, so mu = " in closed.sentence
    assert told(tmp_path) == (spent, ["abandoned"])
    assert not (tmp_path / PRIVATE).exists()


def test_a_leftover_of_another_price_is_refused(
    tmp_path: Path, processes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_when_whole(tmp_path, processes)
    monkeypatch.setattr(Manifest, "prices", gedp.price(spec_of(queries=["county"])))
    (closed,) = gedp.finish(tmp_path / LEDGER)
    assert (closed.outcome, "another price than was set aside" in closed.sentence) == ("open", True), closed
    assert told(tmp_path)[1] == ["reserved"]


def test_of_two_that_were_killed_for_one_place_each_has_its_own_end(tmp_path: Path, processes: Any) -> None:
    (tmp_path / "steps").mkdir()
    steps = steps_of("prices", tmp_path / "steps")
    for step in ("before answers", "before name"):
        child = processes.Process(target=interrupting.kill_at, args=("prices", tmp_path, steps.index(step)))
        child.start()
        child.join(120)
        assert child.exitcode == -9
    assert [closed.outcome for closed in gedp.finish(tmp_path / LEDGER)] == ["abandoned", "finished"]
    assert whole(tmp_path)


def test_a_release_on_a_disk_that_is_not_there_is_not_given_up(tmp_path: Path) -> None:
    def end(step: str) -> None:
        if step == "before name":
            raise KeyboardInterrupt

    (tmp_path / "disk").mkdir()
    with pytest.raises(KeyboardInterrupt), watched(end):
        WORLDS["prices"](tmp_path, "disk/out")
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    (closed,) = gedp.finish(tmp_path / LEDGER)
    assert (closed.outcome, "Mount its disk" in closed.sentence) == ("open", True)
    assert told(tmp_path)[1] == ["reserved"]
    (tmp_path / "unmounted").rename(tmp_path / "disk")
    assert finished(tmp_path) == ["finished"]
    assert whole(tmp_path, "disk/out")


def test_a_release_that_is_being_made_is_left_alone(tmp_path: Path) -> None:
    seen = []

    def look(step: str) -> None:
        if step == "before name":
            seen.append(gedp.finish(tmp_path / LEDGER))
            require_nothing_left(Ledger.open(tmp_path / LEDGER), tmp_path / PRIVATE)

    with watched(look):
        WORLDS["prices"](tmp_path)
    (((closed,),),) = ((found,) for found in seen)
    assert (closed.outcome, "is still being made" in closed.sentence) == ("open", True)
    assert told(tmp_path)[1] == ["finished"]


def test_a_reservation_of_unknown_place_is_finished_where_it_is_named(tmp_path: Path, processes: Any) -> None:
    killed_when_whole(tmp_path, processes)
    for note in notes_in(tmp_path):
        (tmp_path / note).unlink()
    (closed,) = gedp.finish(tmp_path / LEDGER)
    assert (closed.outcome, "nothing says where it was to go" in closed.sentence) == ("open", True)
    with pytest.raises(gedp.GedpError, match="there is nothing to finish in"):
        gedp.finish(tmp_path / LEDGER, tmp_path / "for_worker")
    assert [closed.outcome for closed in gedp.finish(tmp_path / LEDGER, tmp_path / PRIVATE)] == ["finished"]
    assert not unfinished(Ledger.open(tmp_path / LEDGER))


def test_a_release_that_the_ledger_has_given_up_or_never_had_is_not_finished(tmp_path: Path, processes: Any) -> None:
    killed_when_whole(tmp_path, processes)
    ledger = Ledger.open(tmp_path / LEDGER)
    with pytest.raises(gedp.GedpError, match="there is nothing to finish in"):
        gedp.finish(Ledger.open(tmp_path / "other.ledger"), tmp_path / OUT)
    ledger.abandon(ledger.state().releases[0].reserve.release, "by hand")
    with pytest.raises(gedp.GedpError, match="as abandoned, which is its end"):
        gedp.finish(ledger, tmp_path / OUT)


def test_whoever_loses_a_race_is_refused_at_the_first_draw_and_pays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = PreparedReservation.reserve

    def overtaken(prepared: PreparedReservation) -> Any:
        monkeypatch.setattr(PreparedReservation, "reserve", reserve)
        WORLDS["prices"](tmp_path, "winner")
        return reserve(prepared)

    monkeypatch.setattr(PreparedReservation, "reserve", overtaken)
    monkeypatch.setattr(interrupting, "CONFIDENTIAL", {**CONFIDENTIAL, "budget": {"mu": 5}})  # one costs 22 of 25
    with pytest.raises(BudgetExceededError) as refused:
        WORLDS["prices"](tmp_path)
    assert not getattr(refused.value, "__notes__", [])
    assert told(tmp_path)[1] == ["finished"]
    assert names(tmp_path) == ["winner", LEDGER]


def test_threads_that_draw_at_once_pay_once_and_none_draws_before(tmp_path: Path) -> None:
    """Forty threads at one door; a source that is asked while nothing is recorded says so."""
    ledger = Ledger.open(tmp_path / LEDGER)
    spec = spec_of(**CONFIDENTIAL)
    prepared = ledger.prepare(Request.of(spec), spec_digest=spec_digest(spec))
    record = Record(prepared, tmp_path / OUT, lambda: None)
    drawn = []

    class Watching(SystemEntropy):
        def words(self, n: int) -> Words:
            drawn.append(len(ledger.state().releases))
            return super().words(n)

    entropy = paid_by(record, Watching())
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(entropy.words, [3] * 40))
    assert (drawn, told(tmp_path)[1]) == ([1] * 40, ["reserved"])


def test_a_price_that_was_refused_once_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads would each wait for a ledger that is in use."""
    spec = spec_of(**CONFIDENTIAL)
    prepared = Ledger.open(tmp_path / LEDGER).prepare(Request.of(spec), spec_digest=spec_digest(spec))
    entropy = paid_by(Record(prepared, tmp_path / OUT, lambda: None), SystemEntropy())
    tries = []

    def locked(prepared: PreparedReservation) -> NoReturn:
        tries.append(prepared)
        raise LedgerLockedError("the ledger is in use")

    monkeypatch.setattr(PreparedReservation, "reserve", locked)
    for ask in (lambda: entropy.words(1), entropy.spare, entropy.for_worker):
        with pytest.raises(gedp.GedpError, match="the ledger is in use"):
            ask()
    assert len(tries) == 1
    assert told(tmp_path) == (Fraction(0), [])
    assert names(tmp_path) == [LEDGER]


def test_a_release_without_any_draw_is_recorded_before_it_has_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaussian, "with_noise", lambda steps, scale, entropy: steps)
    seen = steps_of("prices", tmp_path)
    assert "before draw" not in seen
    assert seen.index("after reserve") < seen.index("before manifest")
    assert told(tmp_path)[1] == ["finished"]
