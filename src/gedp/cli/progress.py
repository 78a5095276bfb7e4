"""Progress of work in named steps: one line that says what is being done, with a bar where its length is known."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from gedp.cli.console import make_console
from gedp.cli.log import current_log


class Steps:
    """The current step; call `step` when another begins, `advance` or `reach` as it proceeds."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)
        self._name = ""
        self._done: int | None = None  # of the current step, where that is counted

    def step(self, name: str, total: int | None = None) -> None:
        """Begins a step, with a bar if its `total` is known."""
        if log := current_log():
            log.step(name, self._done)
        self._name, self._done = name, None
        self._progress.reset(self._task, total=total, description=name)

    def advance(self, amount: int) -> None:
        """Moves the bar of the current step on by `amount`."""
        self._progress.advance(self._task, amount)

    def reach(self, name: str, done: int, total: int) -> None:
        """Sets the bar of the named step to `done` of `total` (0 if unknown), beginning the step if need be."""
        if name != self._name:
            self.step(name, total or None)
        self._done = done
        self._progress.update(self._task, completed=done)

    def count(self, name: str, done: int, total: int) -> None:
        """Does what `reach` does, and shows the numbers beside the name."""
        self.reach(name, done, total)
        self._progress.update(self._task, description=f"{name}: {done} of {total}")


@contextmanager
def steps() -> Iterator[Steps]:
    """Shows progress on the error stream, if that is a terminal, and clears it at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    console = make_console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=hidden) as progress:
        shown = Steps(progress)
        yield shown
        shown.step("")
