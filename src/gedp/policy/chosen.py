"""Attributes that somebody chooses by name, and what a name is instead if it is none."""

from collections.abc import Sequence

from gedp.errors import Fault, FaultsError
from gedp.policy.measures import COUNT
from gedp.policy.model import Spec
from gedp.policy.section import did_you_mean


def chosen_attributes(spec: Spec, chosen: Sequence[str] | None, source: str) -> list[str]:
    """The attributes that queries ask for, or the chosen ones, in the order of the spec; all unknown ones in one error.

    Whoever chooses a column that is split chooses both of its parts. `source` is what the error is about.
    """
    names, split_columns = spec.asked, spec.policy.split_columns
    if chosen is None:
        return names
    known = [*names, *split_columns]
    if unknown := [name for name in dict.fromkeys(chosen) if name not in known]:
        raise FaultsError(source, [_unknown(spec, name, known) for name in unknown])
    wanted = {part for name in chosen for part in split_columns.get(name, (name,))}
    return [name for name in names if name in wanted]


def _unknown(spec: Spec, name: str, known: Sequence[str]) -> Fault:
    if name in spec.combinations:
        hint = f"Name its attributes: {', '.join(spec.combinations[name].coefficients)}"
        return Fault("attribute", f"{name!r} is a combination", hint)
    if name == COUNT:
        hint = f"Use one of: {', '.join(map(repr, known))}"
        return Fault("attribute", f"{name!r} are counted in tables by classes alone", hint)
    return Fault("attribute", f"no query asks for {name!r}", did_you_mean(name, known))
