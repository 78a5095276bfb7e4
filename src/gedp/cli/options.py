"""Options and arguments that several commands have, and what their texts say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gedp.cli.output import require_format

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)

release_argument = click.argument("folder", metavar="DIR", type=PATH)
attribute_option = click.option(
    "--attribute", "attributes", multiple=True, help="Attribute to tabulate; may be repeated. Default: all."
)
confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Confidence of the intervals. Default: as in the spec.",
)
period_option = click.option(
    "--period", metavar="PERIOD", help="Which of a series the table is: 2016, 2016Q2 or 2016-03. Default: data.period."
)
_source_option = click.option(
    "--source", metavar="FILE", help="Table to use instead of data.source; the path is relative to the current folder."
)


def by_option(*, required: bool = False) -> Callable[[Command], Command]:
    """`--by`: what a table is by."""
    return click.option(
        "--by",
        multiple=True,
        required=required,
        callback=lambda ctx, param, value: names_in(*value),
        help="Public columns and groupings, separated by commas; naics3 is naics to 3 digits; may be repeated.",
    )


def series_options(command: Command) -> Command:
    """Adds `--source` and `--period`: another table of the same form, and which of a series it is."""
    return _source_option(period_option(command))


def table_option(command: Command) -> Command:
    """Adds `--out`: where a table goes."""
    return click.option(
        "--out",
        type=PATH,
        callback=lambda ctx, param, value: require_format(value),
        help="File to write (.csv, .parquet, .xlsx, .arrows), or - for CSV on standard output. Default: first lines.",
    )(command)


def names_in(*texts: str) -> list[str]:
    """Names that are separated by commas, each once."""
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


def numbers_by_name(text: str, example: str) -> dict[str, float]:
    """Numbers given as NAME=X,…; rejects what is not one for each name."""
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        found = {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        found = {}
    if len(found) != len(pairs):
        raise click.BadParameter(f"give a number for each name, like {example}")
    return found
