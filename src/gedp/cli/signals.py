"""Being asked to end is an interrupt: what was begun is put away, and the ledger hears of it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Inside, the polite signals raise KeyboardInterrupt as ^C does; gives the list of those that came."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]  # nohup's choice stands
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
