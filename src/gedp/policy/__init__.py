"""The policy: what is protected, how strongly, at what price. Read from and written to one TOML spec file."""

from gedp.policy.classes import Classes
from gedp.policy.combinations import Combination
from gedp.policy.measures import COUNT, Measure, Query, Weights
from gedp.policy.model import (
    Attribute,
    Closeness,
    Data,
    Grouper,
    MicrodataOptions,
    Output,
    Policy,
    Spec,
)
from gedp.policy.pricing import (
    PriceLine,
    PriceList,
    measured_mu,
    pools,
    price,
    require_within_budget,
    set_aside,
    whole_pools,
)
from gedp.policy.reader import make_spec, parse_spec, read_spec
from gedp.policy.series import for_period
from gedp.policy.writer import write_spec

__all__ = [
    "COUNT",
    "Attribute",
    "Classes",
    "Closeness",
    "Combination",
    "Data",
    "Grouper",
    "Measure",
    "MicrodataOptions",
    "Output",
    "Policy",
    "PriceLine",
    "PriceList",
    "Query",
    "Spec",
    "Weights",
    "for_period",
    "make_spec",
    "measured_mu",
    "parse_spec",
    "pools",
    "price",
    "read_spec",
    "require_within_budget",
    "set_aside",
    "whole_pools",
    "write_spec",
]
