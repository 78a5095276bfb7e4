"""A number that the paper prints, beside ours."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedNumber:
    """What the paper prints, what we get, and how precisely it is printed."""

    what: str
    printed: float
    ours: float
    half_unit: float = 0.05  # half of the last printed digit

    @property
    def agrees(self) -> bool:
        """Whether ours rounds to what is printed; a tie may round either way."""
        return abs(self.ours - self.printed) <= self.half_unit * (1 + 1e-9)
