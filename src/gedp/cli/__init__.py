"""The command line: one small module per command, imported only when it is called.

Other packages add commands by an entry point of the group `gedp.commands` that names a package like this one: with a
module per command, and their summaries in `COMMANDS`. The laboratory (`gedp_lab`) does.
"""

import os
import signal
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from gedp._version import __version__
from gedp.cli.console import believe_only_sane_sizes
from gedp.cli.signals import interrupts
from gedp.cli.streams import Streams, streams
from gedp.errors import GedpError

COMMANDS = {
    "choose": "Find the psi and gamma that protect what must be protected.",
    "desk": "Serve a page where anybody makes tables of a release, with errors.",
    "examples": "List the example specs that come with gedp, or print one.",
    "explain": "Show what a policy promises and what it costs, before any data is touched.",
    "init": "Draft a spec for a table of your own, without looking at a confidential value.",
    "ledger": "Show and verify what has been spent on a dataset, by whom and on what.",
    "microdata": "Fit protected microdata to all the answers of a release.",
    "plan": "Show the errors to expect of every table, before anything is spent.",
    "publish": "Make the package of a release for the public: titled tables with errors and flags.",
    "report": "Write a page about a release for the public: how protected, how accurate, how to use it.",
    "run": "Make a release: noisy answers, recorded in the ledger first, then microdata and a report.",
    "sharpen": "Make a model-based table of a release that leans on earlier releases (for analysis).",
    "sign": "Sign a release, so that the public can check it.",
    "tabulate": "Make a custom table from the microdata of a release, with standard errors.",
    "verify": "Check that a release is unchanged and, with a key, who signed it.",
}


ENTRY_POINTS = "gedp.commands"
LABORATORY = {"compare", "demo", "evaluate", "reproduce", "suppress", "synth"}  # commands of gedp-lab
UNFORESEEN = 70  # exit code: an error in gedp itself
REPEATED = {"ledger", "microdata", "report", "run"}  # commands whose lost output may go to the error stream instead


class NamingGroup(click.Group):
    """A group that names the command that was meant where one is misspelt, whatever its case."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was meant; of a misspelt one, the nearest is named."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            if args[0] in LABORATORY:
                raise click.UsageError(
                    f"{args[0]!r} is a command of the laboratory, which is not installed. Get it with: pip install "
                    "./lab in a checkout of gedp, or install its wheel (gedp_lab)",
                    ctx,
                )
            from gedp.policy.section import did_you_mean

            raise click.UsageError(f"there is no command {args[0]!r}. {did_you_mean(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(NamingGroup):
    """A group that lists its commands from `summaries` and imports a command's module only to run it.

    `packages` maps a command to the package that its module is in, where it is not `package`.
    """

    def __init__(
        self,
        *args: Any,
        package: str,
        summaries: Mapping[str, str],
        packages: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.package = package
        self.summaries = summaries
        self.packages = packages or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in alphabetical order."""
        return sorted(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command of that name; None if there is none."""
        if cmd_name not in self.summaries:
            return None
        package = self.packages.get(cmd_name, self.package)
        command: click.Command = import_module(f"{package}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summaries[name]) for name in self.list_commands(ctx)])


def _commands() -> tuple[dict[str, str], dict[str, str]]:
    """The summaries of all commands, and the packages of those that others add. None replaces one of ours."""
    summaries, packages = dict(COMMANDS), {}
    for point in entry_points(group=ENTRY_POINTS):
        for name, summary in point.load().COMMANDS.items():
            if name not in COMMANDS:
                summaries[name], packages[name] = summary, point.value
    return summaries, packages


SUMMARIES, PACKAGES = _commands()


@click.group(
    cls=LazyGroup,
    package="gedp.cli",
    summaries=SUMMARIES,
    packages=PACKAGES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="gedp", message="%(prog)s %(version)s")
@click.option("--log", metavar="FILE", help="Note steps, times and counts at the end of this file; never a value.")
@click.pass_context
def cli(context: click.Context, log: str | None) -> None:
    """Publish statistics about businesses without giving away any business.

    \b
    Start here:
      gedp examples                              list the example specs
      gedp explain paper-equal                   show what one of them promises
      gedp explain my.toml --html policy.html    write a page for a policy meeting
      gedp demo                                  run the whole chain on a synthetic state
      gedp init my.csv --public region,industry  draft a spec for a table of your own
      gedp run my.toml --dry-run                 check the table and the price

    \b
    Exit codes:
      0    done
      1    refused: over budget, folder taken, ledger or release altered, claim not confirmed
      2    bad input or usage, or a file system error
      3    done, but standard output could not be written
      70   an error in gedp itself, with a traceback; please report it
      130  interrupted (143 terminated, 129 hung up)
      141  done, but standard output was closed early
    """
    if log is not None:
        from gedp.cli.log import end_log, start_log

        start_log(Path(log), str(context.invoked_subcommand))
        context.call_on_close(end_log)
    if isinstance(context.obj, Streams):
        context.obj.repeat = context.invoked_subcommand in REPEATED


def main() -> None:
    """Runs the command line: every error of gedp's own ends in one message and its exit code, never a traceback."""
    believe_only_sane_sizes()
    _share_cores()
    with streams() as output, interrupts() as came:
        try:
            cli(standalone_mode=False, obj=output)
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except (Exception, KeyboardInterrupt) as error:
            code = _end(error, came)
        if not code:
            code, lost = output.end()
            if lost:
                click.echo(f"gedp: {lost}", err=True)
    raise SystemExit(code)


def _share_cores() -> None:
    """Gives linear algebra half of the cores, unless told otherwise: two attributes are fitted side by side.

    With all cores for both, most of the time goes into waiting for each other. OpenBLAS reads this when it is loaded.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // 2)))


def _named_as_meant(error: click.ClickException) -> click.ClickException:
    """The same error; it names an option that was meant in another case, which click does not think of."""
    if not isinstance(error, click.NoSuchOption) or error.possibilities or error.ctx is None:
        return error
    from gedp.policy.section import nearest

    options = [param for param in error.ctx.command.params if isinstance(param, click.Option)]
    meant = nearest(error.option_name, [name for option in options for name in option.opts])
    return error if meant is None else click.UsageError(f"{error.message} Did you mean {meant!r}?", error.ctx)


def _end(error: BaseException, came: Sequence[int]) -> int:
    """Prints why the command ends and returns its exit code. Only unforeseen errors get a traceback."""
    if came or isinstance(error, click.Abort | KeyboardInterrupt):
        terminated = came and came[0] != signal.SIGINT
        text, code = "terminated" if terminated else "interrupted", 128 + (came[0] if came else signal.SIGINT)
    elif isinstance(error, click.ClickException):
        _named_as_meant(error).show()
        return error.exit_code
    elif isinstance(error, GedpError):
        text, code = str(error), error.exit_code
    elif isinstance(error, OSError):
        text, code = f"{error.filename or 'output'}: {(error.strerror or 'it failed').lower()}", 2
    else:
        traceback.print_exception(error)
        return UNFORESEEN
    notes = [note for link in (error, error.__cause__) for note in getattr(link, "__notes__", ())]
    from gedp.cli.console import printable

    said = ". ".join([f"gedp: {text}", *notes])  # notes: such as that budget is spent all the same
    click.echo("\n".join(map(printable, said.split("\n"))), err=True)
    return code
