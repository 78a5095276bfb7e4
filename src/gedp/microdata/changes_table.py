"""Tables of changes as people use them in Python: what changed is shown, and drawn with one call."""

from dataclasses import dataclass
from typing import Any, ClassVar

from gedp.margins import significant
from gedp.microdata.comparing import CHANGE, NOTE, PERCENT, SIGNIFICANT
from gedp.numbers import MINUS
from gedp.release.estimated import EstimatesTable

_CHANGE = (CHANGE, f"{CHANGE}_ci_low", f"{CHANGE}_ci_high")


@dataclass(frozen=True, repr=False)
class ChangesTable(EstimatesTable):
    """Estimates by group, and what changed in them since an earlier release. `plot` draws the largest changes."""

    drawn: ClassVar[tuple[str, str, str]] = _CHANGE

    @property
    def _figures(self) -> list[str]:
        return ["estimate ± margin", "change ± margin", "percent (from, to)", "significant"]

    def _drawn_heading(self, attribute: str) -> str:
        return f"Change in {self._heading(attribute)}"

    def _cells(self, row: dict[str, Any]) -> list[str]:
        estimate, change = (
            "" if row[names[0]] is None else self._figure(row, *names) for names in (EstimatesTable.drawn, _CHANGE)
        )
        marked = {True: "yes", False: "no", None: ""}[row[SIGNIFICANT]]
        return [self._heading(row["attribute"]), estimate, change, _percent(row), row[NOTE] or marked]


def _percent(row: dict[str, Any]) -> str:
    if row[PERCENT] is None:
        return ""
    at, low, high = (significant(row[name]) for name in (PERCENT, f"{PERCENT}_ci_low", f"{PERCENT}_ci_high"))
    return f"{at}% ({low}%, {high}%)".replace("-", MINUS)
