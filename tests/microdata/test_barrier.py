"""Questions of several threads, answered together."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.microdata.barrier import BatchingBarrier


class Squares:
    """Answers with squares, and remembers which questions came together."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []

    def __call__(self, questions: Sequence[int]) -> list[int]:
        self.rounds.append(sorted(questions))
        return [question**2 for question in questions]


def ask_all(asked: Sequence[Sequence[int]], barrier: BatchingBarrier[int, int]) -> list[list[int]]:
    """Every thread asks its questions one after the other; all are members before anybody asks."""
    ready = Barrier(len(asked))

    def answers(questions: Sequence[int]) -> list[int]:
        with barrier.member():
            ready.wait(10)
            return [barrier.ask(question) for question in questions]

    with ThreadPoolExecutor(len(asked)) as threads:
        return list(threads.map(answers, asked, timeout=30))


@given(st.lists(st.lists(st.integers(0, 99), max_size=6), min_size=1, max_size=5))
@settings(deadline=None)
def test_everybody_gets_their_own_answer_in_as_few_rounds_as_the_longest_takes(asked: list[list[int]]) -> None:
    squares = Squares()
    assert ask_all(asked, BatchingBarrier(squares)) == [[question**2 for question in each] for each in asked]
    rounds = max(map(len, asked))
    assert squares.rounds == [sorted(each[turn] for each in asked if turn < len(each)) for turn in range(rounds)]


def test_whoever_is_no_member_is_answered_at_once() -> None:
    assert BatchingBarrier(Squares()).ask(7) == 49


def test_an_error_is_everybodys_and_the_next_round_goes_on() -> None:
    def answer(questions: Sequence[int]) -> list[int]:
        if 0 in questions:
            raise ZeroDivisionError
        return [6 // question for question in questions]

    barrier, ready = BatchingBarrier[int, int](answer), Barrier(2)

    def asking(first: int) -> int:
        with barrier.member():
            ready.wait(10)
            with pytest.raises(ZeroDivisionError):
                barrier.ask(first)
            return barrier.ask(first + 1)

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(asking, [0, 1], timeout=30)) == [6, 3]


def test_who_leaves_by_an_error_is_not_waited_for() -> None:
    squares = Squares()
    barrier, ready = BatchingBarrier(squares), Barrier(2)

    def asking(question: int) -> int:
        with barrier.member():
            ready.wait(10)
            if question < 0:
                raise ValueError
            return barrier.ask(question)

    with ThreadPoolExecutor(2) as threads:
        failed, answered = threads.submit(asking, -1), threads.submit(asking, 3)
        assert answered.result(30) == 9
        assert isinstance(failed.exception(30), ValueError)
    assert squares.rounds == [[3]]
