"""The normal distribution as intervals use it."""

from scipy.special import ndtri


def normal_reach(confidence: float) -> float:
    """How many standard deviations an interval of this confidence reaches to either side.

    >>> round(normal_reach(0.95), 4)
    1.96
    """
    return float(ndtri((1 + confidence) / 2))
