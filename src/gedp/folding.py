"""Many names in a few words: those of which the same is said are named together, the first of them by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

MOST_APART = 6  # names; where there are more, those of which the same is said are told of together
MOST_LISTED = 3  # of those that are told of together, by name

T = TypeVar("T")
Title = Callable[[str], str]


def together(names: Sequence[str]) -> str:
    """Several names in a few words.

    >>> together(["a", "b", "c"]), together(["a", "b", "c", "d"])
    ('a, b and c', 'a, b and 2 more')
    """
    if len(names) > MOST_LISTED:
        return f"{', '.join(names[: MOST_LISTED - 1])} and {len(names) - MOST_LISTED + 1} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def each_of(names: Sequence[str]) -> str:
    """The same as a heading for what each of them has.

    >>> each_of(["a"]), each_of(["a", "b"])
    ('a', 'each of a and b')
    """
    return ("each of " if len(names) > 1 else "") + together(names)


def named(names: Sequence[str]) -> str:
    """All names where they are few, the first of them where they are many.

    >>> named("abcd"), named("abcdefgh")
    ('a, b, c, d', 'a, b and 6 more')
    """
    return ", ".join(names) if len(names) <= MOST_APART else together(names)


def alike(numbers: Mapping[str, T]) -> list[tuple[T, list[str]]]:
    """The names with the same numbers, together where there are many."""
    if len(numbers) <= MOST_APART:
        return [(number, [name]) for name, number in numbers.items()]
    found: dict[T, list[str]] = {}
    for name, number in numbers.items():
        found.setdefault(number, []).append(name)
    return list(found.items())


def folded(columns: Mapping[str, T], title: Title = str) -> dict[str, str]:
    """Headings for what names have, each with a name that has it: of many, alike ones share one."""
    return {each_of([*map(title, names)]): names[0] for _, names in alike(columns)}


def listed(texts: Mapping[str, str], title: Title = str) -> str:
    """What is said of every name; of many, once for those of which the same is said."""
    return ", ".join(
        f"{together([*map(title, names)])} {text}{' each' if len(names) > 1 else ''}" for text, names in alike(texts)
    )
