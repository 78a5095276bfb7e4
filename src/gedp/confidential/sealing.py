"""What leaves with an error: no frame that held confidential values, and no message that might quote one.

Python's errors quote what they choke on, and debuggers, test runners and error trackers show the variables of every
frame of a traceback.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from traceback import walk_tb
from typing import ParamSpec, TypeVar

from gedp.errors import GedpError

P = ParamSpec("P")
R = TypeVar("R")


class UnexpectedError(GedpError):
    """Something went wrong that nobody thought of, while confidential values were at hand."""


def sealed(function: Callable[P, R]) -> Callable[P, R]:
    """Errors leave `function` without the frames below it, and unforeseen ones without their message."""

    @wraps(function)
    def sealing(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            leaving = _bare(error)
        del args, kwargs  # a table among them would show itself, row by row
        raise leaving  # only after the handler, so that nothing from inside hangs on as its context

    return sealing


def _bare(error: BaseException) -> BaseException:
    """Our own errors, the file system's and interrupts are safe to read; of others only the kind and the place are.

    So are those of a call that names no parameter of ours, or too few: nothing below has run.
    """
    below = error.__traceback__ and error.__traceback__.tb_next
    if isinstance(error, Exception) and not isinstance(error, GedpError | OSError) and below:
        places = [f"{Path(frame.f_code.co_filename).name}:{line}" for frame, line in walk_tb(error.__traceback__)]
        bare: BaseException = UnexpectedError(
            f"unexpected {type(error).__name__} at {' > '.join(places[-4:])}. Its message is withheld, as it could "
            "quote a record. Please report this"
        )
        for note in getattr(error, "__notes__", ()):
            bare.add_note(note)
        return bare
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
