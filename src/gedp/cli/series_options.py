"""Options of commands that take the same spec for every period of a series."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from gedp.policy import Spec

Command = TypeVar("Command", bound=Callable[..., Any])

period_option = click.option(
    "--period", metavar="PERIOD", help="Which of a series the table is: 2016, 2016Q2 or 2016-03. Default: data.period."
)
_source_option = click.option(
    "--source", metavar="FILE", help="The table, in the place of data.source in the spec; seen from here."
)


def assumed(spec: "Spec") -> str:
    """A line that says of which period all columns are taken to be, until the spec says it of any."""
    period = spec.data.period
    if period is None or any(attribute.of_period for attribute in spec.policy.attributes.values()):
        return ""
    return (
        f"\ngedp assumes that every confidential column holds values of {period} only. Declare others with of_period; "
        "of_period = 0 says that there are none"
    )


def series_options(command: Command) -> Command:
    """Adds `--source` and `--period`: another table of the same form, and which of a series it is."""
    return _source_option(period_option(command))
