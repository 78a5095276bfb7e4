"""What a spec promises, as plain numbers: intervals by size, the attacker's power, other frameworks."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gedp import numbers
from gedp.accounting.composition import PrivacyLoss, Promise, compose_publishers, exact, power
from gedp.accounting.frameworks import query_variances
from gedp.accounting.sampling import SampleAlike, sampling_fraction
from gedp.accounting.semantics import (
    RecordDistance,
    Statement,
    existence_mu,
    firm_loss,
    hidden_existence,
    person,
    record_distance,
)
from gedp.accounting.translations import Translations, translations
from gedp.arrays import MOST_UNITS
from gedp.errors import Fault, FaultsError, Refused
from gedp.neighbors import Protection, Sqrt
from gedp.policy import Attribute, Policy, PriceList, Spec, price, require_within_budget
from gedp.policy.nouns import AS_USUAL, Nouns
from gedp.policy.section import did_you_mean

SIGNIFICANCES = (0.01, 0.05, 0.10)
FIRM_SIZES = (2, 5, 10)
WIDER_STEPS = (2, 3)
PERSON_STEPS = (1, *WIDER_STEPS)
EXISTENCE_STEPS = (1, 2, 3)
MOST_SIZES = 13
LEAST_SIZES = 4
CERTAIN = 1 - 1e-9
NARROW = 0.01  # relative width of an interval that hides nothing to speak of
ALL_BUT_CERTAIN = 0.99  # power at 5% false alarms

Record = Mapping[str, float]
#: To show intervals around: for all attributes, or by attribute, with those of all others under "".
Sizes = Sequence[float] | Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class ProtectionGroup:
    """Attributes that are protected alike, the sizes to show, and what a person contributes to them."""

    names: tuple[str, ...]
    protection: Protection
    sizes: tuple[float, ...]
    person: float | None
    unit: float = 1.0


@dataclass(frozen=True)
class IntervalRow:
    """The uncertainty interval around one size."""

    size: float
    low: float
    high: float
    width: float
    relative_width: float


@dataclass(frozen=True)
class PowerRow:
    """How hard one kind of change is to detect: its μ, and the attacker's power at SIGNIFICANCES."""

    change: str
    steps: int
    mu: float
    powers: tuple[float, ...]


@dataclass(frozen=True)
class OtherAccounting:
    """What the same promise is called, and costs, in other frameworks."""

    translated: Translations
    significance: float
    power: float
    queries: int
    variance_ratios: tuple[float, float] | None  # zCDP, pure DP; None where the attacker all but succeeds


@dataclass(frozen=True)
class PersonRow:
    """What a person inside an establishment of one size is promised: one statement for each of PERSON_STEPS."""

    establishment_size: float
    within: tuple[Statement, ...]


@dataclass(frozen=True)
class ExistenceRow:
    """An establishment with at most these values, one for each group of attributes, against one that has nothing."""

    steps: int
    most: tuple[float, ...]
    mu: float
    power: float  # at 5% false alarms


def titled(group: ProtectionGroup, title: Callable[[str], str]) -> ProtectionGroup:
    """The same group under the names that people know."""
    return replace(group, names=tuple(map(title, group.names)))


def all_publishers(specs: Sequence[Spec]) -> Promise:
    """What holds if all these workloads are published in full; rejected where they contradict each other."""
    public = {name for spec in specs for name in (*spec.data.public, spec.data.id or "")}
    if open_to_all := public & {name for spec in specs for name in spec.policy.attributes}:
        listed = ", ".join(sorted(open_to_all))
        raise Refused(f"{listed}: confidential in one spec and public in another. Nothing protects what is public")
    promises = []
    for spec in specs:
        prices = price(spec)
        require_within_budget(prices)
        promises.append(replace(spec.policy.promise, loss=prices.total))
    return compose_publishers(*promises)


def protection_groups(policy: Policy, sizes: Sizes = ()) -> tuple[ProtectionGroup, ...]:
    """The attributes of a policy, those with the same protection and sizes together; `sizes` replaces our choice."""
    chosen = sizes if isinstance(sizes, Mapping) else {"": sizes}
    _require_known(chosen, policy)
    groups: dict[tuple[tuple[float, ...], tuple[object, ...]], list[Attribute]] = {}
    for attribute in policy.attributes.values():
        shown = chosen.get(attribute.name, chosen.get(attribute.column, chosen.get("", ())))
        alike = (attribute.closeness, attribute.at_least, attribute.signed, attribute.unit, attribute.person)
        groups.setdefault((tuple(sorted(shown)), alike), []).append(attribute)
    return tuple(
        ProtectionGroup(
            names=tuple(attribute.name for attribute in members),
            protection=members[0].protection,
            sizes=shown or sizes_that_matter(members[0]),
            person=None if members[0].person is None else float(members[0].person),
            unit=float(members[0].unit),
        )
        for (shown, _), members in groups.items()
    )


def _require_known(sizes: Mapping[str, Sequence[float]], policy: Policy) -> None:
    known = dict.fromkeys(name for a in policy.attributes.values() for name in (a.name, a.column))
    unknown = [name for name in sizes if name and name not in known]
    if unknown:
        faults = [Fault("sizes", f"there is no attribute {name!r}", did_you_mean(name, known)) for name in unknown]
        raise FaultsError("the options", faults)


def sizes_that_matter(attribute: Attribute) -> tuple[float, ...]:
    """1, 3, 10, 30, … from where intervals leave 0 behind to where they are within 1% of the value."""
    protection, unit = attribute.protection, float(attribute.unit)
    leaves_zero = unit if math.isinf(protection.psi.at_zero) else float(protection.psi.moved(0.0, protection.gamma))
    first = math.floor(math.log10(max(unit, leaves_zero)))
    sizes = [10.0**decade * digit for decade in range(first, first + MOST_SIZES // 2) for digit in (1, 3)]
    sizes = [size for size in [*sizes, 10.0 ** (first + MOST_SIZES // 2)] if size >= unit]
    narrow_enough = [i for i, size in enumerate(sizes) if protection.relative_width(size) <= 0.01]
    return tuple(sizes[: max(narrow_enough[0] + 1, LEAST_SIZES)] if narrow_enough else sizes)


def interval_rows(protection: Protection, sizes: Sequence[float]) -> tuple[IntervalRow, ...]:
    """The uncertainty interval around each size, and its width."""
    at = np.asarray(sizes, dtype=np.float64)
    interval = protection.interval(at)
    columns = (at, interval.low, interval.high, interval.width, protection.relative_width(at))
    return tuple(IntervalRow(*map(float, row)) for row in zip(*columns, strict=True))


def power_rows(loss: PrivacyLoss, unit: str | None = None, nouns: Nouns = AS_USUAL) -> tuple[PowerRow, ...]:
    """The attacker's power against one establishment, wider intervals, and firms; or against all records of a unit."""
    whose, its = nouns.whose(unit)
    changes = [
        (f"{whose} inside {its} intervals", 1, loss),
        *((f"{whose} within {k} steps", k, loss.group(k)) for k in WIDER_STEPS),
    ]
    if unit is None:
        owner = "a firm" if nouns.unit is None else nouns.unit.a
        changes += [(f"{owner}'s {n} {nouns.record.many} at once", n, firm_loss(loss, n)) for n in FIRM_SIZES]
    rows = []
    for change, steps, total in changes:
        rows.append(PowerRow(change, steps, total.mu, tuple(float(p) for p in power(total.mu, SIGNIFICANCES))))
    return tuple(rows)


def person_rows(group: ProtectionGroup, loss: PrivacyLoss) -> tuple[PersonRow, ...]:
    """A person alone, and in establishments of each larger size; empty where no contribution is given."""
    if group.person is None:
        return ()
    rows = []
    for size in sorted({group.person, *(size for size in group.sizes if size > group.person)}):
        within = (person(group.protection, loss, group.person, size, k) for k in PERSON_STEPS)
        rows.append(PersonRow(size, tuple(within)))
    return tuple(rows)


def sample_alike(group: ProtectionGroup) -> SampleAlike | None:
    """The sample of people that is as good as the intervals; None where ψ is not a square root."""
    if not isinstance(group.protection.psi, Sqrt):
        return None
    return sampling_fraction(group.protection.gamma, group.person or 1.0)


def between_records(spec: Spec, loss: PrivacyLoss, x: Record, y: Record) -> RecordDistance:
    """How well a release of the spec hides which of two records is the true one."""
    return record_distance(replace(spec.policy.promise, loss=loss), x, y)


def without_existence(groups: Sequence[ProtectionGroup]) -> tuple[str, ...]:
    """The attributes whose ψ has no value at 0. Where there is one, having nothing is not protected at all."""
    return tuple(name for group in groups if math.isinf(group.protection.psi.at_zero) for name in group.names)


def existence_rows(groups: Sequence[ProtectionGroup], loss: PrivacyLoss) -> tuple[ExistenceRow, ...]:
    """How well having anything hides: a few steps, and as many as it takes to hide one unit of every attribute.

    Whoever has nothing has 0 in all attributes, so what counts is the one that is furthest away from 0.
    """
    if not groups or without_existence(groups):
        return ()
    protections = {group.names[0]: group.protection for group in groups}
    smallest = max(int(group.protection.steps(group.unit, 0.0)) for group in groups)
    rows = []
    for steps in sorted({*EXISTENCE_STEPS, smallest}):
        hidden = [min(hidden_existence(g.protection, steps), MOST_UNITS * g.unit) for g in groups]
        most = tuple(_whole_units(value, group.unit) for value, group in zip(hidden, groups, strict=True))
        if any(most):
            mu = existence_mu(protections, loss, dict(zip(protections, most, strict=True)))
            rows.append(ExistenceRow(steps, most, mu, float(power(mu, 0.05))))
    return tuple(rows)


def _whole_units(value: float, unit: float) -> float:
    """The largest possible value up to this one, which may have been computed a little too small."""
    return float(math.floor(value / unit * (1 + 1e-11)) * exact(unit))


def warnings(spec: Spec, loss: PrivacyLoss) -> list[str]:
    """What a policy fails to protect although it names it, in plain words; empty for sensible policies."""
    said = [text for attribute in spec.policy.attributes.values() if (text := _protects_nothing(attribute))]
    reached = float(power(loss.mu, 0.05))
    if reached >= ALL_BUT_CERTAIN:
        said.append(
            f"mu = {numbers.strength(loss.mu)} protects next to nothing: an attacker who accepts 5% false alarms tells "
            f"the true values from others inside their intervals with a chance of {numbers.bound(reached)}. "
            + ("Spend less." if spec.is_individual else "Lower the mu of the queries.")
        )
    return said


def _protects_nothing(attribute: Attribute) -> str | None:
    protection, unit = attribute.protection, float(attribute.unit)
    sizes = np.geomspace(unit, MOST_UNITS * unit, 600)
    reach = protection.gamma / protection.psi.slope(sizes) * (1 + 1e-9)  # to both sides, nearly; it grows with size
    if reach[-1] < unit:
        problem = f"values are multiples of {numbers.size(unit)}, and no interval contains a second one"
    elif np.max(protection.relative_width(sizes[reach >= unit])) < NARROW:
        problem = "at every size, intervals are narrower than 1% of the value or contain no other possible value"
    elif reach[-1] < 2 * unit:
        return _protects_one_unit(attribute, float(reach[-1]))
    else:
        return None
    return f"{attribute.name} is all but unprotected: {problem}. Choose a larger gamma ({protection})."


def _protects_one_unit(attribute: Attribute, reach: float) -> str | None:
    """What to say where no interval reaches beyond one unit; nothing where the spec says that this is enough.

    It is for a person's contribution, and for values of no more than a unit, such as 0 and 1.
    """
    unit = numbers.size(float(attribute.unit))
    enough = attribute.typical if attribute.person is None else attribute.person
    if enough is not None and enough <= reach:
        return None
    reaches = f"{attribute.name}: intervals reach {unit} up or down alone, at any size"
    larger = f"Choose a larger gamma ({attribute.protection})"
    if attribute.person is not None:
        return f"{reaches}, and a person contributes {numbers.size(float(attribute.person))}. {larger}."
    return (
        f"{reaches}. So 0 and {unit} count as close, but larger values are hardly hidden. {larger}; or if values are 0 "
        f"and {unit} alone, say so with typical = {unit}."
    )


def other_accounting(prices: PriceList, significance: float = 0.05) -> OtherAccounting:
    """The promise in other terms, and the variance that ρ-zCDP and ε-DP would need for the same power."""
    mu = prices.total.mu
    reached = float(power(mu, significance))
    queries = prices.answers
    ratios = None
    if reached < CERTAIN:
        variances = query_variances(reached, significance, queries)
        ratios = float(variances.zcdp / variances.gaussian), float(variances.pure / variances.gaussian)
    return OtherAccounting(
        translated=translations(prices.total),
        significance=significance,
        power=reached,
        queries=queries,
        variance_ratios=ratios,
    )
