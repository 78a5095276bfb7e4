"""What changed from one figure to another with independent noise: difference and percentage, with errors and intervals.

A figure o of an old release and n of a new one, with standard errors s_o and s_n and intervals that reach from o − a to
o + b and from n − c to n + d, have noise that was drawn separately. So the variances of n − o add up, and its interval
takes in each direction the reach that both can contribute (MOVER, Zou and Donner 2008):

    from n − o − √(c² + b²) to n − o + √(d² + a²).

n/o has the values r for which the interval of n − r o, made in the same way, contains 0. Where intervals are those of
totals, a = b = z s_o and c = d = z s_n, and both are the well-known ones: the normal interval n − o ± z √(s_n² + s_o²),
and Fieller's, all r with (n − r o)² ≤ z² (s_n² + r² s_o²). A quotient has an interval that is not symmetric, and there
they keep that form. The percentage 100 (n/o − 1) is above 0 in all its interval exactly if n − o is.
"""

import numpy as np

from gedp.arrays import BoolArray, FloatArray
from gedp.estimates import DELTA, KINDS, Figures
from gedp.microdata.ratios import CLEAR

#: How often the reach of the old figure's interval must fit between it and 0, so that percentages stay bounded.
FITS = 1.5


def difference(new: Figures, old: Figures) -> Figures:
    """New minus old; nothing where one of them has no error, as a change without an error says nothing."""
    variance = new.variance + old.variance
    change = np.where(np.isnan(variance), np.nan, new.estimate - old.estimate)
    below = np.hypot(new.estimate - new.ci_low, old.ci_high - old.estimate)
    above = np.hypot(new.ci_high - new.estimate, old.estimate - old.ci_low)
    return Figures(change, variance, np.maximum(new.kind, old.kind), change - below, change + above)


def is_clearly_positive(old: Figures) -> BoolArray:
    """Where an old figure can be the base of a percentage: well above 0, compared with its error and its interval."""
    reach = old.estimate - old.ci_low
    found: BoolArray = (old.estimate > 0) & (old.estimate >= CLEAR * old.std_error) & (old.estimate >= FITS * reach)
    return found


def percentage(new: Figures, old: Figures) -> Figures:
    """100 (new/old − 1), its standard error by the delta method; nothing where `is_clearly_positive` says no."""
    base = np.where(is_clearly_positive(old) & ~np.isnan(new.std_error), old.estimate, np.nan)
    down, up = base - old.ci_low, old.ci_high - base
    quotient = new.estimate / base
    variance = (new.variance + quotient**2 * old.variance) / base**2
    low = _lowest(new.estimate, new.estimate - new.ci_low, base, down, up)
    high = -_lowest(-new.estimate, new.ci_high - new.estimate, base, down, up)
    kind = np.maximum(np.maximum(new.kind, old.kind), KINDS.index(DELTA))
    return Figures(100 * (quotient - 1), 100**2 * variance, kind, 100 * (low - 1), 100 * (high - 1))


def is_significant(change: Figures) -> BoolArray:
    """Whether 0 is outside the interval of a change: a two-sided test at the confidence of the interval."""
    found: BoolArray = (change.ci_low > 0) | (change.ci_high < 0)
    return found


def _lowest(new: FloatArray, reach: FloatArray, old: FloatArray, down: FloatArray, up: FloatArray) -> FloatArray:
    """The least r for which new − r·old may be 0, the left root of (old² − c²) r² − 2 new old r + new² − reach².

    c is how far r·old reaches up, which is `down` where r is negative. A root above 0 is written as one that exists
    whatever c is.
    """
    is_positive = new > reach
    c, apart = np.where(is_positive, up, down), (new - reach) * (new + reach)
    root = np.sqrt(np.maximum((old * reach) ** 2 + c * c * apart, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_positive, apart / (new * old + root), (new * old - root) / (old * old - c * c))
