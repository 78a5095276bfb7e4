"""Periods of a series: years, quarters and months, the next and the one before, and the years that they are part of.

A year is any run of periods as long as a year (four quarters, twelve months), wherever it starts.
"""

import re
from dataclasses import dataclass

from gedp.errors import DomainError

#: How many periods of each kind a year has.
PER_YEAR = {"year": 1, "quarter": 4, "month": 12}
_TEXT = re.compile(r"(?P<year>[1-9][0-9]{3})(Q(?P<quarter>[1-4])|-(?P<month>0[1-9]|1[0-2]))?", re.ASCII)
_OTHER_QUARTER = re.compile(r"\s*([1-9][0-9]{3})[\s_-]*[qQ]0?([1-4])\s*", re.ASCII)
_OTHER_MONTH = re.compile(r"\s*([1-9][0-9]{3})[\s_/.-]?[mM]?(0[1-9]|1[0-2]|[1-9])\s*", re.ASCII)
WANTED = 'a year, quarter or month, like "2016", "2016Q1" or "2016-03"'


@dataclass(frozen=True, order=True)
class Period:
    """A year, a quarter or a month: `2016`, `2016Q1`, `2016-03`, each of which has this one spelling.

    >>> Period.of("2016Q4").next
    Period(2017Q1)
    >>> [str(start) for start, *_ in Period.of("2016Q1").years]
    ['2015Q2', '2015Q3', '2015Q4', '2016Q1']
    """

    per_year: int  # 1, 4 or 12
    number: int  # of all periods of its kind since the year 0

    @classmethod
    def of(cls, text: object) -> "Period":
        """The period of that name, which may be one already; rejects any other spelling of it."""
        if isinstance(text, Period):
            return text
        found = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise DomainError(f"{_shown(text)} is not a period. {meant(text)}")
        kind = next((kind for kind in ("quarter", "month") if found[kind]), "year")
        per_year = PER_YEAR[kind]
        return cls(per_year, int(found["year"]) * per_year + int(found[kind] if kind != "year" else 1) - 1)

    @property
    def kind(self) -> str:
        """Of which kind it is: year, quarter or month."""
        return next(kind for kind, number in PER_YEAR.items() if number == self.per_year)

    @property
    def next(self) -> "Period":
        """The period after it."""
        return self.moved(1)

    @property
    def previous(self) -> "Period":
        """The period before it."""
        return self.moved(-1)

    def moved(self, periods: int) -> "Period":
        """The period so many later, or earlier."""
        return Period(self.per_year, self.number + periods)

    @property
    def has_name(self) -> bool:
        """Whether its year has four digits, so that it can be written."""
        return 1000 <= self.number // self.per_year <= 9999

    @property
    def starts_year(self) -> bool:
        """Whether it is the first of a calendar year."""
        return self.number % self.per_year == 0

    @property
    def year_from(self) -> "tuple[Period, ...]":
        """The year that starts with it: four quarters, twelve months, one year."""
        return tuple(self.moved(later) for later in range(self.per_year))

    @property
    def years(self) -> "tuple[tuple[Period, ...], ...]":
        """Every year that it is part of, wherever that starts, the earliest first."""
        return tuple(self.moved(-earlier).year_from for earlier in reversed(range(self.per_year)))

    def __str__(self) -> str:
        year, part = divmod(self.number, self.per_year)
        return {1: f"{year}", 4: f"{year}Q{part + 1}", 12: f"{year}-{part + 1:02}"}[self.per_year]

    def __repr__(self) -> str:
        return f"Period({self})"


def meant(text: object) -> str:
    """A suggestion for what is not a period: the one that was meant, where that can be seen."""
    for other, shown in ((_OTHER_QUARTER, "{}Q{}"), (_OTHER_MONTH, "{}-{:0>2}")):
        if isinstance(text, str) and (found := other.fullmatch(text)):
            return f"Did you mean {shown.format(*found.groups())!r}?"
    return f"Give {WANTED}"


def _shown(text: object) -> str:
    return repr(text) if isinstance(text, str) and text.isprintable() and len(text) <= 40 else "this value"
