"""Individual accounting: every establishment pays for what it can move, and nobody's budget lies idle.

Arithmetic on public values alone: what the first answers said, bounds that follow from them, and precisions.

bounds     an establishment's own bound, and how far its value can move below it
rows       the establishments of one attribute, sorted by finest cell
filling    from coarse to fine, how precisely every group is answered, and what is left for the establishments
first      what a first answer says of its establishment
answers    the first answers of all establishments, in memory or elsewhere
bills      what the establishments of a cell pay for tables
charges    what every establishment pays, rounded toward more

The argument that the whole is μ-gedp is in docs/proofs/individual.md.
"""

from gedp.individual.answers import AnswersByCell, CondensedAnswers, FirstAnswers
from gedp.individual.bills import Bills
from gedp.individual.bounds import ClippingBounds, clipping_bounds
from gedp.individual.charges import largest_share
from gedp.individual.filling import Filling, GroupNoise, Portions, QueryGroups, Terms, fill
from gedp.individual.first import FirstAnswer
from gedp.individual.rows import Rows

__all__ = [
    "AnswersByCell",
    "Bills",
    "ClippingBounds",
    "CondensedAnswers",
    "Filling",
    "FirstAnswer",
    "FirstAnswers",
    "GroupNoise",
    "Portions",
    "QueryGroups",
    "Rows",
    "Terms",
    "clipping_bounds",
    "fill",
    "largest_share",
]
