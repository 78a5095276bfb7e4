"""The paper's table of uncertainty intervals, and its examples of what they mean to people."""

from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.semantics import establishment, person
from gedp.lab.reproduce.printed import PrintedNumber
from gedp.neighbors import Log, Protection, Sqrt

SQRT = Protection(Sqrt(), 0.5)
LOG = Protection(Log(), 0.1)

# As printed, except that "39.786.2" has a slip in its thousands separator and is read as 39,786.2.
PRINTED_INTERVALS = (
    (3, SQRT, 1.5, 5.0),
    (36, SQRT, 30.2, 42.2),
    (360, SQRT, 341.3, 379.2),
    (36_000, SQRT, 35_810.5, 36_190.0),
    (3, LOG, 2.7, 3.3),
    (36, LOG, 32.6, 39.8),
    (360, LOG, 325.7, 397.9),
    (36_000, LOG, 32_574.1, 39_786.2),
)


def intervals() -> list[tuple[PrintedNumber, PrintedNumber]]:
    """The lower and upper ends of the eight intervals."""
    rows = []
    for x, protection, low, high in PRINTED_INTERVALS:
        ours = protection.interval(x)
        what = f"{protection.psi}, {x:,}"
        rows.append((PrintedNumber(what, low, float(ours.low)), PrintedNumber(what, high, float(ours.high))))
    return rows


def people() -> list[PrintedNumber]:
    """The wages of a person who earns 20,000, with ψ = sqrt and γ = 100."""
    wages = Protection(Sqrt(), 100)
    any_loss = PrivacyLoss.of(1)
    alone = person(wages, any_loss, 20_000, 20_000)
    large = establishment(wages, any_loss, 1_000_000)
    inside = person(wages, any_loss, 20_000, 1_000_000)
    return [
        PrintedNumber("the only worker of an establishment, from", 1_715.7, alone.low),
        PrintedNumber("the only worker of an establishment, to", 58_284.3, alone.high),
        PrintedNumber("an establishment that pays 1,000,000, from", 810_000, large.low, 0.5),
        PrintedNumber("an establishment that pays 1,000,000, to", 1_210_000, large.high, 0.5),
        PrintedNumber("its worker who earns 20,000: increase hidden", 210_000, inside.high - 20_000, 0.5),
        PrintedNumber("its worker who earns 20,000: decrease hidden", 190_000, 1_000_000 - large.low, 0.5),
    ]
