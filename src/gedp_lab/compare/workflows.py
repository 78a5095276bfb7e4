"""Ways to spend the same budget on the same questions: a mechanism for the groups, and weights for the microdata.

| name | groups | weights | |
|---|---|---|---|
| psi | ψ-mechanism | plug-in | the paper's first workflow |
| pnc (probably no clipping) | clipped sums | plug-in | the paper's second |
| auto | the better of both, group by group | quasi | ours |
| gdp | Gaussian DP: noise for the largest establishment | exact | what a formal guarantee used to cost |
| individual | individual accounting: everybody's whole budget | quasi | ours |
| floors | the same, with every query's own price set aside for it | quasi | no group loses |

Baselines, for comparison alone (`gedp_lab.baselines.workflows`): log-laplace, fourth-root, splitting, smooth-gamma, ezs
and ezs-balanced.

The first four have the prices of the spec, or equal shares where it has none; the last two have the sum of the prices
for each attribute. Any mechanism can be combined with other weights: `psi+quasi`, `auto+oracle`. The oracle knows the
true variances, so it is for synthetic data alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from gedp.accounting.composition import compose
from gedp.errors import DomainError
from gedp.ledger.amounts import mu_down
from gedp.policy import Attribute, Closeness, Spec, whole_pools
from gedp_lab.baselines.workflows import BASELINES, FITTED
from gedp_lab.compare.accounts import with_prices, without_prices

GDP, ORACLE = "gdp", "oracle"
INDIVIDUAL, FLOORS = "individual", "floors"
USUAL_WEIGHTS = {
    "psi": "plug-in",
    "pnc": "plug-in",
    "auto": "quasi",
    GDP: "plug-in",
    INDIVIDUAL: "quasi",
    FLOORS: "quasi",
}
WEIGHTS = ("plug-in", "quasi", ORACLE)
PLACES = 15  # of what is spent on some of the attributes
DEFAULT = ("psi", "pnc", "auto", GDP)
DEFAULT_WITHOUT_PRICES = ("psi", "pnc", "auto", INDIVIDUAL)


@dataclass(frozen=True)
class Workflow:
    """A mechanism for the groups, and weights for the microdata."""

    mechanism: str
    weights: str

    @property
    def name(self) -> str:
        """`psi`, or `psi+quasi` where the weights are not the usual ones."""
        usual = {**USUAL_WEIGHTS, **BASELINES}[self.mechanism]
        return self.mechanism + (f"+{self.weights}" if self.weights != usual else "")


def parse_workflows(names: Sequence[str]) -> list[Workflow]:
    """The workflows that these names stand for, each once; `psi+quasi` names the weights too."""
    result = []
    for name in names:
        mechanism, _, weights = name.partition("+")
        if mechanism not in {**USUAL_WEIGHTS, **BASELINES} or not _can_have(mechanism, weights):
            known = f"{', '.join(USUAL_WEIGHTS)}, alone or with +{', +'.join(WEIGHTS)}"
            baselines = f"baselines to compare with: {', '.join(BASELINES)}"
            raise DomainError(f"there is no workflow {name!r}. There are: {known}; {baselines}")
        result.append(Workflow(mechanism, weights or {**USUAL_WEIGHTS, **BASELINES}[mechanism]))
    return list(dict.fromkeys(result))


def _can_have(mechanism: str, weights: str) -> bool:
    """Whether a workflow can have these weights; without a fit there are none."""
    return not weights or (weights in WEIGHTS and (mechanism in USUAL_WEIGHTS or mechanism in FITTED))


def usual_workflows(spec: Spec) -> tuple[str, ...]:
    """Those that are compared where none is named: a spec without prices is of individual accounting."""
    return DEFAULT_WITHOUT_PRICES if spec.is_individual else DEFAULT


def spec_for(spec: Spec, mechanism: str, largest: Mapping[str, Fraction]) -> Spec:
    """The spec with one mechanism for all groups. `largest` has the largest establishment for each attribute."""
    if mechanism in (INDIVIDUAL, FLOORS):
        return without_prices(spec)
    spec = with_prices(spec)
    if mechanism in BASELINES:
        spec = sums_alone(spec)
    chosen = "psi" if mechanism in (GDP, *BASELINES) else mechanism
    sums = spec.group_sums
    queries = tuple(replace(query, mechanism=chosen) if query in sums else query for query in spec.queries)
    attributes = dict(spec.policy.attributes)
    if mechanism == GDP:
        attributes = {name: _linear(attribute, largest[name]) for name, attribute in attributes.items()}
    return replace(spec, policy=replace(spec.policy, attributes=attributes), queries=queries)


def sums_alone(spec: Spec) -> Spec:
    """The spec without classes and combinations, and without the queries for them."""
    labels = {name: label for name, label in spec.labels.items() if name not in {*spec.classes, *spec.combinations}}
    return replace(spec, queries=spec.plain, classes={}, combinations={}, labels=labels)


def with_attributes(spec: Spec, attributes: Sequence[str]) -> Spec:
    """The spec with some of its attributes and what answers about them depend on, at their prices.

    Left out are queries that ask for none of them, classes, combinations, labels, and how columns of others are read.
    """
    names = _connected(spec, attributes)
    kept = {name: attribute for name, attribute in spec.policy.attributes.items() if name in names}
    asked = [
        query.asking_only([name for name, measure in query.measures.items() if kept.keys() >= set(measure.attributes)])
        for query in spec.queries
    ]
    queries = tuple(query for query in asked if query.asked)
    policy = replace(spec.policy, attributes=kept)
    if spec.is_individual and len(kept) < len(spec.policy.attributes):
        left = compose(pool for name, pool in whole_pools(spec).items() if name in kept)
        policy = replace(policy, rho=None, year=None, series=None, spend=Decimal(mu_down(left, PLACES)))
    classes = {name: each for name, each in spec.classes.items() if each.attribute in kept}
    combinations = {name: each for name, each in spec.combinations.items() if each.coefficients.keys() <= kept.keys()}
    fewer = replace(spec, policy=policy, queries=queries, classes=classes, combinations=combinations)
    others = _named(spec) - _named(fewer)
    labels = {name: label for name, label in spec.labels.items() if name not in others}
    reading = spec.data.reading
    missing = {column: number for column, number in reading.missing.items() if column not in others}
    parts = {name: part for name, part in reading.parts.items() if part[0] not in others}
    return replace(
        fewer, labels=labels, data=replace(spec.data, reading=replace(reading, missing=missing, parts=parts))
    )


def _connected(spec: Spec, attributes: Iterable[str]) -> set[str]:
    """These attributes, and all others that some query by classes or for combinations takes together with them."""
    together = [set(query.attributes) for query in spec.queries if not query.is_plain]
    found = set(attributes)
    while more := [each for each in together if each & found and not each <= found]:
        found.update(*more)
    return found


def _named(spec: Spec) -> set[str]:
    """The names of attributes and of what is made of them."""
    attributes = spec.policy.attributes.values()
    return {*(n for each in attributes for n in (each.name, each.column)), *spec.classes, *spec.combinations}


def _linear(attribute: Attribute, largest: Fraction) -> Attribute:
    """Any establishment may become any other up to the largest: what differential privacy protects."""
    gamma = Decimal(largest.numerator) / Decimal(largest.denominator)
    return replace(attribute, closeness=Closeness("linear", max(gamma, attribute.unit)), at_least=())
