"""How many establishments open, close and move in a quarter, and how jobs grow."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from gedp.errors import Fault, FaultsError

LARGEST = 0.5


@dataclass(frozen=True)
class TurnoverRates:
    """Shares of last quarter's establishments, and the growth of jobs in month 3."""

    births: float = 0.030
    deaths: float = 0.028
    moves: float = 0.002
    growth: float = 0.004


@dataclass(frozen=True)
class AskedRates:
    """TurnoverRates that somebody asked for; None leaves one open."""

    births: float | None = None
    deaths: float | None = None
    moves: float | None = None
    growth: float | None = None

    def __post_init__(self) -> None:
        faults = []
        for field in fields(self):
            asked, least = getattr(self, field.name), -LARGEST if field.name == "growth" else 0
            if asked is not None and not least <= asked <= LARGEST:
                problem = f"must be from {least} to {LARGEST} per quarter"
                faults.append(Fault(field.name, problem, "Write 0.03 for 3%"))
        if faults:
            raise FaultsError("rates", faults)

    def over(self, others: TurnoverRates) -> TurnoverRates:
        """The asked ones, and the others where none was asked for."""
        asked = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(others, **{name: value for name, value in asked.items() if value is not None})


def average(seen: Sequence[TurnoverRates]) -> TurnoverRates:
    """The plain average of each rate over quarters; the usual rates if there are none."""
    if not seen:
        return TurnoverRates()
    means = {
        field.name: sum(getattr(rates, field.name) for rates in seen) / len(seen) for field in fields(TurnoverRates)
    }
    return TurnoverRates(**means)
