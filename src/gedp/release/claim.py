"""The place of a release while it is being made: one process at a time."""

import os
import shutil
from pathlib import Path

from gedp.errors import Refused

try:
    import fcntl
except ImportError:  # Windows: the last one to finish finds the place taken
    HAS_LOCKS = False
else:
    HAS_LOCKS = True


class PlaceTakenError(Refused):
    """Another process is making a release in that place."""


class Claim:
    """A private folder beside the place of a release, held by one process until it ends, however it ends.

    The lock is the operating system's, on the folder itself: a process that was killed holds nothing, and what it left
    behind is cleared away by the next one.
    """

    def __init__(self, target: Path) -> None:
        self.folder = target.with_name(f".{target.name}.gedp-partial")
        self._descriptors: list[int] = []
        while not self._try(target):
            pass  # the one before has just given its folder another name
        for entry in self.folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        self._fulfilled = False

    def _try(self, target: Path) -> bool:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not HAS_LOCKS:
            return True
        descriptor = os.open(self.folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        self._descriptors.append(descriptor)
        self._lock(descriptor, target)
        locked, there = os.fstat(descriptor), self.folder.stat()
        if os.path.samestat(locked, there):
            self.folder.chmod(0o700)
            return True
        self._release()
        return False

    def also(self, folder: Path) -> None:
        """Holds a second folder, which is about to come to the place of the first."""
        if HAS_LOCKS:
            self._descriptors.append(os.open(folder, os.O_RDONLY))
            self._lock(self._descriptors[-1], folder)

    def fulfilled(self) -> None:
        """The folder has become a release."""
        self._fulfilled = True
        self._release()

    def give_up(self) -> None:
        """Removes the folder, unless it has become a release."""
        if not self._fulfilled:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.fulfilled()

    def _lock(self, descriptor: int, target: Path) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._release()
            raise PlaceTakenError(f"another process is writing to {target}, so nothing was spent") from None

    def _release(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
