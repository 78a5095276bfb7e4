"""Signals that ask to end become interrupts, so that unfinished work is cleared away and the ledger records it."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_DEFAULTS: dict[str, Any] = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Inside, each signal that asks to end raises KeyboardInterrupt; yields the list of those that came.

    The list counts, not the error: other libraries turn an interrupt into errors of their own.
    """
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    def quiet(lost: "UnraisableHookArgs") -> None:
        if not (came and isinstance(lost.exc_value, KeyboardInterrupt)):
            sys.__unraisablehook__(lost)

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    known = {getattr(signal, name): default for name, default in _DEFAULTS.items() if hasattr(signal, name)}
    ours = [number for number, default in known.items() if signal.getsignal(number) is default]  # nohup's choice stands
    hook, sys.unraisablehook = sys.unraisablehook, quiet
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        sys.unraisablehook = hook
        for number in ours:
            signal.signal(number, known[number])
