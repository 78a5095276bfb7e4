"""Quality flags: classes of the coefficient of variation, from good for any use to good for none."""

import math
from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import DomainError, Fault, FaultsError

UNKNOWN = "unknown"
_HINT = 'Give classes from good to bad, like "A=5%,B=10%,C=25%,D"'


@dataclass(frozen=True)
class Quality:
    """Classes with the largest coefficient of variation in each, and beyond which one a figure is withheld."""

    classes: tuple[tuple[str, float], ...] = (("A", 0.05), ("B", 0.10), ("C", 0.25), ("D", math.inf))
    withheld_above: float | None = None

    def __post_init__(self) -> None:
        names, limits = zip(*self.classes, strict=True)
        rising = all(low < high for low, high in zip((0.0, *limits), limits, strict=False))
        if not rising or limits[-1] != math.inf or len({*names, UNKNOWN}) <= len(names):
            raise DomainError(f"classes of quality have different names and rising limits, the last none. {_HINT}")
        if self.withheld_above is not None and not self.withheld_above > 0:
            raise DomainError("a figure is withheld above a coefficient of variation that is above 0")

    def flags(self, cv: FloatArray) -> list[str]:
        """The class of every figure; unknown where the error is."""
        names = [*(name for name, _ in self.classes), UNKNOWN]
        places = np.searchsorted([limit for _, limit in self.classes], cv)
        return [names[place] for place in np.where(np.isnan(cv), len(names) - 1, places)]

    def withheld(self, cv: FloatArray) -> BoolArray:
        """Which figures are not to be shown."""
        limit = math.inf if self.withheld_above is None else self.withheld_above
        above: BoolArray = cv > limit
        return above

    def meanings(self) -> dict[str, str]:
        """What every class says, for readers."""
        said, low = {}, ""
        for name, limit in self.classes:
            until = f"up to {_percent(limit)}" if math.isfinite(limit) else ""
            bounds = " and ".join(filter(None, (low, until))) or "of any size"
            said[name] = f"coefficient of variation {bounds}"
            low = f"above {_percent(limit)}"
        said[UNKNOWN] = "the error is not known"
        return said


def coefficients(estimate: FloatArray, std_error: FloatArray) -> FloatArray:
    """Standard errors relative to the figures: infinite for a 0 that is not exact, NaN where the error is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cv: FloatArray = np.where(std_error == 0, 0.0, std_error / np.abs(estimate))
    return cv


def parse_quality(text: str, withheld_above: float | None = None) -> Quality:
    """Classes written as `A=5%,B=10%,C`; the last has no limit.

    >>> parse_quality("good=10%,poor").classes
    (('good', 0.1), ('poor', inf))
    """
    parts = [part.strip().partition("=") for part in text.split(",")]
    try:
        classes = tuple((name.strip(), _share(limit) if sign else math.inf) for name, sign, limit in parts)
        if not all(name and name.isprintable() for name, _ in classes):
            raise ValueError
        return Quality(classes, withheld_above)
    except (ValueError, DomainError):
        fault = Fault(repr(text), "these are not classes with rising limits, the last without one", _HINT)
        raise FaultsError("quality", [fault]) from None


def _share(text: str) -> float:
    text = text.strip()
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"
