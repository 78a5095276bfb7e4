"""Ratios beside attributes: what people call them, what they are counted in, and which figures are differences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import gcd, lcm

from gedp.microdata.combinations import over_attributes
from gedp.microdata.ratios import BUILT_IN_TITLES, Ratio
from gedp.policy import Spec
from gedp.policy.labels import Label
from gedp.release import Labels
from gedp.release.estimated import with_formula


def with_ratios(labels: Labels, formulas: Mapping[str, str] | None = None) -> Labels:
    """The labels of a release and of the built-in ratios; those with `formulas` have them in their titles."""
    named = {
        name: Label(title, unit=None if like is None else labels.unit(like))
        for name, (title, like) in BUILT_IN_TITLES.items()
    }
    for name, formula in (formulas or {}).items():
        known = named.get(name, Label(name))
        named[name] = replace(known, title=with_formula(known.title or name, formula))
    return replace(labels, of_ratios=named)


def differences(ratios: Sequence[Ratio], spec: Spec) -> set[str]:
    """The figures that may well be 0, so that an error relative to them says nothing.

    Something is taken away in them, as in changes and in gain minus loss, or an attribute in them has both signs.
    """
    policy = spec.policy
    alone = [Ratio(name, {name: 1.0}) for name in (*policy.attributes, *policy.split_columns, *spec.combinations)]
    signed = {name for name, attribute in policy.attributes.items() if attribute.signed}
    over = [over_attributes(ratio, spec) for ratio in (*alone, *ratios)]
    return {ratio.name for ratio in over if ratio.is_difference or signed & ratio.numerator.keys()}


def unit_of(ratio: Ratio, spec: Spec) -> Decimal | None:
    """The unit that a sum of attributes in whole units is a multiple of.

    None for quotients and fractions of them, and for combinations, which answers of their own move.
    """
    if ratio.name in spec.combinations:
        return None
    parts = over_attributes(ratio, spec)
    if parts.denominator or not all(coefficient.is_integer() for coefficient in parts.numerator.values()):
        return None
    known = spec.policy.attributes
    return common_unit([known[name].unit if name in known else Decimal(1) for name in parts.numerator])


def common_unit(units: Sequence[Decimal | None]) -> Decimal | None:
    """The largest unit of which all are whole multiples.

    >>> common_unit([Decimal("0.1"), Decimal("0.25"), Decimal(1)])
    Decimal('0.05')
    """
    given = [unit for unit in units if unit is not None]
    if len(given) < len(units):
        return None
    ratios = [unit.as_integer_ratio() for unit in given]
    down = lcm(*(bottom for _, bottom in ratios))
    return Decimal(gcd(*(top * down // bottom for top, bottom in ratios))) / down
