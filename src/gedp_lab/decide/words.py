"""What each method promises, in a sentence, and to whom."""

from collections.abc import Iterable

PROMISES = {
    "auto": "Nobody can tell well whether an establishment has its value or any other in its interval, whatever they "
    "know and whatever else is published: the risk of all releases adds up, and is counted.",
    "psi": "The same as auto, with every group answered by the ψ-mechanism.",
    "pnc": "The same as auto, with every group answered by clipped sums (probably no clipping).",
    "individual": "The same as auto, with every establishment's budget spent in full.",
    "floors": "The same as individual, with every query's own price set aside for it.",
    "gdp": "Nobody can tell well what value an establishment has at all, not even the largest (Gaussian differential "
    "privacy).",
    "log-laplace": "Nobody can tell well a value from one {alpha} away, at every size alike (Haney et al. 2017).",
    "smooth-gamma": "The same promise as log-Laplace, kept by noise for the largest establishment of each cell.",
    "fourth-root": "Nobody can tell well whether a small establishment is there; the larger it is, the better they can "
    "(Finley et al. 2024).",
    "splitting": "A value counts as many small ones: what is promised to one piece is promised to a large "
    "establishment only in as many steps as it has pieces (Seeman et al. 2023).",
    "ezs": "Published values of an establishment are off by at least 10% and at most 25%. No formal promise; factors "
    "must stay secret for good.",
    "ezs-balanced": "The same as ezs, with signs chosen so that noise cancels within cells.",
    "suppression": "An attacker who only adds and subtracts the published cells of this table, and knows nothing "
    "else, cannot find the value of a sensitive cell to within the rule's percentage.",
}


def promise(method: str, alphas: Iterable[float]) -> str:
    """That of a method, where gedp's intervals reach so far at the references of the attributes."""
    return PROMISES[method].format(alpha=" or ".join(dict.fromkeys(f"{alpha:.0%}" for alpha in alphas)))
