"""Options of commands that take the same spec for every period of a series."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

period_option = click.option(
    "--period", metavar="PERIOD", help="Which of a series the table is: 2016, 2016Q2 or 2016-03. Default: data.period."
)
_source_option = click.option(
    "--source", metavar="FILE", help="The table, in the place of data.source in the spec; seen from here."
)


def series_options(command: Command) -> Command:
    """Adds `--source` and `--period`: another table of the same form, and which of a series it is."""
    return _source_option(period_option(command))
