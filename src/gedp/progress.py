"""How long work tells of its progress: it calls what it is given, and says nothing if that is nothing."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # the step, how much of it is done, and of how much (0: unknown)
Advance = Callable[[int], object]  # how much was done since the last call
NextStep = Callable[[str], None]  # the step that begins


def silent(*_: object) -> None:
    """Shows no progress."""
