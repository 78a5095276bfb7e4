"""Questions that several threads ask at about the same time, answered together."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(frozen=True, repr=False)
class _Round(Generic[Q, A]):
    questions: list[Q] = field(default_factory=list)
    answers: Future[Sequence[A]] = field(default_factory=Future)


class BatchingBarrier(Generic[Q, A]):
    """Waits until every member has a question. Whoever asks last finds the answers for all."""

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]]) -> None:
        self._answer, self._members = answer, 0
        self._round, self._changed = _Round[Q, A](), Condition()

    @contextmanager
    def member(self) -> Iterator[None]:
        """While inside, the others wait for the questions of this thread."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def ask(self, question: Q) -> A:
        """The answer to a question; an error in finding any answer is everybody's."""
        with self._changed:
            mine, place = self._round, len(self._round.questions)
            mine.questions.append(question)
            self._changed.notify_all()
            self._changed.wait_for(lambda: mine is not self._round or len(mine.questions) >= self._members)
            is_last = mine is self._round
            if is_last:
                self._round = _Round()
                self._changed.notify_all()
        if is_last:
            try:
                mine.answers.set_result(self._answer(mine.questions))
            except BaseException as error:
                mine.answers.set_exception(error)
        return mine.answers.result()[place]

    def _count(self, more: int) -> None:
        with self._changed:
            self._members += more
            self._changed.notify_all()
