"""`gedp examples`: the example specs that come with gedp."""

import click


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the example specs that come with gedp, or print the one called NAME.

    \b
    Examples:
      gedp examples
      gedp examples paper-equal > my.toml
    """
    from gedp.policy.examples import example_names, example_text

    if name:
        click.echo(example_text(name), nl=False)
        return
    names = example_names()
    for known in names:
        first_line = example_text(known).splitlines()[0].removeprefix("# ")
        click.echo(f"{known:{max(map(len, names))}}  {first_line}")
