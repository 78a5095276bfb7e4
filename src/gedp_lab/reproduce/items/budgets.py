"""Price the three budgets of the paper, in total and, where it prints a table, query by query."""

from collections.abc import Iterator

from gedp.policy import price
from gedp.policy.examples import find_spec
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.printed import PrintedNumber, number_table
from gedp_lab.reproduce.results import Item, Result, verdict_of

#: Query, μ, share of μ², share of wages in the query's μ².
BASELINE = (
    ("identity", 1.22, 0.281, 0.015),
    ("state", 0.36, 0.024, 0.077),
    ("naics5", 1.05, 0.207, 0.020),
    ("county", 1.05, 0.207, 0.020),
    ("county x naics5", 1.22, 0.281, 0.015),
)
#: Totals, as printed.
TOTALS = {"paper-confidential": 2.28, "paper-equal": 2.31, "paper-baseline": 2.31}


def run(context: Context) -> Result:
    """Every spec is priced exactly as `gedp run` would."""
    totals = {name: price(find_spec(name)).total.mu for name in TOTALS}
    numbers = [
        *(PrintedNumber(f"{name}: total μ", TOTALS[name], total, 0.005) for name, total in totals.items()),
        *_of_queries(),
    ]
    agree = [number.agrees for number in numbers]
    return Result(
        "About 2.28 for the confidential QCEW, 2.31 for the synthetic states; a baseline table by query",
        f"{', '.join(f'{total:.4f} ({name})' for name, total in totals.items())}; {sum(agree)} of {len(agree)} numbers "
        "agree",
        verdict_of(agree),
        tables=[number_table("Budgets", numbers, "g", ".4f")],
    )


def _of_queries() -> Iterator[PrintedNumber]:
    """The baseline table, query by query."""
    prices = price(find_spec("paper-baseline"))
    for query, mu, share, of_wages in BASELINE:
        loss = prices.of_query(query)
        wages = next(line for line in prices.lines if (line.query, line.attribute) == (query, "wage"))
        yield PrintedNumber(f"{query}: μ", mu, loss.mu, 0.005)
        yield PrintedNumber(f"{query}: share", share, float(loss.mu_squared / prices.total.mu_squared), 0.0005)
        yield PrintedNumber(
            f"{query}: share of wages", of_wages, float(wages.loss.mu_squared / loss.mu_squared), 0.0005
        )


ITEM = Item("budgets", "Budgets (sections on confidential and synthetic data, baseline table in the appendix)", 70, run)
