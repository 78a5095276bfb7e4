"""From what must stay hidden to ψ and γ: at some sizes, which other values must count as close."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

import numpy as np

from gedp.errors import DomainError, Fault, FaultsError
from gedp.neighbors.functions import Log, NeighborFunction, Sqrt
from gedp.neighbors.protection import Protection

#: γ is rounded up to so many digits: at least as much is protected as was asked.
_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
STEPS = (1, 2, 5)  # shifts that are tried, times powers of ten
#: A shift must bring the intervals so much closer to what was asked, or it is not worth explaining.
WORTH = 0.02
MOST = 1e15
_DEMAND = re.compile(r"(?P<size>[^:]+):(?P<side>[+-]?)(?P<width>[^:%]+)(?P<percent>%?)")


@dataclass(frozen=True)
class Demand:
    """At this size, every value from `low` to `high` must be close."""

    size: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.size <= self.high <= MOST or not self.low < self.high:
            raise DomainError(
                f"sizes and what is close to them lie between 0 and {MOST:g}, and some width is asked for"
            )

    @classmethod
    def parse(cls, text: str) -> "Demand":
        """`10:2` is 8 to 12, `10:+2` is 10 to 12, `10:-2` is 8 to 10, `1000:5%` is 950 to 1,050."""
        found = _DEMAND.fullmatch(text.replace(" ", ""))
        try:
            size, width = (float(found[part]) for part in ("size", "width")) if found else (math.nan, math.nan)
        except ValueError:
            size = width = math.nan
        if not found or not (math.isfinite(size) and math.isfinite(width) and width > 0):
            raise DomainError("it is not a size and a width")
        width = width * size / 100 if found["percent"] else width
        below, above = (0.0 if found["side"] == "+" else width), (0.0 if found["side"] == "-" else width)
        return cls(size, max(size - below, 0.0), size + above)

    def distance(self, psi: NeighborFunction) -> float:
        """The least γ that gives it; infinite where no γ does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.abs(psi.distance(self.size, np.array([self.low, self.high])))
        return float(np.max(apart))

    def times(self, protection: Protection) -> float:
        """How many times as wide the interval is as was asked, on the sides where something was."""
        low, high = protection.interval(self.size)
        below = self.size - float(low) if self.low < self.size else 0.0
        above = float(high) - self.size if self.high > self.size else 0.0
        return (below + above) / (self.high - self.low)


@dataclass(frozen=True)
class Candidate:
    """A ψ with the least γ that gives all that was asked, and how much more it gives at every size."""

    protection: Protection
    times: tuple[float, ...]

    @property
    def excess(self) -> float:
        """The mean of the logarithms: 0 would be just what was asked."""
        return math.fsum(map(math.log, self.times)) / len(self.times)

    @property
    def in_spec(self) -> str:
        """The same as a spec has it."""
        psi, gamma = self.protection.psi, self.protection.gamma
        assert isinstance(psi, Sqrt | Log)
        shift = f", shift = {psi.shift:g}" if psi.shift else ""
        return f'{{ psi = "{type(psi).__name__.lower()}", gamma = {gamma:g}{shift} }}'


def parse_demands(texts: Sequence[str]) -> list[Demand]:
    """All of them; every fault in one error."""
    demands, faults = [], []
    for text in texts:
        try:
            demands.append(Demand.parse(text))
        except DomainError as error:
            faults.append(Fault(repr(text), str(error), "Write SIZE:WIDTH, like 10:2, 10:+2 or 1000:5%"))
    if faults:
        raise FaultsError("what must be protected", faults)
    return demands


def choose(protect: Sequence[str | Demand]) -> list[Candidate]:
    """The ψ and γ that protect at least this much, the closest first.

    Each is a `Demand`, or written as SIZE:WIDTH: `10:2`, `10:+2`, `1000:5%`.

    >>> for found in choose(["10:+2", "1000:10%"]):
    ...     print(found.in_spec)
    { psi = "log", gamma = 0.105, shift = 10 }
    { psi = "log", gamma = 0.183 }
    { psi = "sqrt", gamma = 1.63 }
    """
    written = iter(parse_demands([each for each in protect if isinstance(each, str)]))
    demands = [next(written) if isinstance(each, str) else each for each in protect]
    if not demands:
        raise DomainError("say for at least one size how much must be protected")
    found: list[Candidate] = []
    for family in (Sqrt, Log):
        plain = _candidate(family(), demands)
        shifted = min(
            (each for shift in _shifts(demands) if (each := _candidate(family(shift), demands))),
            key=lambda each: each.excess,
            default=None,
        )
        if plain:
            found.append(plain)
        if shifted and (plain is None or shifted.excess < plain.excess - WORTH):
            found.append(shifted)
    return sorted(found, key=lambda each: each.excess)


def _candidate(psi: NeighborFunction, demands: Sequence[Demand]) -> Candidate | None:
    """None where no γ of this ψ gives what is asked, as with log at 0."""
    least = max(demand.distance(psi) for demand in demands)
    if not math.isfinite(least):
        return None
    protection = Protection(psi, float(_DIGITS.create_decimal(repr(least))))
    return Candidate(protection, tuple(demand.times(protection) for demand in demands))


def _shifts(demands: Sequence[Demand]) -> Iterator[float]:
    """Round numbers around the sizes; none where one size says nothing about how protection is to grow."""
    sizes = [demand.size for demand in demands if demand.size] or [1.0]
    if len({demand.size for demand in demands}) < 2:
        return iter(())
    first, last = math.floor(math.log10(min(sizes))) - 1, math.ceil(math.log10(max(sizes)))
    return (step * 10.0**power for power in range(first, last + 1) for step in STEPS)
