"""The options of commands that fit microdata, and what they say of the constraints that were met."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

SUSPICIOUS = 5  # standard errors
F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--nonnegative/--no-nonnegative",
        default=None,
        help="No value below 0. Default: as the spec says; in tables, as on file.",
    ),
    click.option("--whole/--no-whole", default=None, help="Whole units, totals within one. Default: likewise."),
    click.option(
        "--fixed",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Public totals to meet exactly: .csv or .parquet, keys and attributes as columns; may be repeated.",
    ),
)


def constraint_options(command: F) -> F:
    """Adds --nonnegative, --whole and --fixed."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def sentences(constrained: Mapping[str, Any]) -> Iterator[str]:
    """What the constraints took, in words."""
    if said := constrained.get("fixed"):
        spare = f", {said['redundant']:,} of them follow from others" if said["redundant"] else ""
        yield f"{said['totals']:,} totals are fixed{spare}; off by {said['largest_gap']:.1g} at most."
        if (far := said["furthest"]) and far["standard_errors"] > SUSPICIOUS:
            away = f"{far['standard_errors']:,.0f} standard errors from what the release says"
            yield f"the fixed {far['total']} is {away}. Check it, and its units."
    if said := constrained.get("nonnegative"):
        yield (
            f"no value is below 0, {said['zeros']:,} are 0; this moved the total by "
            f"{round(said['change_of_total']):+,} ({said['steps']} steps)."
        )
    if said := constrained.get("whole"):
        yield (
            f"values are whole units; totals of the release's groups are off by {said['largest_deviation']:.3f} units "
            f"at most."
        )
        if said["largest_deviation"] > 1:
            unsure = said["groupings"] - said["groupings_sure"]
            yield f"{unsure} groupings cross too many others to stay within one unit for sure."
        if said["fixed_totals_missed"]:
            yield f"{said['fixed_totals_missed']} whole fixed totals are missed by rounding."
