"""The command line: one small module a command, imported only when it is called."""

import io
import sys
from importlib import import_module

import click

from gedp._version import __version__
from gedp.errors import GedpError

COMMANDS = {
    "examples": "List the spec files that come with gedp, or print one.",
    "explain": "What a policy promises and what it costs, before any data is touched.",
    "ledger": "What has been spent on a dataset, by whom, on what; verify it.",
    "reproduce": "The paper's tables and figures, ours beside the printed ones.",
}


class LazyGroup(click.Group):
    """Lists its commands from COMMANDS and imports a command's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, alphabetically."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"gedp.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gedp", message="%(prog)s %(version)s")
def cli() -> None:
    """Publish statistics about businesses without giving away any business.

    \b
    Start here:
      gedp examples                              the spec files that come with gedp
      gedp explain paper-equal                   what one of them promises
      gedp explain my.toml --html policy.html    a page for a policy meeting

    Exit codes: 0 done, 1 refused (budget, verification), 2 bad input or usage.
    """


def main() -> None:
    """Entry point: every error of gedp's own ends in one message and its exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets question marks
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except click.Abort:
        click.echo("gedp: interrupted", err=True)
        raise SystemExit(130) from None
    except GedpError as error:
        click.echo(f"gedp: {error}", err=True)
        raise SystemExit(error.exit_code) from None
    except OSError as error:
        click.echo(f"gedp: {error.filename or 'output'}: {(error.strerror or 'it failed').lower()}", err=True)
        raise SystemExit(2) from None
