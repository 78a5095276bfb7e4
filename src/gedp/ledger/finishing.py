"""Releases of which the ledger knows no end: finished from what is on disk, or recorded as lost.

A release counts from its first draw on, whatever becomes of it, so nothing here spends budget or gives any back. One
that is whole, every file as its manifest says, gets its name if it has none, and its last entry. Any other cannot be
made again: other noise would be other answers, at another price.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gedp.errors import GedpError, Refused
from gedp.files import real, sha256
from gedp.folders import Claim, held, private_folder
from gedp.ledger.amounts import mu_up
from gedp.ledger.finding import near
from gedp.ledger.ledger import Ledger
from gedp.ledger.running import forget_places, is_running, place_of
from gedp.ledger.state import RecordedRelease
from gedp.release import MANIFEST, ReleaseExistsError, TamperedReleaseError, read_release
from gedp.release.answer import ANSWER, Answer, name_answer, read_answer
from gedp.release.writer import give_name

_PRIVATE = re.compile(re.escape(private_folder(Path("NAME")).name).replace("NAME", "(.+)"))


@dataclass(frozen=True)
class Unfinished:
    """A release that has budget set aside and no end in the ledger, and where it was to go, if that is known."""

    release: RecordedRelease
    place: Path | None
    running: bool  # its process is seen to live

    @property
    def id(self) -> str:
        """Under which name the ledger knows it."""
        return self.release.reserve.release

    @property
    def name(self) -> str:
        """What messages call it, as `gedp ledger show` does."""
        return f"Release {self.id[:8]}"


@dataclass(frozen=True)
class Closed:
    """What became of a release that had no end, in a word and in a sentence."""

    release: str
    outcome: Literal["finished", "abandoned", "open"]
    sentence: str


def unfinished(ledger: Ledger) -> list[Unfinished]:
    """Every release of which the ledger knows no end."""
    return [
        Unfinished(release, place_of(ledger, release.reserve.release), is_running(ledger, release.reserve.release))
        for release in ledger.state().releases
        if release.outcome == "reserved"
    ]


def finish(ledger: Ledger, at: Path | None = None) -> list[Closed]:
    """Brings releases that were interrupted to their end: all of them, or the one that is `at` a folder or a file.

    A whole release gets its name, never over something that is there, and is finished in the ledger; one that is not
    whole is abandoned there. Its price stays spent in both cases. To do it again changes nothing.
    """
    if at is not None:
        found = _meant(ledger, at)
        closed = [found if isinstance(found, Closed) else _closed(ledger, found)]
    else:
        closed = [_closed_or_open(ledger, each) for each in unfinished(ledger)]
    forget_places(ledger, still=(each.id for each in unfinished(ledger)))
    return closed


def seal(ledger: Ledger, release: str, out: Path) -> None:
    """Records that a release is whole, by the digest of its manifest or of an answer's file."""
    ledger.commit(release, sha256(out / MANIFEST if out.is_dir() else out))


def release_in(out: Path) -> str | None:
    """Under which name a ledger knows what is in a folder or file, as its manifest has it; None for anything else."""
    with suppress(GedpError):
        if out.is_dir() and not (out / ANSWER).exists():
            return read_release(out, check=False).manifest.release
        return _answer_in(out).release
    return None


def require_nothing_left(ledger: Ledger | None, folder: Path) -> None:
    """Rejects a private folder with a release that is paid for and only lacks its name, which nobody is making."""
    release = None if ledger is None else release_in(folder)
    if ledger is None or release is None or is_running(ledger, release):
        return
    if any(each.id == release for each in unfinished(ledger)):
        raise ReleaseExistsError(
            f"{near(folder)} holds a release that is paid for and only lacks its name; nothing more was spent. Finish "
            f"it with: gedp ledger finish {ledger.path} (finish in Python). Or remove it: its price stays spent"
        )


def _meant(ledger: Ledger, at: Path) -> Unfinished | Closed:
    """The release that is in a place, or was to come there; rejected where the ledger knows of none."""
    private = _PRIVATE.fullmatch(at.name)
    place = real(at.with_name(private[1]) if private else at)
    here = {release_in(place), release_in(private_folder(place))}
    known = [each for each in ledger.state().releases if each.reserve.release in here]
    for each in unfinished(ledger):
        if each.id in here or (not known and each.place == place):
            return Unfinished(each.release, place, each.running)
    if finished := [each.reserve.release for each in known if each.outcome == "finished"]:
        return Closed(finished[0], "finished", f"Release {finished[0][:8]} in {near(place)} is finished already.")
    if known:
        raise Refused(f"the ledger has the release in {near(place)} as {known[0].outcome}, which is its end")
    raise Refused(f"there is nothing to finish in {near(place)}: no release in {ledger.path} was to come there")


def _closed_or_open(ledger: Ledger, each: Unfinished) -> Closed:
    """As `_closed`; what stands in the way of one release does not keep the others from their end."""
    try:
        return _closed(ledger, each)
    except GedpError as error:
        return Closed(each.id, "open", f"{each.name}: {error}")


def _closed(ledger: Ledger, each: Unfinished) -> Closed:
    if each.running:
        where = f" in {near(each.place)}" if each.place else ""
        return Closed(each.id, "open", f"{each.name} is still being made{where}.")
    if each.place is None:
        problem = "the ledger has no end of it, and nothing says where it was to go. Name its folder, or the file"
        return Closed(each.id, "open", f"{each.name}: {problem} of an answer: gedp ledger finish {ledger.path} FOLDER")
    if not each.place.parent.is_dir():
        problem = f"{each.place.parent}, where it was to go, is not there. Mount its disk, or make that folder again"
        return Closed(each.id, "open", f"{each.name}: {problem}")
    whole = _is_whole(each, each.place)
    if whole:
        seal(ledger, each.id, each.place)
        with suppress(OSError):
            private_folder(each.place).rmdir()  # where it is empty
        said = f"{each.name} is finished: {near(each.place)} is whole. Nothing more was spent."
    else:
        problem = _problem(each.id, each.place)
        ledger.abandon(each.id, f"ended after its first draw; {problem}")
        _clear(ledger, each.place)
        said = (
            f"{each.name} cannot be finished: {problem}. Its noise was drawn, and parts of it may have been seen, so "
            f"mu = {mu_up(each.release.reserve.loss)} stays spent. It is recorded as abandoned."
        )
    return Closed(each.id, "finished" if whole else "abandoned", said)


def _is_whole(each: Unfinished, place: Path) -> bool:
    """Whether the release is whole in its place. One that only lacks its name gets it; an altered one is rejected."""
    if release_in(place) == each.id:
        _require_paid(each, place)
        return True
    left = private_folder(place)
    if release_in(left) != each.id:
        return False
    try:
        _require_paid(each, left)
        _give_name(left, place)
    except TamperedReleaseError:
        return False
    return True


def _require_paid(each: Unfinished, out: Path) -> None:
    """Rejects what is not as its manifest says, or costs something else than was set aside for it."""
    is_release = (out / MANIFEST).exists()
    stated = read_release(out).manifest.prices.total if is_release else _answer_in(out).loss
    if stated != each.release.reserve.loss:
        raise Refused(f"{near(out)} has another price than was set aside for it, so it was altered")


def _give_name(left: Path, place: Path) -> None:
    """Gives a release or an answer in its private folder its name."""
    if (left / MANIFEST).exists():
        give_name(left, place)
        return
    with held(left):
        name_answer(left, place)


def _answer_in(out: Path) -> Answer:
    """The answer in a file, or in a private folder."""
    return read_answer(out / ANSWER if out.is_dir() else out)


def _problem(release: str, place: Path) -> str:
    """Why there is nothing to finish. What lies there may be another release."""
    left = private_folder(place)
    ours = left.is_dir() and release_in(left) in (None, release)
    return f"{near(left)} is not whole" if ours else f"it is not in {near(place)}"


def _clear(ledger: Ledger, place: Path) -> None:
    """Removes the private folder of a release that cannot be finished."""
    if any(other.place == place for other in unfinished(ledger)):
        return  # it may be another's
    with suppress(OSError, GedpError):
        if private_folder(place).is_dir():
            claim = Claim(place)
            claim.take()
            claim.give_up()
