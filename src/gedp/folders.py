"""Folders that are whole or absent, each filled by one process at a time.

What is being written is collected in a private folder and gets its name at the end. The lock is the operating system's,
on the folder itself: a process that was killed holds nothing, and what it left behind is cleared away by the next one,
unless whoever comes to clear it refuses.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gedp.errors import Fault, FaultsError, Refused
from gedp.files import WriteError, real, reason, writing

try:
    import fcntl
except ImportError:  # Windows: the last one to finish finds the place taken
    HAS_LOCKS = False
else:
    HAS_LOCKS = True


class PlaceTakenError(Refused):
    """Another process is writing in that place."""


class Claim:
    """A private folder in which one process collects what will come to `target`, until it ends, however it ends.

    By default it lies beside the target. `consequence` is what it means to be refused, for the message. To `take` it is
    a step of its own, so that an interrupt in the middle of it finds somebody who can `give_up`.
    """

    def __init__(self, target: Path, folder: Path | None = None, *, consequence: str = "nothing was written") -> None:
        self.target = target
        self.folder = folder or private_folder(target)
        self._consequence = consequence
        self._descriptors: list[int] = []
        self._fulfilled = False

    def take(self, look: Callable[[Path], None] | None = None) -> None:
        """Makes the folder, or empties what a killed process left there; rejected while another process holds it.

        Before it is emptied, `look` sees it, and may refuse: then it stays as it is.
        """
        while not self._try():
            pass  # the one before has just given its folder another name
        if look is not None:
            try:
                look(self.folder)
            except BaseException:
                self.leave()
                raise
        for entry in self.folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def _try(self) -> bool:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not HAS_LOCKS:
            return True
        self.also(self.folder)
        locked, there = os.fstat(self._descriptors[-1]), self.folder.stat()
        if os.path.samestat(locked, there):
            self.folder.chmod(0o700)
            return True
        self._release()
        return False

    def also(self, folder: Path) -> None:
        """Holds a second folder, which is about to come to the place of the first."""
        if HAS_LOCKS:
            self._descriptors.append(os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)))
            self._lock(self._descriptors[-1])

    def fulfilled(self) -> None:
        """The folder has come to its target."""
        self._fulfilled = True
        self._release()

    def leave(self) -> None:
        """Lets go of the folder and leaves it where it is, with what is in it."""
        self.fulfilled()

    def give_up(self) -> None:
        """Removes the folder, unless it has come to its target or another process holds it."""
        if self._fulfilled:
            return
        with suppress(OSError, PlaceTakenError):
            if not self._descriptors:
                self.also(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)
        self.fulfilled()

    def _lock(self, descriptor: int) -> None:
        try:
            _lock(descriptor, self.target, self._consequence)
        except PlaceTakenError:
            self._release()
            raise

    def _release(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


def private_folder(target: Path) -> Path:
    """Where what will come to a target is collected."""
    return target.with_name(f".{target.name}.gedp-partial")


class Hold:
    """A file that a process holds while it lives, and that tells others so; what is in it stays when the process dies.

    Where there are no locks, nobody is seen to hold it.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        with writing(path):
            self._descriptor: int | None = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                _lock(self._descriptor, path, "nothing was written")
                os.write(self._descriptor, os.fsencode(text))
            except BaseException:
                self.remove()
                raise

    def leave(self) -> None:
        """Lets go of it, and leaves it where it is."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def remove(self) -> None:
        """Removes it, where the file system lets us, and lets go of it."""
        with suppress(OSError):
            self.path.unlink()
        self.leave()


def is_held(path: Path) -> bool:
    """Whether a process that lives holds a file or a folder; where there are no locks, nobody is seen to."""
    try:
        with held(path):
            return False
    except PlaceTakenError:
        return True
    except OSError:  # it is gone
        return False


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A private folder that becomes `target` at the end, or is removed if anything goes wrong.

    `target` must not exist, or be an empty folder.
    """
    place = real(target)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        fault = Fault(str(target), "exists and is not an empty folder", "Name a new folder, or remove that one")
        raise FaultsError("the output", [fault])
    if not place.parent.is_dir():
        raise FaultsError("the output", [Fault(str(target.parent), "is not a folder", "Make it first")])
    claim = Claim(place)
    try:
        with writing(target):
            claim.take()
        yield claim.folder
        with writing(target):
            claim.folder.chmod(0o755)
            claim.folder.replace(place)
        claim.fulfilled()
    finally:
        claim.give_up()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a folder, or a file, that is there already and filled bit by bit."""
    if not HAS_LOCKS:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(descriptor, folder, "nothing was written")
        yield
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Makes a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot make the folder {path}: {reason(error)}") from None


def make_private(folder: Path) -> None:
    """Makes a folder that is for its owner alone, or closes one that is there."""
    with writing(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)


def _lock(descriptor: int, target: Path, consequence: str) -> None:
    if not HAS_LOCKS:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        problem = f"another process is writing to {target}, so {consequence}"
        raise PlaceTakenError(f"{problem}. Wait until it has ended") from None
