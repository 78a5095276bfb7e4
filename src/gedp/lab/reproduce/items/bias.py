"""The paper's ablation of estimated variances."""

from gedp.lab.reproduce.bias import COLUMNS, ROWS, SETTINGS, TRIALS, run_setting
from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.results import Item, Result, ResultTable, verdict_of


def run(context: Context) -> Result:
    """All settings: the paper's text's, and those behind its numbers."""
    tables, checks = [], []
    for done, setting in enumerate(SETTINGS):
        context.progress("bias: settings", done, len(SETTINGS))
        errors = run_setting(setting, TRIALS, context.seed)
        rows = []
        for row in ROWS:
            printed = [errors.printed(column, row) for column in COLUMNS]
            if any(printed):
                rows.append([f"{row}, paper", *("" if p is None else f"{p:,.1f}" for p in printed)])
            rows.append([f"{row}, ours", *(f"{errors.squared[column, row]:,.2f}" for column in COLUMNS)])
        rows.append(["bias of Total", *(f"{errors.bias[column]:+,.1f}" for column in COLUMNS)])
        what = f"{setting.name}, γ/μ = {setting.sigma:g}, {setting.counties} counties: mean squared errors"
        tables.append(ResultTable(what, ["query", *COLUMNS], rows))
        checks += [ok for _, _, ok in errors.checks()]
    return Result(
        "Mean squared errors of Est, Act and Hybrid for sqrt and log",
        f"{sum(checks)} of {len(checks)} numbers agree: printed ones to 2%, quasi to 5% of Act; {TRIALS:,} trials",
        verdict_of(checks),
        "The text says 100 counties, and γ = 0.1 for log; the printed numbers are those of 50 counties and γ/μ = 0.5. "
        "Both settings are here.",
        tables=tables,
    )


ITEM = Item("bias", "Bias caused by estimated variances (ablation table in the appendix)", run)
