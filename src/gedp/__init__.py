"""Gaussian establishment differential privacy: statistics about businesses that give away no business.

The modules in the order in which data flows, which is also a reading order:

    neighbors    ψ and γ: which values count as close; intervals; widen, narrow
    accounting   μ: composition, the attacker's power, other frameworks
    semantics    what it means to an establishment, a firm, a person
    policy       the spec file: attributes, queries, budget; its price
    explain      what a spec promises, on the terminal and on a page
    reproduce    the paper's tables and figures

The names below are imported on first use, so that `import gedp` and `gedp --help` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gedp._version import __version__

if TYPE_CHECKING:
    from gedp.accounting.composition import PrivacyLoss, Promise, compose, compose_publishers
    from gedp.errors import GedpError
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

_HOME = {
    "gedp.accounting.composition": ("PrivacyLoss", "Promise", "compose", "compose_publishers"),
    "gedp.errors": ("GedpError",),
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
    "GedpError",
    "Linear",
    "Log",
    "PrivacyLoss",
    "Promise",
    "Protection",
    "Signed",
    "Spec",
    "Sqrt",
    "__version__",
    "check_neighbor_function",
    "compose",
    "compose_publishers",
    "narrow",
    "parse_spec",
    "price",
    "read_spec",
    "widen",
    "write_spec",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'gedp' has no attribute {name!r}")
