"""The two budget tables: prices by query, and their total."""

from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.printed import PrintedNumber
from gedp.lab.reproduce.results import Item, Result, ResultTable, verdict_of
from gedp.policy import price
from gedp.policy.examples import find_spec

#: Query, μ, share of μ², share of wages in the query's μ².
BASELINE = (
    ("identity", 1.22, 0.281, 0.015),
    ("state", 0.36, 0.024, 0.077),
    ("naics5", 1.05, 0.207, 0.020),
    ("county", 1.05, 0.207, 0.020),
    ("county x naics5", 1.22, 0.281, 0.015),
)
TOTAL = 2.31


def run(context: Context) -> Result:
    """Both specs are priced exactly as `gedp run` would."""
    rows, checks, totals = [], [], []
    for name in ("paper-equal", "paper-baseline"):
        prices = price(find_spec(name))
        total = PrintedNumber(f"{name}: total μ", TOTAL, prices.total.mu, 0.005)
        totals.append(total.ours)
        compared = [total]
        if name == "paper-baseline":
            for query, mu, share, of_wages in BASELINE:
                squared = prices.of_query(query).mu_squared
                wages = next(line for line in prices.lines if (line.query, line.attribute) == (query, "wage"))
                compared += [
                    PrintedNumber(f"{query}: μ", mu, prices.of_query(query).mu, 0.005),
                    PrintedNumber(f"{query}: share", share, float(squared / prices.total.mu_squared), 0.0005),
                    PrintedNumber(f"{query}: share of wages", of_wages, float(wages.loss.mu_squared / squared), 0.0005),
                ]
        rows += [[c.what, f"{c.printed:g}", f"{c.ours:.4f}", "yes" if c.agrees else "no"] for c in compared]
        checks += [c.agrees for c in compared]
    return Result(
        "Both budgets are about 2.31; a baseline table by query",
        f"{totals[0]:.4f} (equal) and {totals[1]:.4f} (baseline); {sum(checks)} of {len(checks)} numbers agree",
        verdict_of(checks),
        tables=[ResultTable("Budgets", ["what", "paper", "ours", "agrees"], rows)],
    )


ITEM = Item("budgets", "Budget tables (section on synthetic data, baseline table in the appendix)", run)
