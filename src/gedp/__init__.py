"""Gaussian establishment differential privacy: statistics about businesses that give away no business.

From a spec and a table to tables that may be published:

    import gedp

    spec = gedp.read_spec("policy.toml")  # or gedp.make_spec(...), without a file
    release = gedp.run(spec)  # or gedp.run(spec, table=df, ledger="register.ledger")
    microdata = release.microdata()
    microdata.tabulate(by=["cnty"]).to_pandas()

The rooms, in the order in which data flows:

    neighbors      ψ and γ: which values count as close; intervals; widen, narrow
    accounting     μ: composition, the attacker's power, other frameworks; what it means to a firm or a person
    policy         the spec: attributes, queries, budget; its price
    ledger         what was spent, and what may still be
    noise          exact Gaussian noise from one source of randomness
    confidential   sees the truth: the table, its engine, mechanisms, measuring
    individual, planning   who pays for what, and what errors to expect, from public values alone
    release        what left: the answers with their manifest; what comes after never sees the truth
    microdata      one protected table that fits all the answers best; custom tables of it
    explain, report   pages about a policy and about a release
    sharpening     model-based tables that lean on earlier releases; never part of one
    publication    the package for the public: titled tables that add up, with errors and flags
    lab            internal evidence: synthetic data, evaluation, comparison, the paper's results
    cli            the command line; this module is the door from Python

Names are imported on first use, so that `import gedp` and `gedp --help` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gedp._version import __version__

if TYPE_CHECKING:
    from gedp.accounting.composition import PrivacyLoss, Promise, compose, compose_publishers
    from gedp.accounting.sampling import SampleAlike, gamma_for_sampling, sampling_fraction
    from gedp.accounting.semantics import RecordDistance, chance_within, mu_for_chance, record_distance
    from gedp.api import Release, ask, check, draft_spec, finish, measure, open_table, plan, publish, read_release, run
    from gedp.confidential.table import ConfidentialTable
    from gedp.errors import BudgetExceededError, FaultsError, GedpError
    from gedp.ledger import DecidedBy, Ledger
    from gedp.microdata import Microdata, fit_microdata, read_microdata, tabulate_series
    from gedp.neighbors import Linear, Log, Protection, Signed, Sqrt, check_neighbor_function, choose, narrow, widen
    from gedp.periods import Period
    from gedp.planning.plan import Plan
    from gedp.policy import PriceList, Spec, for_period, make_spec, parse_spec, price, read_spec, write_spec
    from gedp.publication import Package, Quality
    from gedp.release.answer import Answer, read_answer
    from gedp.report import write_report
    from gedp.sharpening import Sharpened, sharpen
    from gedp.tables import Table

__all__ = [
    "Answer",
    "BudgetExceededError",
    "ConfidentialTable",
    "DecidedBy",
    "FaultsError",
    "GedpError",
    "Ledger",
    "Linear",
    "Log",
    "Microdata",
    "Package",
    "Period",
    "Plan",
    "PriceList",
    "PrivacyLoss",
    "Promise",
    "Protection",
    "Quality",
    "RecordDistance",
    "Release",
    "SampleAlike",
    "Sharpened",
    "Signed",
    "Spec",
    "Sqrt",
    "Table",
    "__version__",
    "ask",
    "chance_within",
    "check",
    "check_neighbor_function",
    "choose",
    "compose",
    "compose_publishers",
    "draft_spec",
    "finish",
    "fit_microdata",
    "for_period",
    "gamma_for_sampling",
    "make_spec",
    "measure",
    "mu_for_chance",
    "narrow",
    "open_table",
    "parse_spec",
    "plan",
    "price",
    "publish",
    "read_answer",
    "read_microdata",
    "read_release",
    "read_spec",
    "record_distance",
    "run",
    "sampling_fraction",
    "sharpen",
    "tabulate_series",
    "widen",
    "write_report",
    "write_spec",
]

_HOME = {
    "gedp.accounting.composition": ("PrivacyLoss", "Promise", "compose", "compose_publishers"),
    "gedp.accounting.sampling": ("SampleAlike", "gamma_for_sampling", "sampling_fraction"),
    "gedp.accounting.semantics": ("RecordDistance", "chance_within", "mu_for_chance", "record_distance"),
    "gedp.api": (
        *("Release", "ask", "check", "draft_spec", "finish", "measure", "open_table", "plan", "publish"),
        *("read_release", "run"),
    ),
    "gedp.confidential.table": ("ConfidentialTable",),
    "gedp.errors": ("BudgetExceededError", "FaultsError", "GedpError"),
    "gedp.ledger": ("DecidedBy", "Ledger"),
    "gedp.microdata": ("Microdata", "fit_microdata", "read_microdata", "tabulate_series"),
    "gedp.neighbors": (
        *("Linear", "Log", "Protection", "Signed", "Sqrt"),
        *("check_neighbor_function", "choose", "narrow", "widen"),
    ),
    "gedp.periods": ("Period",),
    "gedp.planning.plan": ("Plan",),
    "gedp.policy": (
        *("PriceList", "Spec", "for_period", "make_spec"),
        *("parse_spec", "price", "read_spec", "write_spec"),
    ),
    "gedp.publication": ("Package", "Quality"),
    "gedp.release.answer": ("Answer", "read_answer"),
    "gedp.report": ("write_report",),
    "gedp.sharpening": ("Sharpened", "sharpen"),
    "gedp.tables": ("Table",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'gedp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
