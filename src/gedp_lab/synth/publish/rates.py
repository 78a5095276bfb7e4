"""How much is withheld: the shares of suppressed cells that the paper counts in the real files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The paper's table of suppressed values. CBP's payroll by digits of the industry code (2 is the sector), and
# QWI's variables at county x NAICS-4; county totals are published in both (one county of QWI apart).
CBP_SHARES = {0: 0.0, 2: 0.18, 3: 0.36, 4: 0.50, 5: 0.58, 6: 0.61}
QWI_SHARES = {"Emp": 0.43, "EmpEnd": 0.43, "EmpS": 0.42, "EarnBeg": 0.02}


@dataclass(frozen=True)
class Rates:
    """Share of cells withheld, per level of CBP and per variable of QWI at county x NAICS-4."""

    cbp: Mapping[int, float] = field(default_factory=lambda: dict(CBP_SHARES))
    qwi: Mapping[str, float] = field(default_factory=lambda: dict(QWI_SHARES))
