"""Numbers that the paper prints, beside ours."""

from collections.abc import Sequence
from dataclasses import dataclass

from gedp.documents import PrintedTable
from gedp_lab.reproduce.results import yes_or_no


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


def number_table(caption: str, numbers: Sequence[PrintedNumber], printed: str, ours: str) -> PrintedTable:
    """One row per number, formatted as `printed` and `ours` say."""
    rows = [[n.what, format(n.printed, printed), format(n.ours, ours), yes_or_no(n.agrees)] for n in numbers]
    return PrintedTable(caption, ["what", "paper", "ours", "agrees"], rows)
