"""The policy: what is protected, how strongly, at what price. Read from and written to one TOML spec file."""

from gedp.policy.model import (
    Attribute,
    Closeness,
    Data,
    Grouper,
    MicrodataOptions,
    Output,
    Policy,
    Query,
    Spec,
)
from gedp.policy.pricing import PriceLine, PriceList, pools, price, require_within_budget
from gedp.policy.reader import make_spec, parse_spec, read_spec
from gedp.policy.writer import write_spec

__all__ = [
    "Attribute",
    "Closeness",
    "Data",
    "Grouper",
    "MicrodataOptions",
    "Output",
    "Policy",
    "PriceLine",
    "PriceList",
    "Query",
    "Spec",
    "make_spec",
    "parse_spec",
    "pools",
    "price",
    "read_spec",
    "require_within_budget",
    "write_spec",
]
