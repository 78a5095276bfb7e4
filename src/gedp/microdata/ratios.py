"""What users ask about fitted totals: an attribute, a change, an average wage; each with its error.

All are a sum N = Σ a_i x_i of attributes with coefficients, or one over another, D = Σ b_i x_i. The noise of attributes
is independent, so Var N = Σ a_i² Var x_i, Var D = Σ b_i² Var x_i and Cov(N, D) = Σ a_i b_i Var x_i. For R = N/D,

    Var R ≈ (Var N − 2 R Cov(N, D) + R² Var D) / D²                                 (the delta method)

and the interval is Fieller's: all r for which N − r D is not further from 0 than noise would take it,

    (N − r D)² ≤ z² (Var N − 2 r Cov(N, D) + r² Var D).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gedp.errors import DomainError, Fault, FaultsError
from gedp.estimates import DELTA, KINDS, Estimates, Figures, divided
from gedp.normal import normal_reach
from gedp.policy.formulas import parse_formula
from gedp.policy.names import folded

CLEAR = 3.0  # standard errors that a denominator must be away from 0
LONGEST_NAME = 80  # characters
_WORD = re.compile(r"[^\W\d]\w*")
_SPACES = re.compile(r'"[^"]*"|\s+')

#: Over the names that the examples use; `names` of parse_ratios says what a release calls them.
BUILT_IN = {
    "weekly-wage": "wage / (13 * (m1emp + m2emp + m3emp) / 3)",
    "wage-per-job": "wage / ((m1emp + m2emp + m3emp) / 3)",
    "change": "m3emp - m1emp",
    "percent-change": "100 * (m3emp - m1emp) / m1emp",
}
#: What people call them, and the attribute whose unit they have.
BUILT_IN_TITLES = {
    "weekly-wage": ("Average weekly wage", "wage"),
    "wage-per-job": ("Wages per job", "wage"),
    "change": ("Change in jobs from the first to the third month", "m3emp"),
    "percent-change": ("Change in jobs, in percent", None),
}


@dataclass(frozen=True)
class Ratio:
    """A named sum of attributes with coefficients, or one such sum over another."""

    name: str
    numerator: Mapping[str, float]
    denominator: Mapping[str, float] = field(default_factory=dict)  # empty: the numerator is all
    formula: str = field(default="", compare=False)  # as it was written; an attribute by itself has none
    is_built_in: bool = field(default=False, compare=False)

    @property
    def attributes(self) -> list[str]:
        """The attributes that the ratio is made of, each once."""
        return list(dict.fromkeys((*self.numerator, *self.denominator)))

    def with_formula(self) -> "Ratio":
        """The ratio with its formula, made of its coefficients where none was written."""
        top, bottom = (
            " + ".join(f"{coefficient:.12g} * {_in_formula(name)}" for name, coefficient in side.items())
            for side in (self.numerator, self.denominator)
        )
        return replace(self, formula=self.formula or (f"({top}) / ({bottom})" if bottom else top))

    @property
    def is_difference(self) -> bool:
        """Whether something is taken away from something else."""
        return any(coefficient < 0 for coefficient in self.numerator.values())


def parse_ratios(texts: Sequence[str], names: Mapping[str, str] | None = None) -> list[Ratio]:
    """Ratios by their built-in names, or written as `NAME = formula`; every fault in one error.

    `names` says what the release calls the attributes of the built-in ones, such as {"m1emp": "january"}.
    """
    ratios, faults = [], []
    for text in texts:
        name, written, formula = (part.strip() for part in text.partition("="))
        try:
            ratios.append(_written(name, formula) if written else _built_in(name, names or {}))
        except DomainError as error:
            hint = f"Use one of {', '.join(BUILT_IN)}, or write 'NAME = wage / (m1emp + m2emp)'"
            faults.append(Fault(f"ratio {text!r}", str(error), hint))
    if faults:
        raise FaultsError("ratios", faults)
    return ratios


def in_parts(ratio: Ratio, split_columns: Mapping[str, Mapping[str, float]]) -> Ratio:
    """The ratio over gain and loss, where an attribute in it was split into them, or over other such parts."""

    def parted(side: Mapping[str, float]) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, coefficient in side.items():
            for part, sign in split_columns.get(name, {name: 1.0}).items():
                found[part] = found.get(part, 0.0) + sign * coefficient
        return found

    return replace(ratio, numerator=parted(ratio.numerator), denominator=parted(ratio.denominator))


def estimate(ratio: Ratio, totals: Mapping[str, Estimates], confidence: float) -> Figures:
    """The ratio of every group, with its error and interval.

    There are none where the denominator is within CLEAR standard errors of 0, or so close to it that the interval
    would be unbounded.
    """
    top = weighted_sum(ratio.numerator, totals)
    if not ratio.denominator:
        return top.with_interval(confidence)
    with np.errstate(over="ignore", invalid="ignore"):  # of denominators that are nearly 0
        return _quotient(top, ratio, totals, normal_reach(confidence))


def _quotient(top: Estimates, ratio: Ratio, totals: Mapping[str, Estimates], z: float) -> Figures:
    n, var_n, bottom = top.estimate, top.variance, weighted_sum(ratio.denominator, totals)
    d, var_d = bottom.estimate, bottom.variance
    shared = {name: a * ratio.denominator[name] for name, a in ratio.numerator.items() if name in ratio.denominator}
    cov = sum((ab * totals[name].variance for name, ab in shared.items()), np.zeros_like(n))
    r = divided(n, d)
    clear = np.abs(d) > max(CLEAR, z) * np.sqrt(var_d)
    error = divided(np.sqrt(np.maximum(var_n - 2 * r * cov + r * r * var_d, 0.0)), np.where(clear, np.abs(d), 0.0))
    # The roots of (d² − z² Var D) r² − 2 (n d − z² Cov) r + n² − z² Var N, the terms n² d² cancelled.
    middle, leading = n * d - z * z * cov, np.where(clear, d * d - z * z * var_d, 0.0)
    spread = d * d * var_n - 2 * n * d * cov + n * n * var_d - z * z * (var_n * var_d - cov * cov)
    reach = z * np.sqrt(np.maximum(spread, 0.0))
    kind = np.maximum(np.maximum(top.kind, bottom.kind), KINDS.index(DELTA))
    return Figures(r, error**2, kind, divided(middle - reach, leading), divided(middle + reach, leading))


def weighted_sum(coefficients: Mapping[str, float], totals: Mapping[str, Estimates]) -> Estimates:
    """A sum of attributes with coefficients."""
    value = sum(a * totals[name].estimate for name, a in coefficients.items())
    variance = sum(a * a * totals[name].variance for name, a in coefficients.items())
    kind = np.maximum.reduce([totals[name].kind for name in coefficients])
    return Estimates(np.asarray(value), np.asarray(variance), kind)


def _written(name: str, formula: str) -> Ratio:
    if not name or not name.isprintable():
        raise DomainError("it has no name that can be printed")
    if len(name) > LONGEST_NAME or "=" in folded(name):
        raise DomainError(f"its name is longer than {LONGEST_NAME} characters, or has a sign in it that looks like =")
    on_one_line = _SPACES.sub(lambda found: found[0] if found[0].startswith('"') else " ", formula)
    return Ratio(name, *parse_formula(formula), on_one_line)


def _built_in(name: str, names: Mapping[str, str]) -> Ratio:
    if name not in BUILT_IN:
        raise DomainError("there is no ratio of this name")
    top, bottom = ({names.get(key, key): c for key, c in side.items()} for side in parse_formula(BUILT_IN[name]))
    formula = _WORD.sub(lambda found: _in_formula(names.get(found[0], found[0])), BUILT_IN[name])
    return Ratio(name, top, bottom, formula, is_built_in=True)


def _in_formula(name: str) -> str:
    """A name as formulas have it: in quotes, if it is not a plain word."""
    return name if _WORD.fullmatch(name) else f'"{name}"'
