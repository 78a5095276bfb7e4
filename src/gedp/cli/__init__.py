"""The command line: one small module a command, imported only when it is called."""

import io
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from gedp._version import __version__
from gedp.cli.signals import interrupts
from gedp.errors import GedpError

COMMANDS = {
    "compare": "Internal: several workflows on the same table and budget, and which is closest to the truth.",
    "demo": "The whole chain on a synthetic state: release, microdata, tables, report.",
    "evaluate": "Internal: how far a release is from the truth. The results are confidential.",
    "examples": "List the spec files that come with gedp, or print one.",
    "explain": "What a policy promises and what it costs, before any data is touched.",
    "ledger": "What has been spent on a dataset, by whom, on what; verify it.",
    "microdata": "One protected table that fits all the answers of a release best.",
    "report": "One page for the public about a release: how protected, how exact, how to use.",
    "reproduce": "The paper's tables and figures, ours beside the printed ones.",
    "run": "The release: answers with noise, recorded in the ledger first; microdata, report.",
    "sign": "A signature of a release, which the public can check.",
    "tabulate": "A custom table from the microdata of a release, with standard errors.",
    "synth": "Synthetic establishments from public files.",
    "verify": "Whether a release is as it was released and signed.",
}


class LazyGroup(click.Group):
    """A group that lists its commands from `summaries` and imports a command's module only to run it."""

    def __init__(self, *args: Any, package: str, summaries: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.package = package
        self.summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, alphabetically."""
        return sorted(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in self.summaries:
            return None
        command: click.Command = import_module(f"{self.package}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summaries[name]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    package="gedp.cli",
    summaries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="gedp", message="%(prog)s %(version)s")
def cli() -> None:
    """Publish statistics about businesses without giving away any business.

    \b
    Start here:
      gedp examples                              the spec files that come with gedp
      gedp explain paper-equal                   what one of them promises
      gedp explain my.toml --html policy.html    a page for a policy meeting
      gedp demo                                  the whole chain on a synthetic state
      gedp run my.toml --dry-run                 check a table and a price

    Exit codes: 0 done, 1 refused (budget, verification), 2 bad input or usage, 130 interrupted.
    """


def main() -> None:
    """Entry point: every error of gedp's own ends in one message and its exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets question marks
    with interrupts() as came:
        try:
            cli(standalone_mode=False)
        except (Exception, KeyboardInterrupt) as error:
            raise SystemExit(_end(error, came)) from None
        raise SystemExit(0)


def _end(error: BaseException, came: Sequence[int]) -> int:
    """Says why the command ends; returns its exit code. What nobody foresaw keeps its traceback."""
    if came or isinstance(error, click.Abort | KeyboardInterrupt):
        terminated = came and came[0] != signal.SIGINT
        text, code = "terminated" if terminated else "interrupted", 128 + (came[0] if came else signal.SIGINT)
    elif isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    elif isinstance(error, GedpError):
        text, code = str(error), error.exit_code
    elif isinstance(error, OSError):
        text, code = f"{error.filename or 'output'}: {(error.strerror or 'it failed').lower()}", 2
    else:
        raise error
    notes = [note for link in (error, error.__cause__) for note in getattr(link, "__notes__", ())]
    click.echo(". ".join([f"gedp: {text}", *notes]), err=True)  # notes: such as that budget is spent all the same
    return code
