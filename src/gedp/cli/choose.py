"""`gedp choose`: the ψ and γ that protect what must be protected."""

import click


@click.command()
@click.option(
    "--protect",
    "protect",
    multiple=True,
    required=True,
    metavar="SIZE:WIDTH",
    help="A size, and how far away values must count as close: 10:2, 10:+2 or 10:-2 for larger or smaller ones alone, "
    "1000:5%. Repeat it.",
)
@click.option(
    "--p",
    "p_percent",
    type=click.FloatRange(min=0, max=1000, min_open=True),
    metavar="P",
    help="Beside it, what the p% rule of cell suppression demands, and how likely an estimate within p% stays here.",
)
def command(protect: tuple[str, ...], p_percent: float | None) -> None:
    """Find the psi and gamma that protect what must be protected.

    Say at some sizes which other values must count as close. Each psi is shown with the least gamma that gives all of
    it, and how many times as wide its intervals are as was asked: the closest match comes first. No data is needed,
    and none should be: a gamma that follows from confidential values would tell of them.

    \b
    Examples:
      gedp choose --protect 10:+2                        a firm of ten people must be able to be twelve
      gedp choose --protect 10:2 --protect 1000:10%
      gedp choose --protect 50000:10% --p 10             10% more or less is close, beside the p% rule
    """
    from gedp.cli.console import make_console
    from gedp.documents.terminal import to_terminal
    from gedp.explain.choosing import candidates_document
    from gedp.neighbors.choosing import choose, parse_demands

    demands = parse_demands(protect)
    to_terminal(make_console(), candidates_document(demands, choose(demands), p_percent))
