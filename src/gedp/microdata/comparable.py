"""Whether two releases can be compared: other noise, and the same things under the same names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gedp.errors import Fault, FaultsError
from gedp.microdata.combinations import figures_of
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.keys import first_characters
from gedp.policy import Spec

INDEPENDENT = "Errors of a change are known where the noise of both was drawn separately"


def require_comparable(
    new: MicrodataFit, old: MicrodataFit, keys: Iterable[str], attributes: Sequence[str] | None = None
) -> None:
    """Rejects microdata whose changes by these keys would mean nothing, or have other errors; all faults in one error.

    Without `attributes` it is about all figures that both have. Specs, prices and psi may differ, as each figure brings
    its own error.
    """
    names = _shared(new, old) if attributes is None else attributes
    faults = [*_independence(new, old), *_order(new, old), *_units(new, old, names), *_formulas(new, old, names)]
    for key in dict.fromkeys(keys):
        faults += _grouping(new, old, key)
    if faults:
        raise FaultsError(f"{new.public_rows.source.name} against {old.public_rows.source.name}", faults)


def are_comparable(new: MicrodataFit, old: MicrodataFit, keys: Iterable[str], attributes: Sequence[str]) -> bool:
    """Whether changes of these attributes by these keys mean something."""
    try:
        require_comparable(new, old, keys, attributes)
    except FaultsError:
        return False
    return True


def _shared(new: MicrodataFit, old: MicrodataFit) -> list[str]:
    """The figures of both."""
    after, before = (figures_of(each.attributes, each.public_rows.spec) for each in (new, old))
    return [name for name in after if name in before]


def _independence(new: MicrodataFit, old: MicrodataFit) -> Iterator[Fault]:
    """What would make the errors of both the same error, or none."""
    one, other = new.public_rows.source, old.public_rows.source
    if one is other or (one.manifest.files and one.manifest.files == other.manifest.files):
        yield Fault("release", "both are the same release, with the same noise", f"Name another. {INDEPENDENT}")
    if new.public_rows.spec.data.synthetic != old.public_rows.spec.data.synthetic:
        hint = "Compare synthetic data with synthetic data"
        yield Fault("data.synthetic", "one of them is about synthetic establishments, the other is not", hint)
    now, before = _fixed_totals(new), _fixed_totals(old)
    if any(_is_same(totals, before[of]) for of, totals in now.items() if of in before):
        problem = "both were fitted to the same public totals, as if nothing had changed there"
        yield Fault("fixed", problem, "Fit each to the totals of its own period, or to none")


def _fixed_totals(microdata: MicrodataFit) -> dict[tuple[str, frozenset[str]], dict[tuple[str, ...], float]]:
    """The public totals that microdata were fitted to: of every attribute and grouping, those of its groups."""
    found: dict[tuple[str, frozenset[str]], dict[tuple[str, ...], float]] = {}
    for name, every in microdata.constraints.fixed.items():
        for fixed in (held.fixed for held in every):
            groups = (tuple(sorted(text.removeprefix(f"{name} of ").split(", "))) for text in fixed.names)
            found.setdefault((name, frozenset(fixed.by)), {}).update(zip(groups, fixed.totals.tolist(), strict=True))
    return found


def _is_same(now: Mapping[tuple[str, ...], float], before: Mapping[tuple[str, ...], float]) -> bool:
    """Whether all groups that are in both have the same totals."""
    shared = now.keys() & before.keys()
    return bool(shared) and all(now[group] == before[group] for group in shared)


def _order(new: MicrodataFit, old: MicrodataFit) -> Iterator[Fault]:
    """Periods that go backwards, or that are not of one length. Two releases of one period may be compared."""
    now, before = (each.public_rows.source.manifest.period for each in (new, old))
    if now is None or before is None:
        return
    if now.kind != before.kind:
        yield Fault("period", f"{now} is a {now.kind}, and {before} is a {before.kind}", "Compare periods of one kind")
    elif before > now:
        yield Fault("period", f"{before} is later than {now}", "Swap them: changes are since the earlier one")


def _units(new: MicrodataFit, old: MicrodataFit, names: Sequence[str]) -> Iterator[Fault]:
    """Attributes of the same name that are counted in different units."""
    labels, before = new.public_rows.spec.labels, old.public_rows.spec.labels
    for name in names:
        units = [each[name].unit for each in (labels, before) if name in each and each[name].unit is not None]
        if len(set(units)) > 1:
            problem = f"it is counted in {units[0]} in one release, and in {units[1]} in the other"
            yield Fault(f"labels.{name}", problem, "Leave it out, or compare releases that count alike")


def _formulas(new: MicrodataFit, old: MicrodataFit, names: Sequence[str]) -> Iterator[Fault]:
    """Combinations of the same name that are different sums."""
    known, before = new.public_rows.spec.combinations, old.public_rows.spec.combinations
    for name in (name for name in names if name in known and name in before):
        if known[name].coefficients != before[name].coefficients:
            problem = f"it is {known[name].formula} in one release, and {before[name].formula} in the other"
            yield Fault(f"combinations.{name}", problem, "Leave it out, or compare releases that define it alike")


def _grouping(new: MicrodataFit, old: MicrodataFit, key: str) -> Iterator[Fault]:
    """A key that means different groups under the same name."""
    if _meaning(key, new.public_rows.spec) != _meaning(key, old.public_rows.spec):
        yield Fault("by", f"{key!r} is not the same grouping in both releases", "Use one that both define alike")
        return
    for name in _maps(key, new.public_rows.spec):
        groups, before = (each.public_rows.source.map(name) for each in (new, old))
        if moved := sum(groups[code] != before[code] for code in groups.keys() & before.keys()):
            problem = f"the map of {name!r} puts {moved:,} codes into other groups than before"
            yield Fault("by", problem, "Compare by what did not change, such as the codes themselves")


def _meaning(key: str, spec: Spec) -> tuple[object, ...]:
    """How the groups of a key follow from public columns, or from classes of an attribute."""
    if key in spec.classes:
        classes = spec.classes[key]
        return "classes", classes.attribute, *classes.labels(spec.policy.attributes[classes.attribute].unit)
    grouper, (column, characters) = spec.groupers.get(key), first_characters(key)
    if grouper is None:
        is_prefix = key not in spec.data.public and column in spec.data.public and characters
        return ("first", characters, ("column", column)) if is_prefix else ("column", key)
    if grouper.columns:
        return "joined", *(_meaning(each, spec) for each in grouper.columns)
    return "first" if grouper.prefix else "map", grouper.prefix, _meaning(grouper.column, spec)


def _maps(key: str, spec: Spec) -> list[str]:
    """The groupings with a map on the way from public columns to a key."""
    grouper = spec.groupers.get(key)
    if grouper is None:
        return []
    before = [name for each in (grouper.columns or (grouper.column,)) for name in _maps(each, spec)]
    return [*before, key] if grouper.map is not None else before
