"""Errors of gedp: one base class. Messages carry parameters and counts, never a record's value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class GedpError(Exception):
    """Base class. `exit_code` is what the command line ends with."""

    exit_code = 2

    def __reduce__(self) -> tuple[Callable[..., "GedpError"], tuple[Any, ...]]:
        """From one process to another without calling `__init__`, whose parameters differ."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[GedpError], args: tuple[Any, ...], state: Mapping[str, Any]) -> GedpError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def how_to_install(extra: str) -> str:
    """The commands that install the libraries of an extra; gedp is on no public index."""
    return f"pip install '.[{extra}]' in a checkout of gedp, or pip install 'WHEEL[{extra}]' with its wheel"


class DomainError(GedpError):
    """A function was asked for a value outside the range on which it is defined."""


class Refused(GedpError):  # noqa: N818 - reads as what happened: the release was refused
    """The request was understood and turned down."""

    exit_code = 1


class BudgetExceededError(Refused):
    """The queries cost more than the budget allows."""


class TableChangedError(GedpError):
    """The confidential table is no longer the one that was checked."""

    def __init__(self) -> None:
        super().__init__("the table changed while it was read; nothing was published. Run again once it is final")


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input: where, what, and what to do about it."""

    place: str
    problem: str
    suggestion: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. {self.suggestion}"


class FaultsError(GedpError):
    """Everything wrong with one input, found in one pass."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        count = f"{len(self.faults)} fault" + ("s" if len(self.faults) != 1 else "")
        super().__init__("\n  ".join([f"{source}: {count}", *map(str, self.faults)]))
