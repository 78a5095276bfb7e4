"""The constraint options of commands that fit microdata, and sentences about the effect of each constraint."""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

SUSPICIOUS = 5  # standard errors

_NAMES = ("nonnegative", "whole", "fixed")
_OPTIONS = (
    click.option(
        "--nonnegative/--no-nonnegative",
        default=None,
        help="Allow no values below 0. Default: as in the spec; for tables, as in the microdata on file.",
    ),
    click.option(
        "--whole/--no-whole",
        default=None,
        help="Round to whole units. Totals stay within one unit if the groupings form one or two hierarchies. "
        "Default: as for --nonnegative.",
    ),
    click.option(
        "--fixed",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Public totals to meet exactly: a .csv or .parquet file of keys and attributes; may be repeated.",
    ),
)


def constraint_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --nonnegative, --whole and --fixed, which the command takes together, as `constraints`."""

    @wraps(command)
    def taking(**given: Any) -> None:
        constraints = {name: given.pop(name) for name in _NAMES}
        command(**given, constraints=constraints)

    for option in reversed(_OPTIONS):
        taking = option(taking)
    return taking


def sentences(constrained: Mapping[str, Any]) -> Iterator[str]:
    """The effect of each constraint, in words."""
    if said := constrained.get("fixed"):
        spare = f" ({said['redundant']:,} implied by the others)" if said["redundant"] else ""
        yield f"fixed totals: {said['totals']:,}{spare}, met to within {said['largest_gap']:.1g}."
        if (far := said["furthest"]) and far["standard_errors"] > SUSPICIOUS:
            away = f"{far['standard_errors']:,.0f} standard errors from what the answers say"
            yield f"the fixed {far['total']} is {away}. Check the total and its units."
    if said := constrained.get("nonnegative"):
        yield (
            f"no value is below 0, and {said['zeros']:,} are 0; this changed the total by "
            f"{round(said['change_of_total']):+,} ({said['steps']} steps)."
        )
    if said := constrained.get("whole"):
        yield (
            f"values are whole units; this changed the totals of the released groups by at most "
            f"{said['largest_deviation']:.3f} units."
        )
        if said["largest_deviation"] > 1:
            unsure = said["groupings"] - said["groupings_sure"]
            yield f"{unsure} groupings cross too many others to be sure to stay within one unit."
        if said["fixed_totals_missed"]:
            yield f"rounding missed {said['fixed_totals_missed']} of the whole fixed totals."
