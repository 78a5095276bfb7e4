"""What is protected: neighbor functions, the protections they define, and how protections combine."""

from gedp.neighbors.check import (
    ConditionFailure,
    NotANeighborFunctionError,
    check_neighbor_function,
    require_neighbor_function,
)
from gedp.neighbors.choosing import Candidate, Demand, choose
from gedp.neighbors.combine import Piecewise, narrow, widen
from gedp.neighbors.functions import BUILT_IN, Linear, Log, NeighborFunction, Signed, Sqrt, gain_and_loss
from gedp.neighbors.protection import Interval, Protection

__all__ = [
    "BUILT_IN",
    "Candidate",
    "ConditionFailure",
    "Demand",
    "Interval",
    "Linear",
    "Log",
    "NeighborFunction",
    "NotANeighborFunctionError",
    "Piecewise",
    "Protection",
    "Signed",
    "Sqrt",
    "check_neighbor_function",
    "choose",
    "gain_and_loss",
    "narrow",
    "require_neighbor_function",
    "widen",
]
