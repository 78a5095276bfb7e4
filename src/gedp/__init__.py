"""Gaussian establishment differential privacy: statistics about businesses that give away no business.

The modules in the order in which data flows, which is also a reading order:

    neighbors    ψ and γ: which values count as close; intervals; widen, narrow
    accounting   μ: composition, the attacker's power, other frameworks
    semantics    what it means to an establishment, a firm, a person
    policy       the spec file: attributes, queries, budget; its price
    explain      what a spec promises, on the terminal and on a page
    noise        exact Gaussian noise from one source of randomness
    engines      where tables are read; table, tally: validation and exact sums
    estimates    what a noisy value says: estimate, variance, interval
    mechanisms   psi, pnc, and the choice between them
    measure      confidential table in, protected answers out; run does it from a spec file
    release      the answers, frozen; what comes after never sees the truth
    microdata    one protected table that fits all the answers best
    report       one page for the public about a release; publish: microdata and report in one step
    evaluate     internal: how far a release is from the truth
    compare      internal: workflows beside each other over many rehearsals
    synth        synthetic establishments from public files
    reproduce    the paper's tables and figures

The names below are imported on first use, so that `import gedp` and `gedp --help` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gedp._version import __version__

if TYPE_CHECKING:
    from gedp.accounting.composition import PrivacyLoss, Promise, compose, compose_publishers
    from gedp.confidential.measure import measure
    from gedp.confidential.table import ConfidentialTable, open_table
    from gedp.errors import GedpError
    from gedp.ledger import Ledger
    from gedp.microdata import Microdata, fit_microdata, read_microdata
    from gedp.neighbors import (
        Linear,
        Log,
        Protection,
        Signed,
        Sqrt,
        check_neighbor_function,
        narrow,
        widen,
    )
    from gedp.policy import Spec, parse_spec, price, read_spec, write_spec
    from gedp.release import ReleaseFolder, read_release
    from gedp.report import write_report

_HOME = {
    "gedp.accounting.composition": ("PrivacyLoss", "Promise", "compose", "compose_publishers"),
    "gedp.ledger": ("Ledger",),
    "gedp.errors": ("GedpError",),
    "gedp.confidential.measure": ("measure",),
    "gedp.microdata": ("Microdata", "fit_microdata", "read_microdata"),
    "gedp.release": ("ReleaseFolder", "read_release"),
    "gedp.report": ("write_report",),
    "gedp.confidential.table": ("ConfidentialTable", "open_table"),
    "gedp.neighbors": (
        "Linear",
        "Log",
        "Protection",
        "Signed",
        "Sqrt",
        "check_neighbor_function",
        "narrow",
        "widen",
    ),
    "gedp.policy": ("Spec", "parse_spec", "price", "read_spec", "write_spec"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ConfidentialTable",
    "GedpError",
    "Ledger",
    "Linear",
    "Log",
    "Microdata",
    "PrivacyLoss",
    "Promise",
    "Protection",
    "ReleaseFolder",
    "Signed",
    "Spec",
    "Sqrt",
    "__version__",
    "check_neighbor_function",
    "compose",
    "compose_publishers",
    "fit_microdata",
    "measure",
    "narrow",
    "open_table",
    "parse_spec",
    "price",
    "read_microdata",
    "read_release",
    "read_spec",
    "widen",
    "write_report",
    "write_spec",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'gedp' has no attribute {name!r}")
