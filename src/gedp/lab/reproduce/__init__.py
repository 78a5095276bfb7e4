"""The paper's tables and figures, computed anew beside what is printed there.

Webb, Protivash, Durrell, Slavković, Kifer, Toth: "Statistics-Friendly Confidentiality Protection for Establishment
Data, with Applications to the QCEW".
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """One number: what the paper prints, what we get, and how precisely it is printed."""

    what: str
    printed: float
    ours: float
    half_unit: float = 0.05  # half of the last printed digit

    @property
    def agrees(self) -> bool:
        """Whether ours rounds to what is printed; a tie may round either way."""
        return abs(self.ours - self.printed) <= self.half_unit * (1 + 1e-9)
