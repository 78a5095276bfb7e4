"""The options by which commands are told of published files."""

from collections.abc import Callable

import click

from gedp.cli.options import PATH


def published_qcew(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options `inputs` and `own`: which files of the QCEW, and which ownerships of them."""
    files = click.option(
        "--qcew",
        "inputs",
        type=PATH,
        multiple=True,
        required=True,
        help="Published QCEW: file, zip or folder; may be repeated.",
    )
    ownership = click.option(
        "--own",
        type=click.Choice(["1", "2", "3", "5"]),
        multiple=True,
        default=["5"],
        show_default=True,
        help="Ownership: 1 federal, 2 state, 3 local, 5 private; may be repeated.",
    )
    return files(ownership(function))
