"""Compute what the intervals mean to a person who earns 20,000 (sqrt, gamma 100)."""

from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.semantics import establishment, person
from gedp.neighbors import Protection, Sqrt
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.printed import PrintedNumber, number_table
from gedp_lab.reproduce.results import Item, Result, verdict_of


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


def run(context: Context) -> Result:
    """The paper's example of a person who earns 20,000."""
    numbers = people()
    agree = [number.agrees for number in numbers]
    caption = "A person who earns 20,000 a quarter: the paper's numbers and ours"
    return Result(
        f"{len(numbers)} numbers for a person who earns 20,000 (sqrt, γ = 100)",
        f"{sum(agree)} of {len(agree)} numbers agree to the printed digit",
        verdict_of(agree),
        tables=[number_table(caption, numbers, ",.1f", ",.1f")],
    )


ITEM = Item("semantics", "What intervals mean to people (examples in the text)", 20, run, is_printed=True)
