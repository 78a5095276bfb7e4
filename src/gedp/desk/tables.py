"""The tables of a desk: each made once, a few at a time, the last ones remembered."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from gedp.desk.question import Question
from gedp.desk.source import MadeTable

AT_ONCE = 2  # tables that are made side by side
ROOM = 256_000_000  # bytes of tables to remember
MOST_TABLES = 5_000
OVERHEAD, OF_A_LINE = 8_000, 32  # bytes that a table takes besides its columns


class Tables:
    """Makes tables when they are asked for. Safe to ask from many threads: whoever asks for the same waits for it."""

    def __init__(self, make: Callable[[Question], MadeTable], room: int = ROOM) -> None:
        self._make, self._room = make, room
        self._lock, self._makers = threading.Lock(), threading.Semaphore(AT_ONCE)
        self._made: OrderedDict[Question, MadeTable] = OrderedDict()
        self._taken = 0  # bytes
        self._in_work: dict[Question, Future[MadeTable]] = {}

    def get(self, question: Question) -> MadeTable:
        """The table, made now or before."""
        with self._lock:
            if (made := self._made.get(question)) is not None:
                self._made.move_to_end(question)
                return made
            waited_for = self._in_work.get(question)
            if waited_for is None:
                mine = self._in_work[question] = Future()
        if waited_for is not None:
            return waited_for.result()
        try:
            with self._makers:
                made = self._make(question)
        except BaseException as error:
            self._end(question)
            mine.set_exception(error)
            raise
        self._end(question, made)
        mine.set_result(made)
        return made

    def _end(self, question: Question, made: MadeTable | None = None) -> None:
        with self._lock:
            del self._in_work[question]
            if made is not None:
                self._made[question] = made
                self._taken += size_of(question, made)
            while len(self._made) > 1 and (self._taken > self._room or len(self._made) > MOST_TABLES):
                self._taken -= size_of(*self._made.popitem(last=False))


def size_of(question: Question, made: MadeTable) -> int:
    """About how many bytes it takes to remember a table and what it answers."""
    return OVERHEAD + len(repr(question)) + made.lines.nbytes + OF_A_LINE * made.lines.num_rows
